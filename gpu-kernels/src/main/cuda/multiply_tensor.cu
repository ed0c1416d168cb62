// Products of matrices of half, bfloat16 and tf32 on the tensor cores of sm_90a: see tensor.cuh.
//
// Architectures: sm_90a

#include "tensor.cuh"

// multiply_<kind>_w<bytes per packed value>_<rows>x<cols>x<threads>. NAME_dynamic_bytes: shared memory, which build.sh
// writes to the index.
#define ENTRY(KIND, NAME, HIGH, WIDE, STAGES)                                                           \
  extern "C" {                                                                                          \
  __device__ __attribute__((used)) unsigned int NAME##_##HIGH##x##WIDE##x384_dynamic_bytes =            \
      tilespark::TensorShape<tilespark::KIND, HIGH, WIDE, STAGES>::SHARED_BYTES;                        \
  __global__ void __launch_bounds__(384, 1)                                                             \
      NAME##_##HIGH##x##WIDE##x384(const __grid_constant__ tilespark::TensorArguments arguments) {      \
    using Shape = tilespark::TensorShape<tilespark::KIND, HIGH, WIDE, STAGES>;                          \
    static_assert(Shape::THREADS == 384, "threads of the name");                                        \
    tilespark::multiply_tensor<Shape>(arguments);                                                       \
  }                                                                                                     \
  }

ENTRY(Half, multiply_float16_w2, 128, 256, 4)
ENTRY(Half, multiply_float16_w2, 128, 128, 6)
ENTRY(Half, multiply_float16_w2, 128, 64, 8)
ENTRY(Bfloat16, multiply_bfloat16_w2, 128, 256, 4)
ENTRY(Bfloat16, multiply_bfloat16_w2, 128, 128, 6)
ENTRY(Bfloat16, multiply_bfloat16_w2, 128, 64, 8)
ENTRY(Tf32, multiply_tf32_w4, 128, 256, 4)
ENTRY(Tf32, multiply_tf32_w4, 128, 128, 6)
ENTRY(Tf32, multiply_tf32_w4, 128, 64, 8)
ENTRY(Tf32, multiply_tf32_w4, 256, 128, 4)
