// Products of which one extent is 16 at most, of operands rounded to tf32, bfloat16 or float16: skinny.cuh says how.
// The sums of parts are those of multiply_skinny.cu.
// Architectures: sm_80 sm_86 sm_87 sm_89 sm_90a compute_80

#include "skinny.cuh"

// multiply_skinny_rounded_<kernel>_w4_<x of a thread block>x<most columns>x<threads>; BLOCKS as in multiply_skinny.cu
#define ENTRY(KIND, EXTENT, COUNT, BLOCKS)                                                                    \
  extern "C" __global__ void __launch_bounds__(tilespark::SKINNY_THREADS, BLOCKS)                             \
      multiply_skinny_rounded_##KIND##_w4_##EXTENT##x##COUNT##x256(                                           \
          const __grid_constant__ tilespark::RoundedArguments<tilespark::SkinnyArguments<float>> arguments) { \
    static_assert(tilespark::SKINNY_ALONG == 32 && tilespark::SKINNY_ACROSS == 512, "its x");                 \
    tilespark::skinny_##KIND<float, COUNT>(arguments.product, arguments.rounding);                            \
  }

ENTRY(along, 32, 1, 4)
ENTRY(along, 32, 4, 4)
ENTRY(along, 32, 8, 3)
ENTRY(along, 32, 16, 2)
ENTRY(across, 512, 1, 6)
ENTRY(across, 512, 4, 4)
ENTRY(across, 512, 8, 3)
ENTRY(across, 512, 16, 2)

// multiply_skinny_rounded_depth<most steps of K>_w4_<rows>x<cols of a tile>x<threads>
#define DEPTH_ENTRY(DEPTH)                                                                                   \
  extern "C" __global__ void __launch_bounds__(tilespark::SKINNY_THREADS)                                    \
      multiply_skinny_rounded_depth##DEPTH##_w4_64x512x256(                                                  \
          const __grid_constant__ tilespark::RoundedArguments<tilespark::DepthArguments<float>> arguments) { \
    static_assert(tilespark::DEPTH_ROWS == 64 && tilespark::DEPTH_COLS == 512, "tile of the name");          \
    tilespark::skinny_depth<float, DEPTH>(arguments.product, arguments.rounding);                            \
  }

DEPTH_ENTRY(4)
DEPTH_ENTRY(16)
