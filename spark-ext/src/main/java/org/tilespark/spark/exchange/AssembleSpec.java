package org.tilespark.spark.exchange;

import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.tilespark.layout.Cuts;
import org.tilespark.layout.Images;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.catalyst.PhysicalBlockNode;
import org.tilespark.spark.options.Missing;
import scala.Option;

/**
 * How target blocks are assembled from pieces.
 *
 * @param kind matrix or volume
 * @param grid the target tiling; its axes have no end, so it fits arrays of all extents
 * @param missing value of elements that are in no piece, or an error
 * @param operator operator's name, for messages: {@code "matrix_reblock"}
 * @param predicted prediction of the bytes that the shuffle below sends
 * @param images maps the pieces to places in the result; empty if pieces keep their places
 * @param unmarked extents of every array if target blocks have no marks because each has at least
 *     one piece; empty if marks say where blocks end
 */
public record AssembleSpec(
    BlockKind kind,
    Cuts grid,
    Missing missing,
    String operator,
    Prediction predicted,
    Option<Images> images,
    Option<Shape> unmarked)
    implements Serializable {
  /** Refuses images together with {@link Missing#ZERO}: an array with images must be complete. */
  public AssembleSpec {
    if (images.isDefined() && missing == Missing.ZERO) {
      throw new IllegalArgumentException("Images of an array in which blocks may be missing");
    }
  }

  /**
   * A prediction of the bytes that one array's pieces take in the shuffle.
   *
   * @param bytes bytes as Spark's metric {@code data size} counts them; -1 if the extents are
   *     unknown
   * @param isLeast true if the blocks' own shape is not known, so that there may be more pieces
   * @param perArray true if there are grouping columns, so that there may be more arrays
   * @param blocks the target tiling of one array; empty if the extents are unknown
   */
  public record Prediction(long bytes, boolean isLeast, boolean perArray, Option<Cuts> blocks)
      implements Serializable {
    /** Count of blocks that are assembled for one array; 0 if the extents are unknown. */
    public long count() {
      return blocks.isEmpty() ? 0 : blocks.get().cells();
    }

    /** Shows the predicted bytes, if they are known, next to Spark's measurements. */
    public void tell(SQLMetric metric, SparkContext context) {
      if (bytes >= 0) {
        metric.set(bytes);
        PhysicalBlockNode.tell(context, List.of(metric));
      }
    }

    @Override
    public String toString() {
      if (bytes < 0) {
        return "shuffle not predicted: the extents are not stated";
      }
      return "shuffle predicted "
          + (isLeast ? "at least " : "")
          + bytes
          + " bytes"
          + (perArray ? " per array" : "")
          + " into "
          + count()
          + (count() == 1 ? " block" : " blocks");
    }
  }

  /** Elements along each axis of a full target block. */
  public Shape blockShape() {
    return Shape.of(
        IntStream.range(0, grid.rank()).mapToLong(axis -> grid.axis(axis).largest()).toArray());
  }

  /** True if each target block begins where its cell does, since blocks do not overlap. */
  public boolean areInCells() {
    return images.isEmpty() || !images.get().overlap();
  }

  /**
   * The text of this assembly in EXPLAIN: {@code "matrix 7 x 5, missing=error, shuffle predicted
   * 123 bytes into 2 blocks"}.
   */
  @Override
  public String toString() {
    return withoutShuffle() + ", " + predicted;
  }

  /** The text of this assembly in EXPLAIN if pieces are read in place without a shuffle. */
  public String withoutShuffle() {
    String shape =
        Arrays.stream(blockShape().toArray())
            .mapToObj(Long::toString)
            .collect(Collectors.joining(" x "));
    return kind.label() + " " + shape + ", missing=" + missing;
  }
}
