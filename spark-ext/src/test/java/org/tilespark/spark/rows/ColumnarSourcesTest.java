package org.tilespark.spark.rows;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.testing.SparkTest;

/** Blocks in column vectors of every kind, which share nothing but Spark's public interface. */
class ColumnarSourcesTest extends SparkTest {
  private static final List<String> TYPES =
      List.of("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE");

  /** Settings of a vectorized reader. */
  private static List<Map<String, String>> readers(String format) {
    return List.of(
        Map.of(),
        Map.of("spark.sql.columnVector.offheap.enabled", "true"),
        Map.of("spark.sql.sources.useV1SourceList", ""),
        Map.of("spark.sql.%s.enableNestedColumnVectorizedReader".formatted(format), "false"));
  }

  @TempDir Path directory;

  /** Six blocks of 2 x 3; few different values, so that Parquet encodes them in a dictionary. */
  private static Dataset<Row> blocks(String type) {
    return spark
        .range(0, 6, 1, 1)
        .selectExpr(
            "id % 2 AS part",
            "id DIV 2 * 2 AS row",
            "id % 2 * 3 AS col",
            "2 AS rows",
            "3 AS cols",
            "transform(sequence(1, 6), e -> CAST(e + id AS %s)) AS values".formatted(type));
  }

  /** Values by place. */
  private static Map<List<Long>, List<Object>> values(Dataset<Row> df) {
    Map<List<Long>, List<Object>> found =
        new TreeMap<>((a, b) -> a.toString().compareTo(b.toString()));
    for (Row row : df.select("row", "col", "values").collectAsList()) {
      found.put(List.of(row.getLong(0), row.getLong(1)), row.getList(2));
    }
    return found;
  }

