package org.tilespark.arrow.blocks;

class HostComplexStepsTest extends ComplexStepsContract {
  @Override
  Twin openTwin() {
    return new HostTwin();
  }
}
