package org.tilespark.spark.source.nifti;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.tilespark.layout.Shape;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.source.AxisLabels;
import org.tilespark.spark.source.KnownFormat;
import org.tilespark.spark.source.contiguous.ContiguousArray;
import org.tilespark.spark.source.contiguous.StoredFile;

/**
 * Reads the header of a NIfTI file: version 1 of 348 bytes, as nifti1.h of the NIfTI DFWG lays it
 * out, or version 2 of 540 bytes. The byte order is the one in which the first number is the
 * header's length. Stateless.
 */
final class NiftiHeader {
  /** The file's axis of time, if it has one. */
  private static final int TIME = 3;

  private static final int BYTES_1 = 348;
  private static final int BYTES_2 = 540;

  /** Names of the axes, in the order of the file. */
  private static final List<String> AXES = List.of("x", "y", "z", "t", "u", "v", "w");

  private static final Map<Integer, NpyType> TYPES =
      Map.ofEntries(
          Map.entry(2, NpyType.UINT8),
          Map.entry(4, NpyType.INT16),
          Map.entry(8, NpyType.INT32),
          Map.entry(16, NpyType.FLOAT32),
          Map.entry(32, NpyType.COMPLEX64),
          Map.entry(64, NpyType.FLOAT64),
          Map.entry(256, NpyType.INT8),
          Map.entry(512, NpyType.UINT16),
          Map.entry(768, NpyType.UINT32),
          Map.entry(1024, NpyType.INT64),
          Map.entry(1792, NpyType.COMPLEX128));

  private static final Map<Integer, String> OTHER_TYPES =
      Map.of(
          1, "single bits",
          128, "RGB colours",
          1280, "uint64",
          1536, "float128",
          2048, "complex256",
          2304, "RGBA colours");

  private NiftiHeader() {}

  /** A file and its array. */
  record Found(StoredFile file, ContiguousArray array, AxisLabels labels) {}

  /**
   * Reads the header.
   *
   * @throws IllegalArgumentException if it is none, or describes what blocks cannot hold
   */
  static Found read(StoredFile file, StoredFile.First first) throws IOException {
    byte[] head = first.bytes(BYTES_2);
    Found found = new Found(file.beginning(head), array(head), labels(head));
    long expected = found.array.fileBytes();
    if (!file.isGzip() && file.bytes() < expected) {
      throw new IllegalArgumentException(
          "truncated: expected %s bytes (%s before the data, then %s of %s), found %s"
              .formatted(
                  expected,
                  found.array.dataOffset(),
                  found.array.shape(),
                  found.array.type().numpyName(),
                  file.bytes()));
    }
    return found;
  }

  private static ByteBuffer header(byte[] head) {
    ByteBuffer header = ByteBuffer.wrap(head);
    if (head.length >= Integer.BYTES) {
      for (ByteOrder order : List.of(ByteOrder.LITTLE_ENDIAN, ByteOrder.BIG_ENDIAN)) {
        int bytes = header.order(order).getInt(0);
        if (bytes == BYTES_1 || bytes == BYTES_2) {
          if (head.length < bytes) {
            throw new IllegalArgumentException(
                "truncated header: expected %s bytes, found %s".formatted(bytes, head.length));
          }
          return header;
        }
      }
    }
    throw new IllegalArgumentException(
        "no NIfTI file: its first number is not %s or %s, the length of a header%s"
            .formatted(BYTES_1, BYTES_2, KnownFormat.of(head)));
  }

  private static boolean isVersion1(ByteBuffer header) {
    return header.getInt(0) == BYTES_1;
  }

  /** The extents of all axes, in the order of the file. */
  private static long[] extents(ByteBuffer header) {
    boolean is1 = isVersion1(header);
    long rank = is1 ? header.getShort(40) : header.getLong(16);
    if (rank < 1 || rank > AXES.size()) {
      throw new IllegalArgumentException("dim[0] is %s; expected 1 to 7 axes".formatted(rank));
    }
    long[] extents = new long[Math.max(2, (int) rank)];
    java.util.Arrays.fill(extents, 1);
    for (int axis = 0; axis < rank; axis++) {
      extents[axis] = is1 ? header.getShort(42 + 2 * axis) : header.getLong(24 + 8 * axis);
      if (extents[axis] < 0) {
        throw new IllegalArgumentException(
            "dim[%s] is %s; expected an extent".formatted(axis + 1, extents[axis]));
      }
    }
    return extents;
  }

