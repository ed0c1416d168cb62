package org.tilespark.spark.validate;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.GroupingColumns;
import org.tilespark.spark.block.StatedExtents;
import org.tilespark.spark.block.Streaming;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;

/**
 * Finds everything that is wrong with a DataFrame of blocks.
 *
 * <p>The result has the columns {@code code, block, found, expected}, all STRING, and no rows if
 * the data is good. Codes: {@code missingColumn}, {@code doubledColumn}, {@code columnType} (if
 * there are any of these, the rows are not checked); {@code nullCoordinate}, {@code
 * nonPositiveSize}, {@code negativeOffset}, {@code outsideExtents}, {@code nullValues}, {@code
 * nullElement}, {@code wrongLength} for single blocks; {@code overlap} and {@code hole} for blocks
 * together.
 *
 * <p>Further columns distinguish several arrays: blocks that differ in one belong to two arrays.
 * The extents of an array are those that the column metadata states, otherwise those that its
 * blocks reach.
 *
 * <p>The checks run when the result is read. Values are not moved: a first pass checks each row's
 * null bits and lengths; for holes and overlaps only places and sizes are shuffled, by the cells of
 * a grid of at most 4096 cells per array.
 */
public final class BlockValidator {
  private static final StructType DEFECT =
      new StructType()
          .add("code", DataTypes.StringType, false)
          .add("block", DataTypes.StringType, false)
          .add("found", DataTypes.StringType, false)
          .add("expected", DataTypes.StringType, false);

  private final BlockKind kind;
  private final int rank;
  private final BlockSchema schema;
  private final LogicalPlan input;
  private final Function<LogicalPlan, Dataset<Row>> asDataset;
  private final List<Attribute> columns;
  private final List<Integer> further;
  private final Optional<Shape> extents; // extents of the whole array, if stated
  private final DefectSql sql;

  private BlockValidator(
      LogicalPlan input,
      BlockKind kind,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    this.kind = kind;
    this.rank = kind.rank();
    this.schema = BlockSchema.find(input.schema(), kind, operator);
    schema.requireNoHalo(operator);
    this.input = input;
    this.asDataset = asDataset;
    this.columns = ScalaInterop.list(input.output());
    this.further =
        IntStream.range(0, columns.size())
            .filter(i -> !schema.blockColumns().contains(i))
            .boxed()
            .toList();
    GroupingColumns.requireOrdered(schema.further(columns), operator);
    Metadata metadata = columns.get(schema.values()).metadata();
    this.extents = ArrayMetadata.of(metadata).extents(rank);
    this.sql =
        new DefectSql(kind, extents, further.stream().map(i -> columns.get(i).name()).toList());
  }

  /**
   * The plan of all defects of blocks.
   *
   * @param input blocks, and columns that distinguish several arrays
   * @param kind kind of the blocks
   * @param stated extents of the whole array which replace those of the metadata
   * @param asDataset turns a plan into a DataFrame
   * @param operator operator's name, for messages
   * @return columns code, block, found, expected; no rows if the input is good
   * @throws IllegalArgumentException if the input is streaming
   */
  public static LogicalPlan validate(
      LogicalPlan input,
      BlockKind kind,
      Optional<StatedExtents> stated,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    Streaming.refuse(operator, input);
    List<Row> schemaDefects = SchemaDefects.of(input.schema(), kind);
    if (!schemaDefects.isEmpty()) {
      return plan(asDataset.apply(input).sparkSession().createDataFrame(schemaDefects, DEFECT));
    }
    BlockValidator validator =
        new BlockValidator(
            BlockFrame.withExtents(input, kind, stated, operator), kind, asDataset, operator);
    return plan(validator.rowDefects().union(validator.tilingDefects()));
  }

  private static LogicalPlan plan(Dataset<Row> df) {
    return ((org.apache.spark.sql.classic.Dataset<Row>) df).logicalPlan();
  }

  /** The columns g of groups, o of offsets and s of sizes, for a projection of the input. */
  private List<NamedExpression> places() {
    List<NamedExpression> list = new ArrayList<>();
    for (int i = 0; i < further.size(); i++) {
      list.add(Attributes.alias(columns.get(further.get(i)), "g" + i));
    }
    for (int axis = 0; axis < rank; axis++) {
      list.add(Attributes.alias(columns.get(schema.offsets().get(axis)), "o" + axis));
      list.add(Attributes.alias(columns.get(schema.sizes().get(axis)), "s" + axis));
    }
    return list;
  }

  private Dataset<Row> project(List<NamedExpression> list) {
    return asDataset.apply(new Project(ScalaInterop.seq(list), input));
  }

  // ---- what one row shows

  private Dataset<Row> rowDefects() {
    List<NamedExpression> facts = places();
    List<String> checks = new ArrayList<>();
    for (int axis = 0; axis < rank; axis++) {
      checks.addAll(sql.placeChecks(axis));
    }
    for (int part = 0; part < schema.planes().size(); part++) {
      Attribute array = columns.get(schema.planes().get(part));
      facts.add(Attributes.alias(fact(false, array), "length" + part));
      boolean mayHoldNulls = ((ArrayType) array.dataType()).containsNull();
      Expression firstNull =
          mayHoldNulls ? fact(true, array) : Literal.create(-1L, DataTypes.LongType);
      facts.add(Attributes.alias(firstNull, "null" + part));
      checks.addAll(sql.arrayChecks(part, part == 0 ? BlockKind.VALUES : BlockKind.IMAG));
    }
    return project(facts)
        .selectExpr("inline(filter(array(" + String.join(", ", checks) + "), d -> d IS NOT NULL))");
  }

