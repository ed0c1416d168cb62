package org.tilespark.spark.nearest;

import java.io.Serializable;

/**
 * Specifies how the rows of one side are gathered in strips.
 *
 * @param keepsUnmatched true if rows without a match are results too
 * @param partitions number of partitions of strips
 */
public record StripSpec(boolean keepsUnmatched, int partitions) implements Serializable {}
