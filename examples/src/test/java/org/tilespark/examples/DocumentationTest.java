package org.tilespark.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.error.ErrorCondition;
import org.tilespark.spark.functions.Description;
import org.tilespark.spark.ui.ExecutorMetrics;

/** The pages that {@code dev/generate-docs} writes are current. */
class DocumentationTest {
  private static final Path ROOT = Path.of("..");

  @Test
  void pagesAreCurrent() throws IOException {
    check("configuration.md", TileSparkConf.markdown());
    check("metrics.md", ExecutorMetrics.markdown());
    check("conditions.md", ErrorCondition.markdown());
    check("sql.md", Description.page());
  }

  private static void check(String page, String expected) throws IOException {
    assertEquals(
        expected, Files.readString(ROOT.resolve("docs").resolve(page)), "run dev/generate-docs");
  }
}
