package org.tilespark.spark.shuffle;

import java.util.Optional;
import java.util.function.UnaryOperator;
import org.apache.spark.SparkConf;
import org.tilespark.spark.catalyst.compat.SparkVersion;
import org.tilespark.spark.conf.ExchangeMode;
import org.tilespark.spark.conf.TileSparkConf;

/**
 * The exchange for blocks, as far as the configuration decides it. EXPLAIN shows it, and the
 * shuffle manager follows it; a single shuffle may have further reasons to use Spark's.
 *
 * @param mode mode that the user requested
 * @param whyNotInMemory reason for Spark's own shuffle; empty if blocks stay in memory
 */
public record ExchangeChoice(ExchangeMode mode, Optional<String> whyNotInMemory) {
  private static final String MANAGER = "spark.shuffle.manager";

  /**
   * The choice for the shuffles of a session.
   *
   * @param application configuration of the application
   * @param session configuration of the session that plans
   */
  public static ExchangeChoice of(SparkConf application, UnaryOperator<String> session) {
    ExchangeMode mode = TileSparkConf.EXCHANGE_MODE.read(session);
    return new ExchangeChoice(
        mode,
        mode == ExchangeMode.SPARK
            ? Optional.of(TileSparkConf.EXCHANGE_MODE.name() + " is spark")
            : otherManager(application).or(() -> ShuffleFit.whyNotInMemory(application)));
  }

  private static Optional<String> otherManager(SparkConf application) {
    String manager = application.get(MANAGER, "");
    if (manager.equals(TileShuffleManager.class.getName())) {
      return Optional.empty();
    }
    if (!manager.isEmpty()) {
      return Optional.of(MANAGER + " is " + manager);
    }
    return Optional.of(
        SparkVersion.isTested()
            ? "spark.plugins has no TileSparkPlugin"
            : "this tilespark was not tested on Spark " + SparkVersion.running());
  }

  /** {@code memory}, or {@code spark} with the reason. */
  @Override
  public String toString() {
    return whyNotInMemory.map(why -> "spark (" + why + ")").orElse("memory");
  }
}
