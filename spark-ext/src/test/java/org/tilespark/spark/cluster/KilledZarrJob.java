package org.tilespark.spark.cluster;

import java.io.IOException;
import java.nio.file.Path;
import org.apache.spark.sql.SparkSession;

/**
 * An application whose executors are killed at all stages of writes of format zarr. Arguments: a
 * directory that all processes share, and the one below which executors have their local files.
 */
public final class KilledZarrJob {
  private KilledZarrJob() {}

  public static void main(String[] args) throws IOException {
    Cases cases = new Cases();
    try (SparkSession spark = SparkSession.builder().getOrCreate()) {
      Executors executors = new Executors(spark.sparkContext(), 2);
      Path shared = Path.of(args[0]);
      Killing killing = new Killing(spark, executors, shared, Path.of(args[1]));
      new KilledZarrCases(spark, killing, shared).run(cases, true);
      cases.run("nothing alive", executors::assertNothingAlive);
    }
    cases.end();
  }
}
