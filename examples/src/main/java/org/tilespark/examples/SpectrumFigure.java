package org.tilespark.examples;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Locale;
import org.jfree.chart.JFreeChart;
import org.jfree.chart.axis.NumberAxis;
import org.jfree.data.Range;

/**
 * The figure of a Fourier transform: a slice of a volume, the same slice after a low-pass filter
 * with the same colour scale, and the slice of the spectrum at frequency 0 along z. Stateless.
 */
final class SpectrumFigure {
  private static final int PIXELS = 420;

  /** Greatest extent of a slice; longer slices show averages of neighbouring elements. */
  private static final int MOST_POINTS = 512;

  private SpectrumFigure() {}

  /**
   * Writes the figure.
   *
   * @param volume the file of a volume
   * @param spectrum the file of its transform, in natural order; the last axis may be halved
   * @param lowPass the file of the volume without its frequencies above {@code cutoff}
   */
  static void write(Path volume, Path spectrum, Path lowPass, double cutoff, FigureOption option)
      throws IOException {
    try (NpyElements before = NpyElements.open(volume);
        NpyElements transformed = NpyElements.open(spectrum);
        NpyElements after = NpyElements.open(lowPass)) {
      long[] shape = before.shape();
      boolean complex = before.isComplex();
      double[][] slice = slice(before, shape[2] / 2, false, complex);
      double[][] smooth = slice(after, shape[2] / 2, false, complex);
      double[][] frequencies = slice(transformed, 0, true, true);
      ColourScale values =
          ColourScale.linear(
              complex ? "magnitude (as in the file)" : "value (as in the file)",
              ColourScale.Colours.SEQUENTIAL,
              slice,
              smooth);
      ColourScale magnitudes = ColourScale.logarithmic("magnitude (log scale)", frequencies);

      Figure figure = new Figure(option.theme()).newRow();
      addSlice(figure, "volume", slice, shape, values);
      figure.addBar(addSlice(figure, "after the low pass", smooth, shape, values), values);
      JFreeChart chart =
          figure.addHeatMap(
              "spectrum",
              frequencies,
              magnitudes,
              Figure.axis("x frequency (cycles/element)", frequencyRange(shape[0])),
              Figure.axis("y frequency (cycles/element)", frequencyRange(shape[1])),
              PIXELS);
      figure.addBar(chart, magnitudes);
      figure.write(
          "Fourier transform of " + volume.getFileName(),
          String.format(
              Locale.ROOT,
              "%d × %d × %d elements; low pass at %s cycles/element; z = %d, spectrum at frequency"
                  + " 0 along z",
              shape[0],
              shape[1],
              shape[2],
              cutoff,
              shape[2] / 2),
          option);
    }
  }

  private static JFreeChart addSlice(
      Figure figure, String heading, double[][] slice, long[] shape, ColourScale scale) {
    return figure.addHeatMap(
        heading,
        slice,
        scale,
        elements("x (elements)", shape[0]),
        elements("y (elements)", shape[1]),
        PIXELS);
  }

  private static NumberAxis elements(String label, long extent) {
    NumberAxis axis = Figure.axis(label, new Range(-0.5, extent - 0.5));
    axis.setStandardTickUnits(NumberAxis.createIntegerTickUnits());
    return axis;
  }

  /** The range of an axis' frequencies, extended by half a step at both ends. */
  private static Range frequencyRange(long extent) {
    long least = -(extent / 2);
    return new Range((least - 0.5) / extent, (least + extent - 0.5) / extent);
  }

  /**
   * The values at one z, by x, then y. If an extent exceeds {@link #MOST_POINTS}, they are averages
   * of neighbouring elements.
   *
   * @param rolled true to put index 0 in the middle of each axis
   * @param magnitude true for complex elements, whose absolute values are taken
   */
  private static double[][] slice(NpyElements volume, long z, boolean rolled, boolean magnitude)
      throws IOException {
    int across = Math.toIntExact(volume.shape()[0]);
    int up = Math.toIntExact(volume.shape()[1]);
    int step = (Math.max(across, up) + MOST_POINTS - 1) / MOST_POINTS;
    double[][] sums = new double[(across + step - 1) / step][(up + step - 1) / step];
    int[][] counts = new int[sums.length][sums[0].length];
    for (int x = 0; x < across; x++) {
      int column = place(x, across, rolled) / step;
      for (int y = 0; y < up; y++) {
        int row = place(y, up, rolled) / step;
        sums[column][row] += magnitude ? volume.magnitude(x, y, z) : volume.number(x, y, z);
        counts[column][row]++;
      }
    }
    for (int column = 0; column < sums.length; column++) {
      for (int row = 0; row < sums[column].length; row++) {
        sums[column][row] /= counts[column][row];
      }
    }
    return sums;
  }

  /** The position at which an index is drawn. */
  private static int place(int index, int extent, boolean rolled) {
    return rolled ? (index + extent / 2) % extent : index;
  }
}
