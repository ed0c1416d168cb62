// Product of two matrices, either of them transposed in memory: tiled.cuh says how.

#include "tiled.cuh"

// The tile of C and the threads are part of the name; the rest is each thread's, or each warp's, share.
#define ENTRY(WIDTH, KIND, HIGH, WIDE, COUNT, SHARE_HIGH, SHARE_WIDE)                     \
  extern "C" __global__ void __launch_bounds__(COUNT)                                    \
      multiply_tiled_w##WIDTH##_##HIGH##x##WIDE##x##COUNT(                                \
          const __grid_constant__ tilespark::MultiplyArguments<                          \
              tilespark::KIND<HIGH, WIDE, SHARE_HIGH, SHARE_WIDE>::T> arguments) {       \
    using Sums = tilespark::KIND<HIGH, WIDE, SHARE_HIGH, SHARE_WIDE>;                     \
    static_assert(Sums::THREADS == COUNT, "threads of the name");                        \
    tilespark::multiply_tiles<Sums, false>(arguments, nullptr);                          \
  }

ENTRY(4, FloatSums, 128, 128, 256, 8, 8)
ENTRY(4, FloatSums, 64, 64, 128, 8, 4)
ENTRY(4, FloatSums, 32, 32, 64, 4, 4)
ENTRY(8, DoubleSums, 64, 64, 128, 32, 32)
ENTRY(8, DoubleSums, 32, 32, 128, 16, 16)
