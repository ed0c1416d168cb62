package org.tilespark.spark.reblock;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.GroupingColumns;
import org.tilespark.spark.block.KnownArray;
import org.tilespark.spark.block.UsualShape;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.EagerQuery;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.options.Missing;

/**
 * Two arrays, or two sets of arrays that further columns distinguish, with the same cuts. An
 * operator of two arrays reads them through this class, which finds their holes, overlaps and
 * doubled blocks:
 *
 * <table>
 *   <caption>Treatment of the two arrays</caption> <tr><th>the metadata states</th><th>treatment</th></tr> <tr><td>equal block shapes</td><td>the first is checked, nothing is cut; with {@code missing=zero} as in the next line, which fills missing elements</td></tr> <tr><td>one block shape, or two</td><td>an array with another cut is cut to the first one's shape, or to the only one that is stated</td></tr> <tr><td>no block shape</td><td>one query over the places, which runs now, compares the cuts. If they are equal and tile the arrays, nothing is cut; otherwise both are cut into blocks of the first one's largest shape</td></tr>
 * </table>
 *
 * <p>Readers still compare the places of each pair of blocks, since metadata may be stale.
 *
 * @param first blocks; none if the array has no elements
 * @param second the corresponding blocks of the second array, with the first one's extents
 */
public record CommonCut(BlockFrame first, BlockFrame second) {
  /**
   * Cuts two arrays in the same way.
   *
   * @param first the first array; its operator's name appears in messages, as {@code "matrix_add,
   *     first matrix"}
   * @param second the second array, with the further columns of the first, in any order, and equal
   *     extents if both state them
   * @param missing treatment of elements that are in no block
   * @param asDataset turns a plan into a DataFrame
   * @throws IllegalArgumentException if blocks of the first one's shape would be too large
   */
  public static CommonCut of(
      BlockFrame first,
      BlockFrame second,
      Missing missing,
      Function<LogicalPlan, Dataset<Row>> asDataset) {
    Optional<Shape> extents = first.extents().or(second::extents);
    Optional<Shape> wanted = shape(first);
    Optional<Shape> other = shape(second);
    BlockFrame a = stating(first, extents);
    BlockFrame b = stating(second, extents);
    if (missing == Missing.ERROR && wanted.isPresent() && wanted.equals(other)) {
      return new CommonCut(of(a, ReblockPlans.checked(a)), b);
    }
    Optional<Shape> stated = wanted.or(() -> other);
    return stated.isPresent()
        ? cut(a, b, joined(a, stated.get()), missing)
        : compared(a, b, missing, asDataset);
  }

  /** The stated shape, or a larger one if the stated one would give many small blocks. */
  private static Shape joined(BlockFrame frame, Shape shape) {
    return frame
        .extents()
        .map(each -> UsualShape.joined(each, shape, BlockShapes.elementBytes(frame.blocks())))
        .orElse(shape);
  }

  private static CommonCut compared(
      BlockFrame first,
      BlockFrame second,
      Missing missing,
      Function<LogicalPlan, Dataset<Row>> asDataset) {
    int rank = first.kind().rank();
    Dataset<Row> summaries =
        asDataset
            .apply(summary(first, asDataset))
            .selectExpr(totals(first, 0))
            .union(asDataset.apply(summary(second, asDataset)).selectExpr(totals(second, 1)));
    List<Row> rows =
        EagerQuery.run(
            summaries,
            "compares the blocks of two arrays, of which no metadata states the shape",
            Dataset::collectAsList);
    boolean isInOrder = rows.get(0).getInt(0) == 0;
    Found one = Found.of(rows.get(isInOrder ? 0 : 1), rank);
    Found two = Found.of(rows.get(isInOrder ? 1 : 0), rank);
    Optional<Shape> extents =
        first.extents().or(() -> Found.commonEnds(one, two, first.further().isEmpty()));
    BlockFrame a = stating(first, extents);
    BlockFrame b = stating(second, extents);
    if (!one.isTiled() || !one.hasCutOf(two)) {
      return cut(a, b, shape(a, one.hasBlocks() ? one : two), missing);
    }
    return one.isGrid() && extents.isPresent()
        ? new CommonCut(inBlocks(a, Shape.of(one.largest)), b)
        : new CommonCut(first, second);
  }

