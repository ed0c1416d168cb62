package org.tilespark.spark.source.npy;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Collectors;

/**
 * Writes .npy files for tests, independently of the code under test: header text after numpy's
 * {@code format.py}, element by element in whatever order.
 */
public final class NpyFixture {
  private final String code; // "f4", "c16"
  private final int parts;
  private final int partBytes;
  private final long[] shape;

  /** An array of a type, as numpy writes it: {@code "f4"}. */
  public NpyFixture(String code, long... shape) {
    this.code = code;
    this.parts = code.charAt(0) == 'c' ? 2 : 1;
    this.partBytes = Integer.parseInt(code.substring(1)) / parts;
    this.shape = shape;
  }

  /** The bytes of element {@code index} (row-major), little-endian; of wide types no two alike. */
  byte[] element(long index) {
    ByteBuffer bytes = ByteBuffer.allocate(16).order(ByteOrder.LITTLE_ENDIAN);
    bytes.putLong((index + 1) * 0x9E3779B97F4A7C15L).putLong((index + 7) * 0xC2B2AE3D27D4EB4FL);
    byte[] element = Arrays.copyOf(bytes.array(), parts * partBytes);
    if (code.charAt(0) == 'b') {
      element[0] = (byte) (Long.bitCount((index + 1) * 0x9E3779B97F4A7C15L) & 1); // False or True
    }
    return element;
  }

  /** The file that numpy.save makes of the array in C order on a little-endian machine. */
  public byte[] canonical() {
    return file('<', false, 1);
  }

  /** The array as a file. */
  public byte[] file(char order, boolean fortran, int version) {
    char mark = partBytes == 1 ? '|' : order;
    String dict =
        "{'descr': '"
            + mark
            + code
            + "', 'fortran_order': "
            + (fortran ? "True" : "False")
            + ", 'shape': "
            + tuple(shape)
            + ", }";
    long growing = fortran ? shape[shape.length - 1] : shape[0];
    dict += " ".repeat(21 - Long.toString(growing).length());
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.writeBytes(header(dict, version));
    long count = Arrays.stream(shape).reduce(1, (a, b) -> a * b);
    for (long i = 0; i < count; i++) {
      byte[] element = element(fortran ? fromFortran(i) : i);
      for (int part = 0; part < parts; part++) {
        for (int b = 0; b < partBytes; b++) {
          int at = mark == '>' ? partBytes - 1 - b : b;
          out.write(element[part * partBytes + at]);
        }
      }
    }
    return out.toByteArray();
  }

  /** Magic, version, length, dict, padding. */
  static byte[] header(String dict, int version) {
    int prefix = version == 1 ? 10 : 12;
    String padded = dict + " ".repeat(64 - (prefix + dict.length() + 1) % 64) + "\n";
    ByteBuffer header = ByteBuffer.allocate(prefix + padded.length());
    header.order(ByteOrder.LITTLE_ENDIAN);
    header.put(new byte[] {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', (byte) version, 0});
    if (version == 1) {
      header.putShort((short) padded.length());
    } else {
      header.putInt(padded.length());
    }
    return header.put(padded.getBytes(StandardCharsets.US_ASCII)).array();
  }

  static String tuple(long... shape) {
    return Arrays.stream(shape)
        .mapToObj(Long::toString)
        .collect(Collectors.joining(", ", "(", shape.length == 1 ? ",)" : ")"));
  }

  /** Row-major index of the {@code index}-th element in Fortran order. */
  private long fromFortran(long index) {
    long rest = index;
    long[] at = new long[shape.length];
    for (int axis = 0; axis < shape.length; axis++) {
      at[axis] = rest % shape[axis];
      rest /= shape[axis];
    }
    long linear = 0;
    for (int axis = 0; axis < shape.length; axis++) {
      linear = linear * shape[axis] + at[axis];
    }
    return linear;
  }

  static String write(Path path, byte[] bytes) {
    try {
      Files.write(path, bytes);
      return path.toString();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
