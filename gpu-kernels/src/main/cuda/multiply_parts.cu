// Sums the parts of products that were split along K: see parts.cuh.
//
// Architectures: sm_80 sm_86 sm_87 sm_89 sm_90a compute_80

#include "parts.cuh"

// multiply_parts_w<width>_<threads>
#define ENTRY(T, WIDTH)                                                                            \
  extern "C" __global__ void __launch_bounds__(tilespark::SUM_THREADS) multiply_parts_w##WIDTH##_256( \
      const __grid_constant__ tilespark::SumArguments<T> arguments) {                              \
    static_assert(tilespark::SUM_THREADS == 256, "threads of the name");                           \
    tilespark::sum_parts<T>(arguments);                                                            \
  }

ENTRY(float, 4)
ENTRY(double, 8)
