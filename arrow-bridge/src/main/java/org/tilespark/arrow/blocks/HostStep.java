package org.tilespark.arrow.blocks;

/** A step on the CPU, made ready for arrays of one shape and type. For one thread. */
@FunctionalInterface
public interface HostStep {
  /** Does it. */
  void on(HostArray array);
}
