/**
 * Converts blocks to bytes and back: {@code matrix_pack}, {@code volume_pack} put a block's
 * elements into one BINARY column as numpy lays them out in memory, {@code matrix_unpack}, {@code
 * volume_unpack} make blocks of this column. Python sends and fetches blocks in this form: an ARRAY
 * crosses element by element, a BINARY in one copy. Start from {@link
 * org.tilespark.spark.transfer.TransferPlans}.
 *
 * <p>{@code org.tilespark.spark.numpy} has the conversions.
 */
package org.tilespark.spark.transfer;
