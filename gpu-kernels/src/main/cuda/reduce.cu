// Reductions of a dense array along some of its axes:
//
//   out[r] = combination over t of in[kept(r) + reduced(t)]    0 <= r < results, 0 <= t < length
//
// where up to two axes stay and up to two are reduced. A launch combines trees: numbers 1024 k to 1024 k + 1023 of each
// sequence, the last tree filled up with what changes nothing. In a tree number i meets number i + 512, then i + 256 and
// so on down to 1, whichever form runs, so that sums have the bits of HostReducer. The results of a sequence's trees are
// a sequence for the next launch (ReductionPlanner).
//
// What is combined is the number, or ("match") its place t if it equals best[r], else a place behind all others.
//
// Threads to elements, by the form of a kernel:
//
//   rows           a warp has a tree: lane l numbers l + 32 j, so steps down to 32 stay in a thread, others shuffle;
//                  sequences lie along the innermost axis, and neighbouring lanes read neighbouring elements
//   rows_short     a group of lanes has a sequence of at most 32 numbers
//   columns        a thread block has the trees of 32 neighbouring results: a warp takes the branches b of which a
//                  number's index has the remainder b by 32, lane l those of result l; branches meet in shared memory
//   columns_short  a thread has a sequence of at most 32 numbers
//
// Bytes: each element is read once, each tree's result written once.
//
// Shared memory: columns 32 * 32 results, else none.
//
// Source: nothing borrowed.

#include "index.cuh"

namespace tilespark {

constexpr u32 ALL_LANES = 0xffffffffu;
constexpr int LANES = 32;
constexpr int LEVELS = 5;  // of a tree of as many
constexpr int TREE = 1024;  // ReductionProblem.TREE
constexpr i64 BEHIND_ALL = 0x7fffffffffffffffLL;

// Fields in the order of ReductionPlanner.words.
struct ReduceArguments {
  const void* in;
  const void* best;  // of match alone: what is looked for, one for each result
  void* out;         // (results, trees) of rows, (trees, results) of columns
  u64 results;
  u64 length;
  u64 trees;  // of a sequence
  u64 kept_extent;  // of the innermost axis that stays; strides of it and of the next one
  u64 kept_stride;
  u64 kept_outer_stride;
  u64 reduced_extent;  // the same of the axes that are reduced
  u64 reduced_stride;
  u64 reduced_outer_stride;
  u64 group;  // lanes of a sequence in rows_short: the power of two at or above its length
};

// ---- what numbers become

struct Sum {
  template <typename A>
  static __device__ __forceinline__ A none() {
    return static_cast<A>(-0.0);  // changes no sum, not even one of -0
  }
  template <typename A>
  static __device__ __forceinline__ A of(A x, A y) {
    return x + y;
  }
};

template <typename A>
struct Bounds;
#define BOUNDS(TYPE, LEAST, MOST)                                           \
  template <>                                                               \
  struct Bounds<TYPE> {                                                     \
    static __device__ __forceinline__ TYPE least() { return LEAST; }        \
    static __device__ __forceinline__ TYPE most() { return MOST; }          \
  };
BOUNDS(signed char, -128, 127)
BOUNDS(short, -32768, 32767)
BOUNDS(int, -2147483647 - 1, 2147483647)
BOUNDS(i64, -BEHIND_ALL - 1, BEHIND_ALL)
BOUNDS(float, -__int_as_float(0x7f800000), __int_as_float(0x7f800000))
BOUNDS(double, -__longlong_as_double(0x7ff0000000000000LL), __longlong_as_double(0x7ff0000000000000LL))

__device__ __forceinline__ bool is_negative(float x) { return __float_as_int(x) < 0; }
__device__ __forceinline__ bool is_negative(double x) { return __double_as_longlong(x) < 0; }
template <typename A>
__device__ __forceinline__ bool is_negative(A x) {
  return x < 0;
}

// NaN if there is one; -0 is less than 0.
struct Minimum {
  template <typename A>
  static __device__ __forceinline__ A none() {
    return Bounds<A>::most();
  }
  template <typename A>
  static __device__ __forceinline__ A of(A x, A y) {
    return x < y || x != x || (x == y && is_negative(x)) ? x : y;
  }
};

struct Maximum {
  template <typename A>
  static __device__ __forceinline__ A none() {
    return Bounds<A>::least();
  }
  template <typename A>
  static __device__ __forceinline__ A of(A x, A y) {
    return x > y || x != x || (x == y && !is_negative(x)) ? x : y;
  }
};

// ---- what is combined: a number in the type of the result, or its place

template <typename T, typename ACCUMULATOR, typename COMBINE>
struct Numbers {
  using Element = T;
  using A = ACCUMULATOR;
  using Combine = COMBINE;
  __device__ __forceinline__ Numbers(const ReduceArguments&, u64) {}
  __device__ __forceinline__ A of(T x, u64) const { return static_cast<A>(x); }
};

template <typename T>
struct Places {
  using Element = T;
  using A = i64;
  using Combine = Minimum;
  T best;
  __device__ __forceinline__ Places(const ReduceArguments& arguments, u64 result)
      : best(static_cast<const T*>(arguments.best)[result]) {}
  __device__ __forceinline__ A of(T x, u64 place) const {
    return x == best || (x != x && best != best) ? static_cast<i64>(place) : BEHIND_ALL;
  }
};

// ---- where it lies

__device__ __forceinline__ u64 kept_offset(const ReduceArguments& arguments, u64 result) {
  u64 inner = result;
  const u64 outer = divide(inner, arguments.kept_extent);
  return outer * arguments.kept_outer_stride + inner * arguments.kept_stride;
}

// Goes along a sequence in equal steps: one division at the start, none later.
struct Walk {
  u64 extent;
  u64 inner;
  u64 offset;
  u64 inner_step;
  u64 offset_step;
  u64 wrap;  // what the offset changes by where the inner index begins anew; modulo 2^64

