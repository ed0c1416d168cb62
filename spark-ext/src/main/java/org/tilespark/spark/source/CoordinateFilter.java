package org.tilespark.spark.source;

import java.util.Arrays;
import org.apache.spark.sql.sources.AlwaysFalse;
import org.apache.spark.sql.sources.AlwaysTrue;
import org.apache.spark.sql.sources.And;
import org.apache.spark.sql.sources.EqualNullSafe;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.GreaterThan;
import org.apache.spark.sql.sources.GreaterThanOrEqual;
import org.apache.spark.sql.sources.In;
import org.apache.spark.sql.sources.IsNotNull;
import org.apache.spark.sql.sources.IsNull;
import org.apache.spark.sql.sources.LessThan;
import org.apache.spark.sql.sources.LessThanOrEqual;
import org.apache.spark.sql.sources.Not;
import org.apache.spark.sql.sources.Or;
import org.tilespark.spark.block.ArrayAxes;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.ColumnNames;

/**
 * Spark's filters on the places and sizes of blocks, answered from the tiling alone, so that blocks
 * which a query leaves out are never read. Stateless.
 */
public final class CoordinateFilter {
  private CoordinateFilter() {}

  /** True if the filter only uses places and sizes, with supported comparisons. */
  public static boolean supports(Filter filter, ArrayAxes axes) {
    if (filter instanceof And and) {
      return supports(and.left(), axes) && supports(and.right(), axes);
    } else if (filter instanceof Or or) {
      return supports(or.left(), axes) && supports(or.right(), axes);
    } else if (filter instanceof Not not) {
      return supports(not.child(), axes);
    } else if (filter instanceof AlwaysTrue || filter instanceof AlwaysFalse) {
      return true;
    } else if (filter instanceof IsNotNull isNotNull) {
      // The arrays of a file are never null either.
      return isArray(isNotNull.attribute()) || isPlace(isNotNull.attribute(), axes);
    } else if (filter instanceof IsNull isNull) {
      return isArray(isNull.attribute()) || isPlace(isNull.attribute(), axes);
    } else if (filter instanceof In in) {
      return isPlace(in.attribute(), axes)
          && Arrays.stream(in.values()).allMatch(CoordinateFilter::isWhole);
    }
    Comparison comparison = Comparison.of(filter);
    return comparison != null && isPlace(comparison.attribute, axes) && isWhole(comparison.value);
  }

  /**
   * The filter's answer for one block.
   *
   * @param filter a supported filter
   * @param offset place of the block's first element
   * @param size the block's extents
   */
  public static boolean test(Filter filter, ArrayAxes axes, long[] offset, long[] size) {
    if (filter instanceof And and) {
      return test(and.left(), axes, offset, size) && test(and.right(), axes, offset, size);
    } else if (filter instanceof Or or) {
      return test(or.left(), axes, offset, size) || test(or.right(), axes, offset, size);
    } else if (filter instanceof Not not) {
      return !test(not.child(), axes, offset, size);
    } else if (filter instanceof AlwaysTrue || filter instanceof IsNotNull) {
      return true;
    } else if (filter instanceof AlwaysFalse || filter instanceof IsNull) {
      return false;
    } else if (filter instanceof In in) {
      long place = place(in.attribute(), axes, offset, size);
      return Arrays.stream(in.values()).anyMatch(value -> ((Number) value).longValue() == place);
    }
    Comparison comparison = Comparison.of(filter);
    return comparison.accepts(place(comparison.attribute, axes, offset, size));
  }

  private static boolean isPlace(String attribute, ArrayAxes axes) {
    String column = ColumnNames.unquoted(attribute);
    return axes.offsetColumns().contains(column) || axes.axisOfSize(column) >= 0;
  }

  private static boolean isArray(String attribute) {
    return attribute.equals(BlockKind.VALUES) || attribute.equals(BlockKind.IMAG);
  }

  private static boolean isWhole(Object value) {
    return value instanceof Long || value instanceof Integer;
  }

  private static long place(String attribute, ArrayAxes axes, long[] offset, long[] size) {
    String column = ColumnNames.unquoted(attribute);
    int axis = axes.offsetColumns().indexOf(column);
    return axis >= 0 ? offset[axis] : size[axes.axisOfSize(column)];
  }

  /** A comparison with a constant: {@code attribute} is below, at or above {@code value}. */
  private record Comparison(
      String attribute, Object value, boolean below, boolean equal, boolean above) {
    static Comparison of(Filter filter) {
      if (filter instanceof EqualTo f) {
        return new Comparison(f.attribute(), f.value(), false, true, false);
      } else if (filter instanceof EqualNullSafe f) {
        return new Comparison(f.attribute(), f.value(), false, true, false);
      } else if (filter instanceof LessThan f) {
        return new Comparison(f.attribute(), f.value(), true, false, false);
      } else if (filter instanceof LessThanOrEqual f) {
        return new Comparison(f.attribute(), f.value(), true, true, false);
      } else if (filter instanceof GreaterThan f) {
        return new Comparison(f.attribute(), f.value(), false, false, true);
      } else if (filter instanceof GreaterThanOrEqual f) {
        return new Comparison(f.attribute(), f.value(), false, true, true);
      }
      return null;
    }

    boolean accepts(long place) {
      int order = Long.compare(place, ((Number) value).longValue());
      return order < 0 ? below : order == 0 ? equal : above;
    }
  }
}
