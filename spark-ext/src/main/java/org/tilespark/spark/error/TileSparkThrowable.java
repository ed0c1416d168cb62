package org.tilespark.spark.error;

import java.util.Map;
import org.apache.spark.QueryContext;
import org.apache.spark.SparkThrowable;

/**
 * An exception of tilespark, as Spark and its clients read it. Nothing of it is looked up in
 * Spark's own list of conditions, which does not know ours.
 */
public interface TileSparkThrowable extends SparkThrowable {
  /**
   * Characters of the reason among the message parameters. Spark Connect sends neither condition
   * nor parameters if the parameters take more than 1024 characters as JSON, where an escaped
   * character takes two.
   */
  int PARAMETER_LENGTH = 480;

  /** What went wrong, by kind. */
  ErrorCondition condition();

  /** What was asked, what was found and what helps; the message without condition and SQLSTATE. */
  String reason();

  @Override
  default String getCondition() {
    return condition().id();
  }

  @Override
  default String getSqlState() {
    return condition().sqlState();
  }

  /** The reason, cut short if it is long; never null. */
  @Override
  default Map<String, String> getMessageParameters() {
    String reason = reason();
    return Map.of(
        "reason",
        reason.length() <= PARAMETER_LENGTH
            ? reason
            : reason.substring(0, PARAMETER_LENGTH - 3) + "...");
  }

  /** Spark asks for it since 4.1. */
  @Override
  default String getDefaultMessageTemplate() {
    return "<reason>";
  }

  /** None: reasons name blocks, files and options, and not places in SQL texts. */
  @Override
  default QueryContext[] getQueryContext() {
    return new QueryContext[0];
  }
}