  /**
   * One value for each axis in the order of the array: the first three, after the others from the
   * last one on, which is the slowest.
   */
  private static <T> List<T> ordered(List<T> inFileOrder) {
    int own = Math.min(3, inFileOrder.size());
    List<T> ordered = new ArrayList<>(inFileOrder.subList(own, inFileOrder.size()));
    Collections.reverse(ordered);
    ordered.addAll(inFileOrder.subList(0, own));
    return ordered;
  }

  /** The array of a header. */
  static ContiguousArray array(byte[] head) {
    ByteBuffer header = header(head);
    boolean is1 = isVersion1(header);
    String magic = new String(head, is1 ? 344 : 4, 3, StandardCharsets.ISO_8859_1);
    if (magic.equals("ni1") || magic.equals("ni2")) {
      throw new IllegalArgumentException(
          "the header of a pair of files (.hdr, .img); expected one file, .nii or .nii.gz, or format"
              + " raw for the .img file");
    }
    if (!magic.equals(is1 ? "n+1" : "n+2")) {
      throw new IllegalArgumentException(
          "no NIfTI file: its magic is '%s'; expected %s (is it ANALYZE 7.5?)"
              .formatted(magic.replaceAll("[^ -~]", "?"), is1 ? "n+1" : "n+2"));
    }
    int code = is1 ? header.getShort(70) : header.getShort(12);
    NpyType type = TYPES.get(code);
    if (type == null) {
      throw new IllegalArgumentException(
          "datatype %s (%s); expected one of %s"
              .formatted(
                  code, OTHER_TYPES.getOrDefault(code, "none of NIfTI's"), NpyType.SUPPORTED));
    }
    List<Long> shape = new ArrayList<>();
    for (long extent : extents(header)) {
      shape.add(extent);
    }
    double stated = is1 ? header.getFloat(108) : header.getLong(168);
    int least = (is1 ? BYTES_1 : BYTES_2) + 4; // four bytes say whether extensions follow
    if (!(stated >= least && stated < Long.MAX_VALUE)) {
      throw new IllegalArgumentException(
          "vox_offset is %s; expected %s or more".formatted(stated, least));
    }
    return new ContiguousArray(
        Shape.of(ordered(shape).stream().mapToLong(Long::longValue).toArray()),
        type,
        header.order() == ByteOrder.BIG_ENDIAN,
        true,
        is1 ? (long) stated : header.getLong(168),
        scaling(header));
  }

  /** As nifti1.h says, a slope of 0 means no scaling. */
  private static ContiguousArray.Scaling scaling(ByteBuffer header) {
    boolean is1 = isVersion1(header);
    double slope = is1 ? header.getFloat(112) : header.getDouble(176);
    double intercept = is1 ? header.getFloat(116) : header.getDouble(184);
    boolean isScaled = slope != 0 && Double.isFinite(slope);
    return isScaled
        ? new ContiguousArray.Scaling(slope, Double.isFinite(intercept) ? intercept : 0)
        : ContiguousArray.Scaling.NONE;
  }

  /** The header's unit of time in seconds; 1 if it is another unit or none. */
  private static double seconds(int units) {
    return switch (units & 0x38) {
      case 16 -> 1e-3;
      case 24 -> 1e-6;
      default -> 1;
    };
  }

  private static AxisLabels labels(byte[] head) {
    ByteBuffer header = header(head);
    int rank = extents(header).length;
    boolean is1 = isVersion1(header);
    List<Double> spacing = new ArrayList<>();
    for (int axis = 0; axis < rank; axis++) {
      spacing.add(is1 ? header.getFloat(80 + 4 * axis) : header.getDouble(112 + 8 * axis));
    }
    if (rank > TIME) {
      spacing.set(TIME, spacing.get(TIME) * seconds(is1 ? header.get(123) : header.getInt(500)));
    }
    boolean fits = spacing.stream().allMatch(each -> each > 0 && each <= Double.MAX_VALUE);
    return new AxisLabels(ordered(AXES.subList(0, rank)), fits ? ordered(spacing) : List.of(), "");
  }
}
