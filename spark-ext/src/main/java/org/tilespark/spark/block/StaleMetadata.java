package org.tilespark.spark.block;

/** The way out for who meets rows that contradict their column metadata. Stateless. */
public final class StaleMetadata {
  /** What helps, for the end of a message that says what the metadata says. */
  public static final String HELP =
      ("if the metadata is stale (after an INSERT, say), state other extents or forget them: by the"
              + " option extents='unknown', by withExtents(df, ...) or withoutExtents(df), or for a"
              + " table by ALTER TABLE t SET TBLPROPERTIES ('%s' = '%s')")
          .formatted(ArrayMetadata.EXTENTS, ArrayMetadata.UNKNOWN);

  private StaleMetadata() {}
}