  private static ArrayFact fact(boolean firstNull, Expression array) {
    return new ArrayFact(firstNull, ScalaInterop.seq(List.of(array)));
  }

  // ---- what blocks show together

  private Dataset<Row> tilingDefects() {
    List<String> sound = new ArrayList<>();
    List<String> longs = new ArrayList<>(names("g", further.size()));
    for (int axis = 0; axis < rank; axis++) {
      sound.add(
          "o" + axis + " >= 0 AND s" + axis + " >= 1 AND " + DefectSql.end(axis) + " IS NOT NULL");
      longs.add("o" + axis);
      longs.add("cast(s" + axis + " AS BIGINT) AS s" + axis);
    }
    Dataset<Row> boxes =
        project(places()).where(String.join(" AND ", sound)).selectExpr(strings(longs));
    Dataset<Row> arrays = arrays(boxes);
    Dataset<Row> cells = arrays;
    Dataset<Row> placed = joined(boxes, arrays);
    List<String> box = new ArrayList<>();
    for (int axis = 0; axis < rank; axis++) {
      String n = Integer.toString(axis);
      cells =
          cells.selectExpr("*", "explode(sequence(0L, (e" + n + " - 1) div c" + n + ")) AS k" + n);
      placed =
          placed
              .where("o" + n + " < e" + n)
              .selectExpr(
                  "*",
                  ("explode(sequence(o%s div c%s, (least(o%s + s%s, e%s) - 1) div"
                          + " c%s)) AS k%s")
                      .formatted(n, n, n, n, n, n, n));
      box.add("o" + n);
    }
    box.addAll(names("s", rank));
    String boxStruct = "struct(" + String.join(", ", box) + ") AS box";
    List<String> keys = new ArrayList<>(names("g", further.size()));
    for (String prefix : List.of("e", "c", "k")) {
      keys.addAll(names(prefix, rank));
    }
    List<String> both = new ArrayList<>(keys);
    both.add(boxStruct);
    Dataset<Row> touching = placed.selectExpr(strings(both));
    both.set(
        both.size() - 1,
        "cast(NULL AS " + touching.schema().apply("box").dataType().sql() + ") AS box");
    Column[] keyColumns = keys.stream().map(functions::col).toArray(Column[]::new);
    var check = functions.udf(new CellCheck(kind), DataTypes.createArrayType(DEFECT));
    return touching
        .union(cells.selectExpr(strings(both)))
        .groupBy(keyColumns)
        .agg(functions.collect_list("box").as("boxes"))
        .select(
            functions.inline(
                check.apply(
                    functions.col("boxes"),
                    functions.expr("array(" + perAxis("k# * c#") + ")"),
                    functions.expr(
                        "array(" + perAxis("if(e# - k# * c# < c#, e#, k# * c# + c#)") + ")"),
                    functions.expr(sql.groupText()))));
  }

  /** A row per array: its extents e, and the sizes c of the cells laid over it. */
  private Dataset<Row> arrays(Dataset<Row> boxes) {
    List<Column> measures = new ArrayList<>();
    for (int axis = 0; axis < rank; axis++) {
      measures.add(functions.expr("max(o" + axis + " + s" + axis + ")").as("e" + axis));
      measures.add(functions.expr("max(s" + axis + ")").as("m" + axis));
    }
    Column[] groups =
        names("g", further.size()).stream().map(functions::col).toArray(Column[]::new);
    Dataset<Row> measured =
        boxes
            .groupBy(groups)
            .agg(measures.get(0), measures.subList(1, measures.size()).toArray(new Column[0]));
    int cellsPerAxis = rank == 2 ? 64 : 16;
    int blocksPerCellAxis = rank == 2 ? 8 : 4;
    List<String> known = new ArrayList<>(names("g", further.size()));
    List<String> sized = new ArrayList<>(names("g", further.size()));
    for (int axis = 0; axis < rank; axis++) {
      int along = axis;
      String e = extents.map(all -> all.extent(along) + "L").orElse("e" + axis);
      known.add(e + " AS e" + axis);
      known.add("m" + axis);
      // A cell is as wide as several blocks, so that few blocks are in more than one.
      sized.add("e" + axis);
      sized.add(
          "greatest(coalesce(m%s, 1L) * %s, e%s div %s + 1) AS c%s"
              .formatted(axis, blocksPerCellAxis, axis, cellsPerAxis, axis));
    }
    return measured
        .selectExpr(strings(known))
        .where(perAxis("e# > 0").replace(", ", " AND "))
        .selectExpr(strings(sized));
  }

  /** The rows of boxes, each with its array's extents and cells. */
  private Dataset<Row> joined(Dataset<Row> boxes, Dataset<Row> arrays) {
    if (further.isEmpty()) {
      return boxes.crossJoin(arrays);
    }
    Dataset<Row> renamed = arrays;
    Column same = functions.lit(true);
    for (int i = 0; i < further.size(); i++) {
      renamed = renamed.withColumnRenamed("g" + i, "h" + i);
    }
    for (int i = 0; i < further.size(); i++) {
      same = same.and(boxes.col("g" + i).eqNullSafe(renamed.col("h" + i)));
    }
    return boxes.join(renamed, same);
  }

  private String perAxis(String template) {
    return IntStream.range(0, rank)
        .mapToObj(axis -> template.replace("#", Integer.toString(axis)))
        .collect(Collectors.joining(", "));
  }

  private static List<String> names(String prefix, int count) {
    return IntStream.range(0, count).mapToObj(i -> prefix + i).toList();
  }

  private static String[] strings(List<String> list) {
    return list.toArray(new String[0]);
  }
}
