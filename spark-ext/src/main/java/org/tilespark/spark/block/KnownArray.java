package org.tilespark.spark.block;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.EagerQuery;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.catalyst.WithoutValues;
import org.tilespark.spark.options.Missing;

/**
 * Facts of an array that are known during planning, or of several arrays that further columns
 * distinguish.
 *
 * @param extents extents of the whole array; with several arrays, the largest along each axis
 * @param alike true if all arrays are known to have these extents
 * @param largest elements of the largest block along each axis, at least 1
 * @param whole for each axis, true if every block is known to be whole along it
 */
public record KnownArray(Shape extents, boolean alike, Shape largest, List<Boolean> whole) {
  /**
   * Limit for the number of elements: below it their bytes can be counted in a long for every type,
   * with a margin for arithmetic.
   */
  public static final long TOO_MANY_ELEMENTS = 1L << 58;

  /** An array is too sparse if its blocks hold less than one in this number of its elements. */
  private static final int SPARSE = 64;

  /**
   * The array as the metadata states it. If that states no extents, a query over the coordinate
   * columns runs now: it reads no values, and for blocks that are made from a table's rows it
   * counts the rows.
   *
   * @param missing meaning of missing blocks
   * @param asDataset turns a plan into a DataFrame
   * @param operator operator's name, for messages
   * @throws IllegalArgumentException that names the block that reaches farthest, if an array up to
   *     that block would have {@link #TOO_MANY_ELEMENTS}, or if almost all of it is missing
   *     although it must be complete
   */
  public static KnownArray of(
      LogicalPlan input,
      BlockSchema blocks,
      Missing missing,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    int rank = blocks.kind().rank();
    List<Attribute> columns = ScalaInterop.list(input.output());
    ArrayMetadata metadata = ArrayMetadata.of(columns.get(blocks.values()).metadata());
    Optional<Shape> extents = metadata.extents(rank);
    if (extents.isPresent()) {
      return stated(extents.get(), metadata.blockShape(rank));
    }
    Streaming.refuse(operator, input);
    List<Expression> groups = List.copyOf(GroupingColumns.of(blocks, columns, operator));
    List<Expression> read = new ArrayList<>(groups);
    Stream.concat(blocks.offsets().stream(), blocks.sizes().stream())
        .forEach(position -> read.add(columns.get(position)));
    LogicalPlan places = WithoutValues.of(asDataset.apply(input), read);
    Optional<KnownArray> counted =
        groups.isEmpty() ? counted(places, read, asDataset, operator) : Optional.empty();
    if (counted.isPresent()) {
      return counted.get();
    }
    Row found = found(asDataset.apply(perArray(places, blocks, columns, groups)), rank, operator);
    Optional<String> defect = defect(found, rank, missing);
    if (defect.isPresent()) {
      throw new IllegalArgumentException(
          "%s; an array that reaches as far as the blocks has %s (in %s)"
              .formatted(
                  farthest(found, blocks.kind(), asDataset.apply(input), operator),
                  defect.get(),
                  operator));
    }
    return of(found, rank);
  }

  /** True if all blocks cover the whole array along every axis but {@code axis}. */
  public boolean isSlabs(int axis) {
    return IntStream.range(0, whole.size()).allMatch(each -> each == axis || whole.get(each));
  }

  /** True if each array is known to be one block. */
  public boolean isOneBlock() {
    return whole.stream().allMatch(each -> each);
  }

  private static KnownArray stated(Shape extents, Optional<Shape> blockShape) {
    long[] largest = new long[extents.rank()];
    List<Boolean> whole = new ArrayList<>();
    for (int axis = 0; axis < largest.length; axis++) {
      long extent = extents.extent(axis);
      long block = blockShape.isPresent() ? blockShape.get().extent(axis) : extent;
      largest[axis] = Math.max(1, Math.min(block, extent));
      whole.add(blockShape.isPresent() && block >= extent);
    }
    return new KnownArray(extents, true, Shape.of(largest), List.copyOf(whole));
  }

