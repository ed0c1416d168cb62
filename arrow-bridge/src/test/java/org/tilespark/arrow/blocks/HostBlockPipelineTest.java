package org.tilespark.arrow.blocks;

class HostBlockPipelineTest extends BlockPipelineContract {
  @Override
  Twin openTwin() {
    return new HostTwin();
  }
}
