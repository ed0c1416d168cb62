// Optimisation steps ("rungs") that the literature on matrix products describes: see ladder_multiply.cuh. Benchmarks
// compare them with our kernels; the planner chooses none of them.

#include "ladder_multiply.cuh"

// ladder_multiply_<rung>_w<bytes>_<rows>x<cols>x<threads>. BLOCKS: thread blocks per multiprocessor.
#define ENTRY(NAME, WIDTH, HIGH, WIDE, COUNT, BLOCKS, ...)                      \
  extern "C" __global__ void __launch_bounds__(COUNT, BLOCKS)                    \
      ladder_multiply_##NAME##_w##WIDTH##_##HIGH##x##WIDE##x##COUNT(             \
          const __grid_constant__ tilespark::LadderMultiplyArguments arguments) { \
    using Shape = tilespark::__VA_ARGS__;                                        \
    static_assert(Shape::THREADS == COUNT, "threads of the name");               \
    Shape::run(arguments);                                                       \
  }
#define ENTRIES(TYPE, WIDTH, BLOCKS)                                                                      \
  ENTRY(naive, WIDTH, 8, 32, 256, 1, OneElement<TYPE, tilespark::MultiplyRung::NAIVE, 8, 32>)             \
  ENTRY(shared, WIDTH, 32, 32, 1024, 1, OneElement<TYPE, tilespark::MultiplyRung::SHARED, 32, 32>)        \
  ENTRY(registers, WIDTH, 128, 128, 256, BLOCKS, ManyElements<TYPE, tilespark::MultiplyRung::REGISTERS>)  \
  ENTRY(prefetch, WIDTH, 128, 128, 256, BLOCKS, ManyElements<TYPE, tilespark::MultiplyRung::PREFETCH>)    \
  ENTRY(stages, WIDTH, 128, 128, 256, BLOCKS, ManyElements<TYPE, tilespark::MultiplyRung::STAGES>)

ENTRIES(float, 4, 2)
ENTRIES(double, 8, 1)
