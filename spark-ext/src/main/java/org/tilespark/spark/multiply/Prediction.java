package org.tilespark.spark.multiply;

import java.io.Serializable;
import java.util.List;
import org.tilespark.spark.runtime.BackendChoice;

/**
 * The planner's prediction for a product, for EXPLAIN and for a comparison with the measurement.
 *
 * @param chosen the strategy with its cost, in words
 * @param rejected the best other candidates with their cost or why they cannot run
 * @param operandBytes bytes of rows in the shuffle that brings the operands together
 * @param partialBytes bytes of rows in the shuffle that brings partial blocks together
 * @param broadcastBytes bytes of rows that every executor gets
 * @param uploadBytes bytes of panels to devices; 0 without devices
 */
public record Prediction(
    String chosen,
    List<String> rejected,
    long operandBytes,
    long partialBytes,
    long broadcastBytes,
    long uploadBytes)
    implements Serializable {
  /** Copies the list. */
  public Prediction {
    rejected = List.copyOf(rejected);
  }

  /**
   * The text of {@code EXPLAIN FORMATTED} for a product, one line for each fact.
   *
   * @param depth extent of panels along K
   */
  String explained(MultiplySpec spec, long depth, BackendChoice backend) {
    return "\nProduct: %s\nStrategy: %s\nRejected: %s\nPanels: %s along K\nBackend: %s"
        .formatted(spec.describe(), chosen, String.join("\n  ", rejected), depth, backend);
  }

  @Override
  public String toString() {
    return chosen + (rejected.isEmpty() ? "" : "; rejected: " + String.join("; ", rejected));
  }
}
