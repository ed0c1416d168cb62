package org.tilespark.examples;

import java.awt.BasicStroke;
import java.awt.Shape;
import java.awt.geom.Ellipse2D;
import java.awt.geom.Path2D;
import java.awt.geom.Rectangle2D;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jfree.chart.JFreeChart;
import org.jfree.chart.axis.NumberAxis;
import org.jfree.chart.plot.XYPlot;
import org.jfree.chart.renderer.xy.StandardXYBarPainter;
import org.jfree.chart.renderer.xy.XYBarRenderer;
import org.jfree.chart.renderer.xy.XYLineAndShapeRenderer;
import org.jfree.chart.ui.RectangleEdge;
import org.jfree.data.Range;
import org.jfree.data.xy.XYBarDataset;
import org.jfree.data.xy.XYSeries;
import org.jfree.data.xy.XYSeriesCollection;

/**
 * The figure of principal components: the share of variance of each component, the observations
 * plotted by the first two scores and, if components are images, the components. Stateless.
 */
final class ComponentsFigure {
  private static final int PIXELS = 520;
  private static final int PICTURE_PIXELS = 112;
  private static final int PICTURES_PER_ROW = 10;

  /** Greatest number of points in a scatter plot. */
  private static final int MOST_POINTS = 2000;

  private ComponentsFigure() {}

  /**
   * The components that the job found.
   *
   * @param vectors one component each
   * @param shares the fraction, from 0 to 1, of the total variance that each component explains
   * @param picture rows and columns of a component, if components are images
   */
  record Components(double[][] vectors, double[] shares, Optional<int[]> picture) {}

  /**
   * Writes the figure.
   *
   * @param input the file of observations, named in the title
   * @param scores a file of scores (observations, components)
   * @param labels a file with an integer label for each observation, if given
   */
  static void write(
      Path input, Path scores, Optional<Path> labels, Components components, FigureOption option)
      throws IOException {
    Figure figure = new Figure(option.theme()).newRow();
    addVariances(figure, components.shares());
    try (NpyElements points = NpyElements.open(scores)) {
      long shown = Math.min(points.shape()[0], MOST_POINTS);
      if (components.shares().length > 1) {
        addScatter(figure, points, labels, components.shares(), shown);
      }
      components
          .picture()
          .ifPresent(shape -> addPictures(figure, "components", 1, components.vectors(), shape));
      figure.write(
          "Principal components of " + input.getFileName(),
          String.format(
              Locale.ROOT,
              "%,d observations, of which %,d are drawn; scores in units of the observations",
              points.shape()[0],
              shown),
          option);
    }
  }

  private static void addVariances(Figure figure, double[] shares) {
    XYSeries each = new XYSeries("each component");
    XYSeries all = new XYSeries("cumulative");
    double sum = 0;
    for (int c = 0; c < shares.length; c++) {
      sum += 100 * shares[c];
      each.add(c + 1, 100 * shares[c]);
      all.add(c + 1, sum);
    }
    NumberAxis component = Figure.axis("component", new Range(0.4, shares.length + 0.6));
    component.setStandardTickUnits(NumberAxis.createIntegerTickUnits());
    XYBarRenderer bars = new XYBarRenderer();
    bars.setBarPainter(new StandardXYBarPainter());
    bars.setShadowVisible(false);
    bars.setSeriesPaint(0, FigureTheme.series(0));
    bars.setLegendBar(new Rectangle2D.Double(-8, -8, 16, 16));
    XYLineAndShapeRenderer line = new XYLineAndShapeRenderer();
    line.setSeriesPaint(0, FigureTheme.series(1));
    line.setSeriesStroke(0, new BasicStroke(3));
    line.setSeriesShape(0, new Ellipse2D.Double(-5, -5, 10, 10));
    XYPlot plot =
        new XYPlot(
            new XYBarDataset(new XYSeriesCollection(each), 0.8),
            component,
            Figure.axis("share of the variance (%)", new Range(0, 100)),
            bars);
    plot.setDataset(1, new XYSeriesCollection(all));
    plot.setRenderer(1, line);
    plot.setDomainGridlinesVisible(false);
    JFreeChart chart = figure.add("explained variance", plot, PIXELS, PIXELS);
    chart.getLegend().setPosition(RectangleEdge.BOTTOM);
  }

