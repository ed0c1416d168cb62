package org.tilespark.examples;

import java.awt.Color;

/** The colours of a figure for a light or a dark page. */
enum FigureTheme {
  LIGHT(0xFFFFFF, 0x1B1B1F, 0xD5D5DB),
  DARK(0x1E2129, 0xE8E8EC, 0x484C57);

  /** Colours that distinguish series, on both themes. */
  private static final int[] SERIES = {
    0x1F77B4, 0xFF7F0E, 0x2CA02C, 0xD62728, 0x9467BD, 0xA0685A, 0xE377C2, 0x8C8C8C, 0xBCBD22,
    0x17BECF
  };

  private final Color background;
  private final Color text;
  private final Color grid;

  FigureTheme(int background, int text, int grid) {
    this.background = new Color(background);
    this.text = new Color(text);
    this.grid = new Color(grid);
  }

  Color background() {
    return background;
  }

  /** The colour of text, axes and outlines. */
  Color text() {
    return text;
  }

  Color grid() {
    return grid;
  }

  /** The number of series that have distinct colours. */
  static int seriesColours() {
    return SERIES.length;
  }

  /** The colour of the series with an index from 0. */
  static Color series(int index) {
    return new Color(SERIES[index]);
  }
}
