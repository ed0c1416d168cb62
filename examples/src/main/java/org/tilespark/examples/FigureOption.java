package org.tilespark.examples;

import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.image.BufferedImage;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import org.tilespark.examples.JobArguments.Option;

/**
 * The figure that a job's options ask for. This class refers to no class of the charting library,
 * which is on the class path only when figures are drawn.
 *
 * @param file the PNG file
 * @param theme its colours
 */
record FigureOption(Path file, FigureTheme theme) {
  /** {@code --figure FILE.png}. */
  static final Option FIGURE = Option.checked("figure", FigureOption::checkName);

  /** {@code --figure-theme light|dark}. */
  static final Option THEME = Option.checked("figure-theme", FigureOption::theme);

  private static final String CHART_CLASS = "org.jfree.chart.JFreeChart";

  /** Maven coordinates of the charting library, for {@code --packages}. */
  static final String CHART_PACKAGE = "org.jfree:jfreechart:1.5.6";

  /**
   * The figure that the arguments ask for, if any. Jobs call this first, so that errors appear
   * early.
   *
   * @throws IllegalArgumentException if the directory cannot be created, or this JVM cannot draw
   */
  static Optional<FigureOption> of(JobArguments arguments) {
    FigureTheme theme = arguments.option(THEME.name()).map(FigureOption::theme).orElse(null);
    if (arguments.option(FIGURE.name()).isEmpty()) {
      if (theme != null) {
        throw new IllegalArgumentException("Option --figure-theme needs --figure FILE.png");
      }
      return Optional.empty();
    }
    Path file = arguments.file(FIGURE.name());
    if (Files.isDirectory(file)) {
      throw new IllegalArgumentException("Option --figure is " + file + ", which is a directory");
    }
    JobArguments.makeDirectory(file.getParent());
    checkLibrary(FigureOption.class.getClassLoader());
    checkFonts();
    return Optional.of(new FigureOption(file, theme == null ? FigureTheme.LIGHT : theme));
  }

  /** Checks, without loading it, that the charting library is available. */
  static void checkLibrary(ClassLoader loader) {
    try {
      Class.forName(CHART_CLASS, false, loader);
    } catch (ClassNotFoundException e) {
      throw new IllegalArgumentException(
          "Option --figure needs JFreeChart, which is not on the class path; examples/run brings"
              + " it, spark-submit takes --packages "
              + CHART_PACKAGE,
          e);
    }
  }

  /** Checks that Java finds a font: measuring a text fails if there is none. */
  static void checkFonts() {
    if (System.getProperty("java.awt.headless") == null) {
      System.setProperty("java.awt.headless", "true"); // a display is not needed
    }
    Graphics2D graphics = new BufferedImage(1, 1, BufferedImage.TYPE_INT_RGB).createGraphics();
    try {
      graphics.getFontMetrics(new Font(Font.SANS_SERIF, Font.PLAIN, 12)).stringWidth("0");
    } catch (RuntimeException | LinkageError | InternalError e) {
      throw new IllegalArgumentException(
          "Option --figure needs a font, and Java finds none on this machine; install fontconfig"
              + " and a font, such as the package fonts-dejavu-core (Debian, Ubuntu) or"
              + " dejavu-sans-fonts (Fedora, RHEL)",
          e);
    } finally {
      graphics.dispose();
    }
  }

  private static void checkName(String text) {
    if (!text.toLowerCase(Locale.ROOT).endsWith(".png")) {
      throw new IllegalArgumentException("expected a file name that ends in .png");
    }
  }

  private static FigureTheme theme(String word) {
    return Arrays.stream(FigureTheme.values())
        .filter(theme -> theme.name().toLowerCase(Locale.ROOT).equals(word))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("expected light or dark"));
  }
}
