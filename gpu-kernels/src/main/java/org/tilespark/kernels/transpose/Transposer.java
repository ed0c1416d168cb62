package org.tilespark.kernels.transpose;

import org.tilespark.kernels.memory.HostMemory;

/**
 * Reorders the axes of an array held in host memory; implemented in plain Java (the oracle and the
 * fallback) and on a device.
 *
 * <p>Implementations are safe for use by several threads at once.
 */
public interface Transposer extends AutoCloseable {
  /**
   * Writes the reordered array; returns when {@code out} is complete.
   *
   * @param problem shape, permutation, element width and strides
   * @param in exactly {@code problem.inBytes()} bytes; borrowed, not changed
   * @param out exactly {@code problem.outBytes()} bytes; borrowed; must not overlap {@code in}; the
   *     gaps between its elements stay as they are
   * @throws IllegalArgumentException if a range has another length than the problem needs
   */
  void transpose(TransposeProblem problem, HostMemory in, HostMemory out);

  /** Releases what this transposer owns; may be called twice. */
  @Override
  void close();
}
