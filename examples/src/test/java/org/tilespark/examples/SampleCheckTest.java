package org.tilespark.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SampleCheckTest {
  @TempDir Path directory;

  @Test
  void seesOneWrongElement() throws IOException {
    byte[] data = NpyBytes.data(12, 2);
    byte[] expected = NpyBytes.permuted(data, 2, new int[] {1, 3, 4}, 0, 2, 1);
    Path input = file("in.npy", NpyBytes.of("<i2", false, "(3, 4)", data));
    Path output = file("out.npy", NpyBytes.of("<i2", false, "(4, 3)", expected));
    assertTrue(SampleCheck.run(input, output, "yx", 7).isRight());

    expected[11] ^= 1; // element 5, which is output (1, 2) and input (2, 1)
    file("out.npy", NpyBytes.of("<i2", false, "(4, 3)", expected));
    SampleCheck check = SampleCheck.run(input, output, "yx", 7);
    assertFalse(check.isRight());
    assertTrue(check.toString().contains("output[1, 2]"), check::toString);
    assertTrue(check.toString().contains("input[2, 1]"), check::toString);
    assertTrue(check.toString().contains("seed 7"), check::toString);
  }

  @Test
  void seesAWrongShapeAndAWrongType() throws IOException {
    Path input = file("in.npy", NpyBytes.of("<i2", false, "(3, 4)", NpyBytes.data(12, 2)));
    Path shape = file("shape.npy", NpyBytes.of("<i2", false, "(3, 4)", NpyBytes.data(12, 2)));
    Path type = file("type.npy", NpyBytes.of("<u2", false, "(4, 3)", NpyBytes.data(12, 2)));
    assertEquals(
        "the output is i2[3, 4], expected i2[4, 3]",
        SampleCheck.run(input, shape, "yx", 7).defect());
    assertEquals(
        "the output is u2[4, 3], expected i2[4, 3]",
        SampleCheck.run(input, type, "yx", 7).defect());
  }

  /** A big-endian file in Fortran order is its transpose, with each part's bytes turned round. */
  @Test
  void readsFortranOrderAndBigEndian() throws IOException {
    byte[] little = NpyBytes.data(6, 8);
    byte[] big = new byte[little.length];
    for (int i = 0; i < big.length; i++) {
      big[i] = little[i / 4 * 4 + 3 - i % 4];
    }
    Path input = file("in.npy", NpyBytes.of(">c8", true, "(2, 3)", big));
    Path output = file("out.npy", NpyBytes.of("<c8", false, "(3, 2)", little));
    SampleCheck check = SampleCheck.run(input, output, "yx", 7);
    assertTrue(check.isRight(), check::toString);
  }

  @Test
  void readsEmptyArrays() throws IOException {
    Path input = file("in.npy", NpyBytes.of("<f4", false, "(0, 3)", new byte[0]));
    Path output = file("out.npy", NpyBytes.of("<f4", false, "(3, 0)", new byte[0]));
    assertTrue(SampleCheck.run(input, output, "yx", 7).isRight());
  }

  private Path file(String name, byte[] bytes) throws IOException {
    return Files.write(directory.resolve(name), bytes);
  }
}
