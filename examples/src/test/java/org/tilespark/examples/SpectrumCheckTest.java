package org.tilespark.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SpectrumCheckTest {
  private static final int[] SHAPE = {3, 4, 5};
  private static final double UNIT = 0x1p-53;

  @TempDir Path directory;

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void takesTheTransformAndSeesOneWrongNumber(boolean half) throws IOException {
    Path values = file("in.npy", NpyBytes.of("|u1", false, "(3, 4, 5)", NpyBytes.data(60, 1)));
    byte[] transform = transform(NpyBytes.data(60, 1), half);
    String shape = half ? "(3, 4, 3)" : "(3, 4, 5)";
    Path spectrum = file("out.npy", NpyBytes.of("<c16", false, shape, transform));
    SpectrumCheck right = SpectrumCheck.run(values, spectrum, half, UNIT, 3);
    assertTrue(right.isRight(), right::toString);

    // The last frequency is always looked at.
    ByteBuffer numbers = ByteBuffer.wrap(transform).order(ByteOrder.LITTLE_ENDIAN);
    int last = transform.length - 8;
    numbers.putDouble(last, numbers.getDouble(last) + 1e-9);
    file("out.npy", NpyBytes.of("<c16", false, shape, transform));
    SpectrumCheck wrong = SpectrumCheck.run(values, spectrum, half, UNIT, 3);
    assertFalse(wrong.isRight());
    assertTrue(wrong.toString().contains(half ? "[2, 3, 2]" : "[2, 3, 4]"), wrong::toString);
  }

  /** These numbers, but stored with the first axis contiguous. */
  @Test
  void readsComplexValuesInFortranOrder() throws IOException {
    byte[] rowMajor = transform(NpyBytes.data(60, 1), false);
    byte[] columnMajor = NpyBytes.permuted(rowMajor, 16, SHAPE, 2, 1, 0);
    Path values = file("in.npy", NpyBytes.of("<c16", true, "(3, 4, 5)", columnMajor));
    // The transform of a transform: the values times 60, at mirrored indices.
    ByteBuffer twice = ByteBuffer.allocate(60 * 16).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < 3; i++) {
      for (int j = 0; j < 4; j++) {
        for (int k = 0; k < 5; k++) {
          int mirrored = ((3 - i) % 3 * 4 + (4 - j) % 4) * 5 + (5 - k) % 5;
          twice.putDouble(60.0 * (NpyBytes.data(60, 1)[mirrored] & 0xff)).putDouble(0);
        }
      }
    }
    Path spectrum = file("out.npy", NpyBytes.of("<c16", false, "(3, 4, 5)", twice.array()));
    SpectrumCheck check = SpectrumCheck.run(values, spectrum, false, UNIT, 4);
    assertTrue(check.isRight(), check::toString);
  }

  @Test
  void seesAWrongShape() throws IOException {
    Path values = file("in.npy", NpyBytes.of("|u1", false, "(3, 4, 5)", NpyBytes.data(60, 1)));
    Path spectrum = file("out.npy", NpyBytes.of("<c8", false, "(3, 4, 5)", new byte[480]));
    assertEquals(
        "the spectrum is c8[3, 4, 5], expected complex numbers of [3, 4, 3]",
        SpectrumCheck.run(values, spectrum, true, UNIT, 3).defect());
  }

  /** Element by element, as the definition says. */
  private static byte[] transform(byte[] values, boolean half) {
    int nz = half ? 3 : 5;
    ByteBuffer out = ByteBuffer.allocate(3 * 4 * nz * 16).order(ByteOrder.LITTLE_ENDIAN);
    for (int p = 0; p < 3; p++) {
      for (int q = 0; q < 4; q++) {
        for (int r = 0; r < nz; r++) {
          double real = 0;
          double imag = 0;
          for (int at = 0; at < 60; at++) {
            double turns =
                p * (at / 20) % 3 / 3.0 + q * (at / 5 % 4) % 4 / 4.0 + r * (at % 5) % 5 / 5.0;
            real += (values[at] & 0xff) * Math.cos(2 * Math.PI * turns);
            imag -= (values[at] & 0xff) * Math.sin(2 * Math.PI * turns);
          }
          out.putDouble(real).putDouble(imag);
        }
      }
    }
    return out.array();
  }

  private Path file(String name, byte[] bytes) throws IOException {
    return Files.write(directory.resolve(name), bytes);
  }
}
