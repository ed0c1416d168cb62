package org.tilespark.arrow.blocks;

class HostSmallArraysTest extends SmallArraysContract {
  @Override
  Twin openTwin() {
    return new HostTwin();
  }
}
