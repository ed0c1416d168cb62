// Products of float matrices that are rounded to half, bfloat16 or tf32 while they are read: see fused.cuh.
//
// Architectures: sm_90a

#include "fused.cuh"

// multiply_fused_<kind>_<ways>_w4_<rows>x<cols>x<threads>. ways: n or t (transposed) for A, then for B, as stored (tf32
// nt needs no conversion). NAME_dynamic_bytes: shared memory, which build.sh writes to the index.
#define ENTRY(NAME, THREAD_BLOCKS, ...)                                                        \
  extern "C" {                                                                                 \
  __device__ __attribute__((used)) unsigned int NAME##_dynamic_bytes =                         \
      tilespark::FusedShape<__VA_ARGS__>::SHARED_BYTES;                                        \
  __global__ void __launch_bounds__(tilespark::FusedShape<__VA_ARGS__>::THREADS, THREAD_BLOCKS) \
      NAME(const __grid_constant__ tilespark::FusedArguments arguments) {                      \
    tilespark::multiply_fused<tilespark::FusedShape<__VA_ARGS__>>(arguments);                  \
  }                                                                                            \
  }
// Arguments of FusedShape: kind, COLS, STAGES, SLOTS, A_ACROSS, B_ACROSS, WARPGROUPS.
#define ENTRIES(NAME, KIND)                                                                    \
  ENTRY(multiply_fused_##NAME##_nn_w4_128x256x384, 1, KIND, 256, 2, 2, false, true)            \
  ENTRY(multiply_fused_##NAME##_nt_w4_128x256x384, 1, KIND, 256, 2, 2, false, false)           \
  ENTRY(multiply_fused_##NAME##_tn_w4_128x256x384, 1, KIND, 256, 2, 2, true, true)             \
  ENTRY(multiply_fused_##NAME##_tt_w4_128x256x384, 1, KIND, 256, 2, 2, true, false)            \
  ENTRY(multiply_fused_##NAME##_nn_w4_128x128x256, 2, KIND, 128, 2, 3, false, true, 1)         \
  ENTRY(multiply_fused_##NAME##_nt_w4_128x128x256, 2, KIND, 128, 2, 3, false, false, 1)        \
  ENTRY(multiply_fused_##NAME##_tn_w4_128x128x256, 2, KIND, 128, 2, 3, true, true, 1)          \
  ENTRY(multiply_fused_##NAME##_tt_w4_128x128x256, 2, KIND, 128, 2, 3, true, false, 1)

ENTRIES(float16, tilespark::Half)
ENTRIES(bfloat16, tilespark::Bfloat16)
ENTRY(multiply_fused_tf32_nn_w4_128x256x384, 1, tilespark::Tf32, 256, 3, 3, false, true)
ENTRY(multiply_fused_tf32_tn_w4_128x256x384, 1, tilespark::Tf32, 256, 2, 6, true, true)
ENTRY(multiply_fused_tf32_tt_w4_128x256x384, 1, tilespark::Tf32, 256, 3, 3, true, false)
