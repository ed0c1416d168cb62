package org.tilespark.spark.pointwise;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.kernels.Sampling;
import org.tilespark.kernels.pointwise.RandomNumbers;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.stage.BlockStageExec;
import org.tilespark.spark.testing.DenseArray;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.SpreadRows;
import org.tilespark.spark.testing.TestField;
import org.tilespark.spark.testing.TestProduct;

/** Expressions on frames of blocks: what the operators do around the language. */
class MapAndZipTest extends SparkTest {
  /** Of one query: plans of more are slow to draw. */
  private static final int MOST_CASES = 12;

  // --- compared with numpy

  /**
   * Each element is computed in a block, or in several, wherever it is cut. Expressions of the same
   * arrays and with results of one type are one query, since most of its time does not depend on
   * them.
   */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void resultsAreNumpys(boolean adaptive) {
    Map<String, List<NumpyTable.Case>> queries =
        NumpyTable.CASES.stream()
            .filter(MapAndZipTest::isCalled)
            .collect(
                Collectors.groupingBy(
                    each -> each.operands() + " " + each.type(),
                    LinkedHashMap::new,
                    Collectors.toList()));
    with(
        Map.of("spark.sql.adaptive.enabled", Boolean.toString(adaptive)),
        () -> {
          int number = adaptive ? 1 : 0;
          for (List<NumpyTable.Case> cases : queries.values()) {
            for (int first = 0; first < cases.size(); first += MOST_CASES) {
              if (!Sampling.skips(number++, 17)) {
                assertNumpys(
                    cases.subList(first, Math.min(cases.size(), first + MOST_CASES)), number % 3);
              }
            }
          }
        });
  }

  /** Blocks begin at (0, 0, 0) here, and somewhere else in the table. */
  private static boolean isCalled(NumpyTable.Case given) {
    return !given.expression().matches(".*\\b(row|col|x|y|z)\\b.*")
        && List.of(List.of("v"), List.of("a", "b"))
            .contains(List.copyOf(given.operands().keySet()));
  }

  private static void assertNumpys(List<NumpyTable.Case> cases, int cut) {
    NumpyTable.Case any = cases.get(0);
    List<NumpyTable.Array> arrays =
        any.operands().values().stream().map(NumpyTable.ARRAYS::get).toList();
    List<Dataset<Row>> frames = arrays.stream().map(each -> frame(any.kind(), each, cut)).toList();
    Dataset<Row> results = null;
    for (int i = 0; i < cases.size(); i++) {
      Dataset<Row> result = computed(cases.get(i), frames);
      assertEquals(
          any.type().isBool(),
          metadata(result).fileType().equals(Optional.of(ArrayMetadata.BOOL)),
          cases.get(i)::toString);
      result = result.withColumn("number", functions.lit(i));
      results = results == null ? result : results.union(result);
    }
    List<Row> rows = results.collectAsList();
    Shape extents =
        Broadcasting.of(
                any.kind(),
                List.copyOf(any.operands().keySet()),
                arrays.stream().map(NumpyTable.Array::shape).toList())
            .extents();
    for (int i = 0; i < cases.size(); i++) {
      int number = i;
      List<Row> own = rows.stream().filter(row -> row.<Integer>getAs("number") == number).toList();
      assertNumpys(cases.get(i), own, extents);
    }
  }

  private static Dataset<Row> computed(NumpyTable.Case given, List<Dataset<Row>> frames) {
    boolean isMatrix = given.kind() == BlockKind.MATRIX;
    Dataset<Row> first = frames.get(0);
    if (frames.size() == 1) {
      return isMatrix
          ? MatrixBlocks.map(first, given.expression())
          : VolumeBlocks.map(first, given.expression());
    }
    return isMatrix
        ? MatrixBlocks.zip(first, frames.get(1), given.expression())
        : VolumeBlocks.zip(first, frames.get(1), given.expression());
  }

  private static void assertNumpys(NumpyTable.Case given, List<Row> rows, Shape extents) {
    ElementType type = given.type().element();
    List<ByteBuffer> planes = new ArrayList<>();
    for (String plane : given.type().isComplex() ? List.of("values", "imag") : List.of("values")) {
      planes.add(whole(rows, given.kind(), plane, extents, type));
    }
    ByteBuffer expected = NumpyTable.little(given.expected());
    for (int i = 0; i < extents.elements(); i++) {
      for (ByteBuffer plane : planes) {
        NumpyTable.assertNear(given, i, type, expected, plane);
      }
    }
  }

