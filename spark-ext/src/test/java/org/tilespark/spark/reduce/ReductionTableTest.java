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
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.Sampling;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

/** Reductions beside numpy's results, which dev/numpy-table has written into a file. */
class ReductionTableTest extends SparkTest {
  private static final Map<String, Array> ARRAYS = new LinkedHashMap<>();
  private static final List<Case> CASES = new ArrayList<>();

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

    /** The same reduction of both arrays of a type and shape is one query. */
    String query() {
      return String.join("|", name, axes, arguments, array.substring(0, array.lastIndexOf('.')));
    }
  }

  /** How arrays are cut, and what the metadata says of it. */
  private enum Cut {
    ONE_BLOCK,
    STATED_GRID,
    ANYHOW
  }

  @Test
  void resultsAreNumpys() {
    Map<String, List<Case>> queries =
        CASES.stream()
            .collect(Collectors.groupingBy(Case::query, LinkedHashMap::new, Collectors.toList()));
    Random random = new Random(5);
    List<Map<String, String>> modes = executionModes();
    int number = 0;
    for (List<Case> cases : queries.values()) {
      number++;
      if (Sampling.skips(number, 7)) {
        continue;
      }
      Cut cut = Cut.values()[random.nextInt(Cut.values().length)];
      with(modes.get(number % modes.size()), () -> assertQuery(cases, cut, random));
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

  private void assertQuery(List<Case> cases, Cut cut, Random random) {
    Case first = cases.get(0);
    List<Array> arrays = cases.stream().map(each -> ARRAYS.get(each.array)).toList();
    Array any = arrays.get(0);
    BlockKind kind = any.kind();
    frame(arrays, cut, random).createOrReplaceTempView("given");
    String call =
        "%s_%s(TABLE(given)%s%s)"
            .formatted(
                kind.label(),
                first.name,
                first.axes.isEmpty() ? "" : ", axis => '" + first.axes + "'",
                first.arguments.isEmpty() ? "" : ", " + first.arguments.replace("inf", "'inf'"));
    Dataset<Row> result = spark.sql("SELECT * FROM " + call);
    List<Row> rows = result.collectAsList();
    for (int sample = 0; sample < cases.size(); sample++) {
      int wanted = sample;
      List<Row> own = rows.stream().filter(row -> row.<Integer>getAs("sample") == wanted).toList();
      assertResult(cases.get(sample), any, own, what(call, cases.get(sample), cut));
    }
    String values = first.axes.isEmpty() ? "value" : "values";
    Optional<String> fileType =
        ArrayMetadata.of(result.schema().apply(values).metadata()).fileType();
    assertEquals(
        first.type.equals("bool"), fileType.equals(Optional.of("|b1")), call + " " + fileType);
  }

  private static String what(String call, Case of, Cut cut) {
    return call + " of " + of.array + " cut " + cut;
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
    Dataset<Row> frame = spark.createDataFrame(rows, schema).repartition(1 + random.nextInt(3));
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

  private static void assertResult(Case expected, Array array, List<Row> rows, String what) {
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
