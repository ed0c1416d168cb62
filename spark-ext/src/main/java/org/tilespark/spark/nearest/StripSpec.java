package org.tilespark.spark.nearest;

import java.io.Serializable;

/**
 * How the rows of one side become strips.
 *
 * @param keepsUnmatched true if rows that match nothing are results too
 * @param partitions over which strips are spread
 */
public record StripSpec(boolean keepsUnmatched, int partitions) implements Serializable {}
