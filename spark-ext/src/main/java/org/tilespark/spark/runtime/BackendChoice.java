package org.tilespark.spark.runtime;

import java.io.Serializable;
import java.util.Locale;
import org.tilespark.spark.conf.Backend;

/**
 * Who will run an operator, as far as the driver can say when it plans; part of the plan, so that
 * EXPLAIN shows it.
 *
 * @param requested what the configuration asks for; each executor acts on it
 * @param expected what it will come to, in words: {@code "gpu: NVIDIA H200 ..."}
 */
public record BackendChoice(Backend requested, String expected) implements Serializable {
  @Override
  public String toString() {
    return "backend=" + requested.name().toLowerCase(Locale.ROOT) + " -> " + expected;
  }
}