  /** Adds a scatter plot of the observations by their first two scores, with equal scales. */
  private static void addScatter(
      Figure figure, NpyElements scores, Optional<Path> labels, double[] shares, long shown)
      throws IOException {
    long observations = scores.shape()[0];
    long[] rows = new long[Math.toIntExact(shown)];
    for (int i = 0; i < rows.length; i++) {
      rows[i] = Math.multiplyExact(i, observations) / shown;
    }
    long[] labelOf = labels.isPresent() ? labels(labels.get(), rows) : new long[rows.length];
    long distinct = Arrays.stream(labelOf).distinct().count();
    boolean coloured = labels.isPresent() && distinct <= FigureTheme.seriesColours();
    Map<Long, XYSeries> series = new TreeMap<>();
    double[] least = {Double.POSITIVE_INFINITY, Double.POSITIVE_INFINITY};
    double[] most = {Double.NEGATIVE_INFINITY, Double.NEGATIVE_INFINITY};
    for (int i = 0; i < rows.length; i++) {
      double[] point = {scores.number(rows[i], 0), scores.number(rows[i], 1)};
      for (int axis = 0; axis < 2; axis++) {
        least[axis] = Math.min(least[axis], point[axis]);
        most[axis] = Math.max(most[axis], point[axis]);
      }
      series
          .computeIfAbsent(coloured ? labelOf[i] : 0, label -> new XYSeries(label, false))
          .add(point[0], point[1]);
    }
    XYSeriesCollection points = new XYSeriesCollection();
    XYLineAndShapeRenderer renderer = new XYLineAndShapeRenderer(false, true);
    List<Shape> shapes = List.of(circle(), square(), triangle());
    for (XYSeries one : series.values()) {
      int index = points.getSeriesCount();
      renderer.setSeriesPaint(index, FigureTheme.series(index));
      renderer.setSeriesShape(index, shapes.get(index % shapes.size()));
      points.addSeries(one);
    }
    double half = 0.52 * Math.max(Math.max(most[0] - least[0], most[1] - least[1]), 1e-300);
    Range[] ranges = new Range[2];
    for (int axis = 0; axis < 2; axis++) {
      double middle = (least[axis] + most[axis]) / 2;
      ranges[axis] = new Range(middle - half, middle + half);
    }
    JFreeChart chart =
        figure.add(
            coloured
                ? "scores by label"
                : labels.isPresent() ? "scores (too many labels for colours)" : "scores",
            new XYPlot(
                points,
                Figure.axis(scoreLabel(1, shares[0]), ranges[0]),
                Figure.axis(scoreLabel(2, shares[1]), ranges[1]),
                renderer),
            PIXELS,
            PIXELS);
    if (!coloured) {
      chart.removeLegend();
    }
  }

  private static long[] labels(Path file, long[] rows) throws IOException {
    long[] labels = new long[rows.length];
    try (NpyElements labelled = NpyElements.open(file)) {
      for (int i = 0; i < rows.length; i++) {
        labels[i] = (long) labelled.firstOf(rows[i]);
      }
    }
    return labels;
  }

  private static String scoreLabel(int component, double share) {
    return String.format(
        Locale.ROOT, "component %d (%.1f %% of the variance)", component, 100 * share);
  }

  /**
   * Adds vectors as small images with a common colour scale.
   *
   * @param first number in the caption of the first vector
   * @param shape rows and columns of an image
   */
  static void addPictures(Figure figure, String title, int first, double[][] vectors, int[] shape) {
    ColourScale scale = ColourScale.symmetric("weight", vectors);
    int columns = Math.min(PICTURES_PER_ROW, vectors.length);
    int rows = (vectors.length + columns - 1) / columns;
    List<Figure.Tile> tiles = new ArrayList<>();
    for (int c = 0; c < vectors.length; c++) {
      tiles.add(
          new Figure.Tile(
              c / columns,
              c % columns,
              Figure.picture(vectors[c], shape[0], shape[1]),
              "" + (first + c),
              false));
    }
    JFreeChart chart =
        figure
            .newRow()
            .addTiles(
                title,
                Collections.nCopies(rows, ""),
                Collections.nCopies(columns, ""),
                tiles,
                scale,
                PICTURE_PIXELS);
    figure.addBar(chart, scale);
  }

  private static Shape circle() {
    return new Ellipse2D.Double(-3.5, -3.5, 7, 7);
  }

  private static Shape square() {
    return new Rectangle2D.Double(-3, -3, 6, 6);
  }

  private static Shape triangle() {
    Path2D path = new Path2D.Double();
    path.moveTo(-4, 3.5);
    path.lineTo(4, 3.5);
    path.lineTo(0, -4);
    path.closePath();
    return path;
  }
}
