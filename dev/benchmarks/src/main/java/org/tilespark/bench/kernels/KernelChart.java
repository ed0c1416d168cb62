package org.tilespark.bench.kernels;

import java.awt.Color;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.BitmapEncoder.BitmapFormat;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategoryChartBuilder;
import org.knowm.xchart.style.Styler.LegendPosition;

/**
 * Draws a CSV of {@code DeviceTransposeBenchmark} as a bar chart: for each case the effective
 * bandwidth of tilespark, of the device copy and, if measured, of PyTorch and Triton.
 *
 * <p>{@code KernelChart IN.csv OUT.png}; needs no display.
 */
public final class KernelChart {
  /** Columns of the CSV, by their names in the legend. */
  private static final Map<String, String> SERIES = new LinkedHashMap<>();

  static {
    SERIES.put("device copy", "copy_gb_per_s");
    SERIES.put("tilespark", "gb_per_s");
    SERIES.put("PyTorch", "torch_gb_per_s");
    SERIES.put("Triton", "triton_gb_per_s");
  }

  private static final int PIXELS_PER_CASE = 34;

  private KernelChart() {}

  /** Draws the chart; exits with a message if the CSV has another format. */
  public static void main(String[] args) throws IOException {
    if (args.length != 2) {
      System.err.println("usage: KernelChart IN.csv OUT.png");
      System.exit(2);
    }
    System.setProperty("java.awt.headless", "true");
    draw(Files.readAllLines(Path.of(args[0]), StandardCharsets.UTF_8), Path.of(args[1]));
  }

  /**
   * Draws the lines of a CSV into a PNG file.
   *
   * @throws IllegalArgumentException if a column is missing or a cell is no number
   */
  static void draw(List<String> lines, Path png) throws IOException {
    String title = lines.get(0).startsWith("#") ? lines.get(0).substring(1).trim() : "";
    List<List<String>> rows =
        lines.stream()
            .filter(line -> !line.isBlank() && !line.startsWith("#"))
            .map(line -> Arrays.asList(line.split(",", -1)))
            .toList();
    List<String> header = rows.get(0);
    List<List<String>> cases = rows.subList(1, rows.size());
    int shape = column(header, "shape");
    int order = column(header, "order");
    int width = column(header, "width_bytes");
    List<String> labels = new ArrayList<>();
    for (List<String> row : cases) {
      labels.add(row.get(shape) + " " + row.get(order) + " w" + row.get(width));
    }
    CategoryChart chart =
        new CategoryChartBuilder()
            .width(Math.max(800, PIXELS_PER_CASE * labels.size()))
            .height(900)
            .title(title)
            .yAxisTitle("GB/s, 2 x bytes / time")
            .build();
    chart.getStyler().setXAxisLabelRotation(90);
    chart.getStyler().setLegendPosition(LegendPosition.OutsideS);
    chart.getStyler().setAvailableSpaceFill(0.85);
    chart.getStyler().setChartBackgroundColor(Color.WHITE);
    for (Map.Entry<String, String> series : SERIES.entrySet()) {
      List<Double> values = values(cases, column(header, series.getValue()));
      if (values.stream().anyMatch(value -> value > 0)) {
        chart.addSeries(series.getKey(), labels, values);
      }
    }
    BitmapEncoder.saveBitmap(chart, png.toString(), BitmapFormat.PNG);
  }

  /** The numbers of a column; 0 for an empty cell. */
  private static List<Double> values(List<List<String>> cases, int column) {
    List<Double> values = new ArrayList<>();
    for (List<String> row : cases) {
      String cell = row.get(column);
      try {
        values.add(cell.isEmpty() ? 0.0 : Double.parseDouble(cell));
      } catch (NumberFormatException e) {
        throw new IllegalArgumentException("Cell '" + cell + "' of " + row + " is no number", e);
      }
    }
    return values;
  }

  private static int column(List<String> header, String name) {
    int column = header.indexOf(name);
    if (column < 0) {
      throw new IllegalArgumentException(
          "The CSV has no column " + name + "; found " + String.join(", ", header));
    }
    return column;
  }
}
