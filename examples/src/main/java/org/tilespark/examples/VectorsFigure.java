package org.tilespark.examples;

import java.awt.BasicStroke;
import java.io.IOException;
import java.util.Optional;
import org.jfree.chart.axis.NumberAxis;
import org.jfree.chart.plot.XYPlot;
import org.jfree.chart.renderer.xy.XYLineAndShapeRenderer;
import org.jfree.data.Range;
import org.jfree.data.xy.XYSeries;
import org.jfree.data.xy.XYSeriesCollection;

/**
 * A figure of vectors as images, optionally with a line chart of a number for each vector.
 * Stateless.
 *
 * @param title title of the images
 * @param first number of the first vector
 * @param vectors vectors of equal length
 * @param picture rows and columns of a vector, if vectors are images
 */
record VectorsFigure(String title, int first, double[][] vectors, Optional<int[]> picture) {
  private static final int PIXELS = 1100;
  private static final int LOW_PIXELS = 420;

  /** Draws the vectors' images only. */
  void write(String heading, String subtitle, FigureOption option) throws IOException {
    write(new Figure(option.theme()), heading, subtitle, option);
  }

  /**
   * Draws a line chart of the numbers, which must be non-negative and decreasing, and the images.
   */
  void writeWith(
      String name, double[] numbers, String heading, String subtitle, FigureOption option)
      throws IOException {
    Figure figure = new Figure(option.theme()).newRow();
    XYSeries series = new XYSeries(name);
    for (int i = 0; i < numbers.length; i++) {
      series.add(first + i, numbers[i]);
    }
    XYLineAndShapeRenderer line = new XYLineAndShapeRenderer();
    line.setSeriesPaint(0, FigureTheme.series(0));
    line.setSeriesStroke(0, new BasicStroke(3));
    NumberAxis number = Figure.axis("number", new Range(first - 0.6, first + numbers.length - 0.4));
    number.setStandardTickUnits(NumberAxis.createIntegerTickUnits());
    Range heights = new Range(0, Math.max(1.05 * numbers[0], 1e-300));
    figure
        .add(
            name,
            new XYPlot(new XYSeriesCollection(series), number, Figure.axis(name, heights), line),
            PIXELS,
            LOW_PIXELS)
        .removeLegend();
    write(figure, heading, subtitle, option);
  }

  private void write(Figure figure, String heading, String subtitle, FigureOption option)
      throws IOException {
    picture.ifPresent(shape -> ComponentsFigure.addPictures(figure, title, first, vectors, shape));
    figure.write(heading, subtitle, option);
  }
}
