package org.tilespark.spark.runtime;

import java.io.Serializable;
import java.util.Locale;
import org.tilespark.spark.conf.Backend;

/**
 * The backend of an operator, as far as the driver can say when it plans; part of the plan, so that
 * EXPLAIN shows it.
 *
 * @param requested backend by the configuration; each executor acts on it
 * @param expected expected backend, in words: {@code "gpu: NVIDIA H200 ..."}
 */
public record BackendChoice(Backend requested, String expected) implements Serializable {
  @Override
  public String toString() {
    return "backend=" + requested.name().toLowerCase(Locale.ROOT) + " -> " + expected;
  }
}
