package org.tilespark.arrow.blocks;

class HostReductionStepsTest extends ReductionStepsContract {
  @Override
  Twin openTwin() {
    return new HostTwin();
  }
}
