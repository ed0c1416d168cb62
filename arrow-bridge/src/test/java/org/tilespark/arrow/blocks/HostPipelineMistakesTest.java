package org.tilespark.arrow.blocks;

class HostPipelineMistakesTest extends PipelineMistakesContract {
  @Override
  Twin openTwin() {
    return new HostTwin();
  }
}
