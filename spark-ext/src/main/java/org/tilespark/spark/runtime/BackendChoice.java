package org.tilespark.spark.runtime;

import java.io.Serializable;
import java.util.Locale;
import org.tilespark.spark.conf.Backend;

/**
 * The backend of an operator, as far as the driver knows at planning; part of the plan, so that
 * EXPLAIN shows it.
 *
 * @param configured backend by the configuration
 * @param requested backend that executors use: the configured one, or the CPU if a GPU would not be
 *     faster
 * @param expected expected backend, in words: {@code "gpu: NVIDIA H200 ..."}
 */
public record BackendChoice(Backend configured, Backend requested, String expected)
    implements Serializable {
  /** The choice until the query is optimized; whoever evaluates a plan before then uses the CPU. */
  public static final BackendChoice NOT_YET =
      new BackendChoice(Backend.AUTO, Backend.CPU, "chosen when the query is optimized");

  /** The choice of operators that use the configured backend. */
  BackendChoice(Backend configured, String expected) {
    this(configured, configured, expected);
  }

  @Override
  public String toString() {
    return "backend=" + configured.name().toLowerCase(Locale.ROOT) + " -> " + expected;
  }
}