  __device__ __forceinline__ Walk(const ReduceArguments& arguments, u64 first, u64 step) {
    extent = arguments.reduced_extent;
    inner = first;
    const u64 outer = divide(inner, extent);
    offset = outer * arguments.reduced_outer_stride + inner * arguments.reduced_stride;
    inner_step = step;
    const u64 outer_step = divide(inner_step, extent);
    offset_step = outer_step * arguments.reduced_outer_stride + inner_step * arguments.reduced_stride;
    wrap = arguments.reduced_outer_stride - extent * arguments.reduced_stride;
  }

  __device__ __forceinline__ void next() {
    inner += inner_step;
    offset += offset_step;
    if (inner >= extent) {
      inner -= extent;
      offset += wrap;
    }
  }
};

// ---- trees

// Combines every STEPth number of a sequence from the first on, 32 at most, of those before the end.
template <typename W, int STEP>
__device__ __forceinline__ typename W::A combine_32(
    const ReduceArguments& arguments, const typename W::Element* __restrict__ sequence, const W& what, u64 first,
    u64 end) {
  using A = typename W::A;
  using Combine = typename W::Combine;
  constexpr u64 SPAN = static_cast<u64>(LANES - 1) * STEP;
  A values[LANES];
  Walk walk(arguments, first, STEP);
  // All loads before the first addition: what hides the latency of memory is how many are under way.
  if (first + SPAN < end && walk.inner + SPAN < walk.extent) {
    const typename W::Element* from = sequence + walk.offset;
    const u64 stride = STEP * arguments.reduced_stride;
    typename W::Element held[LANES];
#pragma unroll
    for (int j = 0; j < LANES; j++) {
      held[j] = from[j * stride];
    }
#pragma unroll
    for (int j = 0; j < LANES; j++) {
      values[j] = what.of(held[j], first + static_cast<u32>(j * STEP));
    }
  } else {
#pragma unroll
    for (int j = 0; j < LANES; j++) {
      const u64 place = first + static_cast<u32>(j * STEP);
      const bool is_there = place < end;
      const typename W::Element x = sequence[is_there ? walk.offset : 0];  // a load without a branch
      values[j] = is_there ? what.of(x, place) : Combine::template none<A>();
      walk.next();
    }
  }
#pragma unroll
  for (int level = 1; level <= LEVELS; level++) {
    const int half = LANES >> level;
#pragma unroll
    for (int j = 0; j < LANES / 2; j++) {
      if (j < half) {
        values[j] = Combine::of(values[j], values[j + half]);
      }
    }
  }
  return values[0];
}

template <typename A>
__device__ __forceinline__ A from_lane_behind(A value, int distance) {
  if constexpr (sizeof(A) < sizeof(int)) {
    return static_cast<A>(__shfl_down_sync(ALL_LANES, static_cast<int>(value), distance));
  } else {
    return __shfl_down_sync(ALL_LANES, value, distance);
  }
}

template <typename W, int THREADS>
__device__ __forceinline__ void reduce_rows(const ReduceArguments& arguments) {
  using A = typename W::A;
  const u32 lane = threadIdx.x % LANES;
  const u64 items = arguments.results * arguments.trees;
  const u64 warps = static_cast<u64>(gridDim.x) * (THREADS / LANES);
  for (u64 item = static_cast<u64>(blockIdx.x) * (THREADS / LANES) + threadIdx.x / LANES; item < items; item += warps) {
    u64 tree = item;
    const u64 result = divide(tree, arguments.trees);
    const W what(arguments, result);
    const auto* sequence = static_cast<const typename W::Element*>(arguments.in) + kept_offset(arguments, result);
    A value = combine_32<W, LANES>(arguments, sequence, what, tree * TREE + lane, arguments.length);
#pragma unroll
    for (int level = 1; level <= LEVELS; level++) {
      const int half = LANES >> level;
      value = W::Combine::of(value, from_lane_behind(value, half));
    }
    if (lane == 0) {
      static_cast<A*>(arguments.out)[item] = value;
    }
  }
}

template <typename W, int THREADS>
__device__ __forceinline__ void reduce_rows_short(const ReduceArguments& arguments) {
  using A = typename W::A;
  const u32 group = static_cast<u32>(arguments.group);
  const u32 lane = threadIdx.x % LANES;
  const u32 place = lane % group;
  const u32 per_warp = LANES / group;
  const u64 step = static_cast<u64>(gridDim.x) * (THREADS / LANES) * per_warp;
  u64 first = (static_cast<u64>(blockIdx.x) * (THREADS / LANES) + threadIdx.x / LANES) * per_warp;
  for (; first < arguments.results; first += step) {
    const u64 result = first + lane / group;
    A value = W::Combine::template none<A>();
    if (result < arguments.results && place < arguments.length) {
      const W what(arguments, result);
      const Walk walk(arguments, place, 1);
      const auto* sequence = static_cast<const typename W::Element*>(arguments.in) + kept_offset(arguments, result);
      value = what.of(sequence[walk.offset], place);
    }
    for (int half = static_cast<int>(group) / 2; half > 0; half /= 2) {
      value = W::Combine::of(value, from_lane_behind(value, half));
    }
    if (place == 0 && result < arguments.results) {
      static_cast<A*>(arguments.out)[result] = value;
    }
  }
}

template <typename W, int THREADS>
__device__ __forceinline__ void reduce_columns(const ReduceArguments& arguments) {
  using A = typename W::A;
  constexpr u32 WARPS = THREADS / LANES;
  __shared__ A branches[LANES][LANES];
  const u32 lane = threadIdx.x % LANES;
  const u32 warp = threadIdx.x / LANES;
  const u64 tiles = (arguments.results + LANES - 1) / LANES;
  const u64 items = tiles * arguments.trees;
  for (u64 item = blockIdx.x; item < items; item += gridDim.x) {
    u64 tile = item;
    const u64 tree = divide(tile, tiles);
    const u64 result = tile * LANES + lane;
    const bool is_there = result < arguments.results;
    const u64 readable = is_there ? result : 0;
    const W what(arguments, readable);
    const auto* sequence = static_cast<const typename W::Element*>(arguments.in) + kept_offset(arguments, readable);
    const u64 end = is_there ? arguments.length : 0;
#pragma unroll 1
    for (u32 branch = warp; branch < LANES; branch += WARPS) {
      branches[branch][lane] = combine_32<W, LANES>(arguments, sequence, what, tree * TREE + branch, end);
    }
    __syncthreads();
    for (u32 half = LANES / 2; half > 0; half /= 2) {
      for (u32 branch = warp; branch < half; branch += WARPS) {
        branches[branch][lane] = W::Combine::of(branches[branch][lane], branches[branch + half][lane]);
      }
      __syncthreads();
    }
    if (warp == 0 && is_there) {
      static_cast<A*>(arguments.out)[tree * arguments.results + result] = branches[0][lane];
    }
    __syncthreads();
  }
}

template <typename W, int THREADS>
__device__ __forceinline__ void reduce_columns_short(const ReduceArguments& arguments) {
  using A = typename W::A;
  const u64 step = static_cast<u64>(gridDim.x) * THREADS;
  for (u64 result = static_cast<u64>(blockIdx.x) * THREADS + threadIdx.x; result < arguments.results; result += step) {
    const W what(arguments, result);
    const auto* sequence = static_cast<const typename W::Element*>(arguments.in) + kept_offset(arguments, result);
    static_cast<A*>(arguments.out)[result] = combine_32<W, 1>(arguments, sequence, what, 0, arguments.length);
  }
}

}  // namespace tilespark

