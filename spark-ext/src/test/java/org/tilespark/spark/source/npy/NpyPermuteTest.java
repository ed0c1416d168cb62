package org.tilespark.spark.source.npy;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.testing.SparkTest;

/** File to file: what comes out is byte for byte what numpy makes of the same axes. */
class NpyPermuteTest extends SparkTest {
  @TempDir Path dir;

  @ParameterizedTest
  @EnumSource(NpyType.class)
  void matricesOfEveryType(NpyType type) throws IOException {
    Shape shape = Shape.of(61, 47);
    for (boolean fortran : new boolean[] {false, true}) {
      Dataset<Row> blocks = load(code(type), shape, fortran, "16,13");
      save(MatrixBlocks.transpose(blocks));
      assertPermuted(code(type), shape, Permutation.of(1, 0));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"xyz", "xzy", "yxz", "yzx", "zxy", "zyx"})
  void volumesInEveryOrderOfAxes(String axes) throws IOException {
    Shape shape = Shape.of(11, 17, 13);
    for (String code : new String[] {"u1", "i8", "f4", "c16"}) {
      save(VolumeBlocks.permute(load(code, shape, false, "5,4,6"), axes));
      assertPermuted(code, shape, Permutation.parse(axes));
      load(code, shape, true, "11,17,3").createOrReplaceTempView("npy_volume");
      save(spark.sql("SELECT * FROM volume_permute(TABLE(npy_volume), '" + axes + "')"));
      assertPermuted(code, shape, Permutation.parse(axes));
    }
  }

  private Dataset<Row> load(String code, Shape shape, boolean fortran, String blockShape) {
    byte[] file = new NpyFixture(code, shape.toArray()).file('<', fortran, 1);
    return spark
        .read()
        .format("npy")
        .option("blockShape", blockShape)
        .load(NpyFixture.write(dir.resolve("in.npy"), file));
  }

  private void save(Dataset<Row> blocks) {
    blocks.write().format("npy").mode("overwrite").save(dir.resolve("out.npy").toString());
  }

  private void assertPermuted(String code, Shape shape, Permutation permutation)
      throws IOException {
    long[] outShape = permutation.apply(shape).toArray();
    NpyFixture in = new NpyFixture(code, shape.toArray());
    byte[] sameShape = new NpyFixture(code, outShape).canonical();
    int elementBytes = in.element(0).length;
    int headerBytes = sameShape.length - Math.toIntExact(shape.elements() * elementBytes);
    ByteArrayOutputStream expected = new ByteArrayOutputStream();
    expected.write(sameShape, 0, headerBytes);
    long[] at = new long[shape.rank()];
    for (long out = 0; out < shape.elements(); out++) {
      long rest = out;
      for (int axis = shape.rank() - 1; axis >= 0; axis--) {
        at[permutation.axis(axis)] = rest % outShape[axis];
        rest /= outShape[axis];
      }
      long from = 0;
      for (int axis = 0; axis < shape.rank(); axis++) {
        from = from * shape.extent(axis) + at[axis];
      }
      expected.writeBytes(in.element(from));
    }
    assertArrayEquals(expected.toByteArray(), Files.readAllBytes(dir.resolve("out.npy")));
  }

  private static String code(NpyType type) {
    return type.descr().substring(1);
  }
}
