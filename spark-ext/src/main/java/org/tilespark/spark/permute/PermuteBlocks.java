package org.tilespark.spark.permute;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.BlockStatistics;
import org.tilespark.spark.catalyst.CarriesColumns;
import org.tilespark.spark.catalyst.MadeAnewNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Reorders the axes of every block: places and sizes change columns, values move inside each block.
 * Row by row, no shuffle; further columns pass through.
 *
 * <p>{@code inputs} and {@code produced} are parallel lists of all columns: those of the child that
 * are read, and what stands in their places in the output under fresh ids. Further columns have
 * fresh ids too, since Spark tells two instances of a relation apart by all of their ids.
 */
public final class PermuteBlocks extends MadeAnewNode<BlockPermutation> implements CarriesColumns {
  /** For Catalyst, which copies nodes through this constructor; others call {@link #of}. */
  public PermuteBlocks(
      BlockPermutation spec, Seq<Attribute> inputs, Seq<Attribute> produced, LogicalPlan child) {
    super(spec, inputs, produced, child);
  }

  /**
   * The node over {@code child}, whose block columns are found by name. Its type is that of all
   * plans: on a client of Spark Connect, which has no Catalyst, the facade could not be loaded if
   * it had to be checked that this class is a plan.
   *
   * @param operator who asks, for messages
   * @throws IllegalArgumentException if {@code child} has no such blocks; see {@link BlockSchema}
   */
  public static LogicalPlan of(
      LogicalPlan child, BlockKind kind, Permutation permutation, String operator) {
    BlockFrame frame = BlockFrame.of(child, kind, operator);
    List<Attribute> produced =
        IntStream.range(0, frame.columns().size())
            .mapToObj(i -> PermutedColumns.produce(frame, i, permutation))
            .toList();
    return new PermuteBlocks(
        new BlockPermutation(kind, permutation, ScalaInterop.option(frame.extents())),
        ScalaInterop.seq(frame.columns()),
        ScalaInterop.seq(produced),
        child);
  }

  /** Which attribute of the child gives the content of which of this node's. */
  public PermutedColumns columns() {
    return PermutedColumns.of(spec().kind(), spec().permutation(), inputs(), produced());
  }

  @Override
  public boolean carriesColumns() {
    return true;
  }

  @Override
  public Optional<Attribute> source(Attribute output) {
    return columns().source(output);
  }

  @Override
  public List<Attribute> computed() {
    PermutedColumns columns = columns();
    return columns.blocks().planes().stream().map(columns.produced()::get).toList();
  }

  /** An imaginary part that nobody uses goes too. */
  @Override
  public Optional<LogicalPlan> reading(AttributeSet used) {
    PermutedColumns columns = columns();
    List<Attribute> read = new ArrayList<>();
    List<Attribute> given = new ArrayList<>();
    for (int i = 0; i < columns.produced().size(); i++) {
      boolean isNeeded = columns.blocks().blockColumns().contains(i) && !columns.blocks().isImag(i);
      if (isNeeded || used.contains(columns.produced().get(i))) {
        read.add(columns.inputs().get(i));
        given.add(columns.produced().get(i));
      }
    }
    return given.size() == columns.produced().size()
        ? Optional.empty()
        : Optional.of(
            new PermuteBlocks(spec(), ScalaInterop.seq(read), ScalaInterop.seq(given), child()));
  }

  @Override
  public boolean coordinatesAreCheap() {
    return coordinatesAreCheap(child());
  }

  @Override
  public Statistics stats() {
    return BlockStatistics.ofBlocks(output(), spec().kind(), child(), false);
  }

  @Override
  public Option<Object> maxRows() {
    return child().maxRows();
  }

  @Override
  public String simpleString(int maxFields) {
    return spec().toString();
  }
}
