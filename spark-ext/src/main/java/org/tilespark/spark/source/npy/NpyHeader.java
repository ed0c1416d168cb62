package org.tilespark.spark.source.npy;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import org.tilespark.layout.Shape;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.source.KnownFormat;

/**
 * The header of a .npy file.
 *
 * <p>Layout of a file (numpy's NEP 1; in versions 2.0 and 3.0 the length has four bytes):
 *
 * <pre>
 * 0x93 'N' 'U' 'M' 'P' 'Y' | major | minor | length (2, little-endian) | dict, spaces, '\n' | data
 * </pre>
 *
 * @param type element type
 * @param bigEndian true if the numbers' first byte is the highest
 * @param fortranOrder true if the first axis is the contiguous one
 * @param shape numpy's logical extents
 * @param dataOffset bytes before the data
 */
public record NpyHeader(
    NpyType type, boolean bigEndian, boolean fortranOrder, Shape shape, long dataOffset)
    implements Serializable {
  /** Bytes from the start of a file that hold the magic, the version and every form of length. */
  static final int PREFIX_BYTES = 12;

  /**
   * Most bytes of a header: more than any dense numeric array needs; numpy's own limit is 10,000
   * bytes.
   */
  static final int MAX_HEADER_BYTES = 1 << 20;

  /** Alignment of the data in bytes, as by numpy. */
  private static final int ALIGNMENT = 64;

  private static final byte[] MAGIC = {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y'};

  /**
   * Checks that the data's size can be counted.
   *
   * @throws IllegalArgumentException if the file would have more than 2^63 - 1 bytes
   */
  public NpyHeader {
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(shape, "shape");
    if (shape.elements() > (Long.MAX_VALUE - dataOffset) / type.elementBytes()) {
      throw new IllegalArgumentException(
          "Shape %s of %s has more than 2^63 - 1 bytes; the header is damaged"
              .formatted(shape, type.numpyName()));
    }
  }

  /** Bytes of all elements. */
  public long dataBytes() {
    return shape.elements() * type.elementBytes();
  }

  /** Length of the whole file, in bytes. */
  public long fileBytes() {
    return dataOffset + dataBytes();
  }

  /**
   * Length of the header up to the data, from a file's first bytes.
   *
   * @param prefix the first {@link #PREFIX_BYTES} bytes, or all if the file is shorter
   * @throws IllegalArgumentException if this is no .npy file, or one of an unknown version, or the
   *     header's stated length is unreasonable
   */
  static int headerBytes(byte[] prefix) {
    for (int i = 0; i < MAGIC.length; i++) {
      if (i >= prefix.length || prefix[i] != MAGIC[i]) {
        throw new IllegalArgumentException(
            "not a .npy file: expected it to start with the bytes 93 4E 55 4D 50 59 ('\\x93NUMPY'),"
                + " found "
                + hex(prefix, Math.min(prefix.length, MAGIC.length))
                + KnownFormat.of(prefix));
      }
    }
    if (prefix.length < 10) {
      throw new IllegalArgumentException(
          "truncated header: the file has " + prefix.length + " bytes");
    }
    int major = prefix[6] & 0xff;
    int minor = prefix[7] & 0xff;
    if (major < 1 || major > 3 || minor != 0) {
      throw new IllegalArgumentException(
          "format version " + major + "." + minor + "; expected 1.0, 2.0 or 3.0");
    }
    if (major > 1 && prefix.length < PREFIX_BYTES) {
      throw new IllegalArgumentException(
          "truncated header: the file has " + prefix.length + " bytes");
    }
    ByteBuffer buffer = ByteBuffer.wrap(prefix).order(ByteOrder.LITTLE_ENDIAN);
    long length = major == 1 ? buffer.getShort(8) & 0xffff : buffer.getInt(8) & 0xffffffffL;
    if (length > MAX_HEADER_BYTES) {
      throw new IllegalArgumentException(
          "header of " + length + " bytes; expected at most " + MAX_HEADER_BYTES);
    }
    return Math.toIntExact(length) + (major == 1 ? 10 : 12);
  }

  /**
   * Reads a header.
   *
   * @param bytes the first {@link #headerBytes} bytes of the file
   * @throws IllegalArgumentException if it is not what numpy writes for a dense array of a type
   *     that blocks can hold
   */
  static NpyHeader parse(byte[] bytes) {
    int major = bytes[6];
    int start = major == 1 ? 10 : 12;
    String text =
        new String(
            bytes,
            start,
            bytes.length - start,
            major == 3 ? StandardCharsets.UTF_8 : StandardCharsets.ISO_8859_1);
    return new NpyHeaderParser(text, major < 3).parse(bytes.length);
  }

  /** The header of a little-endian file in C order, with the data aligned as numpy does. */
  static NpyHeader forWriting(NpyType type, Shape shape) {
    return new NpyHeader(type, false, false, shape, encode(type, shape).length);
  }

  /** This header's bytes, exactly those that {@code numpy.save} writes. */
  byte[] encode() {
    if (bigEndian || fortranOrder) {
      throw new IllegalStateException("Files are written little-endian and in C order: " + this);
    }
    return encode(type, shape);
  }

  private static byte[] encode(NpyType type, Shape shape) {
    StringBuilder dict = new StringBuilder("{'descr': '").append(type.descr());
    dict.append("', 'fortran_order': False, 'shape': (");
    for (int axis = 0; axis < shape.rank(); axis++) {
      dict.append(axis == 0 ? "" : ", ").append(shape.extent(axis));
    }
    dict.append(shape.rank() == 1 ? ",)" : ")").append(", }");
    // numpy pads so that a longer first extent can be written in place ("growth axis"): 21 digits.
    if (shape.rank() > 0) {
      dict.append(" ".repeat(Math.max(0, 21 - Long.toString(shape.extent(0)).length())));
    }
    int unpadded = MAGIC.length + 4 + dict.length() + 1;
    dict.append(" ".repeat(ALIGNMENT - unpadded % ALIGNMENT)).append('\n');
    ByteBuffer out = ByteBuffer.allocate(MAGIC.length + 4 + dict.length());
    out.order(ByteOrder.LITTLE_ENDIAN).put(MAGIC).put((byte) 1).put((byte) 0);
    out.putShort((short) dict.length());
    return out.put(dict.toString().getBytes(StandardCharsets.US_ASCII)).array();
  }

  private static String hex(byte[] bytes, int count) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < count; i++) {
      text.append(i == 0 ? "" : " ").append(String.format("%02X", bytes[i]));
    }
    return count == 0 ? "no bytes" : text.toString();
  }
}
