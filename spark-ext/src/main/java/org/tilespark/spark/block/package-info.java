/**
 * The data model: schema, kinds, metadata, and the facts of an array that are known during
 * planning. Start from {@link org.tilespark.spark.block.BlockSchema}.
 */
package org.tilespark.spark.block;
