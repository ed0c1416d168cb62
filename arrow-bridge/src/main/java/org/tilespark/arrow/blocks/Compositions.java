package org.tilespark.arrow.blocks;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.tilespark.kernels.pointwise.ElementwiseProgram;

/** Composes two elementwise programs into one, and caches the results. For one thread. */
public final class Compositions {
  private final Map<Pair, Optional<ElementwiseProgram>> made = new HashMap<>();

  private record Pair(ElementwiseProgram first, ElementwiseProgram next, int input) {
    private Optional<ElementwiseProgram> composed() {
      // Do not compose if the input is broadcast: the first program would be computed again for
      // each repetition.
      boolean isWorthIt =
          next.inputs().get(input).broadcast().isEmpty() && next.isShortBehind(first);
      return isWorthIt ? Optional.of(next.behind(input, first)) : Optional.empty();
    }
  }

  /** A cache without programs. */
  Compositions() {}

  /**
   * Both programs as one, which computes input {@code input} of {@code next} by {@code first}, if
   * that is not slower; see {@link ElementwiseProgram#behind}.
   */
  Optional<ElementwiseProgram> of(ElementwiseProgram first, ElementwiseProgram next, int input) {
    return made.computeIfAbsent(new Pair(first, next, input), Pair::composed);
  }
}
