/**
 * The data model: schema, kinds, metadata, and what is known of an array while its query is made.
 * Start from {@link org.tilespark.spark.block.BlockSchema}.
 */
package org.tilespark.spark.block;
