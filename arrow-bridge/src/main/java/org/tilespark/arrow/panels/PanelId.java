package org.tilespark.arrow.panels;

import java.util.Objects;

/**
 * Identity of a panel that tasks of a stage share, and the tile that uses it.
 *
 * @param stripe key of the panels of one operand over one range of M or N and one range of K,
 *     different from all other keys of the stage; compared by {@code equals}
 * @param inner first index of the panel along K; panels of a stripe with equal first index are
 *     equal
 * @param uses number of tiles that use the panels of the stripe, 2 or more
 * @param user number of the tile that uses the panel now, from 0
 * @param usedNext true if the other tiles are computed next or at the same time, and false if they
 *     are computed much later
 */
public record PanelId(Object stripe, long inner, int uses, int user, boolean usedNext) {
  /** Checks {@code uses} and {@code user}. */
  public PanelId {
    Objects.requireNonNull(stripe, "stripe");
    if (uses < 2 || user < 0 || user >= uses) {
      throw new IllegalArgumentException(
          "User " + user + " of " + uses + " of a shared panel; expected 2 or more, from 0");
    }
  }
}
