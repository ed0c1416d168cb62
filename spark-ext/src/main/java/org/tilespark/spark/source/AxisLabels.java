package org.tilespark.spark.source;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;

/**
 * Names and distances of a stored array's axes and its other attributes, which the metadata of the
 * column {@code values} keep. Immutable.
 *
 * @param names name of each axis, "" for one without; empty if no axis has one
 * @param spacing distance between neighbouring elements along each axis; empty if unknown
 * @param attributes further attributes, a JSON object; "" for none
 */
public record AxisLabels(List<String> names, List<Double> spacing, String attributes)
    implements Serializable {
  /** Nothing. */
  public static final AxisLabels NONE = new AxisLabels(List.of(), List.of(), "");

  /** The key of the names. */
  public static final String NAMES = "tilespark.stored.names";

  /** The key of the distances. */
  public static final String SPACING = "tilespark.stored.spacing";

  /** The key of further attributes. */
  public static final String ATTRIBUTES = "tilespark.stored.attributes";

  /** The key of the extents that the distances belong to, leading axes first. */
  public static final String SHAPE = "tilespark.stored.shape";

  /** Copies the lists. */
  public AxisLabels {
    names = List.copyOf(names);
    spacing = List.copyOf(spacing);
  }

  /**
   * The labels as metadata of a column.
   *
   * @param extents extents of the array
   */
  public Metadata metadata(long[] extents) {
    MetadataBuilder stored = new MetadataBuilder();
    if (!names.isEmpty()) {
      stored.putStringArray(NAMES, names.toArray(new String[0]));
    }
    if (!spacing.isEmpty()) {
      stored.putDoubleArray(SPACING, spacing.stream().mapToDouble(Double::doubleValue).toArray());
      stored.putLongArray(SHAPE, extents);
    }
    if (!attributes.isEmpty()) {
      stored.putString(ATTRIBUTES, attributes);
    }
    return stored.build();
  }
}