  /**
   * A shape for blocks: the largest extents of existing blocks along each axis, reduced if these
   * blocks would be too large: some blocks may be long along one axis and others along another.
   */
  private static Shape shape(BlockFrame frame, Found found) {
    long[] shape = new long[frame.kind().rank()];
    for (int axis = 0; axis < shape.length; axis++) {
      long extent =
          frame.extents().isPresent() ? frame.extents().get().extent(axis) : Long.MAX_VALUE;
      shape[axis] = Math.max(1, Math.min(found.hasBlocks() ? found.largest[axis] : extent, extent));
    }
    return joined(
        frame,
        UsualShape.halved(
            Shape.of(shape), BlockShapes.elementBytes(frame.blocks()), UsualShape.LARGE_BYTES));
  }

  /**
   * Both arrays in blocks of one shape. The existing arrays and their ends are looked up in both
   * frames together; if the ends are known and no block may be missing, in each separately, which
   * reads less.
   */
  private static CommonCut cut(BlockFrame first, BlockFrame second, Shape shape, Missing missing) {
    if (missing == Missing.ERROR && first.extents().isPresent()) {
      return new CommonCut(
          cut(first, shape, missing, first.plan()), cut(second, shape, missing, second.plan()));
    }
    LogicalPlan both = places(first, second);
    return new CommonCut(cut(first, shape, missing, both), cut(second, shape, missing, both));
  }

  private static BlockFrame cut(
      BlockFrame frame, Shape shape, Missing missing, LogicalPlan places) {
    return of(
        frame,
        ReblockPlans.reblock(
            frame.plan(), frame.kind(), shape.toArray(), missing, places, frame.operator()));
  }

  /**
   * Places, sizes and further columns of the blocks of both frames, with the column names of the
   * first.
   */
  public static LogicalPlan places(BlockFrame first, BlockFrame second) {
    return new Union(
        ScalaInterop.<LogicalPlan>seq(placesOf(first, first), placesOf(second, first)),
        false,
        false);
  }

  /** Places, sizes and further columns, under fresh ids and in the order of another frame's. */
  private static LogicalPlan placesOf(BlockFrame frame, BlockFrame like) {
    int coordinates = 2 * frame.kind().rank();
    List<NamedExpression> list = new ArrayList<>();
    for (int i = 0; i < coordinates; i++) {
      list.add(Attributes.alias(frame.block().get(i), like.block().get(i).name()));
    }
    for (Attribute column : like.further()) {
      list.add(
          Attributes.alias(
              GroupingColumns.named(frame.further(), column).orElseThrow(), column.name()));
    }
    return new Project(ScalaInterop.seq(list), frame.plan());
  }

  private static Optional<Shape> shape(BlockFrame frame) {
    return frame
        .blockShape()
        .filter(shape -> Arrays.stream(shape.toArray()).allMatch(extent -> extent > 0));
  }

  private static BlockFrame stating(BlockFrame frame, Optional<Shape> extents) {
    return extents.isEmpty() || frame.extents().isPresent()
        ? frame
        : frame.stating(frame.metadata().withExtents(extents.get()));
  }

  private static BlockFrame inBlocks(BlockFrame frame, Shape shape) {
    return frame.stating(frame.metadata().withBlockShape(shape));
  }

  private static BlockFrame of(BlockFrame frame, LogicalPlan plan) {
    return BlockFrame.of(plan, frame.kind(), frame.operator());
  }

  // ---- how arrays are cut of which no metadata tells

