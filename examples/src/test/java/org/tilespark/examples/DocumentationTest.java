package org.tilespark.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.functions.Description;

/** The pages that {@code dev/generate-docs} writes are current. */
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
        Description.page(), Files.readString(ROOT.resolve("docs/sql.md")), "run dev/generate-docs");
  }
}
