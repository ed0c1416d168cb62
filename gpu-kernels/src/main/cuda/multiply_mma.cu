// Products of matrices of half, bfloat16 and tf32 on the tensor cores of sm_80 and later: see mma.cuh. On sm_90a the
// kernels of multiply_tensor.cu are faster.
//
// Architectures: sm_80 sm_86 sm_87 sm_89 compute_80

#include "mma.cuh"

// multiply_mma_<kind>_w<bytes per packed value>_<rows>x<cols>x<threads>. NAME_dynamic_bytes: shared memory, which
// build.sh writes to the index. Three stages of the large tiles, or two thread blocks of the small ones, fit the 99 KiB
// of sm_86 and sm_89.
#define ENTRY(KIND, NAME, COUNT, BLOCKS, ...)                                                        \
  extern "C" {                                                                                       \
  __device__ __attribute__((used)) unsigned int NAME##_dynamic_bytes =                               \
      tilespark::MmaShape<tilespark::KIND, __VA_ARGS__>::SHARED_BYTES;                               \
  __global__ void __launch_bounds__(COUNT, BLOCKS)                                                   \
      NAME(const __grid_constant__ tilespark::MmaArguments arguments) {                              \
    using Shape = tilespark::MmaShape<tilespark::KIND, __VA_ARGS__>;                                 \
    static_assert(Shape::THREADS == COUNT, "threads of the name");                                   \
    tilespark::multiply_mma<Shape>(arguments);                                                       \
  }                                                                                                  \
  }
#define ENTRIES(KIND, NAME)                                             \
  ENTRY(KIND, NAME##_128x128x256, 256, 1, 128, 128, 64, 32, 128, 3, true) \
  ENTRY(KIND, NAME##_64x64x128, 128, 2, 64, 64, 32, 32, 128, 3, true)

ENTRIES(MmaHalf, multiply_mma_float16_w2)
ENTRIES(MmaBfloat16, multiply_mma_bfloat16_w2)
ENTRIES(MmaTf32, multiply_mma_tf32_w4)
