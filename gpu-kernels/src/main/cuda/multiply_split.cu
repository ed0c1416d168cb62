// Product of float matrices at float accuracy on the tensor cores of sm_90a: see split.cuh.
//
// Architectures: sm_90a

#include "split.cuh"

// multiply_split[_across]_w<bytes>_<rows>x<cols>x<threads>; across: A is stored with K as the strided axis.
// NAME_dynamic_bytes: shared memory, which build.sh writes to the index.
//
// The tensor cores sum 32 steps of K, and rounding errors of later additions are compensated: errors are below SGEMM's
// (ProductErrorsIT). On an H200, 4096^3 takes 1.4 ms; 1.6 ms with 16 steps, whose errors are hardly smaller; 1.07 ms
// without compensation, but then errors of badly scaled operands exceed SGEMM's from K = 4096.
#define ENTRY(NAME, STAGES, A_ACROSS)                                             \
  extern "C" {                                                                       \
  __device__ __attribute__((used)) unsigned int NAME##_dynamic_bytes =               \
      tilespark::SplitShape<STAGES, A_ACROSS>::SHARED_BYTES;                       \
  __global__ void __launch_bounds__(384, 1)                                          \
      NAME(const __grid_constant__ tilespark::SplitArguments arguments) {            \
    using Shape = tilespark::SplitShape<STAGES, A_ACROSS>;                         \
    static_assert(Shape::THREADS == 384 && Shape::TILE == 128, "shape of the name"); \
    tilespark::multiply_split<Shape>(arguments);                                     \
  }                                                                                  \
  }

ENTRY(multiply_split_w4_128x128x384, 5, false)
ENTRY(multiply_split_across_w4_128x128x384, 5, true)
