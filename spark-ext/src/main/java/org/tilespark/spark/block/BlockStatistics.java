package org.tilespark.spark.block;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeMap;
import org.apache.spark.sql.catalyst.expressions.AttributeMap$;
import org.apache.spark.sql.catalyst.plans.logical.ColumnStat;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.tilespark.layout.Shape;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.math.BigInt;

/**
 * Estimates the sizes of our logical nodes for Spark's statistics. Spark itself counts an array as
 * one element, and would broadcast a frame of any size. {@link FrameSize} has the arithmetic.
 */
public final class BlockStatistics {
  private static final int STATISTICS_VERSION = 2; // Spark's CatalogColumnStat.VERSION

  private BlockStatistics() {}

  /** Blocks that a node reads: their plan, and facts known of them. */
  public record Input(LogicalPlan plan, BlockSchema blocks, Optional<Shape> extents) {
    private RowBytes row() {
      return new RowBytes(
          plan.output().size(), blocks.planes().size(), blocks.elementType().bytes());
    }

    private FrameSize size() {
      Statistics known = plan.stats();
      return new FrameSize(
          known.sizeInBytes().bigInteger(),
          known.rowCount().isDefined()
              ? Optional.of(known.rowCount().get().bigInteger())
              : Optional.empty());
    }
  }

  /**
   * Statistics of a node that gives blocks.
   *
   * @param output all columns of the node
   * @param blocks ordinals of the block columns in {@code output}; their metadata states the
   *     extents and the shape of blocks, if they are known
   * @param input blocks of the input, from which the number of arrays is estimated, and all facts
   *     that the metadata lacks
   * @param combines true if the node combines blocks: then further columns distinguish arrays, and
   *     without them there is one array. If false, each row becomes one row
   */
  public static Statistics of(
      List<Attribute> output, BlockSchema blocks, Input input, boolean combines) {
    ArrayMetadata metadata = ArrayMetadata.of(output.get(blocks.values()).metadata());
    int rank = blocks.kind().rank();
    RowBytes row =
        new RowBytes(output.size(), blocks.planes().size(), blocks.elementType().bytes());
    Optional<Shape> extents = metadata.extents(rank);
    FrameSize read = input.size();
    boolean isOne = combines && blocks.further(output).isEmpty();
    FrameSize size;
    if (extents.isPresent()) {
      BigInteger arrays =
          isOne || input.extents().isEmpty()
              ? BigInteger.ONE
              : FrameSize.arrays(read.bytes(), input.extents().get(), input.row());
      size = FrameSize.ofArrays(arrays, extents.get(), metadata.blockShape(rank), row);
    } else {
      FrameSize scaled = read.scaled(row.planes(), input.row().planes());
      size = combines ? new FrameSize(scaled.bytes(), Optional.empty()) : scaled;
    }
    List<Tuple2<Attribute, ColumnStat>> columns = new ArrayList<>();
    Optional<Long> arrayBytes = size.arrayBytes(row);
    if (arrayBytes.isPresent()) {
      for (int plane : blocks.planes()) {
        columns.add(new Tuple2<>(output.get(plane), ofLength(arrayBytes.get())));
      }
    }
    return statistics(size, columns);
  }

  /** Statistics of a node that combines blocks and gives blocks with the same columns. */
  public static Statistics ofBlocks(Seq<Attribute> output, BlockKind kind, LogicalPlan child) {
    List<Attribute> columns = ScalaInterop.list(output);
    BlockSchema blocks = blocks(columns, kind);
    Optional<Shape> known =
        ArrayMetadata.of(columns.get(blocks.values()).metadata()).extents(kind.rank());
    return of(columns, blocks, new Input(child, blocks, known), true);
  }

  /** Statistics of pieces of a plan's blocks: the same bytes, in an unknown number of rows. */
  public static Statistics ofPieces(LogicalPlan plan) {
    return statistics(
        new FrameSize(plan.stats().sizeInBytes().bigInteger(), Optional.empty()), List.of());
  }

  /**
   * Statistics of mark rows, which state where blocks end.
   *
   * @param marks number of marks for each array
   * @param columns number of columns of a row
   * @param arrays plan with one row for each array
   */
  public static Statistics ofMarks(long marks, int columns, LogicalPlan arrays) {
    Option<BigInt> known = arrays.stats().rowCount();
    BigInteger rows =
        BigInteger.valueOf(marks)
            .multiply(known.isDefined() ? known.get().bigInteger() : BigInteger.ONE);
    long rowBytes = new RowBytes(columns, 0, 0).withoutValues();
    return statistics(
        new FrameSize(rows.multiply(BigInteger.valueOf(rowBytes)), Optional.of(rows)), List.of());
  }

  /** Statistics of a node that gives {@code rows} rows of small columns, or fewer. */
  public static Statistics ofRows(BigInteger rows, int columns) {
    long rowBytes = new RowBytes(columns, 0, 0).withoutValues();
    return statistics(
        new FrameSize(rows.multiply(BigInteger.valueOf(rowBytes)), Optional.empty()), List.of());
  }

  /** Ordinals of a node's block columns in its output. */
  public static BlockSchema blocks(List<Attribute> output, BlockKind kind) {
    return BlockSchema.find(Attributes.schema(output), kind, "statistics");
  }

  private static Statistics statistics(
      FrameSize size, List<Tuple2<Attribute, ColumnStat>> columns) {
    AttributeMap<ColumnStat> ofColumns =
        AttributeMap$.MODULE$.apply(ScalaInterop.<Tuple2<Attribute, ColumnStat>>seq(columns));
    return new Statistics(
        new BigInt(size.bytes()),
        ScalaInterop.option(size.rows().map(BigInt::new)),
        ofColumns,
        false);
  }

  private static ColumnStat ofLength(long bytes) {
    return new ColumnStat(
        Option.empty(),
        Option.empty(),
        Option.empty(),
        Option.apply(new BigInt(BigInteger.ZERO)),
        Option.apply(bytes),
        Option.apply(bytes),
        Option.empty(),
        STATISTICS_VERSION);
  }
}