  /** The array derived from the count of a table's rows, if each row becomes a row of blocks. */
  private static Optional<KnownArray> counted(
      LogicalPlan places,
      List<Expression> read,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    List<Attribute> columns = read.stream().map(Attribute.class::cast).toList();
    Attributes.Source source = Attributes.belowProjections(places, columns).orElse(null);
    if (source == null || !(source.plan() instanceof BlocksOfRows blocks)) {
      return Optional.empty();
    }
    List<Attribute> made = ScalaInterop.<Attribute>list(blocks.produced()).subList(0, 4);
    boolean isTransposed = source.columns().get(0).equals(made.get(1));
    List<Integer> order = isTransposed ? List.of(1, 0, 3, 2) : List.of(0, 1, 2, 3);
    if (!source.columns().equals(order.stream().map(made::get).toList())) {
      return Optional.empty(); // columns that are not the places that the node gives to its blocks
    }
    return blocks
        .rows()
        .map(
            rows -> {
              long count = run(asDataset.apply(rows), operator, Dataset::count);
              long most = blocks.blockShape().extent(0);
              long cols = blocks.blockShape().extent(1);
              Permutation axes = Permutation.of(order.get(0), order.get(1));
              return new KnownArray(
                  axes.apply(Shape.of(count, count == 0 ? 0 : cols)),
                  true,
                  axes.apply(Shape.of(Math.max(1, Math.min(most, count)), cols)),
                  // Each block has all columns, and blocks end where partitions of rows do.
                  List.of(isTransposed, !isTransposed));
            });
  }

  /**
   * One row of facts of all arrays together: extremes over the rows of {@link #perArray}, from one
   * query.
   */
  private static Row found(Dataset<Row> arrays, int rank, String operator) {
    List<String> aggregates = new ArrayList<>();
    for (String name : List.of("most", "end", "largest", "smallest")) {
      for (int axis = 0; axis < rank; axis++) {
        aggregates.add(
            switch (name) {
              case "most" -> "max(end" + axis + ")";
              case "end" -> "min(end" + axis + ")";
              case "largest" -> "max(largest" + axis + ")";
              default -> "min(smallest" + axis + " - end" + axis + ")";
            });
      }
    }
    // Counts of elements (within the extents, and held by blocks at most) of the sparsest array.
    String elements = product("1L", "end", rank);
    String held = product("blocks", "largest", rank);
    String sparsity = "try_divide(CAST(" + elements + " AS DOUBLE), " + held + ")";
    aggregates.add("max_by(" + elements + ", " + sparsity + ")");
    aggregates.add("max_by(" + held + ", " + sparsity + ")");
    return run(arrays.selectExpr(aggregates.toArray(String[]::new)), operator, Dataset<Row>::first);
  }

  private static <T> T run(Dataset<Row> query, String operator, Function<Dataset<Row>, T> action) {
    return EagerQuery.run(
        query,
        operator + " finds the extents, which no metadata states (withExtents states them)",
        action);
  }

  /**
   * SQL text of the product of {@code first} and one column for each axis, {@code name0}, {@code
   * name1} and so on; the product is null if it overflows a BIGINT.
   */
  private static String product(String first, String name, int rank) {
    String product = first;
    for (int axis = 0; axis < rank; axis++) {
      product = "try_multiply(" + product + ", CAST(" + name + axis + " AS BIGINT))";
    }
    return product;
  }

  /**
   * The defect of the arrays' counts of elements, if any. A wrong place or size may make an array
   * too large to count, or mostly a hole, and many tasks would be planned for it before the blocks
   * are checked.
   */
  private static Optional<String> defect(Row found, int rank, Missing missing) {
    BigInteger elements = elements(found, rank);
    if (elements.signum() == 0) {
      return Optional.empty();
    }
    if (elements.compareTo(BigInteger.valueOf(TOO_MANY_ELEMENTS)) >= 0) {
      return Optional.of(elements + " elements, expected fewer than 2^58");
    }
    if (missing != Missing.ERROR || found.isNullAt(4 * rank)) {
      return Optional.empty();
    }
    long ofOne = found.getLong(4 * rank);
    long held = found.getLong(4 * rank + 1);
    return ofOne > (double) held * SPARSE
        ? Optional.of(
            "%s elements, of which the blocks hold %s at most; expected no hole (%s)"
                .formatted(ofOne, held, Missing.HELP))
        : Optional.empty();
  }

