package org.tilespark.arrow.blocks;

/** A step on the CPU, made ready for arrays of one shape and type. For one thread. */
@FunctionalInterface
public interface HostStep {
  /** Runs this step on an array. */
  void on(HostArray array);
}
