package org.tilespark.spark.block;

/** Advice for users whose rows contradict their column metadata. Stateless. */
public final class StaleMetadata {
  /**
   * Advice for the end of a message about metadata, or about missing blocks, of which stale
   * metadata may be the cause.
   */
  public static final String HELP =
      ("if the metadata is stale (after an INSERT or a UNION, say), state other extents or forget"
              + " them: in SQL by matrix_with_extents(TABLE(t), '%2$s'), volume_with_extents or the"
              + " option extents => '%2$s', in Java by withExtents(df, ...) or"
              + " withoutExtents(df), in Python by from_dataframe(df, shape=...), or for a table by"
              + " ALTER TABLE t SET TBLPROPERTIES ('%1$s' = '%2$s')")
          .formatted(ArrayMetadata.EXTENTS, ArrayMetadata.UNKNOWN);

  private StaleMetadata() {}
}
