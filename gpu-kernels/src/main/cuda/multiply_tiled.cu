// Product of two matrices, either of them transposed in memory: see tiled.cuh.

#include "tiled.cuh"

// The name has the tile of C and the threads; the last two arguments are the share of a thread or, for double, a warp.
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
