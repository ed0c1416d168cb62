// Product of float matrices at float accuracy on the tensor cores of sm_90a: split.cuh says how.
//
// Architectures: sm_90a

#include "split.cuh"

// multiply_split[_across]_w<bytes>_<rows>x<cols>x<threads>, across: for an A that is stored so. Each needs
// the shared memory of the variable that is named after it, which build.sh writes to the index.
//
// The tensor cores sum 32 steps of K, and what rounding leaves out is kept: errors are below SGEMM's
// (ProductErrorsIT). On an H200 4096^3 takes 1.4 ms; 1.6 ms with 16 steps, whose errors are hardly smaller;
// 1.07 ms where rounding errors are dropped; there errors of badly scaled operands were above SGEMM's from K = 4096.
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
