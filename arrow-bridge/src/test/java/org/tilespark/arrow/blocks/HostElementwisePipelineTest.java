package org.tilespark.arrow.blocks;

class HostElementwisePipelineTest extends ElementwisePipelineContract {
  @Override
  Twin openTwin() {
    return new HostTwin();
  }
}
