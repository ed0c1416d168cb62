package org.tilespark.bench.kernels;

import java.util.SplittableRandom;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.memory.HugePageMemory;
import org.tilespark.layout.ElementType;

/**
 * Allocates normally distributed numbers in memory like that of blocks and of numpy's large arrays:
 * pages of 2 MiB if the system provides them.
 */
final class NormalNumbers {
  private static final HugePageMemory MEMORY = new HugePageMemory();

  private NormalNumbers() {}

  /** Allocates memory and fills it with random numbers; {@link #free} releases it. */
  static HostMemory of(long bytes, ElementType type, SplittableRandom random) {
    HostMemory memory = HostMemory.ofAddress(MEMORY.take(bytes).orElseThrow(), bytes);
    for (long at = memory.offset(); at < memory.offset() + bytes; at += type.bytes()) {
      if (type == ElementType.FLOAT32) {
        HostMemory.unsafe().putFloat(at, (float) random.nextGaussian());
      } else {
        HostMemory.unsafe().putDouble(at, random.nextGaussian());
      }
    }
    return memory;
  }

  static void free(HostMemory memory) {
    MEMORY.free(memory.offset());
  }
}
