package org.tilespark.examples;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.geom.Rectangle2D;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import javax.imageio.ImageIO;
import org.jfree.chart.ChartRenderingInfo;
import org.jfree.chart.JFreeChart;
import org.jfree.chart.annotations.XYBoxAnnotation;
import org.jfree.chart.annotations.XYDataImageAnnotation;
import org.jfree.chart.annotations.XYTextAnnotation;
import org.jfree.chart.axis.AxisLocation;
import org.jfree.chart.axis.NumberAxis;
import org.jfree.chart.axis.SymbolAxis;
import org.jfree.chart.axis.ValueAxis;
import org.jfree.chart.block.BlockBorder;
import org.jfree.chart.plot.XYPlot;
import org.jfree.chart.title.LegendTitle;
import org.jfree.chart.title.PaintScaleLegend;
import org.jfree.chart.title.TextTitle;
import org.jfree.chart.ui.RectangleEdge;
import org.jfree.chart.ui.RectangleInsets;
import org.jfree.chart.ui.TextAnchor;
import org.jfree.data.Range;
import org.jfree.data.xy.XYDataset;

/**
 * Charts in rows under one title, written as a PNG. Text stays legible at half size. Not
 * thread-safe.
 */
final class Figure {
  private static final int TITLE_POINTS = 30;
  private static final int HEADING_POINTS = 24;
  private static final int LABEL_POINTS = 22;

  /** Font size of tick labels inside a chart. */
  static final int TICK_POINTS = 20;

  private static final int MARGIN = 24; // pixels
  private static final int BAR_WIDTH = 24;
  private static final int TRIALS = 3; // layouts of a chart to find its size
  private static final int GAP = 6; // pixels around a small image
  private static final int CAPTION = 24; // pixels below a small image
  private static final Color MISTAKE = new Color(0xE0301E);

  private final FigureTheme theme;
  private final List<List<Panel>> rows = new ArrayList<>();

  Figure(FigureTheme theme) {
    this.theme = theme;
  }

  /**
   * One chart.
   *
   * @param width width of the plot area inside the axes, in pixels
   * @param height height of the plot area, in pixels
   */
  private record Panel(JFreeChart chart, int width, int height) {
    /** Finds the size of the whole chart by trial layouts, since tick labels depend on the size. */
    private Size size(Graphics2D graphics) {
      int chartWidth = width + 400;
      int chartHeight = height + 200;
      for (int trial = 0; trial < TRIALS; trial++) {
        ChartRenderingInfo info = new ChartRenderingInfo();
        chart.draw(graphics, new Rectangle2D.Double(0, 0, chartWidth, chartHeight), info);
        Rectangle2D inside = info.getPlotInfo().getDataArea();
        for (Object title : chart.getSubtitles()) {
          if (title instanceof PaintScaleLegend bar) { // as high as the plot area
            bar.setMargin(inside.getY(), 0, chartHeight - inside.getMaxY(), 0);
          }
        }
        chartWidth += (int) Math.ceil(width - inside.getWidth());
        chartHeight += (int) Math.ceil(height - inside.getHeight());
      }
      return new Size(chartWidth, chartHeight);
    }
  }

  /** The size of a whole chart, in pixels. */
  private record Size(int width, int height) {}

  FigureTheme theme() {
    return theme;
  }

  static Font font(int style, int points) {
    return new Font(Font.SANS_SERIF, style, points);
  }

  /** Begins a new row of charts below the existing rows. */
  Figure newRow() {
    rows.add(new ArrayList<>());
    return this;
  }

  /**
   * Adds a chart to the last row; {@code width} and {@code height} are the plot area's, in pixels.
   */
  JFreeChart add(String heading, XYPlot plot, int width, int height) {
    plot.setBackgroundPaint(theme.background());
    plot.setOutlinePaint(theme.text());
    plot.setDomainGridlinePaint(theme.grid());
    plot.setRangeGridlinePaint(theme.grid());
    plot.setDomainGridlineStroke(new BasicStroke(1));
    plot.setRangeGridlineStroke(new BasicStroke(1));
    plot.setAxisOffset(RectangleInsets.ZERO_INSETS);
    plot.setInsets(new RectangleInsets(0, 0, MARGIN / 2.0, MARGIN)); // for the last tick label
    style(plot.getDomainAxis());
    style(plot.getRangeAxis());
    JFreeChart chart =
        new JFreeChart(heading, font(Font.BOLD, HEADING_POINTS), plot, plot.getDataset() != null);
    chart.setBackgroundPaint(theme.background());
    chart.getTitle().setPaint(theme.text());
    if (plot.getRangeAxis().isVisible()) { // roughly centres the heading over the plot area
      chart.getTitle().setMargin(0, 3 * TICK_POINTS, 0, 0);
    }
    chart
        .getRenderingHints()
        .put(RenderingHints.KEY_INTERPOLATION, RenderingHints.VALUE_INTERPOLATION_NEAREST_NEIGHBOR);
    LegendTitle legend = chart.getLegend();
    if (legend != null) {
      legend.setPosition(RectangleEdge.RIGHT);
      legend.setItemFont(font(Font.PLAIN, TICK_POINTS));
      legend.setItemPaint(theme.text());
      legend.setBackgroundPaint(theme.background());
      legend.setFrame(BlockBorder.NONE);
    }
    rows.get(rows.size() - 1).add(new Panel(chart, width, height));
    return chart;
  }

