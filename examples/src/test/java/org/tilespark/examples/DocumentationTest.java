package org.tilespark.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.functions.Description;

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
  void pageOfSqlFunctionsIsCurrent() throws IOException {
    assertEquals(
        Description.text("sql"),
        Files.readString(ROOT.resolve("docs/sql.md")),
        "run dev/generate-docs");
  }

  @Test
  void configurationInReadmeIsCurrent() throws IOException {
    String table =
        TileSparkConf.markdown()
            .lines()
            .filter(line -> line.startsWith("|"))
            .collect(Collectors.joining("\n", "", "\n"));
    assertEquals(table, inReadme("configuration"), "run dev/generate-docs");
  }

  @ParameterizedTest
  @ValueSource(strings = {"operators", "multiply-options", "fft-options"})
  void tablesOfSqlFunctionsInReadmeAreCurrent(String name) throws IOException {
    assertEquals(Description.text(name), inReadme(name), "run dev/generate-docs");
  }

  private static String inReadme(String name) throws IOException {
    String readme = Files.readString(ROOT.resolve("README.md"));
    String begin = "<!-- " + name + ": written by dev/generate-docs -->\n";
    int from = readme.indexOf(begin) + begin.length();
    return readme.substring(from, readme.indexOf("<!-- end of " + name + " -->", from));
  }
}
