package org.tilespark.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.spark.cluster.ChildJvm;

class FigureOptionTest {
  private static final JobArguments.Usage USAGE =
      new JobArguments.Usage(
          "test", "", List.of(), List.of(FigureOption.FIGURE, FigureOption.THEME));

  @TempDir Path directory;

  @Test
  void readsFileAndTheme() {
    Path file = directory.resolve("new/figure.PNG");
    assertEquals(
        Optional.of(new FigureOption(file, FigureTheme.DARK)),
        option("--figure=" + file, "--figure-theme=dark"));
    assertTrue(Files.isDirectory(file.getParent()));
    assertEquals(FigureTheme.LIGHT, option("--figure", file.toString()).orElseThrow().theme());
    assertEquals(Optional.empty(), option());
  }

  @Test
  void refusesWhatItCannotDraw() throws Exception {
    assertRefused("--figure is 'a.jpg': expected a file name that ends in .png", "--figure=a.jpg");
    assertRefused("--figure-theme is 'red': expected light or dark", "--figure-theme=red");
    assertRefused("--figure-theme needs --figure", "--figure-theme=dark");
    Path taken = Files.createDirectory(directory.resolve("a.png"));
    assertRefused("which is a directory", "--figure=" + taken);
  }

  @Test
  void saysThatTheLibraryIsMissing() {
    IllegalArgumentException e =
        assertThrows(
            IllegalArgumentException.class,
            () -> FigureOption.checkLibrary(ClassLoader.getPlatformClassLoader()));
    assertTrue(e.getMessage().contains("--packages org.jfree:jfreechart:"), e.getMessage());
    String version = System.getProperty("tilespark.test.chartVersion");
    if (version != null) { // the build says it
      assertTrue(e.getMessage().endsWith(":" + version), e.getMessage());
    }
  }

  /** Fontconfig that names no directory; the home holds what Java remembers of another one. */
  @Test
  void saysThatThereIsNoFont() throws Exception {
    Path fonts =
        Files.writeString(
            directory.resolve("fonts.conf"),
            "<?xml version='1.0'?><!DOCTYPE fontconfig SYSTEM 'fonts.dtd'><fontconfig/>");
    ChildJvm.Outcome outcome =
        ChildJvm.start(
                CheckFonts.class.getName(),
                List.of(),
                List.of("-Duser.home=" + directory),
                Map.of("FONTCONFIG_FILE", fonts.toString()),
                directory.resolve("child.log"))
            .await(Duration.ofMinutes(2));
    assertEquals(1, outcome.exitCode(), outcome::output);
    assertTrue(outcome.output().contains("Java finds none on this machine"), outcome::output);
  }

  /** Checks, in a JVM of its own. */
  static final class CheckFonts {
    private CheckFonts() {}

    public static void main(String[] args) {
      FigureOption.checkFonts();
    }
  }

  private static Optional<FigureOption> option(String... words) {
    return FigureOption.of(JobArguments.parse(USAGE, words));
  }

  private static void assertRefused(String part, String... words) {
    IllegalArgumentException e = assertThrows(IllegalArgumentException.class, () -> option(words));
    assertTrue(e.getMessage().contains(part), e.getMessage());
  }
}
