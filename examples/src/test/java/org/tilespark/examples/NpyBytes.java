package org.tilespark.examples;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/** Bytes of .npy files, made by hand: what numpy.save writes. */
final class NpyBytes {
  private NpyBytes() {}

  /** A file of version 1.0. */
  static byte[] of(String descr, boolean fortranOrder, String shape, byte[] data) {
    String text =
        "{'descr': '"
            + descr
            + "', 'fortran_order': "
            + (fortranOrder ? "True" : "False")
            + ", 'shape': "
            + shape
            + ", }";
    int length = (10 + text.length() + 1 + 63) / 64 * 64 - 10;
    ByteArrayOutputStream file = new ByteArrayOutputStream();
    file.writeBytes(new byte[] {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0});
    file.write(length);
    file.write(length >> 8);
    file.writeBytes(
        (text + " ".repeat(length - text.length() - 1) + "\n").getBytes(StandardCharsets.US_ASCII));
    file.writeBytes(data);
    return file.toByteArray();
  }

  /** {@code elements} elements of {@code width} bytes, which differ in every byte. */
  static byte[] data(int elements, int width) {
    byte[] data = new byte[elements * width];
    for (int i = 0; i < data.length; i++) {
      data[i] = (byte) (i * 131 + (i >> 8) * 29);
    }
    return data;
  }

  /**
   * The elements of a row-major array in the order of its permutation, one at a time.
   *
   * @param shape three extents
   * @param axes the input axis of each output axis
   */
  static byte[] permuted(byte[] data, int width, int[] shape, int... axes) {
    int[] strides = {shape[1] * shape[2], shape[2], 1};
    byte[] out = new byte[data.length];
    int to = 0;
    for (int a = 0; a < shape[axes[0]]; a++) {
      for (int b = 0; b < shape[axes[1]]; b++) {
        for (int c = 0; c < shape[axes[2]]; c++) {
          int from = a * strides[axes[0]] + b * strides[axes[1]] + c * strides[axes[2]];
          System.arraycopy(data, from * width, out, to++ * width, width);
        }
      }
    }
    return out;
  }
}
