package org.tilespark.spark.reduce;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Collectors;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.tilespark.kernels.Sampling;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.SpreadRows;
import org.tilespark.spark.testing.TestArray;

/** Reductions compared with numpy's results, which dev/numpy-table has written into a file. */
class ReductionTableTest extends SparkTest {
  private static final Map<String, Array> ARRAYS = new LinkedHashMap<>();
  private static final List<Case> CASES = new ArrayList<>();

  /** Of one query: plans of more are slow to draw. */
  private static final int MOST_CALLS = 12;

  static {
    for (String line : table().lines().toList()) {
      String[] parts = line.split("\t", -1);
      if (parts[0].equals("@")) {
        long[] extents = Arrays.stream(parts[3].split("x")).mapToLong(Long::parseLong).toArray();
        ARRAYS.put(parts[1], Array.of(parts[2], Shape.of(extents), parts[4]));
      } else {
        CASES.add(Case.of(parts));
      }
    }
  }

  private static String table() {
    try (InputStream table = ReductionTableTest.class.getResourceAsStream("numpy-table.tsv")) {
      return new String(table.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * Elements as Java boxes them: one list for values, another for imaginary parts if there are any.
   */
  private record Array(String numpy, Shape shape, List<List<Object>> planes) {
    static Array of(String numpy, Shape shape, String base64) {
      ByteBuffer bytes =
          ByteBuffer.wrap(Base64.getDecoder().decode(base64)).order(ByteOrder.LITTLE_ENDIAN);
      boolean isComplex = numpy.startsWith("complex");
      List<List<Object>> planes = new ArrayList<>(List.of(new ArrayList<>()));
      if (isComplex) {
        planes.add(new ArrayList<>());
      }
      ElementType type = element(numpy);
      while (bytes.hasRemaining()) {
        for (List<Object> plane : planes) {
          plane.add(
              switch (type) {
                case INT8 -> bytes.get();
                case INT16 -> bytes.getShort();
                case INT32 -> bytes.getInt();
                case INT64 -> bytes.getLong();
                case FLOAT32 -> bytes.getFloat();
                case FLOAT64 -> bytes.getDouble();
              });
        }
      }
      return new Array(numpy, shape, planes);
    }

    BlockKind kind() {
      return shape.rank() == 2 ? BlockKind.MATRIX : BlockKind.VOLUME;
    }

    /** The rows of its blocks, each with a column that names it. */
    List<Row> rows(List<Box> boxes, int sample) {
      List<Row> rows = new ArrayList<>();
      for (Box box : boxes) {
        List<Object> cells = new ArrayList<>();
        for (long low : box.offset()) {
          cells.add(low);
        }
        for (long size : box.sizes()) {
          cells.add((int) size);
        }
        planes.forEach(plane -> cells.add(part(plane, box)));
        cells.add(sample);
        rows.add(RowFactory.create(cells.toArray()));
      }
      return rows;
    }

    private List<Object> part(List<Object> plane, Box box) {
      List<Object> part = new ArrayList<>();
      for (int i = 0; i < box.volume(); i++) {
        int left = i;
        int index = 0;
        int stride = 1;
        for (int axis = shape.rank() - 1; axis >= 0; axis--) {
          index += (int) (left % box.size(axis) + box.low(axis)) * stride;
          left /= (int) box.size(axis);
          stride *= (int) shape.extent(axis);
        }
        part.add(plane.get(index));
      }
      return part;
    }
  }

  private static ElementType element(String numpy) {
    return switch (numpy) {
      case "bool", "int8" -> ElementType.INT8;
      case "complex64" -> ElementType.FLOAT32;
      case "complex128" -> ElementType.FLOAT64;
      default -> ElementType.valueOf(numpy.toUpperCase(Locale.ROOT));
    };
  }

  /** One line of the table. */
  private record Case(
      String name,
      String axes,
      String arguments,
      String array,
      String type,
      long ulps,
      String bytes) {
    static Case of(String[] line) {
      return new Case(
          line[0], line[1], line[2], line[3], line[4], Long.parseLong(line[5]), line[6]);
    }

    /** The call of the SQL function on the view {@code given}. */
    String call() {
      return "%s_%s(TABLE(given)%s%s)"
          .formatted(
              ARRAYS.get(array).kind().label(),
              name,
              axes.isEmpty() ? "" : ", axis => '" + axes + "'",
              arguments.isEmpty() ? "" : ", " + arguments.replace("inf", "'inf'"));
    }

    /** Results of one type from arrays of one type and shape can be one query. */
    String query() {
      return String.join(
          "|", array.substring(0, array.lastIndexOf('.')), type, axes.isEmpty() ? "all" : "along");
    }
  }

  /** How arrays are cut, and what the metadata says of it. */
  private enum Cut {
    ONE_BLOCK,
    STATED_GRID,
    ANYHOW
  }

  static List<String> types() {
    return ARRAYS.values().stream().map(Array::numpy).distinct().toList();
  }

  @ParameterizedTest
  @MethodSource("types")
  void resultsAreNumpys(String type) {
    Map<String, Map<String, List<Case>>> queries =
        CASES.stream()
            .filter(each -> ARRAYS.get(each.array).numpy.equals(type))
            .collect(
                Collectors.groupingBy(
                    Case::query,
                    LinkedHashMap::new,
                    Collectors.groupingBy(Case::call, LinkedHashMap::new, Collectors.toList())));
    Random random = new Random(5);
    List<Map<String, String>> modes = executionModes();
    int number = 0;
    for (Map<String, List<Case>> calls : queries.values()) {
      List<String> all = List.copyOf(calls.keySet());
      for (int first = 0; first < all.size(); first += MOST_CALLS) {
        number++;
        if (Sampling.skips(number, 12)) {
          continue;
        }
        Map<String, List<Case>> some = new LinkedHashMap<>(calls);
        some.keySet().retainAll(all.subList(first, Math.min(all.size(), first + MOST_CALLS)));
        Cut cut = Cut.values()[random.nextInt(Cut.values().length)];
        with(modes.get(number % modes.size()), () -> assertQuery(some, cut, random));
      }
    }
  }

  /** The table would not notice a reduction that nobody has put into it. */
  @Test
  void tableHasEveryReduction() {
    for (ArrayReduction reduction : ArrayReduction.values()) {
      String name = reduction.name().toLowerCase(Locale.ROOT);
      assertTrue(CASES.stream().anyMatch(each -> each.name.equals(name)), name);
    }
  }

  /** The results of several calls are one query, since most of its time does not depend on them. */
  private void assertQuery(Map<String, List<Case>> calls, Cut cut, Random random) {
    List<String> samples =
        calls.values().stream().flatMap(List::stream).map(Case::array).distinct().toList();
    frame(samples.stream().map(ARRAYS::get).toList(), cut, random).createOrReplaceTempView("given");
    Dataset<Row> results = null;
    for (Map.Entry<String, List<Case>> call : calls.entrySet()) {
      Dataset<Row> result =
          spark
              .sql("SELECT * FROM " + call.getKey())
              .withColumn("call", functions.lit(call.getKey()));
      assertFileType(call.getValue().get(0), result, call.getKey());
      results = results == null ? result : results.union(result);
    }
    Map<String, List<Row>> rows =
        results.collectAsList().stream()
            .collect(Collectors.groupingBy(row -> row.getAs("sample") + " " + row.getAs("call")));
    calls.forEach(
        (call, cases) ->
            cases.forEach(
                each ->
                    assertResult(
                        each,
                        rows.getOrDefault(samples.indexOf(each.array) + " " + call, List.of()),
                        call + " of " + each.array + " cut " + cut)));
  }

  private static void assertFileType(Case given, Dataset<Row> result, String call) {
    String values = given.axes.isEmpty() ? "value" : "values";
    Optional<String> fileType =
        ArrayMetadata.of(result.schema().apply(values).metadata()).fileType();
    assertEquals(
        given.type.equals("bool"), fileType.equals(Optional.of("|b1")), call + " " + fileType);
  }

  private Dataset<Row> frame(List<Array> arrays, Cut cut, Random random) {
    Array any = arrays.get(0);
    BlockKind kind = any.kind();
    Shape shape = any.shape();
    long[] grid = shape.toArray();
    for (int axis = 0; axis < grid.length && cut == Cut.STATED_GRID; axis++) {
      grid[axis] = 1L + random.nextInt((int) Math.min(6, grid[axis]));
    }
    StructType schema = new StructType();
    for (String name : kind.offsetColumns()) {
      schema = schema.add(name, DataTypes.LongType);
    }
    for (String name : kind.sizeColumns()) {
      schema = schema.add(name, DataTypes.IntegerType);
    }
    var values = DataTypes.createArrayType(BlockSchema.sparkType(element(any.numpy)), false);
    schema = schema.add("values", values);
    if (any.planes.size() > 1) {
      schema = schema.add("imag", values);
    }
    schema = schema.add("sample", DataTypes.IntegerType);
    List<Row> rows = new ArrayList<>();
    for (int sample = 0; sample < arrays.size(); sample++) {
      List<Box> boxes =
          cut == Cut.ANYHOW
              ? new TestArray(kind, ElementType.INT8, shape, shape, false).randomTiling(random)
              : cells(shape, Shape.of(grid));
      rows.addAll(arrays.get(sample).rows(boxes, sample));
    }
    Collections.shuffle(rows, random);
    Dataset<Row> frame = SpreadRows.of(spark, rows, schema, 1 + random.nextInt(3));
    ArrayMetadata metadata = ArrayMetadata.empty();
    if (cut != Cut.ANYHOW) {
      metadata = metadata.withExtents(shape).withBlockShape(Shape.of(grid));
    }
    if (any.numpy.equals("bool")) {
      metadata = metadata.withFileType("|b1");
    }
    ArrayMetadata said = metadata;
    return mapped(frame, plan -> BlockFrame.of(plan, kind, "test").stating(said).plan());
  }

  private static List<Box> cells(Shape shape, Shape grid) {
    List<long[]> lows = new ArrayList<>(List.of(new long[shape.rank()]));
    for (int axis = 0; axis < shape.rank(); axis++) {
      List<long[]> more = new ArrayList<>();
      for (long[] low : lows) {
        for (long at = 0; at < shape.extent(axis); at += grid.extent(axis)) {
          long[] next = low.clone();
          next[axis] = at;
          more.add(next);
        }
      }
      lows = more;
    }
    List<Box> cells = new ArrayList<>();
    for (long[] low : lows) {
      long[] size = new long[low.length];
      Arrays.setAll(size, a -> Math.min(grid.extent(a), shape.extent(a) - low[a]));
      cells.add(Box.at(low, size));
    }
    return cells;
  }

  private static void assertResult(Case expected, List<Row> rows, String what) {
    Array array = ARRAYS.get(expected.array);
    BlockKind kind = array.kind();
    long[] extents = array.shape().toArray();
    if (expected.axes.isEmpty()) {
      Arrays.fill(extents, 1);
    }
    for (String axis : expected.axes.isEmpty() ? new String[0] : expected.axes.split(",")) {
      extents[Math.floorMod(Integer.parseInt(axis), extents.length)] = 1;
    }
    Array wanted = Array.of(expected.type, Shape.of(extents), expected.bytes);
    Array found =
        new Array(
            expected.type,
            wanted.shape,
            wanted.planes.stream()
                .<List<Object>>map(
                    plane -> new ArrayList<>(Collections.nCopies(plane.size(), null)))
                .toList());
    for (Row row : rows) {
      for (int plane = 0; plane < found.planes.size(); plane++) {
        if (expected.axes.isEmpty()) {
          found.planes.get(plane).set(0, row.getAs(plane == 0 ? "value" : "imag"));
          continue;
        }
        List<Object> values = row.getList(row.fieldIndex(plane == 0 ? "values" : "imag"));
        long[] low = new long[extents.length];
        long[] size = new long[extents.length];
        for (int axis = 0; axis < extents.length; axis++) {
          low[axis] = row.<Long>getAs(kind.offsetColumns().get(axis));
          size[axis] = row.<Integer>getAs(kind.sizeColumns().get(axis));
        }
        for (int i = 0; i < values.size(); i++) {
          int left = i;
          int index = 0;
          int stride = 1;
          for (int axis = extents.length - 1; axis >= 0; axis--) {
            index += (int) (left % size[axis] + low[axis]) * stride;
            left /= (int) size[axis];
            stride *= (int) extents[axis];
          }
          found.planes.get(plane).set(index, values.get(i));
        }
      }
    }
    for (int plane = 0; plane < found.planes.size(); plane++) {
      for (int i = 0; i < found.planes.get(plane).size(); i++) {
        Object value = found.planes.get(plane).get(i);
        Object right = wanted.planes.get(plane).get(i);
        int at = i;
        assertNotNull(value, () -> what + ": nothing at " + at + " in " + rows);
        assertTrue(
            isNear(right, value, expected.ulps),
            () -> what + ": " + value + " at " + at + ", expected " + right);
      }
    }
  }

  private static boolean isNear(Object expected, Object found, long ulps) {
    if (expected instanceof Float wanted && found instanceof Float value) {
      return wanted.equals(value)
          || wanted.floatValue() == value
          || Math.abs(wanted - value) <= ulps * Math.ulp(wanted);
    }
    if (expected instanceof Double wanted && found instanceof Double value) {
      return wanted.equals(value)
          || wanted.doubleValue() == value
          || Math.abs(wanted - value) <= ulps * Math.ulp(wanted);
    }
    return expected.equals(found);
  }
}
