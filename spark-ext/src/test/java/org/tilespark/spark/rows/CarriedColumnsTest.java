package org.tilespark.spark.rows;

import static org.apache.spark.sql.functions.expr;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.SQLUserDefinedType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.UserDefinedType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.transfer.Transfers;

/** Further columns of every type: carried by operators that work block by block, or keys. */
class CarriedColumnsTest extends SparkTest {
  /** A text with a type of its own. */
  @SQLUserDefinedType(udt = NameType.class) // Spark 4.0 asks for it
  static final class Name implements java.io.Serializable {
    private static final long serialVersionUID = 1;

    private final String text;

    Name(String text) {
      this.text = text;
    }

    @Override
    public boolean equals(Object o) {
      return o instanceof Name that && text.equals(that.text);
    }

    @Override
    public int hashCode() {
      return text.hashCode();
    }

    @Override
    public String toString() {
      return text;
    }
  }

  /** Its type; public with a public constructor, since Spark makes one by reflection. */
  public static final class NameType extends UserDefinedType<Name> {
    private static final long serialVersionUID = 1;

    @Override
    public DataType sqlType() {
      return new StructType().add("text", DataTypes.StringType);
    }

    @Override
    public Object serialize(Name name) {
      return new org.apache.spark.sql.catalyst.expressions.GenericInternalRow(
          new Object[] {UTF8String.fromString(name.text)});
    }

    @Override
    public Name deserialize(Object datum) {
      return new Name(
          ((org.apache.spark.sql.catalyst.InternalRow) datum).getUTF8String(0).toString());
    }

    @Override
    public Class<Name> userClass() {
      return Name.class;
    }
  }

  @BeforeAll
  static void allowTimes() {
    spark.conf().set("spark.sql.timeType.enabled", "true"); // unknown before Spark 4.1
  }

  @AfterAll
  static void forbidTimes() {
    spark.conf().unset("spark.sql.timeType.enabled");
  }

  /** A value of each type in SQL that differs with {@code id}; every third is null. */
  private static final Map<String, String> VALUES = new LinkedHashMap<>();

  static {
    VALUES.put("VOID", "NULL");
    VALUES.put("BOOLEAN", "id % 2 = 0");
    VALUES.put("TINYINT", "CAST(id AS TINYINT)");
    VALUES.put("SMALLINT", "CAST(id AS SMALLINT)");
    VALUES.put("FLOAT", "CAST(id AS FLOAT) / 3");
    VALUES.put("DOUBLE", "CAST(id AS DOUBLE) / 3");
    VALUES.put("DECIMAL(9,2)", "CAST(id AS DECIMAL(9, 2)) / 4");
    VALUES.put("DECIMAL(38,10)", "CAST(id AS DECIMAL(38, 10))");
    VALUES.put("DATE", "date_add(DATE'2026-01-01', CAST(id AS INT))");
    VALUES.put("TIMESTAMP", "timestamp_seconds(id)");
    VALUES.put("TIMESTAMP_NTZ", "CAST(timestamp_seconds(id) AS TIMESTAMP_NTZ)");
    VALUES.put("BINARY", "CAST(repeat('b', CAST(id AS INT)) AS BINARY)");
    VALUES.put("STRING", "repeat('s', CAST(id AS INT))");
    VALUES.put("STRING COLLATE UTF8_LCASE", "concat('Ab', id) COLLATE UTF8_LCASE");
    VALUES.put("STRING COLLATE UNICODE", "concat('Ab', id) COLLATE UNICODE");
    VALUES.put("VARIANT", "parse_json(concat('{\"a\": [', id, ', \"x\"]}'))");
    VALUES.put("MAP", "map('k', id, 'l', NULL)");
    VALUES.put("MAP OF ROWS", "map(id, named_struct('m', map('n', array(id))))");
    VALUES.put("INTERVAL YEAR TO MONTH", "make_ym_interval(1, CAST(id AS INT))");
    VALUES.put("INTERVAL DAY TO SECOND", "make_dt_interval(1, CAST(id AS INT))");
    VALUES.put("INTERVAL", "make_interval(1, CAST(id AS INT), 0, 3)");
    VALUES.put("TIME", "make_time(CAST(id AS INT), 2, 3.5)");
    VALUES.put(
        "STRUCT", "named_struct('a', id, 'b', named_struct('c', concat('c', id), 'n', NULL))");
    VALUES.put("ARRAY", "array(id, NULL, id + 1)");
    VALUES.put("ARRAY OF ARRAYS", "array(array('x', concat('y', id)), array(), NULL)");
    VALUES.put(
        "ARRAY OF ROWS", "array(named_struct('v', parse_json('[1]'), 'i', make_interval(id)))");
    VALUES.put("ARRAY<FLOAT>", "array(CAST(id AS FLOAT), 1.5F)");
  }

