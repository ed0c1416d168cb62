// Product of double matrices on the tensor cores of sm_90: see double.cuh.
//
// Architectures: sm_90a

#include "double.cuh"

// multiply_double[_chain]_<ways>_w8_<rows>x<cols>x<threads>. ways: tt, nt or tn (double.cuh). chain: all of K is one
// chain, and each team computes its own tiles. NAME_dynamic_bytes: shared memory, which build.sh writes to the index.
#define ENTRY(NAME, HIGH, WIDE, COUNT, ...)                                                                    \
  extern "C" {                                                                                                 \
  __device__ __attribute__((used)) unsigned int NAME##_w8_##HIGH##x##WIDE##x##COUNT##_dynamic_bytes =          \
      tilespark::DoubleShape<__VA_ARGS__>::SHARED_BYTES;                                                       \
  __global__ void __launch_bounds__(COUNT, 1) NAME##_w8_##HIGH##x##WIDE##x##COUNT(                             \
      const __grid_constant__ tilespark::DoubleArguments arguments) {                                          \
    using Shape = tilespark::DoubleShape<__VA_ARGS__>;                                                         \
    static_assert(Shape::THREADS == COUNT && Shape::ROWS == HIGH && Shape::COLS == WIDE, "shape of the name"); \
    tilespark::multiply_double<Shape>(arguments);                                                              \
  }                                                                                                            \
  }
#define ENTRIES(NAME, HIGH, WIDE, COUNT, ...)                                \
  ENTRY(NAME##_tt, HIGH, WIDE, COUNT, true, false, HIGH, WIDE, __VA_ARGS__)  \
  ENTRY(NAME##_nt, HIGH, WIDE, COUNT, false, false, HIGH, WIDE, __VA_ARGS__) \
  ENTRY(NAME##_tn, HIGH, WIDE, COUNT, true, true, HIGH, WIDE, __VA_ARGS__)

// Rows, columns and threads of the name, then WARP_ROWS, WARP_COLS, STAGES, TOTALS.
ENTRIES(multiply_double, 64, 128, 384, 32, 32, 8, true)
ENTRIES(multiply_double_chain, 128, 64, 384, 64, 32, 4, false)
