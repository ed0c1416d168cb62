package org.tilespark.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.awt.Rectangle;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.spark.options.Metric;

/** Figures of small arrays, read back: colours of known elements are where they belong. */
class FigureTest {
  private static final int MISTAKE = 0xE0301E;
  private static final int NOT_A_NUMBER = 0x808080;

  @TempDir Path directory;

  /**
   * A volume of (4, 3, 2), of which only (1, 2, 1) is not 0, a low pass that leaves nothing, and a
   * spectrum of frequency 0 alone. NaN has a colour that no number has, so it marks the element.
   */
  @ParameterizedTest
  @EnumSource(FigureTheme.class)
  void slicesAndSpectrum(FigureTheme theme) throws IOException {
    float[] volume = new float[24];
    volume[1 * 6 + 2 * 2 + 1] = Float.NaN;
    float[] spectrum = new float[48];
    spectrum[0] = 1000;
    FigureOption option = new FigureOption(directory.resolve("fft.png"), theme);
    SpectrumFigure.write(
        npy("volume", "<f4", "(4, 3, 2)", volume),
        npy("spectrum", "<c8", "(4, 3, 2)", spectrum),
        npy("lowpass", "<f4", "(4, 3, 2)", new float[24]),
        0.1,
        option);

    BufferedImage image = read(option);
    int zoom = 105; // 420 / 4
    Rectangle marked = bounds(image, NOT_A_NUMBER, 0, image.getWidth());
    assertEquals(zoom, marked.width, 2);
    assertEquals(zoom, marked.height, 2);
    // The least value of the volume's and the low pass's scale: three columns from the mark.
    int zero = image.getRGB(marked.x - zoom / 2, marked.y + zoom / 2) & 0xFFFFFF;
    assertEquals(0x440154, zero);
    assertEquals(zero, image.getRGB(marked.x + zoom * 5 / 2, marked.y + zoom * 5 / 2) & 0xFFFFFF);
    assertEdges(image, marked.x - zoom, marked.y, theme); // one column before it, no row above
    // Frequency 0 is at column 2 of 4 and row 1 of 3; other elements have the least colour.
    Rectangle bright = bounds(image, 0xFDE725, image.getWidth() * 2 / 3, bar(image));
    assertEquals(zoom, bright.width, 2);
    assertEquals(zoom, bright.height, 2);
    assertEquals(0x440154, image.getRGB(bright.x - zoom * 3 / 2, bright.y - zoom / 2) & 0xFFFFFF);
    assertEdges(image, bright.x - 2 * zoom, bright.y - zoom, theme);
  }

