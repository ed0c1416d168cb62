package org.tilespark.spark.pointwise;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockKind;

/** Arrays and expressions, and numpy's results, which dev/numpy-table has written into a file. */
final class NumpyTable {
  static final Map<String, Array> ARRAYS = new HashMap<>();
  static final List<Case> CASES = new ArrayList<>();

  static {
    table()
        .lines()
        .map(line -> line.split("\t", -1))
        .forEach(
            line -> {
              if (line[0].equals("@")) {
                long[] extents =
                    Arrays.stream(line[3].split("x")).mapToLong(Long::parseLong).toArray();
                ARRAYS.put(
                    line[1], new Array(numpyType(line[2]), Shape.of(extents), bytes(line[4])));
              } else {
                CASES.add(Case.of(line));
              }
            });
  }

  record Array(ValueType type, Shape shape, byte[] bytes) {
    /** The real parts, and the imaginary ones if there are any. */
    List<HostMemory> planes() {
      int parts = type.isComplex() ? 2 : 1;
      int width = type.element().bytes();
      List<HostMemory> planes = new ArrayList<>();
      for (int part = 0; part < parts; part++) {
        byte[] plane = new byte[bytes.length / parts];
        for (int at = 0; at < plane.length; at += width) {
          System.arraycopy(bytes, at * parts + part * width, plane, at, width);
        }
        planes.add(HostMemory.ofArray(plane));
      }
      return planes;
    }
  }

  /**
   * An expression and what becomes of it.
   *
   * @param operands names of arrays by names in the expression
   * @param error the greatest, in ulp; {@code "0z"} is none but in signs of zeros
   */
  record Case(
      BlockKind kind,
      String expression,
      Map<String, String> operands,
      ValueType type,
      String error,
      byte[] expected) {
    static Case of(String[] line) {
      Map<String, String> operands = new LinkedHashMap<>();
      for (String operand : line[2].split(",")) {
        String[] pair = operand.split("=");
        operands.put(pair[0], pair[1]);
      }
      return new Case(
          line[0].equals("matrix") ? BlockKind.MATRIX : BlockKind.VOLUME,
          line[1],
          operands,
          numpyType(line[3]),
          line[4],
          bytes(line[5]));
    }

    @Override
    public String toString() {
      return expression + " of " + operands;
    }
  }

  private NumpyTable() {}

  /** Asserts that an element is near enough to the next of what is expected. */
  static void assertNear(
      Case given, int i, ElementType type, ByteBuffer expected, ByteBuffer found) {
    switch (type) {
      case INT8 -> assertEquals(expected.get(), found.get(), () -> given + " at " + i);
      case INT16 -> assertEquals(expected.getShort(), found.getShort(), () -> given + " at " + i);
      case INT32 -> assertEquals(expected.getInt(), found.getInt(), () -> given + " at " + i);
      case INT64 -> assertEquals(expected.getLong(), found.getLong(), () -> given + " at " + i);
      case FLOAT32 -> {
        float x = expected.getFloat();
        float y = found.getFloat();
        long ulps =
            ordered(Float.floatToIntBits(x), Integer.MIN_VALUE)
                - ordered(Float.floatToIntBits(y), Integer.MIN_VALUE);
        assertTrue(near(given.error, x, y, ulps), () -> message(given, i, x, y));
      }
      case FLOAT64 -> {
        double x = expected.getDouble();
        double y = found.getDouble();
        long ulps =
            ordered(Double.doubleToLongBits(x), Long.MIN_VALUE)
                - ordered(Double.doubleToLongBits(y), Long.MIN_VALUE);
        assertTrue(near(given.error, x, y, ulps), () -> message(given, i, x, y));
      }
    }
  }

  private static String message(Case given, int i, double numpy, double found) {
    return "%s at %s: numpy has %s, found %s".formatted(given, i, numpy, found);
  }

  private static boolean near(String error, double x, double y, long ulps) {
    if (Double.isNaN(x) || Double.isNaN(y)) {
      return Double.isNaN(x) && Double.isNaN(y);
    }
    if (x == 0 && y == 0) {
      return ulps == 0 || error.equals("0z");
    }
    return Math.abs(ulps) <= Long.parseLong(error.replace("z", ""));
  }

  /** Numbers in the order of the floating-point numbers with these bits; -0 is below 0. */
  private static long ordered(long bits, long least) {
    return bits < 0 ? least - bits - 1 : bits;
  }

  static ByteBuffer little(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static byte[] bytes(String base64) {
    return Base64.getDecoder().decode(base64);
  }

  private static ValueType numpyType(String numpy) {
    return switch (numpy) {
      case "bool" -> ValueType.BOOL;
      case "complex64" -> ValueType.complex(ElementType.FLOAT32);
      case "complex128" -> ValueType.complex(ElementType.FLOAT64);
      default -> ValueType.real(ElementType.valueOf(numpy.toUpperCase(Locale.ROOT)));
    };
  }

  private static String table() {
    try (InputStream in = NumpyTable.class.getResourceAsStream("numpy-table.tsv")) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
