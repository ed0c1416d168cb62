package org.tilespark.examples;

import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Path;
import java.util.function.DoubleUnaryOperator;
import javax.imageio.ImageIO;

/**
 * The three slices through one element of a volume, side by side in grey: x, then y, then z held;
 * of the axes that remain the first goes to the right and the second upwards. Stateless.
 */
final class SlicePictures {
  private static final int GAP = 8; // pixels

  private SlicePictures() {}

  /** How elements become grey. */
  enum Grey {
    /** From the least (black) to the largest (white) of the three slices. */
    LINEAR(value -> value),
    /** The same for the logarithm of 1 and the magnitude. */
    LOGARITHMIC(Math::log1p);

    private final DoubleUnaryOperator scale;

    Grey(DoubleUnaryOperator scale) {
      this.scale = scale;
    }
  }

  /**
   * Writes a PNG of the slices through the middle.
   *
   * @param volume of rank 3; complex elements are shown by their magnitude
   * @param rolled per axis, true if index 0 belongs in the middle: a spectrum's frequency 0
   */
  static void write(NpyElements volume, Grey grey, boolean[] rolled, Path file) throws IOException {
    double[][][] slices = new double[3][][];
    double least = Double.POSITIVE_INFINITY;
    double most = Double.NEGATIVE_INFINITY;
    for (int held = 0; held < 3; held++) {
      slices[held] = slice(volume, held, grey, rolled);
      for (double[] line : slices[held]) {
        for (double value : line) {
          least = Math.min(least, value);
          most = Math.max(most, value);
        }
      }
    }
    int width = GAP;
    int height = 0;
    for (double[][] slice : slices) {
      width += slice.length + GAP;
      height = Math.max(height, slice.length == 0 ? 0 : slice[0].length);
    }
    BufferedImage image = new BufferedImage(width, height + 2 * GAP, BufferedImage.TYPE_BYTE_GRAY);
    int left = GAP;
    for (double[][] slice : slices) {
      for (int right = 0; right < slice.length; right++) {
        for (int up = 0; up < slice[right].length; up++) {
          double part = most > least ? (slice[right][up] - least) / (most - least) : 0;
          int level = (int) Math.round(255 * part);
          image.setRGB(left + right, GAP + height - 1 - up, level << 16 | level << 8 | level);
        }
      }
      left += slice.length + GAP;
    }
    if (!ImageIO.write(image, "png", file.toFile())) {
      throw new IOException("This JDK writes no PNG");
    }
  }

  /** Grey values, by the first axis that remains, then the second. */
  private static double[][] slice(NpyElements volume, int held, Grey grey, boolean[] rolled)
      throws IOException {
    long[] shape = volume.shape();
    int across = held == 0 ? 1 : 0;
    int up = held == 2 ? 1 : 2;
    long[] index = new long[3];
    index[held] = rolled[held] ? 0 : shape[held] / 2;
    double[][] values = new double[Math.toIntExact(shape[across])][Math.toIntExact(shape[up])];
    for (int i = 0; i < values.length; i++) {
      index[across] = i;
      int column = place(i, shape[across], rolled[across]);
      for (int j = 0; j < values[i].length; j++) {
        index[up] = j;
        values[column][place(j, shape[up], rolled[up])] =
            grey.scale.applyAsDouble(volume.magnitude(index));
      }
    }
    return values;
  }

  /** Where an index goes in the picture. */
  private static int place(int index, long extent, boolean rolled) {
    return rolled ? (int) ((index + extent / 2) % extent) : index;
  }
}
