// Products with one extent of at most 16: see skinny.cuh.

#include "skinny.cuh"

// multiply_skinny_<kernel>_w<width>_<x per thread block>x<most columns>x<threads>. BLOCKS: thread blocks per
// multiprocessor, as many as registers allow without spills.
#define ENTRY(KIND, T, WIDTH, EXTENT, COUNT, BLOCKS)                                         \
  extern "C" __global__ void __launch_bounds__(tilespark::SKINNY_THREADS, BLOCKS)            \
      multiply_skinny_##KIND##_w##WIDTH##_##EXTENT##x##COUNT##x256(                          \
          const __grid_constant__ tilespark::SkinnyArguments<T> arguments) {                 \
    static_assert(tilespark::SKINNY_THREADS == 256, "threads of the name");                  \
    static_assert(tilespark::SKINNY_ALONG == 32 && tilespark::SKINNY_ACROSS == 512, "its x"); \
    tilespark::skinny_##KIND<T, COUNT>(arguments);                                           \
  }

ENTRY(along, float, 4, 32, 1, 6)
ENTRY(along, float, 4, 32, 4, 4)
ENTRY(along, float, 4, 32, 8, 3)
ENTRY(along, float, 4, 32, 16, 2)
ENTRY(along, double, 8, 32, 1, 5)
ENTRY(along, double, 8, 32, 4, 2)
ENTRY(along, double, 8, 32, 8, 2)
ENTRY(along, double, 8, 32, 16, 1)
ENTRY(across, float, 4, 512, 1, 6)
ENTRY(across, float, 4, 512, 4, 4)
ENTRY(across, float, 4, 512, 8, 3)
ENTRY(across, float, 4, 512, 16, 2)
ENTRY(across, double, 8, 512, 1, 5)
ENTRY(across, double, 8, 512, 4, 2)
ENTRY(across, double, 8, 512, 8, 2)
ENTRY(across, double, 8, 512, 16, 1)

// multiply_skinny_depth<most steps of K>_w<width>_<rows>x<cols of a tile>x<threads>
#define DEPTH_ENTRY(T, WIDTH, DEPTH)                                                              \
  extern "C" __global__ void __launch_bounds__(tilespark::SKINNY_THREADS)                       \
      multiply_skinny_depth##DEPTH##_w##WIDTH##_64x512x256(                                       \
          const __grid_constant__ tilespark::DepthArguments<T> arguments) {                       \
    static_assert(tilespark::DEPTH_ROWS == 64 && tilespark::DEPTH_COLS == 512, "tile of the name"); \
    tilespark::skinny_depth<T, DEPTH>(arguments);                                                 \
  }

DEPTH_ENTRY(float, 4, 4)
DEPTH_ENTRY(float, 4, 16)
DEPTH_ENTRY(double, 8, 4)
DEPTH_ENTRY(double, 8, 16)

// multiply_skinny_sum_w<width>_<threads>
#define SUM_ENTRY(T, WIDTH)                                                \
  extern "C" __global__ void __launch_bounds__(tilespark::SKINNY_THREADS)\
      multiply_skinny_sum_w##WIDTH##_256(                                  \
          const __grid_constant__ tilespark::SkinnySumArguments<T> arguments) { \
    tilespark::skinny_sum<T>(arguments);                                   \
  }

SUM_ENTRY(float, 4)
SUM_ENTRY(double, 8)
