// Adds a tile of partial sums to the tile of totals, and sets the partial sums to zero:
//
//   totals[i] += partials[i]; partials[i] = 0        0 <= i < elements
//
// Threads to elements: a thread adds 16 bytes of both tiles, neighbouring threads neighbouring vectors, then strides by
// the grid. The last few elements are added one by one.
//
// Bytes: both tiles are read and written once; 4 * elements * width.
//
// Shared memory: none.
//
// Source: nothing borrowed.

#include "index.cuh"

namespace tilespark {

// Fields in the order of MultiplyPlanner.addition.
struct AddArguments {
  void* partials;  // both pointers are multiples of 16 bytes
  void* totals;
  u64 elements;
};

__device__ __forceinline__ float4 sum(const float4& a, const float4& b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

__device__ __forceinline__ double2 sum(const double2& a, const double2& b) {
  return make_double2(a.x + b.x, a.y + b.y);
}

// PACK: 16 bytes of elements of type T.
template <typename T, typename PACK, int THREADS>
__device__ __forceinline__ void add_tile(const AddArguments& arguments) {
  constexpr u32 PER_PACK = sizeof(PACK) / sizeof(T);
  T* const __restrict__ partials = static_cast<T*>(arguments.partials);
  T* const __restrict__ totals = static_cast<T*>(arguments.totals);
  PACK* const partial_packs = reinterpret_cast<PACK*>(partials);
  PACK* const total_packs = reinterpret_cast<PACK*>(totals);
  const u64 packs = arguments.elements / PER_PACK;
  const u64 first = static_cast<u64>(blockIdx.x) * THREADS + threadIdx.x;
  const u64 step = static_cast<u64>(gridDim.x) * THREADS;

  for (u64 pack = first; pack < packs; pack += step) {
    total_packs[pack] = sum(total_packs[pack], partial_packs[pack]);
    partial_packs[pack] = PACK{};
  }

  const u64 last = packs * PER_PACK + first;
  if (last < arguments.elements) {
    totals[last] += partials[last];
    partials[last] = 0;
  }
}

}  // namespace tilespark

// add_tile_w<width>_<threads>
#define ADD_TILE(BYTES, TYPE, PACK, THREADS)                           \
  extern "C" __global__ void __launch_bounds__(THREADS)                \
      add_tile_w##BYTES##_##THREADS(                                   \
          const __grid_constant__ tilespark::AddArguments arguments) { \
    tilespark::add_tile<TYPE, PACK, THREADS>(arguments);               \
  }

ADD_TILE(4, float, float4, 256)
ADD_TILE(8, double, double2, 256)
