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
import java.util.HexFormat;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Compares a file with its permutation at random elements, bit for bit.
 *
 * <p>Uses the JDK and nothing of tilespark, so that a defect there cannot hide itself: each element
 * is one read at its place in the file.
 *
 * @param elements how many were compared
 * @param seed what they were drawn with
 * @param defect the first difference, or null
 */
record SampleCheck(int elements, long seed, String defect) {
  private static final int SAMPLE = 4096;

  /**
   * Compares.
   *
   * @param axes the input axis that each output axis is, as letters: {@code "yx"}, {@code "yzx"}
   */
  static SampleCheck run(Path input, Path output, String axes, long seed) throws IOException {
    int[] permutation =
        axes.toLowerCase(java.util.Locale.ROOT).trim().chars().map(c -> c - 'x').toArray();
    try (NpyElements in = NpyElements.open(input);
        NpyElements out = NpyElements.open(output)) {
      long[] expected = new long[permutation.length];
      for (int axis = 0; axis < expected.length; axis++) {
        expected[axis] = in.shape[permutation[axis]];
      }
      if (!Arrays.equals(expected, out.shape) || !in.type.equals(out.type)) {
        return new SampleCheck(
            0,
            seed,
            "the output is "
                + out.type
                + Arrays.toString(out.shape)
                + ", expected "
                + in.type
                + Arrays.toString(expected));
      }
      return compare(in, out, permutation, seed);
    }
  }

  private static SampleCheck compare(NpyElements in, NpyElements out, int[] permutation, long seed)
      throws IOException {
    if (Arrays.stream(out.shape).anyMatch(extent -> extent == 0)) {
      return new SampleCheck(0, seed, null);
    }
    Random random = new Random(seed);
    int rank = permutation.length;
    int corners = 1 << rank;
    long[] inIndex = new long[rank];
    long[] outIndex = new long[rank];
    for (int i = 0; i < SAMPLE; i++) {
      for (int axis = 0; axis < rank; axis++) {
        long last = out.shape[axis] - 1;
        outIndex[axis] =
            i < corners ? (i >> axis & 1) * last : random.nextLong(Math.addExact(last, 1));
        inIndex[permutation[axis]] = outIndex[axis];
      }
      byte[] expected = in.element(inIndex);
      byte[] found = out.element(outIndex);
      if (!Arrays.equals(expected, found)) {
        return new SampleCheck(
            i + 1,
            seed,
            "output"
                + Arrays.toString(outIndex)
                + " holds the bytes "
                + HexFormat.of().formatHex(found)
                + ", expected those of input"
                + Arrays.toString(inIndex)
                + ": "
                + HexFormat.of().formatHex(expected));
      }
    }
    return new SampleCheck(SAMPLE, seed, null);
  }

  boolean isRight() {
    return defect == null;
  }

  @Override
  public String toString() {
    return isRight()
        ? "right: " + elements + " elements of the files are equal bit for bit (seed " + seed + ")"
        : "WRONG: " + defect + " (seed " + seed + ")";
  }

  /** Single elements of a .npy file, little-endian. */
  private static final class NpyElements implements Closeable {
    private static final Pattern DESCR =
        Pattern.compile("['\"]descr['\"]: *['\"]([<>|])([a-z]\\d+)['\"]");
    private static final Pattern ORDER = Pattern.compile("['\"]fortran_order['\"]: *(True|False)");
    private static final Pattern SHAPE = Pattern.compile("['\"]shape['\"]: *\\(([^)]*)\\)");

    private final FileChannel file;
    private final long dataOffset;
    private final String type; // as numpy names it, without byte order: u1, c16
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
              .map(text -> text.replace("L", "").trim()) // (10000L, 784L) of old numpys
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

    byte[] element(long[] index) throws IOException {
      long place = 0;
      for (int i = 0; i < shape.length; i++) {
        int axis = fortranOrder ? shape.length - 1 - i : i;
        place = Math.addExact(Math.multiplyExact(place, shape[axis]), index[axis]);
      }
      byte[] bytes =
          read(
                  Math.addExact(dataOffset, Math.multiplyExact(place, (long) elementBytes)),
                  elementBytes)
              .array();
      if (bigEndian) {
        int parts = type.startsWith("c") ? 2 : 1; // the parts keep their order
        for (int part = 0; part < parts; part++) {
          reverse(bytes, part * (bytes.length / parts), bytes.length / parts);
        }
      }
      return bytes;
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
}