  @ParameterizedTest
  @EnumSource(FigureTheme.class)
  void neighboursOfOtherLabelsAreFramed(FigureTheme theme) throws IOException {
    Path images = npy("images", "<f4", "(4, 6)", new float[24]);
    Path labels = npy("labels", "<f4", "(4, 1)", 7, 7, 7, 3);
    FigureOption option = new FigureOption(directory.resolve("similar.png"), theme);
    for (int other : List.of(1, 3)) {
      List<NeighboursFigure.Neighbour> found =
          List.of(
              new NeighboursFigure.Neighbour(2, 0.75), new NeighboursFigure.Neighbour(other, 0.5));
      NeighboursFigure.write(
          images,
          labels,
          new int[] {2, 3},
          Metric.COSINE,
          List.of(new NeighboursFigure.Query(0, found)),
          option);
      BufferedImage image = read(option);
      Rectangle frame = bounds(image, MISTAKE, 0, image.getWidth());
      if (other == 1) {
        assertTrue(frame.isEmpty(), frame::toString);
      } else {
        assertEquals(3 * 37 + 5, frame.width, 2); // 112 / 3, and the stroke
        assertEquals(2 * 37 + 5, frame.height, 2);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 11})
  void scoresHaveTheColoursOfTheirLabels(int distinct) throws IOException {
    float[] scores = new float[2 * 44];
    float[] labels = new float[44];
    for (int i = 0; i < 44; i++) {
      scores[2 * i] = i % distinct;
      scores[2 * i + 1] = i;
      labels[i] = i % distinct;
    }
    FigureOption option = new FigureOption(directory.resolve("pca.png"), FigureTheme.LIGHT);
    double[][] components = {{1, 0, 0, 0}, {0, 1, 0, 0}};
    ComponentsFigure.write(
        Path.of("in.npy"),
        npy("scores", "<f4", "(44, 2)", scores),
        Optional.of(npy("labels", "<f4", "(44, 1)", labels)),
        new ComponentsFigure.Components(
            components, new double[] {0.5, 0.25}, Optional.of(new int[] {2, 2})),
        option);

    BufferedImage image = read(option);
    int scatter = image.getWidth() / 2;
    Rectangle first = bounds(image, FigureTheme.series(0).getRGB(), scatter, image.getWidth());
    Rectangle second = bounds(image, FigureTheme.series(1).getRGB(), scatter, image.getWidth());
    assertTrue(first.height > 400, first::toString); // their scores grow together
    assertEquals(distinct == 2, second.height > 400, second::toString);
    if (distinct == 2) {
      assertTrue(second.x > first.x, first + " " + second);
    }
    // The weight 1 is the largest of both components.
    Rectangle weight = bounds(image, 0xB2182B, 0, scatter);
    assertTrue(weight.width >= 56 && weight.height >= 56, weight::toString); // 112 / 2
  }

  @Test
  void aComponentWithoutOthersHasNoScatter() throws IOException {
    FigureOption option = new FigureOption(directory.resolve("pca.png"), FigureTheme.DARK);
    ComponentsFigure.write(
        Path.of("in.npy"),
        npy("scores", "<f4", "(3, 1)", 1, 2, 3),
        Optional.empty(),
        new ComponentsFigure.Components(new double[][] {{1}}, new double[] {1}, Optional.empty()),
        option);
    assertTrue(read(option).getWidth() < 900);
  }

  /** The picture; its corners are the page's colour. */
  private static BufferedImage read(FigureOption option) throws IOException {
    BufferedImage image = ImageIO.read(option.file().toFile());
    assertTrue(image.getWidth() > 500 && image.getHeight() > 200, image::toString);
    for (int x : List.of(0, image.getWidth() - 1)) {
      for (int y : List.of(0, image.getHeight() - 1)) {
        assertEquals(option.theme().background().getRGB(), image.getRGB(x, y));
      }
    }
    Rectangle words = bounds(image, option.theme().text().getRGB(), 0, image.getWidth());
    assertTrue(words.width > image.getWidth() / 3, words::toString);
    return image;
  }

  /** The smallest rectangle that holds all pixels of a colour between two columns. */
  private static Rectangle bounds(BufferedImage image, int rgb, int from, int to) {
    Rectangle bounds = new Rectangle(-1, -1);
    for (int x = from; x < to; x++) {
      for (int y = 0; y < image.getHeight(); y++) {
        if ((image.getRGB(x, y) & 0xFFFFFF) == (rgb & 0xFFFFFF)) {
          bounds.add(new Rectangle(x, y, 1, 1));
        }
      }
    }
    return bounds.isEmpty() ? new Rectangle() : bounds;
  }

  /** The page's colour begins at the left of a column, and above a row. */
  private static void assertEdges(BufferedImage image, int left, int top, FigureTheme theme) {
    int page = theme.background().getRGB();
    assertEquals(page, image.getRGB(left - 6, top + 39)); // between two words of the axis
    assertNotEquals(page, image.getRGB(left + 6, top + 39));
    assertEquals(page, image.getRGB(left + 39, top - 6));
    assertNotEquals(page, image.getRGB(left + 39, top + 6));
  }

  /** The column before the last bar, which has the largest colour too. */
  private static int bar(BufferedImage image) {
    return image.getWidth() - 190;
  }

  private Path npy(String name, String type, String shape, float... values) throws IOException {
    ByteBuffer data = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    for (float value : values) {
      data.putFloat(value);
    }
    return Files.write(
        directory.resolve(name + ".npy"), NpyBytes.of(type, false, shape, data.array()));
  }
}
