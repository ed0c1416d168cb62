package org.tilespark.examples;

import java.awt.Color;
import java.awt.Paint;
import java.awt.image.BufferedImage;
import java.text.DecimalFormat;
import org.jfree.chart.axis.NumberAxis;
import org.jfree.chart.axis.NumberTickUnit;
import org.jfree.chart.renderer.PaintScale;

/**
 * Maps numbers between two bounds to colours, linearly or by their logarithms. Immutable.
 *
 * @param label the name of the numbers, with their unit
 * @param colours the colours, from the least to the largest number
 * @param logarithmic true if colours follow the decimal logarithm; both bounds are then logarithms
 * @param least the lower bound; smaller numbers get its colour
 * @param most the upper bound; larger numbers get its colour
 */
record ColourScale(String label, Colours colours, boolean logarithmic, double least, double most)
    implements PaintScale {
  /** Greatest count of decades, below the largest number, that a logarithmic scale shows. */
  private static final int DECADES = 8;

  private static final int NOT_A_NUMBER = 0x808080;

  /** Lists of colours; the scale interpolates between neighbours in a list. */
  enum Colours {
    /** Viridis, whose order is also visible in grey and to colour-blind readers. */
    SEQUENTIAL(
        0x440154, 0x482878, 0x3E4989, 0x31688E, 0x26828E, 0x1F9E89, 0x35B779, 0x6DCD59, 0xB4DE2C,
        0xFDE725),
    /** Blue below the middle, red above it. */
    DIVERGING(0x2166AC, 0x92C5DE, 0xF7F7F7, 0xF4A582, 0xB2182B),
    GREY(0x000000, 0xFFFFFF);

    private final int[] stops;

    Colours(int... stops) {
      this.stops = stops;
    }

    private int at(double part) {
      double place = part * (stops.length - 1);
      int stop = Math.min((int) place, stops.length - 2);
      int rgb = 0;
      for (int shift = 0; shift <= 16; shift += 8) {
        int low = stops[stop] >> shift & 0xFF;
        int high = stops[stop + 1] >> shift & 0xFF;
        rgb |= (int) Math.round(low + (place - stop) * (high - low)) << shift;
      }
      return rgb;
    }
  }

  /** A linear scale over the finite numbers of the images. */
  static ColourScale linear(String label, Colours colours, double[][]... images) {
    double least = Double.POSITIVE_INFINITY;
    double most = Double.NEGATIVE_INFINITY;
    for (double[][] image : images) {
      for (double[] line : image) {
        for (double value : line) {
          if (Double.isFinite(value)) {
            least = Math.min(least, value);
            most = Math.max(most, value);
          }
        }
      }
    }
    if (!(least <= most)) {
      least = most = 0;
    }
    return new ColourScale(label, colours, false, least, most > least ? most : least + 1);
  }

  /** A scale from minus to plus the largest absolute value. */
  static ColourScale symmetric(String label, double[][]... images) {
    ColourScale scale = linear(label, Colours.DIVERGING, images);
    double largest = Math.max(Math.abs(scale.least), Math.abs(scale.most));
    return new ColourScale(label, Colours.DIVERGING, false, -largest, largest);
  }

  /** Returns a logarithmic scale over whole decades, from the largest number downwards. */
  static ColourScale logarithmic(String label, double[][] image) {
    double least = Double.POSITIVE_INFINITY;
    for (double[] line : image) {
      for (double value : line) {
        least = value > 0 ? Math.min(least, value) : least;
      }
    }
    double largest = linear(label, Colours.SEQUENTIAL, image).most;
    double most = least < Double.POSITIVE_INFINITY ? Math.ceil(Math.log10(largest)) : 0;
    double floor = Math.min(most - 1, Math.floor(Math.log10(Math.min(least, largest))));
    return new ColourScale(label, Colours.SEQUENTIAL, true, Math.max(floor, most - DECADES), most);
  }

  /** Returns the RGB colour of a number. */
  int rgb(double value) {
    if (Double.isNaN(value)) {
      return NOT_A_NUMBER;
    }
    double place = logarithmic ? Math.log10(Math.max(0, value)) : value;
    return colours.at(Math.max(0, Math.min(1, (place - least) / (most - least))));
  }

  /**
   * Draws numbers as pixels.
   *
   * @param values numbers by column, then by row from the bottom
   */
  BufferedImage image(double[][] values) {
    int height = values[0].length;
    BufferedImage image = new BufferedImage(values.length, height, BufferedImage.TYPE_INT_RGB);
    for (int x = 0; x < values.length; x++) {
      for (int y = 0; y < height; y++) {
        image.setRGB(x, height - 1 - y, rgb(values[x][y]));
      }
    }
    return image;
  }

  /** Returns a chart axis between the bounds; a logarithmic axis has ticks at powers of ten. */
  NumberAxis axis() {
    NumberAxis axis = new NumberAxis(label);
    axis.setRange(least, most);
    if (logarithmic) {
      axis.setTickUnit(
          new NumberTickUnit(most - least > 4 ? 2 : 1, new DecimalFormat("'1e'0;'1e-'0")));
    }
    return axis;
  }

  @Override
  public double getLowerBound() {
    return least;
  }

  @Override
  public double getUpperBound() {
    return most;
  }

  /** Returns the colour at a coordinate of {@link #axis}. */
  @Override
  public Paint getPaint(double place) {
    return new Color(colours.at(Math.max(0, Math.min(1, (place - least) / (most - least)))));
  }
}
