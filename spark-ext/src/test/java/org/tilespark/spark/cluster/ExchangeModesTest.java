package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.InTurn;

/** The server of shuffles of blocks, by the application's configuration. */
@InTurn
class ExchangeModesTest {
  @TempDir Path directory;

  @Test
  void eachConfigurationHasItsServer() {
    ChildJvm.Outcome outcome =
        ChildJvm.start(
                ExchangeModesJob.class.getName(),
                List.of(),
                List.of(
                    "-Xmx512m",
                    "-Dspark.driver.host=127.0.0.1",
                    "-Dspark.driver.bindAddress=127.0.0.1",
                    "-Dspark.sql.warehouse.dir=" + directory.resolve("warehouse").toUri(),
                    "-Dspark.local.dir=" + directory.resolve("local")),
                Map.of(),
                directory.resolve("modes.log"))
            .await(Duration.ofMinutes(10));
    assertEquals(0, outcome.exitCode(), outcome::output);
  }
}