  /** One row for each array: its further columns and its {@link CutSummary}. */
  private static LogicalPlan summary(
      BlockFrame frame, Function<LogicalPlan, Dataset<Row>> asDataset) {
    List<NamedExpression> list = new ArrayList<>();
    List<Attribute> further = frame.further();
    for (int i = 0; i < further.size(); i++) {
      list.add(Attributes.alias(further.get(i), "g" + i));
    }
    list.add(
        Attributes.alias(
            new CutSummary(
                    frame.kind(),
                    ScalaInterop.option(frame.extents()),
                    ScalaInterop.<Expression>seq(frame.block().subList(0, 2 * frame.kind().rank())),
                    0,
                    0)
                .toAggregateExpression(),
            "cut"));
    return new Aggregate(
        ScalaInterop.<Expression>seq(further),
        ScalaInterop.seq(list),
        frame.places(asDataset),
        ScalaInterop.none());
  }

  /** SQL expressions that summarise all arrays of one side; {@link Found} reads the result. */
  private static String[] totals(BlockFrame frame, int side) {
    int rank = frame.kind().rank();
    String groups =
        IntStream.range(0, frame.further().size())
            .mapToObj(i -> "g" + i + ", ")
            .collect(Collectors.joining());
    Stream<String> numbers =
        Stream.of(
            side + " AS side",
            "count(1)",
            "min(cut[0])",
            "min(cut[1])",
            "bit_xor(xxhash64(" + groups + "cut[2]))");
    Stream<String> perAxis =
        IntStream.range(3, 3 + 2 * rank)
            .boxed()
            .flatMap(i -> Stream.of("max(cut[" + i + "])", "min(cut[" + i + "])"));
    return Stream.concat(numbers, perAxis).toArray(String[]::new);
  }

  /**
   * The cuts of the arrays of one side.
   *
   * @param arrays number of arrays
   * @param isTiled true if each array is tiled by its blocks
   * @param isGrid true if each array is cut into a grid, and all arrays into cells of one shape
   * @param digest digest of the cuts: equal for equal cuts of arrays with the same further columns
   * @param ends farthest end of the blocks of any array, along each axis
   * @param endAlike true if the blocks of all arrays end there
   * @param largest elements of the largest block along each axis; zeros if there is no block
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Found(
      long arrays,
      boolean isTiled,
      boolean isGrid,
      long digest,
      long[] ends,
      boolean endAlike,
      long[] largest) {
    static Found of(Row row, int rank) {
      boolean isNone = row.getLong(1) == 0; // in that case all aggregates are null
      long[] most = new long[2 * rank];
      long[] least = new long[2 * rank];
      for (int i = 0; i < 2 * rank && !isNone; i++) {
        most[i] = row.getLong(5 + 2 * i);
        least[i] = row.getLong(6 + 2 * i);
      }
      long[] largest = Arrays.copyOfRange(most, rank, 2 * rank);
      return new Found(
          row.getLong(1),
          isNone || row.getLong(2) == 1,
          !isNone
              && row.getLong(3) == 1
              && Arrays.equals(largest, Arrays.copyOfRange(least, rank, 2 * rank))
              && largest[0] > 0,
          isNone ? 0 : row.getLong(4),
          Arrays.copyOf(most, rank),
          Arrays.equals(most, 0, rank, least, 0, rank),
          largest);
    }

    boolean hasBlocks() {
      return largest[0] > 0;
    }

    boolean hasCutOf(Found other) {
      return arrays == other.arrays && digest == other.digest;
    }

    /**
     * The extents of all arrays, by the ends of the blocks of both sides; empty if they differ, if
     * there is no block, or if there are too many elements to count.
     *
     * @param isOne true if each side has one array
     */
    static Optional<Shape> commonEnds(Found one, Found two, boolean isOne) {
      long[] ends = new long[one.ends.length];
      Arrays.setAll(ends, axis -> Math.max(one.ends[axis], two.ends[axis]));
      boolean areAlike = isOne || one.endAlike && two.endAlike && Arrays.equals(one.ends, two.ends);
      double elements = Arrays.stream(ends).mapToDouble(end -> end).reduce(1, (a, b) -> a * b);
      // The reader of the rows reports a block at a wrong place.
      return areAlike && elements > 0 && elements < KnownArray.TOO_MANY_ELEMENTS
          ? Optional.of(Shape.of(ends))
          : Optional.empty();
    }
  }
}
