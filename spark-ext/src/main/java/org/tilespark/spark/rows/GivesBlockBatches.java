package org.tilespark.spark.rows;

/** A physical node whose batches hold our Arrow lists. */
public interface GivesBlockBatches {}
