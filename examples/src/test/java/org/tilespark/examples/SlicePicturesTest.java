package org.tilespark.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.awt.image.BufferedImage;
import java.awt.image.Raster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SlicePicturesTest {
  @TempDir Path directory;

  /** One white element, at (1, 1, 3) of (2, 3, 4): two to the right of x = 1's left edge. */
  @Test
  void anElementIsWhereItBelongs() throws IOException {
    byte[] values = new byte[24];
    values[12 + 4 + 3] = 100;
    Raster picture = picture(values, false);
    assertEquals(8 + 3 + 8 + 2 + 8 + 2 + 8, picture.getWidth());
    assertEquals(8 + 4 + 8, picture.getHeight());
    assertEquals(255, picture.getSample(8 + 1, 8 + 0, 0)); // slice x = 1: y to the right, z up
    assertEquals(255, picture.getSample(8 + 3 + 8 + 1, 8 + 0, 0)); // slice y = 1: x, z
    assertEquals(510, sum(picture)); // and it is not in the slice z = 2
  }

  /** Index 0 in the middle: the element at (0, 0, 0) is in all three slices. */
  @Test
  void frequencyZeroIsInTheMiddle() throws IOException {
    byte[] values = new byte[24];
    values[0] = 7;
    Raster picture = picture(values, true);
    assertEquals(255, picture.getSample(8 + 1, 8 + 4 - 1 - 2, 0));
    assertEquals(255, picture.getSample(8 + 3 + 8 + 1, 8 + 4 - 1 - 2, 0));
    assertEquals(255, picture.getSample(8 + 3 + 8 + 2 + 8 + 1, 8 + 4 - 1 - 1, 0));
    assertEquals(3 * 255, sum(picture));
  }

  private Raster picture(byte[] values, boolean rolled) throws IOException {
    Path volume =
        Files.write(
            directory.resolve("volume.npy"), NpyBytes.of("|u1", false, "(2, 3, 4)", values));
    Path file = directory.resolve("slices.png");
    try (NpyElements elements = NpyElements.open(volume)) {
      SlicePictures.write(
          elements,
          rolled ? SlicePictures.Grey.LOGARITHMIC : SlicePictures.Grey.LINEAR,
          new boolean[] {rolled, rolled, rolled},
          file);
    }
    BufferedImage image = ImageIO.read(file.toFile());
    return image.getData();
  }

  private static int sum(Raster picture) {
    int sum = 0;
    for (int x = 0; x < picture.getWidth(); x++) {
      for (int y = 0; y < picture.getHeight(); y++) {
        sum += picture.getSample(x, y, 0);
      }
    }
    return sum;
  }
}