  /** An array as one block, as blocks of a grid with an edge, or as blocks of any size. */
  private static Dataset<Row> frame(BlockKind kind, NumpyTable.Array array, int cut) {
    int rank = kind.rank();
    ValueType type = array.type();
    List<Row> rows = new ArrayList<>();
    for (List<int[]> box : boxes(array.shape(), cut)) {
      List<Object> cells = new ArrayList<>();
      box.forEach(range -> cells.add((long) range[0]));
      box.forEach(range -> cells.add(range[1]));
      array
          .planes()
          .forEach(
              plane -> {
                byte[] bytes = new byte[Math.toIntExact(plane.bytes())];
                plane.copyTo(org.tilespark.kernels.memory.HostMemory.ofArray(bytes));
                List<Object> values = new ArrayList<>();
                forEach(
                    box,
                    array.shape(),
                    at -> values.add(number(NumpyTable.little(bytes), at, type.element())));
                cells.add(values);
              });
      rows.add(RowFactory.create(cells.toArray()));
    }
    StructType schema = new StructType();
    for (String name : kind.offsetColumns()) {
      schema = schema.add(name, DataTypes.LongType);
    }
    for (String name : kind.sizeColumns()) {
      schema = schema.add(name, DataTypes.IntegerType);
    }
    var values = DataTypes.createArrayType(BlockSchema.sparkType(type.element()));
    schema = schema.add("values", values);
    schema = type.isComplex() ? schema.add("imag", values) : schema;
    Dataset<Row> df = SpreadRows.of(spark, rows, schema, 1 + cut);
    assertEquals(rank, array.shape().rank());
    return type.isBool()
        ? df.withMetadata(
            "values", ArrayMetadata.empty().withFileType(ArrayMetadata.BOOL).toMetadata())
        : df;
  }

  /** Low and size along each axis, of all blocks. */
  private static List<List<int[]>> boxes(Shape shape, int cut) {
    List<List<int[]>> boxes = List.of(List.of());
    for (int axis = 0; axis < shape.rank(); axis++) {
      int extent = (int) shape.extent(axis);
      int step = cut == 0 ? extent : cut == 1 ? Math.max(1, extent / 2 + 1) : 3;
      List<List<int[]>> longer = new ArrayList<>();
      for (List<int[]> box : boxes) {
        for (int low = 0; low < extent; low += step) {
          List<int[]> one = new ArrayList<>(box);
          one.add(new int[] {low, Math.min(step, extent - low)});
          longer.add(one);
        }
      }
      boxes = longer;
    }
    return boxes;
  }

  private static void forEach(
      List<int[]> box, Shape shape, java.util.function.IntConsumer elementOfWhole) {
    int count = box.stream().mapToInt(range -> range[1]).reduce(1, (a, b) -> a * b);
    for (int i = 0; i < count; i++) {
      int rest = i;
      int at = 0;
      int stride = 1;
      for (int axis = shape.rank() - 1; axis >= 0; axis--) {
        at += (box.get(axis)[0] + rest % box.get(axis)[1]) * stride;
        rest /= box.get(axis)[1];
        stride *= (int) shape.extent(axis);
      }
      elementOfWhole.accept(at);
    }
  }

  private static Object number(ByteBuffer from, int at, ElementType type) {
    return switch (type) {
      case INT8 -> from.get(at);
      case INT16 -> from.getShort(2 * at);
      case INT32 -> from.getInt(4 * at);
      case INT64 -> from.getLong(8 * at);
      case FLOAT32 -> from.getFloat(4 * at);
      case FLOAT64 -> from.getDouble(8 * at);
    };
  }

