// Products with one small extent, of operands rounded to tf32, bfloat16 or float16: see narrow.cuh, and skinny.cuh for
// a small K. The kernels of multiply_skinny.cu sum parts.
// Architectures: sm_80 sm_86 sm_87 sm_89 sm_90a compute_80

#include "narrow.cuh"

// multiply_skinny_<kind>_<along or across>_w4_<x per thread block>x<most columns>x<threads>
#define ENTRY(NAME, KIND, WAY, ACROSS)                                                                    \
  extern "C" __global__ void __launch_bounds__(tilespark::SKINNY_THREADS, 2)                              \
      multiply_skinny_##NAME##_##WAY##_w4_256x16x256(                                                     \
          const __grid_constant__ tilespark::SkinnyArguments<float> arguments) {                          \
    static_assert(tilespark::NARROW_EXTENT == 256 && tilespark::NARROW_COUNT == 16, "those of the name"); \
    tilespark::narrow<tilespark::KIND, ACROSS>(arguments);                                                \
  }

ENTRY(float16, NarrowHalf, along, false)
ENTRY(float16, NarrowHalf, across, true)
ENTRY(bfloat16, NarrowBfloat16, along, false)
ENTRY(bfloat16, NarrowBfloat16, across, true)
ENTRY(tf32, NarrowTf32, along, false)
ENTRY(tf32, NarrowTf32, across, true)

// multiply_skinny_<kind>_depth4_w4_<rows>x<cols of a tile>x<threads>: K up to 4
#define DEPTH_ENTRY(NAME, KIND)                                                                     \
  extern "C" __global__ void __launch_bounds__(tilespark::SKINNY_THREADS)                           \
      multiply_skinny_##NAME##_depth4_w4_64x512x256(                                                \
          const __grid_constant__ tilespark::DepthArguments<float> arguments) {                     \
    static_assert(tilespark::DEPTH_ROWS == 64 && tilespark::DEPTH_COLS == 512, "tile of the name"); \
    tilespark::skinny_depth<float, 4, tilespark::KIND>(arguments);                                  \
  }

DEPTH_ENTRY(float16, RoundedFloat16)
DEPTH_ENTRY(bfloat16, RoundedBfloat16)
DEPTH_ENTRY(tf32, RoundedTf32)
