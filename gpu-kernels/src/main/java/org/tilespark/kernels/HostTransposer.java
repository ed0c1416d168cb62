package org.tilespark.kernels;

import org.tilespark.kernels.plan.TransposeProblem;
import org.tilespark.layout.AxisFusion;
import org.tilespark.layout.Strides;

/** The host twin: the semantics of {@link Transposer} in plain Java. Holds nothing. */
public final class HostTransposer implements Transposer {
  @Override
  public void transpose(TransposeProblem problem, HostMemory in, HostMemory out) {
    problem.requireBytes(in.bytes(), out.bytes());
    AxisFusion fused = AxisFusion.of(problem.shape(), problem.permutation());
    Strides strides = Strides.rowMajor(fused.shape()).permute(fused.permutation());
    long[] extents = fused.permutation().apply(fused.shape()).toArray();
    int width = problem.elementBytes();
    long[] index = new long[extents.length];
    for (long o = 0; o < out.bytes(); o += width) {
      long from = 0;
      for (int i = 0; i < index.length; i++) {
        from += index[i] * strides.stride(i);
      }
      in.slice(from * width, width).copyTo(out.slice(o, width));
      for (int i = index.length - 1; i >= 0 && ++index[i] == extents[i]; i--) {
        index[i] = 0;
      }
    }
  }

  @Override
  public void close() {}
}