  private void style(ValueAxis axis) {
    axis.setLabelFont(font(Font.PLAIN, LABEL_POINTS));
    axis.setLabelPaint(theme.text());
    axis.setTickLabelFont(font(Font.PLAIN, TICK_POINTS));
    axis.setTickLabelPaint(theme.text());
    axis.setTickMarkPaint(theme.text());
    axis.setAxisLinePaint(theme.text());
  }

  /** Returns a numeric axis with fixed bounds. */
  static NumberAxis axis(String label, Range range) {
    NumberAxis axis = new NumberAxis(label);
    axis.setRange(range);
    return axis;
  }

  /**
   * Adds a heat map.
   *
   * @param values by column, then by row from the bottom
   * @param pixels approximate length of the plot area's longer side
   */
  JFreeChart addHeatMap(
      String heading, double[][] values, ColourScale scale, ValueAxis x, ValueAxis y, int pixels) {
    XYPlot plot = new XYPlot((XYDataset) null, x, y, null);
    Range across = x.getRange();
    Range up = y.getRange();
    plot.addAnnotation(
        new XYDataImageAnnotation(
            scale.image(values),
            across.getLowerBound(),
            up.getLowerBound(),
            across.getLength(),
            up.getLength()));
    int longer = Math.max(values.length, values[0].length);
    int zoom = Math.max(1, Math.round((float) pixels / longer)); // pixels per element
    int shorter = pixels / 3; // least side; elements are then not square
    return add(
        heading,
        plot,
        Math.max(shorter, zoom * values.length),
        Math.max(shorter, zoom * values[0].length));
  }

  /**
   * A small image in a grid of images.
   *
   * @param values by row from the top, then by column
   * @param marked true for a frame in the colour of a mistake
   */
  record Tile(int row, int column, double[][] values, String caption, boolean marked) {}

  /**
   * Adds a grid of small images of equal size.
   *
   * @param rows names of the rows; no axis is drawn if they are blank
   * @param columns names of the columns; no axis is drawn if they are blank
   * @param pixels approximate length of an image's longer side
   */
  JFreeChart addTiles(
      String heading,
      List<String> rows,
      List<String> columns,
      List<Tile> tiles,
      ColourScale scale,
      int pixels) {
    SymbolAxis across = symbols(columns);
    SymbolAxis down = symbols(rows);
    down.setInverted(true);
    XYPlot plot = new XYPlot((XYDataset) null, across, down, null);
    plot.setDomainAxisLocation(AxisLocation.TOP_OR_LEFT);
    plot.setDomainGridlinesVisible(false);
    plot.setRangeGridlinesVisible(false);
    int imageRows = tiles.get(0).values().length;
    int imageColumns = tiles.get(0).values()[0].length;
    int zoom = Math.max(1, Math.round((float) pixels / Math.max(imageRows, imageColumns)));
    int width = zoom * imageColumns + 2 * GAP;
    int height = zoom * imageRows + 2 * GAP + CAPTION;
    for (Tile tile : tiles) {
      double left = tile.column() - 0.5 + (double) GAP / width;
      double top = tile.row() - 0.5 + (double) GAP / height;
      double tileWidth = (double) zoom * imageColumns / width;
      double tileHeight = (double) zoom * imageRows / height;
      plot.addAnnotation(
          new XYDataImageAnnotation(
              scale.image(upwards(tile.values())), left, top, tileWidth, tileHeight));
      if (tile.marked()) {
        plot.addAnnotation(
            new XYBoxAnnotation(
                left, top + tileHeight, left + tileWidth, top, new BasicStroke(5), MISTAKE));
      }
      XYTextAnnotation caption =
          new XYTextAnnotation(tile.caption(), tile.column(), top + tileHeight);
      caption.setTextAnchor(TextAnchor.TOP_CENTER);
      caption.setFont(font(Font.PLAIN, TICK_POINTS));
      caption.setPaint(theme.text());
      plot.addAnnotation(caption);
    }
    JFreeChart chart = add(heading, plot, width * columns.size(), height * rows.size());
    plot.setOutlineVisible(false);
    return chart;
  }