  private static List<String> types() {
    boolean hasTime = spark.version().compareTo("4.1") >= 0;
    return VALUES.keySet().stream().filter(type -> hasTime || !type.equals("TIME")).toList();
  }

  private static final List<String> MATRIX_COLUMNS =
      List.of(
          "id DIV 4 * 2 AS row",
          "id % 4 * 3 AS col",
          "2 AS rows",
          "3 AS cols",
          "array(1F, 2F, 3F, 4F, 5F, CAST(id AS FLOAT)) AS values");

  private static final List<String> VOLUME_COLUMNS =
      List.of(
          "id * 2 AS x",
          "0L AS y",
          "0L AS z",
          "2 AS nx",
          "2 AS ny",
          "2 AS nz",
          "transform(sequence(1, 8), e -> CAST(e * id AS FLOAT)) AS values");

  /** Twelve blocks of 2 x 3 with a further column of each type, which is named after it. */
  private static Dataset<Row> matrix(List<String> types, UnaryOperator<String> value) {
    return withTypes(spark.range(0, 12, 1, 2), MATRIX_COLUMNS, types, value);
  }

  /** Three slabs of 2 x 2 x 2 along x, which is 6, likewise. */
  private static Dataset<Row> volume(List<String> types, UnaryOperator<String> value) {
    Dataset<Row> df = withTypes(spark.range(0, 3, 1, 2), VOLUME_COLUMNS, types, value);
    return df.withMetadata(
        "values",
        ArrayMetadata.empty()
            .withExtents(Shape.of(6, 2, 2))
            .withBlockShape(Shape.of(2, 2, 2))
            .toMetadata());
  }

  private static Dataset<Row> withTypes(
      Dataset<Long> ids, List<String> block, List<String> types, UnaryOperator<String> value) {
    List<String> columns = new ArrayList<>();
    types.forEach(type -> columns.add(value.apply(VALUES.get(type)) + " AS `" + type + "`"));
    columns.addAll(block);
    return ids.selectExpr(columns.toArray(String[]::new));
  }

  /** Another value in each block, and some nulls. */
  private static String varied(String value) {
    return "IF(id % 3 = 1, NULL, " + value + ")";
  }

  /** An equal value in all blocks, which are one array then. */
  private static String alike(String value) {
    return value.replace("id", "7L");
  }

  private static void assertCarried(
      Dataset<Row> from, List<String> place, Dataset<Row> to, List<String> placeThere) {
    assertEquals(extras(from, place), extras(to, placeThere));
  }

