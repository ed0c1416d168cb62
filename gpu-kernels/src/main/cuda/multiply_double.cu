// Product of double matrices on the tensor cores of sm_90: double.cuh says how.
//
// Architectures: sm_90a

#include "double.cuh"

// multiply_double_<op of A><op of B>_w8_<rows>x<cols>x<threads>; it needs the shared memory of the
// variable that is named after it, which build.sh writes to the index, and `BLOCKS` of a multiprocessor.
#define ENTRY(NAME, ACROSS_A, ACROSS_B, HIGH, WIDE, COUNT, WARP_ROWS, WARP_COLS, STAGES, BLOCKS)      \
  extern "C" {                                                                                         \
  __device__ __attribute__((used)) unsigned int NAME##_w8_##HIGH##x##WIDE##x##COUNT##_dynamic_bytes =                        \
      tilespark::DoubleShape<ACROSS_A, ACROSS_B, HIGH, WIDE, WARP_ROWS, WARP_COLS, STAGES,             \
                             true>::SHARED_BYTES;                                                      \
  __global__ void __launch_bounds__(COUNT, BLOCKS) NAME##_w8_##HIGH##x##WIDE##x##COUNT(                \
      const __grid_constant__ tilespark::DoubleArguments arguments) {                                  \
    using Shape =                                                                                      \
        tilespark::DoubleShape<ACROSS_A, ACROSS_B, HIGH, WIDE, WARP_ROWS, WARP_COLS, STAGES, true>;    \
    static_assert(Shape::THREADS == COUNT, "threads of the name");                                     \
    tilespark::multiply_double<Shape>(arguments);                                                      \
  }                                                                                                    \
  }
#define ENTRIES(...)                                      \
  ENTRY(multiply_double_nn, false, true, __VA_ARGS__)  \
  ENTRY(multiply_double_nt, false, false, __VA_ARGS__) \
  ENTRY(multiply_double_tn, true, true, __VA_ARGS__)   \
  ENTRY(multiply_double_tt, true, false, __VA_ARGS__)

ENTRIES(128, 64, 384, 32, 32, 4, 1)
ENTRIES(64, 64, 256, 32, 32, 4, 2)
