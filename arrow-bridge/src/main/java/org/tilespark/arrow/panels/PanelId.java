package org.tilespark.arrow.panels;

import java.util.Objects;

/**
 * Identity and user of a panel that tasks of a stage share.
 *
 * @param stripe key that is common to the panels of one operand over one range of M or N and one of
 *     K, and to no others of the stage; compared by {@code equals}
 * @param inner its first index along K; panels of a stripe that begin alike are alike
 * @param uses tiles that the panels of the stripe go into, 2 or more
 * @param user number of the tile that asks, from 0
 * @param usedNext true if the other tiles are computed next or at the same time, rather than much
 *     later
 */
public record PanelId(Object stripe, long inner, int uses, int user, boolean usedNext) {
  /** Checks the numbers. */
  public PanelId {
    Objects.requireNonNull(stripe, "stripe");
    if (uses < 2 || user < 0 || user >= uses) {
      throw new IllegalArgumentException(
          "User " + user + " of " + uses + " of a shared panel; expected 2 or more, from 0");
    }
  }
}