  /** All columns that are none of a block's own, by place and name. */
  private static Map<String, String> extras(Dataset<Row> df, List<String> place) {
    List<String> columns = new ArrayList<>();
    place.forEach(name -> columns.add("`" + name + "`"));
    for (String name : df.columns()) {
      if (name.matches("[A-Z].*")) {
        // An array of bytes has no text of its own.
        columns.add(name.equals("BINARY") ? "hex(BINARY) AS BINARY" : "`" + name + "`");
      }
    }
    Map<String, String> extras = new TreeMap<>();
    for (Row row : df.selectExpr(columns.toArray(String[]::new)).collectAsList()) {
      String at = row.get(0) + "," + row.get(1);
      for (int i = place.size(); i < row.length(); i++) {
        extras.put(at + " " + row.schema().fieldNames()[i], String.valueOf(row.get(i)));
      }
    }
    return extras;
  }

  @Tag("versions")
  @Test
  void everyTypePassesThroughOperatorsOnBlocks() {
    Dataset<Row> matrix = matrix(types(), CarriedColumnsTest::varied);
    assertEquals(12 * types().size(), extras(matrix, List.of("row", "col")).size());
    List<String> transposed = List.of("col", "row");
    assertCarried(matrix, List.of("row", "col"), MatrixBlocks.transpose(matrix), transposed);
    assertCarried(
        matrix,
        List.of("row", "col"),
        MatrixBlocks.transpose(MatrixBlocks.scale(matrix, 2)),
        transposed);
    Dataset<Row> bytes = Transfers.pack(BlockKind.MATRIX, matrix);
    assertCarried(matrix, List.of("row", "col"), bytes, List.of("row", "col"));
    assertCarried(
        matrix,
        List.of("row", "col"),
        Transfers.unpack(BlockKind.MATRIX, bytes),
        List.of("row", "col"));
    Dataset<Row> volume = volume(types(), CarriedColumnsTest::varied);
    List<String> place = List.of("x", "y");
    assertCarried(volume, place, VolumeBlocks.permute(volume, "xzy"), place);
    Dataset<Row> lines = VolumeBlocks.fft(volume, FftOptions.defaults().withAxes("yz"));
    assertCarried(volume, place, lines, place);
    assertCarried(
        volume, place, VolumeBlocks.permute(VolumeBlocks.lowPass(lines, 0.3), "xzy"), place);
  }

