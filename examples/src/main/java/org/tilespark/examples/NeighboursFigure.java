package org.tilespark.examples;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.tilespark.spark.options.Metric;

/**
 * The figure of nearest images: in each row a query image, then its nearest neighbours. Stateless.
 */
final class NeighboursFigure {
  private static final int PICTURE_PIXELS = 112;

  private NeighboursFigure() {}

  /** A neighbour image and its score. */
  record Neighbour(long image, double score) {}

  /**
   * A query image and its neighbours.
   *
   * @param neighbours the nearest one first
   */
  record Query(long image, List<Neighbour> neighbours) {}

  /**
   * Writes the figure.
   *
   * @param images a file of an image in each row
   * @param labels a file with an integer label for each image
   * @param shape rows and columns of an image
   */
  static void write(
      Path images,
      Path labels,
      int[] shape,
      Metric metric,
      List<Query> queries,
      FigureOption option)
      throws IOException {
    int k = queries.stream().mapToInt(query -> query.neighbours().size()).max().orElseThrow();
    List<String> rows = new ArrayList<>();
    List<String> columns = new ArrayList<>(List.of("image"));
    for (int rank = 1; rank <= k; rank++) {
      columns.add(rank == 1 ? "nearest" : rank + (rank == 2 ? "nd" : rank == 3 ? "rd" : "th"));
    }
    List<Figure.Tile> tiles = new ArrayList<>();
    try (NpyElements pixels = NpyElements.open(images);
        NpyElements labelled = NpyElements.open(labels)) {
      for (Query query : queries) {
        int row = rows.size();
        rows.add("" + query.image());
        long label = (long) labelled.firstOf(query.image());
        double[][] picture = picture(pixels, query.image(), shape);
        tiles.add(new Figure.Tile(row, 0, picture, "label " + label, false));
        for (Neighbour found : query.neighbours()) {
          long other = (long) labelled.firstOf(found.image());
          int column = 1 + query.neighbours().indexOf(found);
          String caption = String.format(Locale.ROOT, "%d, %.4g", other, found.score());
          double[][] near = picture(pixels, found.image(), shape);
          tiles.add(new Figure.Tile(row, column, near, caption, other != label));
        }
      }
    }
    double[][][] all = tiles.stream().map(Figure.Tile::values).toArray(double[][][]::new);
    ColourScale scale = ColourScale.linear("value of a pixel", ColourScale.Colours.GREY, all);
    Figure figure = new Figure(option.theme()).newRow();
    figure.addBar(
        figure.addTiles(
            "nearest by " + metric.name().toLowerCase(Locale.ROOT),
            rows,
            columns,
            tiles,
            scale,
            PICTURE_PIXELS),
        scale);
    figure.write(
        "Nearest images of some in " + images.getFileName(),
        "below each image: label, score; red frame: the label is not that of the first image",
        option);
  }

  private static double[][] picture(NpyElements images, long row, int[] shape) throws IOException {
    double[] values = new double[shape[0] * shape[1]];
    for (int i = 0; i < values.length; i++) {
      values[i] = images.number(row, i);
    }
    return Figure.picture(values, shape[0], shape[1]);
  }
}
