// One variant of dev/benchmarks/grid, included where GRID_TILED, GRID_MMA or GRID_TENSOR, GRID_SHAPE and GRID_BLOCKS
// are defined.
#if defined(GRID_TILED)
#include "tiled.cuh"  // a copy with another STEP and with dynamic shared memory
#elif defined(GRID_MMA)
#include "mma.cuh"
#else
#include "tensor.cuh"
#endif

using namespace tilespark;
using Shape = GRID_SHAPE;

#if defined(GRID_TILED)
using Arguments = MultiplyArguments<float>;
#elif defined(GRID_MMA)
using Arguments = MmaArguments;
#else
using Arguments = TensorArguments;
#endif

extern "C" __global__ void __launch_bounds__(Shape::THREADS, GRID_BLOCKS)
    variant(const __grid_constant__ Arguments arguments) {
#if defined(GRID_TILED)
  multiply_tiles<Shape, false>(arguments, nullptr);
#elif defined(GRID_MMA)
  multiply_mma<Shape>(arguments);
#else
  multiply_tensor<Shape>(arguments);
#endif
}
