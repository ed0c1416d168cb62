// Products of float matrices that are rounded to half, bfloat16 or tf32 on the way: fused.cuh says how.
//
// Architectures: sm_90a

#include "fused.cuh"

// multiply_fused_<kind>_<ways>_w4_<rows>x<cols>x<threads>, ways: t or n for A, then for B, as they are stored
// (tf32 nt needs no conversion). Each needs the shared memory of the variable that is named after it, which
// build.sh writes to the index.
#define ENTRY(NAME, ...)                                                                       \
  extern "C" {                                                                                 \
  __device__ __attribute__((used)) unsigned int NAME##_w4_128x256x384_dynamic_bytes =          \
      tilespark::FusedShape<__VA_ARGS__>::SHARED_BYTES;                                        \
  __global__ void __launch_bounds__(384, 1)                                                    \
      NAME##_w4_128x256x384(const __grid_constant__ tilespark::FusedArguments arguments) {     \
    using Shape = tilespark::FusedShape<__VA_ARGS__>;                                          \
    static_assert(Shape::THREADS == 384 && Shape::ROWS == 128 && Shape::COLS == 256, "shape of the name"); \
    tilespark::multiply_fused<Shape>(arguments);                                               \
  }                                                                                            \
  }
// Kind, columns, STAGES, SLOTS, A across, B across.
#define ENTRIES(NAME, KIND)                                         \
  ENTRY(multiply_fused_##NAME##_nn, KIND, 256, 2, 3, false, true)   \
  ENTRY(multiply_fused_##NAME##_nt, KIND, 256, 2, 3, false, false)  \
  ENTRY(multiply_fused_##NAME##_tn, KIND, 256, 2, 3, true, true)    \
  ENTRY(multiply_fused_##NAME##_tt, KIND, 256, 2, 3, true, false)

ENTRIES(float16, tilespark::Half)
ENTRIES(bfloat16, tilespark::Bfloat16)
ENTRY(multiply_fused_tf32_nn, tilespark::Tf32, 256, 3, 3, false, true)
ENTRY(multiply_fused_tf32_tn, tilespark::Tf32, 256, 2, 6, true, true)
ENTRY(multiply_fused_tf32_tt, tilespark::Tf32, 256, 3, 3, true, false)
