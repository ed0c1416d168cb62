package org.tilespark.arrow.blocks;

class HostWholeArraysTest extends WholeArraysContract {
  @Override
  Twin openTwin() {
    return new HostTwin();
  }
}
