package org.tilespark.spark.rows;

import org.apache.spark.sql.connector.read.Scan;

/** A scan whose batches hold our Arrow lists. */
public interface BlockScan extends Scan {}
