package org.tilespark.spark.catalyst.compat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Versions of Spark that cause a warning. */
@Tag("versions")
class SparkVersionTest {
  @ParameterizedTest
  @ValueSource(strings = {"4.3.1", "4.4.0", "4.10.0", "5.0.0", "4.4.0-SNAPSHOT", "5.0.0-preview2"})
  void aNewerSparkIsUntested(String running) {
    String text = SparkVersion.warning(running).orElseThrow();
    assertTrue(text.startsWith("Spark " + running + " is newer than 4.3.0, the newest that"), text);
    assertFalse(SparkVersion.isTested(running));
  }

  @ParameterizedTest
  @ValueSource(strings = {"3.5.6", "2.4.8", "", "main"})
  void anOlderSparkIsUntested(String running) {
    String text = SparkVersion.warning(running).orElseThrow();
    assertTrue(
        text.startsWith("Spark " + running + " is not one of 4.0.0 to 4.3.0, the versions that"),
        text);
    assertFalse(SparkVersion.isTested(running));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"4.3.0", "4.2.9", "4.0.0", "4.0.5", "4.3", "4.3.0-SNAPSHOT", "4.3.0.7-vendor"})
  void othersAreTested(String running) {
    assertEquals(Optional.empty(), SparkVersion.warning(running));
    assertTrue(SparkVersion.isTested(running));
  }

  @Test
  void theNewestTestedIsTheNewestDistribution() throws IOException {
    String list = Files.readString(Path.of("..", "dev", "spark-distributions.txt"));
    String newest = "pyspark==" + SparkVersion.NEWEST_TESTED + " ";
    assertEquals(list.indexOf("pyspark=="), list.indexOf(newest), list);
  }

  @Test
  void theSparkOfTheseTestsIsTested() {
    assertEquals(Optional.empty(), SparkVersion.warning(SparkVersion.running()));
  }
}