  /** A plane of the whole array, in numpy's bytes. */
  private static ByteBuffer whole(
      List<Row> rows, BlockKind kind, String plane, Shape extents, ElementType type) {
    ByteBuffer whole = NumpyTable.little(new byte[(int) extents.elements() * type.bytes()]);
    int count = 0;
    for (Row row : rows) {
      List<int[]> box = new ArrayList<>();
      for (int axis = 0; axis < kind.rank(); axis++) {
        box.add(
            new int[] {
              (int) row.<Long>getAs(kind.offsetColumns().get(axis)).longValue(),
              row.<Integer>getAs(kind.sizeColumns().get(axis))
            });
      }
      List<Object> values = row.getList(row.fieldIndex(plane));
      int[] next = {0};
      forEach(
          box,
          extents,
          at -> {
            Object value = values.get(next[0]++);
            switch (type) {
              case INT8 -> whole.put(at, (Byte) value);
              case INT16 -> whole.putShort(2 * at, (Short) value);
              case INT32 -> whole.putInt(4 * at, (Integer) value);
              case INT64 -> whole.putLong(8 * at, (Long) value);
              case FLOAT32 -> whole.putFloat(4 * at, (Float) value);
              case FLOAT64 -> whole.putDouble(8 * at, (Double) value);
            }
          });
      assertEquals(next[0], values.size());
      count += next[0];
    }
    assertEquals(extents.elements(), count, "elements");
    return whole;
  }

  // --- places

  @Test
  void placesAreThoseOfTheWholeArray() {
    double[][] values = new double[7][9];
    Dataset<Row> df = TestMatrix.cut(values, 3, 4).toDataFrame(spark, DataTypes.DoubleType, 3);
    double[][] found = TestMatrix.collect(MatrixBlocks.map(df, "v + 100 * row + col"), 7, 9);
    double[][] turned =
        TestMatrix.collect(
            MatrixBlocks.map(MatrixBlocks.transpose(df), "v + 100 * row + col"), 9, 7);
    for (int i = 0; i < 7; i++) {
      for (int j = 0; j < 9; j++) {
        assertEquals(100 * i + j, found[i][j]);
        assertEquals(100 * j + i, turned[j][i]);
      }
    }
  }

