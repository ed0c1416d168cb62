/**
 * Arrays whose numbers are one after the other in one file, for the formats that differ only in
 * what stands before them.
 */
package org.tilespark.spark.source.contiguous;
