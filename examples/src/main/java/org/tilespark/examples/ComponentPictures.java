package org.tilespark.examples;

import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Path;
import javax.imageio.ImageIO;

/** Vectors as small pictures side by side: red above zero, blue below, white at it. Stateless. */
final class ComponentPictures {
  private static final int SCALE = 4; // pixels of the file for a pixel of a picture
  private static final int GAP = 8;

  private ComponentPictures() {}

  /**
   * Writes a PNG.
   *
   * @param vectors each of {@code rows * cols} numbers, row-major
   */
  static void write(double[][] vectors, int rows, int cols, Path file) throws IOException {
    int across = (int) Math.ceil(Math.sqrt(vectors.length));
    int down = (vectors.length + across - 1) / across;
    int cellWidth = cols * SCALE + GAP;
    int cellHeight = rows * SCALE + GAP;
    BufferedImage image =
        new BufferedImage(
            across * cellWidth + GAP, down * cellHeight + GAP, BufferedImage.TYPE_INT_RGB);
    for (int v = 0; v < vectors.length; v++) {
      int left = GAP + v % across * cellWidth;
      int top = GAP + v / across * cellHeight;
      double largest = 0;
      for (double x : vectors[v]) {
        largest = Math.max(largest, Math.abs(x));
      }
      for (int y = 0; y < rows * SCALE; y++) {
        for (int x = 0; x < cols * SCALE; x++) {
          double value = vectors[v][y / SCALE * cols + x / SCALE];
          image.setRGB(left + x, top + y, colour(largest == 0 ? 0 : value / largest));
        }
      }
    }
    if (!ImageIO.write(image, "png", file.toFile())) {
      throw new IOException("This JDK writes no PNG");
    }
  }

  /** The colour of a number from -1 to 1. */
  private static int colour(double x) {
    int rest = (int) Math.round(255 * (1 - Math.min(1, Math.abs(x))));
    return x > 0 ? 0xFF0000 | rest << 8 | rest : rest << 16 | rest << 8 | 0xFF;
  }
}
