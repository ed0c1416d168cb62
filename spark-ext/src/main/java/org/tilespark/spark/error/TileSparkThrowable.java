package org.tilespark.spark.error;

import java.util.Map;
import org.apache.spark.QueryContext;
import org.apache.spark.SparkThrowable;

/**
 * An exception of tilespark, as Spark and its clients read it. Spark must not look it up in its own
 * list of conditions, which does not contain ours.
 */
public interface TileSparkThrowable extends SparkThrowable {
  /** The kind of this error. */
  ErrorCondition condition();

  /**
   * States what was requested, what was found, and what helps: the message without condition and
   * SQLSTATE.
   */
  String reason();

  @Override
  default String getCondition() {
    return condition().id();
  }

  @Override
  default String getSqlState() {
    return condition().sqlState();
  }

  /**
   * The reason, cut short if it is long; never null. Spark Connect sends neither condition nor
   * parameters if these take more than 1024 characters as JSON.
   */
  @Override
  default Map<String, String> getMessageParameters() {
    return Map.of("reason", JsonLength.cut(reason(), 1000));
  }

  /** The template of a message, for which Spark asks since 4.1. */
  @Override
  default String getDefaultMessageTemplate() {
    return "<reason>";
  }

  /** Returns no contexts: reasons name blocks, files and options, and not places in SQL texts. */
  @Override
  default QueryContext[] getQueryContext() {
    return new QueryContext[0];
  }
}
