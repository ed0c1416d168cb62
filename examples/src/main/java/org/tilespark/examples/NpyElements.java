package org.tilespark.examples;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads single elements of a .npy file with the JDK alone, so that checks do not depend on the code
 * they check.
 */
final class NpyElements implements Closeable {
  private static final Pattern DESCR =
      Pattern.compile("['\"]descr['\"]: *['\"]([<>|])([a-z]\\d+)['\"]");
  private static final Pattern ORDER = Pattern.compile("['\"]fortran_order['\"]: *(True|False)");
  private static final Pattern SHAPE = Pattern.compile("['\"]shape['\"]: *\\(([^)]*)\\)");

  private final FileChannel file;
  private final long dataOffset;
  private final String type; // numpy's name without byte order: u1, c16
  private final int elementBytes;
  private final boolean bigEndian;
  private final boolean fortranOrder;
  private final long[] shape;

  private NpyElements(FileChannel file, Path path) throws IOException {
    this.file = file;
    ByteBuffer prefix = read(0, 12).order(ByteOrder.LITTLE_ENDIAN);
    boolean version1 = prefix.get(6) == 1;
    int lengthEnd = version1 ? 10 : 12;
    int length = version1 ? Short.toUnsignedInt(prefix.getShort(8)) : prefix.getInt(8);
    String header = StandardCharsets.UTF_8.decode(read(lengthEnd, length)).toString();
    Matcher descr = find(DESCR, header, path);
    this.dataOffset = Math.addExact((long) lengthEnd, length);
    this.bigEndian = descr.group(1).equals(">");
    this.type = descr.group(2);
    this.elementBytes = Integer.parseInt(type.substring(1));
    this.fortranOrder = find(ORDER, header, path).group(1).equals("True");
    this.shape =
        Arrays.stream(find(SHAPE, header, path).group(1).split(",", 0))
            .map(text -> text.replace("L", "").trim()) // old numpy versions write (10000L, 784L)
            .filter(text -> !text.isEmpty())
            .mapToLong(Long::parseLong)
            .toArray();
  }

  static NpyElements open(Path path) throws IOException {
    FileChannel file = FileChannel.open(path);
    try {
      return new NpyElements(file, path);
    } catch (Throwable t) {
      file.close();
      throw t;
    }
  }

  /** Extents, outermost first. */
  long[] shape() {
    return shape.clone();
  }

  /** The type in numpy's notation without byte order, such as u1 or c16. */
  String type() {
    return type;
  }

  /** The element as a double; the type must not be complex. */
  double number(long... index) throws IOException {
    return part(ByteBuffer.wrap(element(index)).order(ByteOrder.LITTLE_ENDIAN));
  }

  /** The element of a row of a one-column matrix or of a vector. */
  double firstOf(long row) throws IOException {
    long[] index = new long[shape.length];
    index[0] = row;
    return number(index);
  }

  boolean isComplex() {
    return type.startsWith("c");
  }

  /** The axis along which elements are contiguous in the file. */
  int contiguousAxis() {
    return fortranOrder ? 0 : shape.length - 1;
  }

  /**
   * Reads consecutive elements along the contiguous axis.
   *
   * @param index index of the first element
   * @param real output: the elements, or their real parts
   * @param imag output: the imaginary parts of complex elements
   */
  void line(long[] index, double[] real, double[] imag) throws IOException {
    ByteBuffer bytes =
        read(place(index), Math.multiplyExact(real.length, elementBytes))
            .order(bigEndian ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < real.length; i++) {
      real[i] = part(bytes);
      if (isComplex()) {
        imag[i] = part(bytes);
      }
    }
  }

  /** Decodes the next number: a real element, or one part of a complex element. */
  private double part(ByteBuffer bytes) throws IOException {
    return switch (type) {
      case "f8", "c16" -> bytes.getDouble();
      case "f4", "c8" -> bytes.getFloat();
      case "f2" -> half(bytes.getShort());
      case "i8" -> bytes.getLong();
      case "i4" -> bytes.getInt();
      case "i2" -> bytes.getShort();
      case "i1", "b1" -> bytes.get();
      case "u4" -> Integer.toUnsignedLong(bytes.getInt());
      case "u2" -> Short.toUnsignedInt(bytes.getShort());
      case "u1" -> Byte.toUnsignedInt(bytes.get());
      default -> throw new IOException("Elements of type " + type + " are no numbers");
    };
  }

  /** The element, or its absolute value if it is complex. */
  double magnitude(long... index) throws IOException {
    ByteBuffer bytes = ByteBuffer.wrap(element(index)).order(ByteOrder.LITTLE_ENDIAN);
    return isComplex() ? Math.hypot(part(bytes), part(bytes)) : part(bytes);
  }

  /** Decodes a 16-bit float (IEEE 754 binary16). */
  private static double half(short bits) {
    int exponent = bits >> 10 & 0x1f;
    int fraction = bits & 0x3ff;
    double magnitude =
        switch (exponent) {
          case 0 -> fraction * 0x1p-24;
          case 0x1f -> fraction == 0 ? Double.POSITIVE_INFINITY : Double.NaN;
          default -> Math.scalb(1 + fraction * 0x1p-10, exponent - 15);
        };
    return bits < 0 ? -magnitude : magnitude;
  }

  /** The bytes of an element in little-endian order. */
  byte[] element(long[] index) throws IOException {
    byte[] bytes = read(place(index), elementBytes).array();
    if (bigEndian) {
      int parts = isComplex() ? 2 : 1; // real before imaginary part
      for (int part = 0; part < parts; part++) {
        reverse(bytes, part * (bytes.length / parts), bytes.length / parts);
      }
    }
    return bytes;
  }

  /** The element's offset in the file. */
  private long place(long[] index) {
    long place = 0;
    for (int i = 0; i < shape.length; i++) {
      int axis = fortranOrder ? shape.length - 1 - i : i;
      place = Math.addExact(Math.multiplyExact(place, shape[axis]), index[axis]);
    }
    return Math.addExact(dataOffset, Math.multiplyExact(place, (long) elementBytes));
  }

  private static void reverse(byte[] bytes, int from, int length) {
    for (int i = 0; i < length / 2; i++) {
      byte kept = bytes[from + i];
      bytes[from + i] = bytes[from + length - 1 - i];
      bytes[from + length - 1 - i] = kept;
    }
  }

  private ByteBuffer read(long position, int length) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(length);
    while (bytes.hasRemaining()) {
      if (file.read(bytes, position + bytes.position()) < 0) {
        throw new EOFException("The file ends before byte " + (position + length));
      }
    }
    return bytes.flip();
  }

  private static Matcher find(Pattern pattern, String header, Path path) throws IOException {
    Matcher matcher = pattern.matcher(header);
    if (!matcher.find()) {
      throw new IOException(path + ": the header '" + header + "' has no match of " + pattern);
    }
    return matcher;
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
