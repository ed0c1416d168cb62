// Product of double matrices on the tensor cores of sm_90: double.cuh says how.
//
// Architectures: sm_90a

#include "double.cuh"

// multiply_double[_halves]_<ways>_w8_<rows>x<cols>x<threads>, ways: t or n for the left operand, then for the
// right one, as double.cuh says; halves: two thread blocks, a cluster, make a tile, each of half of K. It needs
// the shared memory of the variable that is named after it, which build.sh writes to the index, and `BLOCKS`
// of a multiprocessor.
#define ENTRY(NAME, CLUSTER, HIGH, WIDE, COUNT, BLOCKS, ...)                                                   \
  extern "C" {                                                                                                 \
  __device__ __attribute__((used)) unsigned int NAME##_w8_##HIGH##x##WIDE##x##COUNT##_dynamic_bytes =          \
      tilespark::DoubleShape<__VA_ARGS__>::SHARED_BYTES;                                                       \
  __global__ void CLUSTER __launch_bounds__(COUNT, BLOCKS) NAME##_w8_##HIGH##x##WIDE##x##COUNT(                \
      const __grid_constant__ tilespark::DoubleArguments arguments) {                                          \
    using Shape = tilespark::DoubleShape<__VA_ARGS__>;                                                         \
    static_assert(Shape::THREADS == COUNT && Shape::ROWS == HIGH && Shape::COLS == WIDE, "shape of the name"); \
    tilespark::multiply_double<Shape>(arguments);                                                              \
  }                                                                                                            \
  }
#define ENTRIES(NAME, CLUSTER, HIGH, WIDE, COUNT, BLOCKS, ...)                                \
  ENTRY(NAME##_tt, CLUSTER, HIGH, WIDE, COUNT, BLOCKS, true, false, HIGH, WIDE, __VA_ARGS__)  \
  ENTRY(NAME##_nt, CLUSTER, HIGH, WIDE, COUNT, BLOCKS, false, false, HIGH, WIDE, __VA_ARGS__) \
  ENTRY(NAME##_tn, CLUSTER, HIGH, WIDE, COUNT, BLOCKS, true, true, HIGH, WIDE, __VA_ARGS__)

// Cluster, tile, threads, blocks, then WARP_ROWS, WARP_COLS, STAGES, TOTALS, HALVES.
ENTRIES(multiply_double, , 128, 128, 256, 1, 64, 32, 3, true, false)
ENTRIES(multiply_double_halves, __cluster_dims__(2, 1, 1), 128, 128, 256, 1, 64, 32, 3, true, true)
ENTRIES(multiply_double, , 128, 64, 128, 2, 64, 32, 2, true, false)