  private static SymbolAxis symbols(List<String> names) {
    SymbolAxis axis = new SymbolAxis(null, names.toArray(String[]::new));
    axis.setGridBandsVisible(false);
    axis.setTickMarksVisible(false);
    axis.setAxisLineVisible(false);
    axis.setRange(-0.5, names.size() - 0.5);
    axis.setVisible(!names.stream().allMatch(String::isBlank));
    return axis;
  }

  /** Reshapes row-major numbers to the rows of an image, from the top. */
  static double[][] picture(double[] values, int rows, int columns) {
    double[][] picture = new double[rows][];
    for (int row = 0; row < rows; row++) {
      picture[row] = Arrays.copyOfRange(values, row * columns, (row + 1) * columns);
    }
    return picture;
  }

  /**
   * Turns an image given by rows, top row first, into columns, each with its bottom element first.
   */
  private static double[][] upwards(double[][] values) {
    double[][] result = new double[values[0].length][values.length];
    for (int row = 0; row < values.length; row++) {
      for (int column = 0; column < values[row].length; column++) {
        result[column][values.length - 1 - row] = values[row][column];
      }
    }
    return result;
  }

  /** Adds a colour bar to the right of a chart. */
  void addBar(JFreeChart chart, ColourScale scale) {
    NumberAxis axis = scale.axis();
    style(axis);
    PaintScaleLegend bar = new PaintScaleLegend(scale, axis);
    bar.setPosition(RectangleEdge.RIGHT);
    bar.setAxisLocation(AxisLocation.BOTTOM_OR_RIGHT);
    bar.setStripWidth(BAR_WIDTH);
    bar.setSubdivisionCount(256);
    bar.setStripOutlinePaint(theme.text());
    bar.setBackgroundPaint(theme.background());
    // The bar is added before the heading, so the heading is centred over the plot area alone.
    TextTitle heading = chart.getTitle();
    chart.setTitle((TextTitle) null);
    chart.addSubtitle(bar);
    chart.addSubtitle(heading);
  }

  /** Writes the file. */
  void write(String title, String subtitle, FigureOption option) throws IOException {
    Graphics2D scratch = new BufferedImage(1, 1, BufferedImage.TYPE_INT_RGB).createGraphics();
    int top = 2 * MARGIN + TITLE_POINTS + HEADING_POINTS;
    int width = (int) Math.ceil(titleWidth(scratch, title, subtitle)) + 2 * MARGIN;
    int height = top;
    List<Size> sizes = new ArrayList<>();
    for (List<Panel> row : rows) {
      int rowWidth = MARGIN;
      int rowHeight = 0;
      for (Panel panel : row) {
        Size size = panel.size(scratch);
        sizes.add(size);
        rowWidth += size.width() + MARGIN;
        rowHeight = Math.max(rowHeight, size.height());
      }
      width = Math.max(width, rowWidth);
      height += rowHeight + MARGIN;
    }
    scratch.dispose();

    BufferedImage image = new BufferedImage(width, height, BufferedImage.TYPE_INT_RGB);
    Graphics2D graphics = image.createGraphics();
    graphics.setColor(theme.background());
    graphics.fillRect(0, 0, width, height);
    graphics.setRenderingHint(
        RenderingHints.KEY_TEXT_ANTIALIASING, RenderingHints.VALUE_TEXT_ANTIALIAS_ON);
    graphics.setColor(theme.text());
    graphics.setFont(font(Font.BOLD, TITLE_POINTS));
    graphics.drawString(title, MARGIN, MARGIN / 2 + TITLE_POINTS);
    graphics.setFont(font(Font.PLAIN, LABEL_POINTS));
    graphics.drawString(subtitle, MARGIN, MARGIN + TITLE_POINTS + LABEL_POINTS);
    int panelIndex = 0;
    int y = top;
    for (List<Panel> row : rows) {
      int x = MARGIN;
      int rowHeight = 0;
      for (Panel panel : row) {
        Size size = sizes.get(panelIndex++);
        panel.chart().draw(graphics, new Rectangle2D.Double(x, y, size.width(), size.height()));
        x += size.width() + MARGIN;
        rowHeight = Math.max(rowHeight, size.height());
      }
      y += rowHeight + MARGIN;
    }
    graphics.dispose();
    if (!ImageIO.write(image, "png", option.file().toFile())) {
      throw new IOException("This JDK writes no PNG");
    }
  }

  private static double titleWidth(Graphics2D graphics, String title, String subtitle) {
    return Math.max(
        graphics.getFontMetrics(font(Font.BOLD, TITLE_POINTS)).stringWidth(title),
        graphics.getFontMetrics(font(Font.PLAIN, LABEL_POINTS)).stringWidth(subtitle));
  }
}
