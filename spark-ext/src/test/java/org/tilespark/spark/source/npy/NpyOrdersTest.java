package org.tilespark.spark.source.npy;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.testing.SparkTest;

/**
 * Operators on an array from a file in Fortran order, compared with those on the same array in C
 * order.
 */
class NpyOrdersTest extends SparkTest {
  @TempDir Path dir;

  /**
   * With some operators, blocks of Fortran order are turned as they are read; others read along.
   */
  @ParameterizedTest
  @ValueSource(strings = {"b1", "i1", "u2", "i4", "i8", "f4", "f8", "c8"})
  void matrices(String code) throws IOException {
    boolean isComplex = code.startsWith("c");
    boolean isReal = !isComplex && !code.equals("b1");
    Map<String, UnaryOperator<Dataset<Row>>> operators = new LinkedHashMap<>();
    operators.put("map", m -> MatrixBlocks.map(m, isReal ? "v * 3 + row - col" : "v"));
    operators.put("slice", m -> MatrixBlocks.slice(m, "3:50:2, ::-1"));
    operators.put("slice of map", m -> MatrixBlocks.slice(MatrixBlocks.map(m, "v = v"), "5:, 40"));
    operators.put(
        "map of slice", m -> MatrixBlocks.map(MatrixBlocks.slice(m, "9:33, :7"), "-1 * v"));
    operators.put(
        "zip",
        m -> MatrixBlocks.zip(m, MatrixBlocks.transpose(MatrixBlocks.transpose(m)), "a = b"));
    operators.put(
        "zip of two orders",
        m -> MatrixBlocks.zip(m, load("other", code, Shape.of(61, 47), false, "9,47"), "a <> b"));
    operators.put("sum", m -> MatrixBlocks.sum(MatrixBlocks.map(m, "v = v"), "0"));
    operators.put("pad", m -> MatrixBlocks.pad(m, "2; 3", "wrap"));
    Shape shape = Shape.of(61, 47);
    assertSame(operators, code, shape, "16,13");
    assertEquals(
        0L,
        MatrixBlocks.countNonzero(
                MatrixBlocks.zip(
                    MatrixBlocks.map(load("f", code, shape, true, "16,13"), "isnan(v)"),
                    MatrixBlocks.map(load("c", code, shape, false, "7,47"), "isnan(v)"),
                    "a <> b"))
            .first()
            .getLong(0));
  }

  @ParameterizedTest
  @ValueSource(strings = {"u1", "i8", "f4", "c16"})
  void volumes(String code) throws IOException {
    Map<String, UnaryOperator<Dataset<Row>>> operators = new LinkedHashMap<>();
    operators.put("map", v -> VolumeBlocks.map(v, "if(x < y, v, 0)"));
    operators.put("slice", v -> VolumeBlocks.slice(v, "::3, 4:, -1"));
    operators.put(
        "slice of a permutation", v -> VolumeBlocks.slice(VolumeBlocks.permute(v, "zxy"), "2:9"));
    operators.put("flip", v -> VolumeBlocks.flip(v, "y"));
    assertSame(operators, code, Shape.of(11, 17, 13), "5,17,6");
  }

  private void assertSame(
      Map<String, UnaryOperator<Dataset<Row>>> operators, String code, Shape shape, String blocks)
      throws IOException {
    for (Map.Entry<String, UnaryOperator<Dataset<Row>>> operator : operators.entrySet()) {
      byte[] plain = saved(operator.getValue().apply(load("c", code, shape, false, blocks)));
      byte[] fortran = saved(operator.getValue().apply(load("f", code, shape, true, blocks)));
      assertArrayEquals(plain, fortran, operator.getKey() + " of " + code);
    }
  }

  private Dataset<Row> load(String name, String code, Shape shape, boolean fortran, String blocks) {
    byte[] file = new NpyFixture(code, shape.toArray()).file('<', fortran, 1);
    return spark
        .read()
        .format("npy")
        .option("blockShape", blocks)
        .load(NpyFixture.write(dir.resolve(name + ".npy"), file));
  }

  private byte[] saved(Dataset<Row> blocks) throws IOException {
    Path out = dir.resolve("out.npy");
    blocks.write().format("npy").mode("overwrite").save(out.toString());
    return Files.readAllBytes(out);
  }
}