  // --- extents that meet

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void extentsOfOneAreRepeated(boolean stated) {
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            for (int[] pair :
                new int[][] {
                  {7, 9, 1, 9}, {7, 9, 7, 1}, {7, 9, 1, 1}, {1, 9, 7, 9}, {7, 1, 7, 9},
                  {1, 1, 7, 9}, {1, 9, 7, 1}, {7, 1, 1, 9}, {1, 1, 1, 1}, {1, 9, 1, 1}
                }) {
              assertMeet(numbers(pair[0], pair[1], 1), numbers(pair[2], pair[3], 2), stated);
            }
          });
    }
  }

  private static void assertMeet(double[][] a, double[][] b, boolean stated) {
    Dataset<Row> one = TestMatrix.cut(a, 3, 4).toDataFrame(spark, DataTypes.DoubleType, 2);
    Dataset<Row> two = TestMatrix.cut(b, 2, 5).toDataFrame(spark, DataTypes.FloatType, 2);
    if (stated) {
      one = MatrixBlocks.withExtents(one, a.length, a[0].length);
      two = MatrixBlocks.withExtents(two, b.length, b[0].length);
    }
    int rows = Math.max(a.length, b.length);
    int cols = Math.max(a[0].length, b[0].length);
    Dataset<Row> difference = MatrixBlocks.zip(one, two, "a - 2 * b");
    double[][] found = TestMatrix.collect(difference, rows, cols);
    for (int i = 0; i < rows; i++) {
      for (int j = 0; j < cols; j++) {
        double x = a[a.length == 1 ? 0 : i][a[0].length == 1 ? 0 : j];
        double y = b[b.length == 1 ? 0 : i][b[0].length == 1 ? 0 : j];
        assertEquals(x - 2 * y, found[i][j], i + ", " + j);
      }
    }
    if (stated) {
      assertEquals(
          Optional.of(Shape.of(rows, cols)), metadata(difference).extents(2), difference::toString);
    }
  }

  /** Whole numbers, which FLOAT holds. */
  private static double[][] numbers(int rows, int cols, int seed) {
    double[][] values = new double[rows][cols];
    for (int i = 0; i < rows; i++) {
      for (int j = 0; j < cols; j++) {
        values[i][j] = seed * 1000 + i * cols + j;
      }
    }
    return values;
  }

  @Test
  void volumesMeetPlanesAndLines() {
    TestField v = TestField.random(1, true, 4, 5, 6);
    Dataset<Row> volume = v.blocks(spark, ElementType.FLOAT64, true, 2, 5, 4);
    for (int[] shape : new int[][] {{1, 5, 6}, {4, 1, 6}, {4, 5, 1}, {1, 1, 6}, {4, 1, 1}}) {
      TestField w = TestField.random(2, false, shape);
      Dataset<Row> plane = w.blocks(spark, ElementType.FLOAT64, false, 3, 2, 3);
      TestField found = TestField.of(VolumeBlocks.zip(volume, plane, "a * b"), v.shape());
      TestField swapped = TestField.of(VolumeBlocks.zip(plane, volume, "a * b"), v.shape());
      TestField.forEach(
          v.shape(),
          at -> {
            int i = v.at(at);
            double factor =
                w.re()[
                    w.at(
                        IntStream.range(0, 3)
                            .map(axis -> shape[axis] == 1 ? 0 : at[axis])
                            .toArray())];
            for (TestField each : List.of(found, swapped)) {
              assertEquals(v.re()[i] * factor, each.re()[i], 1e-15);
              assertEquals(v.im()[i] * factor, each.im()[i], 1e-15);
            }
          });
    }
  }

  @Test
  void eachArrayOfABatchMeetsItsOwn() {
    Dataset<Row> a = batch(numbers(4, 6, 1), "x").union(batch(numbers(4, 6, 2), null));
    Dataset<Row> b =
        batch(numbers(1, 6, 3), "x")
            .union(batch(numbers(1, 6, 4), null))
            .select("sample", "values", "cols", "rows", "col", "row");
    Dataset<Row> sums = MatrixBlocks.zip(a, b, "a + b");
    assertEquals(List.of(a.columns()), List.of(sums.columns()));
    double[][] x = TestMatrix.collect(sums.where("sample = 'x'"), 4, 6);
    double[][] y = TestMatrix.collect(sums.where("sample IS NULL"), 4, 6);
    for (int i = 0; i < 4; i++) {
      for (int j = 0; j < 6; j++) {
        assertEquals(4000 + i * 6 + 2 * j, x[i][j]);
        assertEquals(6000 + i * 6 + 2 * j, y[i][j]);
      }
    }
    assertFails(
        () -> MatrixBlocks.zip(a, b.where("sample = 'x'"), "a + b").collectAsList(),
        "what is combined with it is not there");
  }

  /** No side may lose an array, whichever repeats its elements. */
  @Test
  void anArrayThatOneSideLacks() {
    for (int[] shape : new int[][] {{4, 1, 1, 6}, {4, 6, 1, 6}, {1, 6, 4, 6}, {4, 6, 4, 6}}) {
      Dataset<Row> a = batch(numbers(shape[0], shape[1], 1), "x");
      Dataset<Row> b = batch(numbers(shape[2], shape[3], 2), "x");
      Dataset<Row> more = b.union(batch(numbers(shape[2], shape[3], 3), null));
      for (Map<String, String> mode : sampledModes()) {
        with(
            mode,
            () -> {
              assertEquals(4, MatrixBlocks.zip(a, b, "a + b").collectAsList().size());
              for (Dataset<Row> lossy :
                  List.of(MatrixBlocks.zip(a, more, "a + b"), MatrixBlocks.zip(more, a, "a + b"))) {
                assertFails(lossy::collectAsList, "matrix");
              }
            });
      }
      Dataset<Row> filled =
          MatrixBlocks.zip(
              MatrixBlocks.withExtents(a, shape[0], shape[1]),
              MatrixBlocks.withExtents(more, shape[2], shape[3]),
              "a + b",
              Missing.ZERO);
      double[][] found = TestMatrix.collect(filled.where("sample IS NULL"), 4, 6);
      for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 6; j++) {
          int row = shape[2] == 1 ? 0 : i;
          assertEquals(3000 + row * 6 + j, found[i][j]);
        }
      }
    }
  }

  /** The arrays of a result are those of its input, so nothing is looked up. */
  @Test
  void whatIsMadeOfABatchFitsIt() {
    Dataset<Row> a = batch(numbers(4, 6, 1), "x").union(batch(numbers(4, 6, 2), null));
    Dataset<Row> centered =
        MatrixBlocks.zip(MatrixBlocks.scale(a, 2), MatrixBlocks.mean(a, "0"), "a - b");
    assertFalse(optimized(centered).contains("has_partner"), () -> optimized(centered));
    assertEquals(8, centered.collectAsList().size());
    Dataset<Row> other = MatrixBlocks.mean(batch(numbers(4, 6, 3), "x"), "0");
    Dataset<Row> ofTwo = MatrixBlocks.zip(a, other, "a - b");
    assertTrue(optimized(ofTwo).contains("has_partner"), () -> optimized(ofTwo));
  }

  /** A spectrum whose elements are repeated is that of another array. */
  @Test
  void aRepeatedSpectrumIsNone() {
    Dataset<Row> thin = VolumeBlocks.fft(stated(TestField.random(7, false, 4, 1, 6))); // yzx
    Dataset<Row> line = stated(TestField.random(8, true, 5, 1, 4));
    Dataset<Row> filter = stated(TestField.random(9, false, 5, 6, 4));
    assertEquals(Optional.empty(), metadata(VolumeBlocks.zip(thin, line, "a * b")).spectrum());
    assertEquals(Optional.empty(), metadata(VolumeBlocks.zip(filter, thin, "a * b")).spectrum());
    Dataset<Row> spectrum = VolumeBlocks.fft(stated(TestField.random(10, false, 4, 5, 6)));
    Dataset<Row> both = VolumeBlocks.zip(spectrum, thin, "a * b");
    assertEquals(metadata(spectrum).spectrum(), metadata(both).spectrum());
    assertFalse(both.isEmpty());
  }

  private static Dataset<Row> stated(TestField field) {
    int[] shape = field.shape();
    return VolumeBlocks.withExtents(
        field.blocks(spark, ElementType.FLOAT64, false, shape[0], shape[1], shape[2]),
        shape[0],
        shape[1],
        shape[2]);
  }

  private static Dataset<Row> batch(double[][] values, String sample) {
    return TestMatrix.cut(values, 3, 4).toDataFrame(spark, DataTypes.DoubleType, 2, sample);
  }

  // --- types and metadata

  @Test
  void filesKeepTheTypeOfTheResult(@TempDir Path directory) {
    String file = directory.resolve("a.npy").toString();
    TestMatrix.cut(numbers(7, 9, 0), 3, 4)
        .toDataFrame(spark, DataTypes.DoubleType, 2)
        .write()
        .format("npy")
        .option("dtype", "uint8")
        .save(file);
    Dataset<Row> read = spark.read().format("npy").option("blockShape", "2,9").load(file).cache();
    try {
      for (String[] expected :
          new String[][] {
            {"v + 1", "<i2"}, {"v > 3", "|b1"}, {"v / 2", "<f8"}, {"complex(v, v)", "<c16"}
          }) {
        Dataset<Row> mapped = MatrixBlocks.map(read, expected[0]);
        assertEquals(Optional.of(expected[1]), metadata(mapped).fileType(), expected[0]);
        String out = directory.resolve("out.npy").toString();
        mapped.write().format("npy").mode("overwrite").save(out);
        Dataset<Row> back = spark.read().format("npy").load(out);
        assertEquals(Optional.of(expected[1]), metadata(back).fileType());
      }
      double[][] halves = TestMatrix.collect(MatrixBlocks.map(read, "v / 2"), 7, 9);
      assertEquals((5 * 9 + 8) / 2.0, halves[5][8]);
      Dataset<Row> truths = MatrixBlocks.map(MatrixBlocks.map(read, "v > 3"), "if(v, 7, 1)");
      assertEquals(7, TestMatrix.collect(truths, 7, 9)[6][6]);
    } finally {
      read.unpersist(true);
    }
  }

  // --- scalars

  @Test
  void scalarsAreLiterals() {
    Dataset<Row> m =
        TestMatrix.cut(numbers(4, 6, 1), 2, 3).toDataFrame(spark, DataTypes.FloatType, 1);
    Dataset<Row> mapped = MatrixBlocks.map(m, "v * S + n", Map.of("s", 0.5, "N", 3));
    assertEquals(DataTypes.createArrayType(DataTypes.FloatType, false), typeOf(mapped));
    double[][] found = TestMatrix.collect(mapped, 4, 6);
    assertEquals(1023 * 0.5 + 3, found[3][5]);
    m.createOrReplaceTempView("m_of_scalars");
    for (String call :
        List.of(
            "matrix_map(TABLE(m_of_scalars), 'v * s + n', s => 0.5, n => 3)",
            "matrix_map(TABLE(m_of_scalars), n => 6 / 2, s => '0.5', expression => 's * v + N')",
            "matrix_zip(TABLE(m_of_scalars), TABLE(m_of_scalars), 'a * s + b * s * 0 + n',"
                + " missing => 'error', `s` => 5e-1, n => 3L)")) {
      Dataset<Row> bySql = spark.sql("SELECT * FROM " + call);
      assertEquals(typeOf(mapped), typeOf(bySql), call);
      assertEquals(found[3][5], TestMatrix.collect(bySql, 4, 6)[3][5], call);
    }
    double[][] zipped =
        TestMatrix.collect(
            MatrixBlocks.zip(m, m, "a * w + b * (1 - w)", Missing.ERROR, Map.of("w", 0.25)), 4, 6);
    assertEquals(1023, zipped[3][5]);
    Dataset<Row> whole =
        MatrixBlocks.map(MatrixBlocks.map(m, "CAST(v AS INT)"), "v + k", Map.of("k", 1));
    assertEquals(DataTypes.createArrayType(DataTypes.IntegerType, false), typeOf(whole));
    assertTrue(explained(mapped).contains("v * S + n with {"), () -> explained(mapped));
  }

  private static org.apache.spark.sql.types.DataType typeOf(Dataset<Row> blocks) {
    return blocks.schema().apply("values").dataType();
  }

  @Test
  void scalarsThatDoNotFit() {
    Dataset<Row> m =
        TestMatrix.cut(numbers(4, 6, 1), 2, 3).toDataFrame(spark, DataTypes.FloatType, 1);
    m.createOrReplaceTempView("m_of_scalars");
    assertFails(
        () -> MatrixBlocks.map(m, "v * 2", Map.of("s", 1)),
        "MatrixBlocks.map: the expression 'v * 2' names no s, and there is no parameter");
    assertFails(() -> MatrixBlocks.map(m, "v * row", Map.of("row", 1)), "two meanings");
    assertFails(() -> MatrixBlocks.map(m, "v * s"), "MatrixBlocks.map: ", "there are v, row, col");
    assertFails(() -> MatrixBlocks.map(m, "v * :s", Map.of("s", 1)), "without the colon");
    for (String[] wrong :
        new String[][] {
          {"'v * s', s => 1, s => 2", "parameter s is given twice"},
          {"'v * s', s => 'one'", "s is one; expected a number"},
          {"'v * s', s => array(1)", "expected a constant number"},
          {"'v', extends => '4,6'", "extends is 4,6; expected a number"},
          {"'v', extends => '4,6'", "there is no parameter extends"},
          {"'v', extends => 4", "names no extends, and there is no parameter"},
        }) {
      assertFails(
          () -> spark.sql("SELECT * FROM matrix_map(TABLE(m_of_scalars), " + wrong[0] + ")"),
          "matrix_map: ",
          wrong[1]);
    }
  }

  // --- what is wrong

  @Test
  void errorsNameTheOperatorAndWhatHelps() {
    Dataset<Row> m =
        TestMatrix.cut(numbers(4, 6, 1), 2, 3).toDataFrame(spark, DataTypes.DoubleType, 1);
    assertFails(() -> MatrixBlocks.map(m, "v +"), "MatrixBlocks.map: 'v +' is no expression");
    assertFails(() -> MatrixBlocks.map(m, "a + 1"), "MatrixBlocks.map: ", "there are v");
    assertFails(
        () -> MatrixBlocks.zip(m, m, "a + b + x"),
        "MatrixBlocks.zip: ",
        "there are a, b, row, col");
    Dataset<Row> other =
        TestMatrix.cut(numbers(4, 5, 1), 2, 3).toDataFrame(spark, DataTypes.DoubleType, 1);
    assertFails(
        () -> MatrixBlocks.zip(m, other, "a + b"),
        "MatrixBlocks.zip: a has the extents 4,6 and b 4,5; along col they are 6 and 5, expected"
            + " equal or 1");
    assertFails(
        () -> MatrixBlocks.zip(m, m.withColumn("sample", functions.lit(1)), "a + b"),
        "further columns tell several matrices apart");
    assertFails(
        () ->
            MatrixBlocks.map(m.selectExpr("row", "col", "rows + 1 AS rows", "cols", "values"), "v")
                .collectAsList(),
        "values has 6 elements; expected rows x cols = 3 x 3 = 9",
        "(in MatrixBlocks.map)");
  }

  @Test
  void unusedValuesAreNotComputedAndConditionsAreMovedBelow() {
    Dataset<Row> m =
        TestMatrix.cut(numbers(4, 6, 1), 2, 3).toDataFrame(spark, DataTypes.DoubleType, 1, "s");
    Dataset<Row> mapped = MatrixBlocks.map(m, "v * 2");
    assertFalse(optimized(mapped.select("row", "sample")).contains("ProgramBlocks"));
    assertEquals(4, mapped.select("row", "sample").collectAsList().size());
    Dataset<Row> few = mapped.where("row = 2").select("values");
    String plan = optimized(few);
    assertFalse(plan.substring(0, plan.indexOf("ProgramBlocks")).contains("Filter"), plan);
    assertFalse(plan.contains("sample#"), plan);
    assertEquals(2, few.collectAsList().size());
  }

  /** Volumes are distinguished also by columns that nobody reads any more. */
  @Test
  void columnsThatAreDroppedTellVolumesApart() {
    TestField a = TestField.random(5, false, 4, 5, 6);
    TestField b = TestField.random(6, false, 4, 5, 6);
    for (String way : List.of("task", "slabs")) {
      FftOptions options = FftOptions.defaults().withDecomposition(way);
      Dataset<Row> both =
          fft4(a, 1).union(fft4(b, 2)).transform(df -> VolumeBlocks.withExtents(df, 4, 5, 6));
      Dataset<Row> spectra =
          VolumeBlocks.map(VolumeBlocks.fft(both, options).drop("sample"), "v * 2");
      long blocks = VolumeBlocks.fft(both, options).count();
      assertEquals(blocks, spectra.collectAsList().size(), way);
    }
  }

  private static Dataset<Row> fft4(TestField field, int sample) {
    return field
        .blocks(spark, ElementType.FLOAT64, false, 2, 5, 6)
        .withColumn("sample", functions.lit(sample));
  }

  // --- stages and exchanges

  @Test
  void chainsAreOneStage() {
    Dataset<Row> m =
        TestMatrix.cut(numbers(8, 6, 1), 4, 3).toDataFrame(spark, DataTypes.DoubleType, 2);
    Dataset<Row> turned = MatrixBlocks.transpose(MatrixBlocks.scale(MatrixBlocks.transpose(m), 2));
    double[][] found = TestMatrix.collect(turned, 8, 6);
    assertEquals(2 * 1007.0, found[1][1]);
    assertEquals(1, stages(turned).size(), () -> explained(turned));

    Dataset<Row> n =
        TestMatrix.cut(numbers(6, 8, 2), 3, 4).toDataFrame(spark, DataTypes.DoubleType, 2);
    Dataset<Row> sum =
        MatrixBlocks.transpose(
            MatrixBlocks.add(MatrixBlocks.scale(m, 3), MatrixBlocks.transpose(n)));
    double[][] sums = TestMatrix.collect(sum, 6, 8);
    for (int i = 0; i < 8; i++) {
      for (int j = 0; j < 6; j++) {
        assertEquals(3 * (1000 + i * 6 + j) + 2000 + j * 8 + i, sums[j][i]);
      }
    }
    assertEquals(1, stages(sum).size(), () -> explained(sum));
    assertEquals(2, exchanges(sum), () -> explained(sum));
  }

  @Test
  void severalArraysAreOneStage() {
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            List<Dataset<Row>> frames = new ArrayList<>();
            for (int seed = 1; seed <= 4; seed++) {
              frames.add(
                  TestMatrix.cut(numbers(8, 6, seed), 4, 3)
                      .toDataFrame(spark, DataTypes.DoubleType, 1 + seed % 3));
            }
            Dataset<Row> left = MatrixBlocks.zip(frames.get(0), frames.get(1), "a - 2 * b");
            Dataset<Row> right = MatrixBlocks.zip(frames.get(2), frames.get(3), "a * b + col");
            Dataset<Row> all = MatrixBlocks.map(MatrixBlocks.zip(left, right, "a + b"), "v / 2");
            double[][] found = TestMatrix.collect(all, 8, 6);
            for (int i = 0; i < 8; i++) {
              for (int j = 0; j < 6; j++) {
                double at = i * 6 + j;
                double expected = 1000 + at - 2 * (2000 + at) + (3000 + at) * (4000 + at) + j;
                assertEquals(expected / 2, found[i][j]);
              }
            }
            assertEquals(1, stages(all).size(), () -> explained(all));
            assertEquals(4, exchanges(all), () -> explained(all));
          });
    }
  }

  /** The pieces of transforms meet in the stage that computes with their results. */
  @Test
  void transformsAndTheirProductAreOneStage() {
    TestField a = TestField.random(3, false, 6, 5, 8);
    TestField b = TestField.random(4, false, 6, 5, 8);
    for (String way : List.of("slabs", "task")) {
      FftOptions options = FftOptions.defaults().withDecomposition(way);
      Dataset<Row> product = VolumeBlocks.zip(fft(a, options), fft(b, options), "a * conj(b)");
      Dataset<Row> filtered = VolumeBlocks.map(product, "if(x = 0, complex(0, 0), v)");
      TestField one = a.fft("xyz");
      TestField two = b.fft("xyz");
      TestField conjugate =
          new TestField(two.shape(), two.re(), Arrays.stream(two.im()).map(im -> -im).toArray());
      TestField expected = one.times(conjugate).permuted(1, 2, 0);
      TestField found = TestField.of(product, expected.shape());
      found.assertNear(expected, ElementType.FLOAT64, "product by " + way);
      assertEquals(metadata(fft(a, options)).spectrum(), metadata(filtered).spectrum());
      assertEquals(way.equals("slabs") ? 3 : 1, stages(product).size(), () -> explained(product));
    }
  }

  @Test
  void randomNumbersAreThoseOfTheirPlaces() {
    int[] shape = {5, 4, 7};
    for (int[] cut : new int[][] {{5, 4, 7}, {2, 3, 4}}) {
      Dataset<Row> blocks =
          TestField.zeros(shape).blocks(spark, ElementType.FLOAT32, false, cut[0], cut[1], cut[2]);
      assertRandom(VolumeBlocks.map(blocks, "randn(-3)"), shape, RandomNumbers::normal, -3);
      Dataset<Row> half = VolumeBlocks.zip(blocks, blocks, "a + rand(8) + b");
      assertRandom(half, shape, RandomNumbers::uniform, 8);
    }
    Dataset<Row> matrix =
        MatrixBlocks.map(
            TestProduct.random(ElementType.FLOAT64, 6, 5, 1).frame(spark, 4, 2), "v * 0");
    DenseArray found = DenseArray.of(MatrixBlocks.map(matrix, "v + randn(1)"), 6, 5);
    for (int at = 0; at < found.values().length; at++) {
      double expected = RandomNumbers.normal(RandomNumbers.bits(1, at / 5, at % 5));
      assertEquals(expected, found.values()[at]);
    }
  }

  private static void assertRandom(
      Dataset<Row> found, int[] shape, LongToDoubleFunction of, long seed) {
    TestField field = TestField.of(found, shape);
    TestField.forEach(
        shape,
        at ->
            assertEquals(
                of.applyAsDouble(RandomNumbers.bits(seed, at[0], at[1], at[2])),
                field.re()[field.at(at)]));
  }

  private static Dataset<Row> fft(TestField field, FftOptions options) {
    return VolumeBlocks.fft(
        VolumeBlocks.withExtents(field.blocks(spark, ElementType.FLOAT64, false, 2, 5, 8), 6, 5, 8),
        options);
  }

  private static List<BlockStageExec> stages(Dataset<Row> df) {
    return PlanNodes.computing(plan(df).executedPlan());
  }

  private static int exchanges(Dataset<Row> df) {
    return (int)
        PlanNodes.all(plan(df), ShuffleExchangeExec.class).stream()
            .filter(exchange -> exchange.toString().contains("hashpartitioning"))
            .count();
  }

  private static ArrayMetadata metadata(Dataset<Row> df) {
    return ArrayMetadata.of(df.schema().apply("values").metadata());
  }
}
