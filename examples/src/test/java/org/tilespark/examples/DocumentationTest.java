package org.tilespark.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.tilespark.spark.TileSparkConf;

/** What {@code dev/generate-docs} writes is current. */
class DocumentationTest {
  private static final Path ROOT = Path.of("..");

  @Test
  void configurationPageIsCurrent() throws IOException {
    assertEquals(
        TileSparkConf.markdown(),
        Files.readString(ROOT.resolve("docs/configuration.md")),
        "run dev/generate-docs");
  }

  @Test
  void readmeTableIsCurrent() throws IOException {
    String table =
        TileSparkConf.markdown()
            .lines()
            .filter(line -> line.startsWith("|"))
            .collect(Collectors.joining("\n"));
    String readme = Files.readString(ROOT.resolve("README.md"));
    String begin = "<!-- configuration: written by dev/generate-docs -->\n";
    int from = readme.indexOf(begin) + begin.length();
    int to = readme.indexOf("\n<!-- end of configuration -->", from);
    assertEquals(table, readme.substring(from, to), "run dev/generate-docs");
  }
}
