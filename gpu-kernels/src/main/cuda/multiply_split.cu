// Product of float matrices at float accuracy on the tensor cores of sm_90a: split.cuh says how.
//
// Architectures: sm_90a

#include "split.cuh"

// multiply_split[_across]_w<bytes>_<rows>x<cols>x<threads>, across: for an A that is stored so. Each needs
// the shared memory of the variable that is named after it, which build.sh writes to the index.
//
// What rounding leaves out is kept, and the tensor cores sum 16 steps of K: so errors are below SGEMM's on
// all inputs that dev/matmul tries. SplitShape<5, 32, false> takes two thirds of the time; its errors, up to
// 6 u |A||B| there, are below 2 u sqrt(K), but above SGEMM's where rows and columns are badly scaled.
#define ENTRY(NAME, STAGES, CHUNK, KEPT, A_ACROSS)                                \
  extern "C" {                                                                       \
  __device__ __attribute__((used)) unsigned int NAME##_dynamic_bytes =               \
      tilespark::SplitShape<STAGES, CHUNK, KEPT, A_ACROSS>::SHARED_BYTES;          \
  __global__ void __launch_bounds__(384, 1)                                          \
      NAME(const __grid_constant__ tilespark::SplitArguments arguments) {            \
    using Shape = tilespark::SplitShape<STAGES, CHUNK, KEPT, A_ACROSS>;            \
    static_assert(Shape::THREADS == 384 && Shape::TILE == 128, "shape of the name"); \
    tilespark::multiply_split<Shape>(arguments);                                     \
  }                                                                                  \
  }

ENTRY(multiply_split_w4_128x128x384, 5, 16, true, false)
ENTRY(multiply_split_across_w4_128x128x384, 5, 16, true, true)