// reduce_<form>_<what>_<int|float>_w<width>_<rows>x<columns of a tree>x<threads>
#define REDUCE_FORM(FORM, WHAT, KIND, BYTES, TILE, ...)                          \
  extern "C" __global__ void __launch_bounds__(256, 2)                          \
      reduce_##FORM##_##WHAT##_##KIND##_w##BYTES##_##TILE##x256(                \
          const __grid_constant__ tilespark::ReduceArguments arguments) {       \
    tilespark::reduce_##FORM<tilespark::__VA_ARGS__, 256>(arguments);            \
  }

#define REDUCE_FORMS(WHAT, KIND, BYTES, ...)                          \
  REDUCE_FORM(rows, WHAT, KIND, BYTES, 1x1024, __VA_ARGS__)           \
  REDUCE_FORM(rows_short, WHAT, KIND, BYTES, 1x32, __VA_ARGS__)       \
  REDUCE_FORM(columns, WHAT, KIND, BYTES, 1024x32, __VA_ARGS__)       \
  REDUCE_FORM(columns_short, WHAT, KIND, BYTES, 32x1, __VA_ARGS__)

#define REDUCE(TYPE, SUMMED, KIND, BYTES)                                                 \
  REDUCE_FORMS(sum, KIND, BYTES, Numbers<TYPE, SUMMED, tilespark::Sum>)                   \
  REDUCE_FORMS(minimum, KIND, BYTES, Numbers<TYPE, TYPE, tilespark::Minimum>)             \
  REDUCE_FORMS(maximum, KIND, BYTES, Numbers<TYPE, TYPE, tilespark::Maximum>)             \
  REDUCE_FORMS(match, KIND, BYTES, Places<TYPE>)

REDUCE(signed char, long long, int, 1)
REDUCE(short, long long, int, 2)
REDUCE(int, long long, int, 4)
REDUCE(long long, long long, int, 8)
REDUCE(float, double, float, 4)
REDUCE(double, double, float, 8)
