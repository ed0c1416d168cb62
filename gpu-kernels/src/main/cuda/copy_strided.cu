// Copy of contiguous runs in another order; the innermost axis stays innermost:
//
//   out[offset_out(o) + r] = in[offset_in(o) + r]    0 <= r < run
//
// where o runs over up to four outer axes with separate strides for input and output. A unit is the widest access that
// divides a run and the alignment of the pointers.
//
// Threads to elements: units are numbered in output order, the last outer axis fastest. A thread block moves a chunk of
// THREADS * ITEMS consecutive units, neighbouring threads neighbouring units, then strides by the grid.
//
// Bytes: each unit is read once and written once; 2 * units * width.
//
// Shared memory: none.
//
// Source: the usual grid-stride copy; nothing borrowed.

#include "index.cuh"

namespace tilespark {

// Fields in the order of TransposeStrategy.StridedCopy.launch.
struct StridedArguments {
  const void* in;
  void* out;
  u64 units;  // run * product of outer extents
  u64 run;
  Axis outer[MAX_OUTER];
};

// Units in flight per thread; TransposeStrategy.UNITS_PER_THREAD in Java.
constexpr int ITEMS = 4;

template <int BYTES, int THREADS>
__device__ __forceinline__ void copy_strided(const StridedArguments& arguments) {
  using T = typename Element<BYTES>::type;
  const T* const __restrict__ in = static_cast<const T*>(arguments.in);
  T* const __restrict__ out = static_cast<T*>(arguments.out);
  constexpr u64 CHUNK = static_cast<u64>(THREADS) * ITEMS;

  for (u64 start = blockIdx.x * CHUNK; start < arguments.units; start += gridDim.x * CHUNK) {
    T held[ITEMS];
    u64 target[ITEMS];

    // locate, load
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
      const u64 unit = start + static_cast<u32>(item) * static_cast<u32>(THREADS) + threadIdx.x;
      if (unit < arguments.units) {
        u64 r = unit;
        const u64 step = divide(r, arguments.run);
        const Offsets at = locate_outer(arguments.outer, step);
        target[item] = at.out + r;
        held[item] = in[at.in + r];
      }
    }

    // store
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
      const u64 unit = start + static_cast<u32>(item) * static_cast<u32>(THREADS) + threadIdx.x;
      if (unit < arguments.units) {
        out[target[item]] = held[item];
      }
    }
  }
}

}  // namespace tilespark

// copy_strided_w<unit width>_<threads>
#define COPY_STRIDED(BYTES, THREADS)                                            \
  extern "C" __global__ void __launch_bounds__(THREADS)                         \
      copy_strided_w##BYTES##_##THREADS(                                        \
          const __grid_constant__ tilespark::StridedArguments arguments) {      \
    tilespark::copy_strided<BYTES, THREADS>(arguments);                         \
  }

COPY_STRIDED(1, 256)
COPY_STRIDED(2, 256)
COPY_STRIDED(4, 256)
COPY_STRIDED(8, 256)
COPY_STRIDED(16, 256)