  @Test
  void inEveryModeOfExecution() {
    Dataset<Row> matrix = matrix(types(), CarriedColumnsTest::varied);
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () ->
              assertCarried(
                  matrix,
                  List.of("row", "col"),
                  MatrixBlocks.transpose(matrix),
                  List.of("col", "row")));
    }
  }

  @Test
  void columnsKeepTheirTypes() {
    Dataset<Row> matrix = matrix(types(), CarriedColumnsTest::varied);
    StructType schema = MatrixBlocks.transpose(matrix).schema();
    for (String type : types()) {
      assertEquals(matrix.schema().apply(type).dataType(), schema.apply(type).dataType());
    }
  }

  @Test
  void typesOfUsersPassThrough() {
    List<Row> rows =
        List.of(
            RowFactory.create(0L, 0L, 1, 2, List.of(1f, 2f), new Name("first")),
            RowFactory.create(0L, 2L, 1, 2, List.of(3f, 4f), null));
    StructType schema =
        new StructType(
            new StructField[] {
              DataTypes.createStructField("row", DataTypes.LongType, false),
              DataTypes.createStructField("col", DataTypes.LongType, false),
              DataTypes.createStructField("rows", DataTypes.IntegerType, false),
              DataTypes.createStructField("cols", DataTypes.IntegerType, false),
              DataTypes.createStructField(
                  "values", DataTypes.createArrayType(DataTypes.FloatType), false),
              DataTypes.createStructField("UDT", new NameType(), true)
            });
    Dataset<Row> df = spark.createDataFrame(rows, schema);
    assertCarried(df, List.of("row", "col"), MatrixBlocks.transpose(df), List.of("col", "row"));
    Dataset<Row> nested =
        df.selectExpr("row", "col", "rows", "cols", "values", "array(`UDT`) AS `ARRAY OF UDT`");
    assertCarried(
        nested, List.of("row", "col"), MatrixBlocks.transpose(nested), List.of("col", "row"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"CHAR(4)", "VARCHAR(4)"})
  void textsOfBoundedLength(String type) {
    with(
        Map.of("spark.sql.preserveCharVarcharTypeInfo", "true"),
        () -> {
          Dataset<Row> df =
              matrix(List.of(), UnaryOperator.identity())
                  .withColumn("TEXT", expr("CAST(col AS " + type + ")"));
          assertCarried(
              df, List.of("row", "col"), MatrixBlocks.transpose(df), List.of("col", "row"));
        });
  }

  /** Spark has them since 4.1, and lets users make them if a setting says so. */
  @Test
  void geometriesPassThrough() {
    with(
        Map.of("spark.sql.geospatial.enabled", "true"),
        () -> {
          boolean hasThem = spark.catalog().functionExists("st_geomfromwkb");
          assumeTrue(hasThem, "this Spark has no geometries");
          String point = "X'0101000000000000000000F03F0000000000000040'";
          Dataset<Row> df =
              matrix(List.of(), UnaryOperator.identity())
                  .withColumn("G", expr("IF(col = 3, NULL, st_geomfromwkb(" + point + "))"));
          String hex = "hex(st_asbinary(G)) AS `WKB`";
          assertCarried(
              df.selectExpr("row", "col", hex),
              List.of("row", "col"),
              MatrixBlocks.transpose(df).selectExpr("row", "col", hex),
              List.of("col", "row"));
        });
  }

  /** Operators that combine blocks, each of which takes further columns for keys. */
  private static Map<String, UnaryOperator<Dataset<Row>>> combining() {
    Map<String, UnaryOperator<Dataset<Row>>> operators = new LinkedHashMap<>();
    operators.put(
        "MatrixBlocks.multiply", m -> MatrixBlocks.multiply(m, MatrixBlocks.transpose(m)));
    operators.put("MatrixBlocks.gram", MatrixBlocks::gram);
    operators.put("MatrixBlocks.reblock", m -> MatrixBlocks.reblock(m, 3, 3));
    operators.put("MatrixBlocks.add", m -> MatrixBlocks.add(m, m));
    operators.put("MatrixBlocks.center", MatrixBlocks::center);
    operators.put("MatrixBlocks.svd ", m -> MatrixBlocks.svd(m).u());
    operators.put("MatrixBlocks.pca ", m -> MatrixBlocks.pca(m, 1).scores());
    operators.put("MatrixBlocks.rank", MatrixBlocks::rank);
    operators.put("MatrixBlocks.lstsq ", m -> MatrixBlocks.lstsq(m, m).x());
    operators.put("validate", MatrixBlocks::validate);
    return operators;
  }

  private static Map<String, UnaryOperator<Dataset<Row>>> combiningVolumes() {
    Map<String, UnaryOperator<Dataset<Row>>> operators = new LinkedHashMap<>();
    operators.put("VolumeBlocks.reblock", v -> VolumeBlocks.reblock(v, 2, 1, 2));
    operators.put("VolumeBlocks.slabs", v -> VolumeBlocks.slabs(v, "y"));
    operators.put("VolumeBlocks.pencils", v -> VolumeBlocks.pencils(v, "x"));
    operators.put("VolumeBlocks.fft", VolumeBlocks::fft);
    operators.put(
        "VolumeBlocks.fft in slabs ",
        v -> VolumeBlocks.fft(v, FftOptions.defaults().withDecomposition("slabs")));
    operators.put(
        "VolumeBlocks.fft without a trend ",
        v -> VolumeBlocks.fft(v, FftOptions.defaults().withAxes("yz").withDetrend("mean")));
    operators.put(
        "VolumeBlocks.radialAverage",
        v -> VolumeBlocks.radialAverage(VolumeBlocks.fft(v, FftOptions.defaults().withAxes("yz"))));
    operators.put("VolumeBlocks.add", v -> VolumeBlocks.add(v, v));
    operators.put("VolumeBlocks.multiplyPointwise", v -> VolumeBlocks.multiplyPointwise(v, v));
    operators.put("validate", VolumeBlocks::validate);
    return operators;
  }

  /** Types that have no order. */
  private static final List<String> NO_KEYS =
      List.of("VARIANT", "MAP", "MAP OF ROWS", "INTERVAL", "ARRAY OF ROWS");

  @Test
  void keysWithoutOrderAreRefusedByName() {
    for (String type : NO_KEYS) {
      Dataset<Row> matrix = matrix(List.of(type), CarriedColumnsTest::alike);
      combining().forEach((name, f) -> assertRefused(name, type, matrix, f));
      Dataset<Row> volume = volume(List.of(type), CarriedColumnsTest::alike);
      combiningVolumes().forEach((name, f) -> assertRefused(name, type, volume, f));
    }
  }

  private static void assertRefused(
      String operator, String column, Dataset<Row> df, UnaryOperator<Dataset<Row>> f) {
    String message = reasonOf(() -> f.apply(df));
    String type = df.schema().apply(column).dataType().sql();
    assertTrue(message.contains(operator.replaceAll(" .*", "")), message);
    assertTrue(message.contains("further column " + column + " is " + type), message);
    assertTrue(message.contains("drop"), message);
  }

  @Test
  void otherTypesAreKeys() {
    List<String> keys = new ArrayList<>(types());
    keys.removeAll(NO_KEYS);
    combiningVolumes()
        .forEach((name, f) -> assertRuns(name, f.apply(volume(keys, CarriedColumnsTest::alike))));
    combining()
        .forEach(
            (name, f) -> {
              List<String> taken = new ArrayList<>(keys);
              if (name.endsWith("multiply") || name.endsWith("gram") || name.contains("pca")) {
                taken.removeAll(NOT_STABLE);
              }
              assertRuns(name, f.apply(matrix(taken, CarriedColumnsTest::alike)));
            });
  }

  /** Good blocks have no defects; all other operators give something. */
  private static void assertRuns(String operator, Dataset<Row> df) {
    assertEquals(operator.equals("validate"), df.count() == 0, operator);
  }

  /** Types whose equal values may have other bytes, by which products distinguish matrices. */
  private static final List<String> NOT_STABLE =
      List.of(
          "FLOAT", "DOUBLE", "ARRAY<FLOAT>", "STRING COLLATE UTF8_LCASE", "STRING COLLATE UNICODE");

  @Test
  void productsRefuseKeysOfOtherBytes() {
    for (String type : NOT_STABLE) {
      Dataset<Row> matrix = matrix(List.of(type), CarriedColumnsTest::alike);
      assertRefused("MatrixBlocks.gram", type, matrix, MatrixBlocks::gram);
    }
  }

  /** Blocks of other types than these. */
  @ParameterizedTest
  @ValueSource(strings = {"VARIANT", "MAP", "INTERVAL", "INTERVAL DAY TO SECOND", "VOID"})
  void blocksOfWrongTypes(String type) {
    for (String column : List.of("values", "row", "rows")) {
      Dataset<Row> df =
          matrix(List.of(type), CarriedColumnsTest::alike)
              .drop(column)
              .withColumnRenamed(type, column);
      DataType found = df.schema().apply(column).dataType();
      for (UnaryOperator<Dataset<Row>> operator :
          List.<UnaryOperator<Dataset<Row>>>of(
              MatrixBlocks::transpose,
              MatrixBlocks::gram,
              m -> MatrixBlocks.scale(m, 2),
              m -> MatrixBlocks.add(m, m),
              MatrixBlocks::center,
              m -> MatrixBlocks.reblock(m, 2, 2))) {
        assertFails(
            () -> operator.apply(df), "column " + column + " is " + found.sql(), "expected");
      }
    }
  }
}