  private static Dataset<Row> transposed(Dataset<Row> df) {
    return MatrixBlocks.transpose(df.drop("part"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"orc", "parquet"})
  void filesOfEveryType(String format) {
    for (String type : TYPES) {
      Dataset<Row> blocks = blocks(type);
      Map<List<Long>, List<Object>> expected = values(transposed(blocks));
      String path = directory.resolve(format + type).toString();
      blocks.write().format(format).partitionBy("part").save(path);
      for (Map<String, String> settings : readers(format).subList(0, type.equals("INT") ? 4 : 1)) {
        with(
            settings,
            () -> {
              Dataset<Row> read = spark.read().format(format).load(path);
              assertEquals(expected, values(transposed(read)), () -> type + " " + settings);
              assertEquals(
                  values(MatrixBlocks.reblock(blocks.drop("part"), 2, 3)),
                  values(MatrixBlocks.reblock(read.drop("part"), 2, 3)),
                  () -> type + " " + settings);
            });
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"orc", "parquet"})
  void aBlockInAStruct(String format) {
    Dataset<Row> blocks = blocks("DOUBLE");
    String path = directory.resolve(format).toString();
    blocks.selectExpr("struct(*) AS block").write().format(format).save(path);
    for (Map<String, String> settings : readers(format)) {
      with(
          settings,
          () ->
              assertEquals(
                  values(transposed(blocks)),
                  values(transposed(spark.read().format(format).load(path).select("block.*"))),
                  settings::toString));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"orc", "parquet"})
  void aNullAmongValuesIsNamed(String format) {
    String path = directory.resolve(format).toString();
    blocks("FLOAT")
        .selectExpr("row", "col", "rows", "cols", "transform(values, e -> NULLIF(e, 8F)) AS values")
        .write()
        .format(format)
        .save(path);
    for (Map<String, String> settings : readers(format)) {
      with(
          settings,
          () ->
              assertFails(
                  () ->
                      MatrixBlocks.transpose(spark.read().format(format).load(path))
                          .collectAsList(),
                  "values has a null at element"));
    }
  }

  /** The columns of a batch of one row, which has one array. */
  private static BlockCursor cursor(ColumnVector column) {
    BlockCursor cursor =
        BlockCursor.overBatches(
            List.of(new ColumnarBatch(new ColumnVector[] {column}, 1)).iterator());
    assertTrue(cursor.advance());
    return cursor;
  }

  @Test
  void vectorsThatHaveTheAbstractMethodsAlone() {
    Map<Double, Integer> nulls = new TreeMap<>();
    nulls.put(Double.NaN, -1);
    nulls.put(3.0, 2);
    nulls.forEach(
        (none, at) -> {
          BlockCursor cursor = cursor(new Arrays(new Doubles(new double[] {0, 1, 2, 3, 4}, none)));
          assertEquals(4, cursor.length(0));
          assertEquals((long) at, cursor.firstNull(0));
          if (at < 0) {
            double[] values = (double[]) cursor.values(0, ElementType.FLOAT64).values().base();
            assertEquals(
                List.of(1.0, 2.0, 3.0, 4.0), java.util.Arrays.stream(values).boxed().toList());
          }
          assertFalse(cursor.advance());
        });
  }

  /** Refuses everything that a reader of arrays need not ask for. */
  private abstract static class Minimal extends ColumnVector {
    private Minimal(DataType type) {
      super(type);
    }

    @Override
    public void close() {}

    @Override
    public boolean hasNull() {
      throw new UnsupportedOperationException("hasNull");
    }

    @Override
    public int numNulls() {
      throw new UnsupportedOperationException("numNulls");
    }

    @Override
    public boolean isNullAt(int rowId) {
      return false;
    }

    @Override
    public boolean getBoolean(int rowId) {
      throw new UnsupportedOperationException("getBoolean");
    }

    @Override
    public byte getByte(int rowId) {
      throw new UnsupportedOperationException("getByte");
    }

    @Override
    public short getShort(int rowId) {
      throw new UnsupportedOperationException("getShort");
    }

    @Override
    public int getInt(int rowId) {
      throw new UnsupportedOperationException("getInt");
    }

    @Override
    public long getLong(int rowId) {
      throw new UnsupportedOperationException("getLong");
    }

    @Override
    public float getFloat(int rowId) {
      throw new UnsupportedOperationException("getFloat");
    }

    @Override
    public double getDouble(int rowId) {
      throw new UnsupportedOperationException("getDouble");
    }

    @Override
    public ColumnarArray getArray(int rowId) {
      throw new UnsupportedOperationException("getArray");
    }

    @Override
    public ColumnarMap getMap(int ordinal) {
      throw new UnsupportedOperationException("getMap");
    }

    @Override
    public Decimal getDecimal(int rowId, int precision, int scale) {
      throw new UnsupportedOperationException("getDecimal");
    }

    @Override
    public UTF8String getUTF8String(int rowId) {
      throw new UnsupportedOperationException("getUTF8String");
    }

    @Override
    public byte[] getBinary(int rowId) {
      throw new UnsupportedOperationException("getBinary");
    }

    @Override
    public ColumnVector getChild(int ordinal) {
      throw new UnsupportedOperationException("getChild");
    }
  }

  /** Numbers, of which some are null. */
  private static final class Doubles extends Minimal {
    private final double[] values;
    private final double none;

    private Doubles(double[] values, double none) {
      super(DataTypes.DoubleType);
      this.values = values;
      this.none = none;
    }

    @Override
    public boolean isNullAt(int rowId) {
      return values[rowId] == none;
    }

    @Override
    public double getDouble(int rowId) {
      return values[rowId];
    }
  }

  /** One array: all but the first of the numbers. */
  private static final class Arrays extends Minimal {
    private final Doubles elements;

    private Arrays(Doubles elements) {
      super(new ArrayType(DataTypes.DoubleType, true));
      this.elements = elements;
    }

    @Override
    public ColumnarArray getArray(int rowId) {
      return new ColumnarArray(elements, 1, elements.values.length - 1);
    }
  }
}