  /** The product of the largest extents; 0 if there are no blocks. */
  private static BigInteger elements(Row found, int rank) {
    BigInteger product = BigInteger.ONE;
    for (int axis = 0; axis < rank; axis++) {
      product =
          product.multiply(BigInteger.valueOf(found.isNullAt(axis) ? 0 : found.getLong(axis)));
    }
    return product;
  }

  /** The block that reaches farthest and its end, for a message. */
  private static String farthest(Row found, BlockKind kind, Dataset<Row> blocks, String operator) {
    int farthest = 0;
    for (int axis = 0; axis < kind.rank(); axis++) {
      farthest = found.getLong(axis) > found.getLong(farthest) ? axis : farthest;
    }
    String offset = kind.offsetColumns().get(farthest);
    String end = "CAST(" + offset + " AS DECIMAL(20)) + " + kind.sizeColumns().get(farthest);
    Dataset<Row> byEnd =
        blocks
            .where(String.join(" IS NOT NULL AND ", kind.offsetColumns()) + " IS NOT NULL")
            // The reader of blocks reports blocks with larger ends.
            .where(end + " <= " + Long.MAX_VALUE)
            .orderBy(functions.expr(end).desc())
            .selectExpr(kind.offsetColumns().toArray(String[]::new));
    List<Row> last = run(byEnd, operator, rows -> rows.takeAsList(1));
    long[] place = new long[kind.rank()];
    for (int axis = 0; axis < place.length && !last.isEmpty(); axis++) {
      place[axis] = last.get(0).getLong(axis);
    }
    return "%s: it ends at %s %s"
        .formatted(
            last.isEmpty() ? "a block" : kind.describe(place), offset, found.getLong(farthest));
  }

  private static KnownArray of(Row found, int rank) {
    long[] extents = new long[rank];
    long[] largest = new long[rank];
    List<Boolean> whole = new ArrayList<>();
    boolean alike = true;
    for (int axis = 0; axis < rank; axis++) {
      boolean isKnown = !found.isNullAt(axis);
      extents[axis] = isKnown ? found.getLong(axis) : 0;
      alike &= isKnown && found.getLong(rank + axis) == extents[axis];
      largest[axis] = isKnown ? Math.max(1, found.getInt(2 * rank + axis)) : 1;
      whole.add(isKnown && found.getLong(3 * rank + axis) == 0);
    }
    return new KnownArray(Shape.of(extents), alike, Shape.of(largest), List.copyOf(whole));
  }

  /**
   * One row per array: its end, its largest and smallest block along each axis, and its count of
   * blocks.
   */
  private static LogicalPlan perArray(
      LogicalPlan input, BlockSchema blocks, List<Attribute> columns, List<Expression> groups) {
    List<NamedExpression> outputs = new ArrayList<>();
    for (int axis = 0; axis < blocks.kind().rank(); axis++) {
      Attribute offset = columns.get(blocks.offsets().get(axis));
      Attribute size = columns.get(blocks.sizes().get(axis));
      outputs.add(aggregate(new Max(BlockEnd.of(offset, size)), "end" + axis));
      outputs.add(aggregate(new Max(size), "largest" + axis));
      outputs.add(aggregate(new Min(size), "smallest" + axis));
    }
    Expression one = new Literal(1, DataTypes.IntegerType);
    outputs.add(aggregate(new Count(ScalaInterop.seq(one)), "blocks"));
    return new Aggregate(
        ScalaInterop.seq(groups), ScalaInterop.seq(outputs), input, ScalaInterop.none());
  }

  private static NamedExpression aggregate(AggregateFunction function, String name) {
    return Attributes.alias(function.toAggregateExpression(), name);
  }

  @Override
  public String toString() {
    return extents + " in blocks of at most " + Arrays.toString(largest.toArray());
  }
}
