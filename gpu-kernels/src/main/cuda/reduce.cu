// Reductions of a dense array along some of its axes:
//
//   out[r] = combination over t of in[kept(r) + reduced(t)]    0 <= r < results, 0 <= t < length
//
// Up to two axes are kept and up to two are reduced. The numbers of one result are a sequence. A launch combines trees:
// tree k of a sequence has its numbers 1024 k to 1024 k + 1023; the last tree is padded with the neutral element. In a
// tree, number i is combined with number i + 512, then i + 256 and so on down to i + 1, in every kernel form, so that
// sums have the bits of HostReducer. The results of a sequence's trees are a sequence for the next launch
// (ReductionPlanner).
//
// The combined values are the numbers, or, in "match", places: t if number t equals best[r], else a place after all
// others.
//
// A sequence of n <= 1024 numbers needs only the levels below the power of two at or above n: higher levels add -0.
//
// Threads to elements, by the form of a kernel:
//
//   rows           a warp combines a tree, lane l the numbers l + 32 j. Levels down to 32 stay in a thread, lower ones
//                  shuffle. Sequences are along the innermost axis, neighbouring lanes read neighbouring elements
//   chosen         as rows, for one tree of each sequence: `out` holds the tree's number, and receives the place found
//   packed         sequences follow each other, contiguous and without gaps. A group of g lanes combines a tree, lane l
//                  the vectors l + g j of V elements, 0 <= j < J, where g J V is the power of two at or above n. Levels
//                  down to g V stay in a thread, then lanes shuffle, then the elements of a vector are combined. A warp
//                  has 32 / g groups; a group combines as many trees at a time as its lanes' loads suffice for
//   columns        a thread block combines the trees of 32 or more neighbouring results: branch b has the numbers whose
//                  index modulo the count of branches is b; a warp combines branches, lane l those of result l; the
//                  branches are combined in shared memory
//   columns_short  a thread combines a sequence
//
// Sums of integers, extremes and places do not depend on the order: for these, packed combines a vector's elements
// first.
//
// Bytes: each element is read once, each tree's result written once; chosen reads one tree of each sequence.
//
// Shared memory: columns 1024 partial results, else none.
//
// Source: nothing borrowed.

#include "index.cuh"

namespace tilespark {

constexpr u32 ALL_LANES = 0xffffffffu;
constexpr u32 LANES = 32;
constexpr u32 TREE = 1024;  // ReductionProblem.TREE
constexpr i64 BEHIND_ALL = 0x7fffffffffffffffLL;

// Fields in the order of ReductionPlanner.words.
struct ReduceArguments {
  const void* in;
  const void* best;  // match only: the value to look for, one per result
  void* out;         // (results, trees) in rows; (trees, results) in columns
  u64 results;
  u64 length;
  u64 trees;  // trees of a sequence
  u64 kept_extent;  // extent of the innermost kept axis; then its stride and the next axis's
  u64 kept_stride;
  u64 kept_outer_stride;
  u64 reduced_extent;  // likewise for the reduced axes
  u64 reduced_stride;
  u64 reduced_outer_stride;
  u64 group_log;  // packed: log2 of the lanes per tree; columns: log2 of the branches per tree
  u64 loads_log;  // packed: log2 of the loads per lane and tree
};

// ---- combining two values

struct Sum {
  template <typename A>
  static __device__ __forceinline__ A none() {
    return static_cast<A>(-0.0);  // changes no sum, not even -0
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

// NaN if either is NaN; -0 is less than 0.
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

// ---- the values of a tree: numbers, in the type of its partial results, or their places in the tree

// The type of an element in a register; bytes and shorts are loaded as int.
template <typename T>
struct Widened {
  using type = T;
};
template <>
struct Widened<signed char> {
  using type = int;
};
template <>
struct Widened<short> {
  using type = int;
};

template <typename T, typename RESULT, typename PARTIAL, typename COMBINE>
struct Numbers {
  using Element = T;
  using Held = typename Widened<T>::type;
  using Result = RESULT;
  using Partial = PARTIAL;  // of one tree; for bytes and shorts int is enough: TREE numbers of 16 bits
  using Combine = COMBINE;
  static constexpr bool ORDERED = false;
  __device__ __forceinline__ Numbers(const ReduceArguments&, u64) {}
  __device__ __forceinline__ Partial of(Held x, u32) const { return static_cast<Partial>(x); }
  static __device__ __forceinline__ Partial none() { return Combine::template none<Partial>(); }
  static __device__ __forceinline__ Result result(Partial x, u64) { return static_cast<Result>(x); }
};

template <typename X, typename Y>
constexpr bool is_same = false;
template <typename X>
constexpr bool is_same<X, X> = true;

// Sums of bytes: one instruction adds four if a load has four or more.
struct ByteSum : Numbers<signed char, i64, int, Sum> {
  using Numbers<signed char, i64, int, Sum>::Numbers;
};

// Sums of floating-point numbers, whose bits depend on the order.
template <typename T>
struct OrderedSum : Numbers<T, double, double, Sum> {
  static constexpr bool ORDERED = true;
  using Numbers<T, double, double, Sum>::Numbers;
};

template <typename T>
struct Places {
  using Element = T;
  using Held = typename Widened<T>::type;
  using Result = i64;
  using Partial = int;
  using Combine = Minimum;
  static constexpr bool ORDERED = false;
  Held best;
  __device__ __forceinline__ Places(const ReduceArguments& arguments, u64 result)
      : best(static_cast<const T*>(arguments.best)[result]) {}
  __device__ __forceinline__ int of(Held x, u32 place) const {
    return x == best || (x != x && best != best) ? static_cast<int>(place) : none();
  }
  static __device__ __forceinline__ int none() { return Bounds<int>::most(); }
  // `first` is the place in the sequence of the tree's first number.
  static __device__ __forceinline__ i64 result(int place, u64 first) {
    return place == none() ? BEHIND_ALL : static_cast<i64>(first) + place;
  }
};

// ---- locations

__device__ __forceinline__ u64 kept_offset(const ReduceArguments& arguments, u64 result) {
  if (arguments.kept_outer_stride == 0) {
    return result * arguments.kept_stride;
  }
  u64 inner = result;
  const u64 outer = divide(inner, arguments.kept_extent);
  return outer * arguments.kept_outer_stride + inner * arguments.kept_stride;
}

// Count of numbers in a tree.
__device__ __forceinline__ u32 tree_length(const ReduceArguments& arguments, u64 tree) {
  const u64 left = arguments.length - tree * TREE;
  return left < TREE ? static_cast<u32>(left) : TREE;
}

// The sequence of an item; items are trees, sequence by sequence. Leaves the tree's number in `item`.
__device__ __forceinline__ u64 locate_sequence(const ReduceArguments& arguments, u64& item) {
  if (arguments.trees == 1) {
    const u64 result = item;
    item = 0;
    return result;
  }
  return divide(item, arguments.trees);
}

// Walks along a tree in equal steps. Only the start may need divisions.
struct Walk {
  static constexpr u32 FAR = 1u << 31;  // longer than any tree

  u64 offset;
  u64 offset_step;
  u64 wrap;  // change of the offset when the inner index wraps; modulo 2^64
  u32 extent;  // extent of the inner axis, or FAR
  u32 ahead;  // elements until the inner index wraps, or FAR if more
  u32 inner_step;

  __device__ __forceinline__ Walk(const ReduceArguments& arguments, u64 first, u32 step) {
    inner_step = step;
    if (arguments.reduced_outer_stride == 0) {
      offset = first * arguments.reduced_stride;
      offset_step = step * arguments.reduced_stride;
      wrap = 0;
      extent = FAR;
      ahead = FAR;
      return;
    }
    const u64 whole = arguments.reduced_extent;
    u64 inner = first;
    const u64 outer = divide(inner, whole);
    offset = outer * arguments.reduced_outer_stride + inner * arguments.reduced_stride;
    wrap = arguments.reduced_outer_stride - whole * arguments.reduced_stride;
    extent = whole < FAR ? static_cast<u32>(whole) : FAR;
    ahead = whole - inner < FAR ? static_cast<u32>(whole - inner) : FAR;
    u64 outer_step = 0;
    if (step >= extent) {
      outer_step = step / extent;
      inner_step = step % extent;
    }
    offset_step = outer_step * arguments.reduced_outer_stride + inner_step * arguments.reduced_stride;
  }

  __device__ __forceinline__ void next() {
    offset += offset_step;
    if (inner_step < ahead) {
      ahead -= inner_step;
    } else {
      ahead += extent - inner_step;
      offset += wrap;
    }
  }
};

// ---- trees

// Combines COUNT values, a power of two, in the order of a tree; values[0] is the result.
template <typename W, int COUNT>
__device__ __forceinline__ void combine_all(typename W::Partial (&values)[COUNT]) {
#pragma unroll
  for (int half = COUNT / 2; half > 0; half /= 2) {
#pragma unroll
    for (int j = 0; j < COUNT / 2; j++) {
      if (j < half) {
        values[j] = W::Combine::of(values[j], values[j + half]);
      }
    }
  }
}

// Combines the numbers branch + step j of a tree of tree_numbers numbers, at most COUNT.
template <typename W, int COUNT>
__device__ __forceinline__ typename W::Partial combine_branch(
    const ReduceArguments& arguments, const typename W::Element* __restrict__ sequence, const W& what, u64 tree,
    u32 tree_numbers, u32 branch, u32 step_log) {
  using Element = typename W::Element;
  typename W::Partial values[COUNT];
  typename W::Held held[COUNT];
  const u32 step = 1u << step_log;
  const u32 count = branch < tree_numbers ? ((tree_numbers - branch - 1) >> step_log) + 1 : 0;
  Walk walk(arguments, tree * TREE + branch, step);
  // All loads before the first addition: the loads in flight hide the latency of memory.
  const bool is_straight = walk.ahead > (COUNT - 1) * step;
  const Element* from = sequence + (count > 0 ? walk.offset : 0);
  const u64 stride = step * arguments.reduced_stride;
  if (is_straight && count == COUNT) {
#pragma unroll
    for (int j = 0; j < COUNT; j++) {
      held[j] = from[j * stride];
    }
#pragma unroll
    for (int j = 0; j < COUNT; j++) {
      values[j] = what.of(held[j], branch + (j << step_log));
    }
  } else {
    // Loads without branches: past the end, the first number is loaded instead.
    if (is_straight) {
#pragma unroll
      for (int j = 0; j < COUNT; j++) {
        held[j] = from[j < count ? j * stride : 0];
      }
    } else {
#pragma unroll
      for (int j = 0; j < COUNT; j++) {
        held[j] = sequence[j < count ? walk.offset : 0];
        walk.next();
      }
    }
#pragma unroll
    for (int j = 0; j < COUNT; j++) {
      values[j] = j < count ? what.of(held[j], branch + (j << step_log)) : W::none();
    }
  }
  combine_all<W, COUNT>(values);
  return values[0];
}

// A warp combines a tree: all trees of all sequences or, if CHOSEN, the tree of each sequence that `out` names.
template <typename W, int COLUMNS, int THREADS, bool CHOSEN>
__device__ __forceinline__ void reduce_warps(const ReduceArguments& arguments) {
  constexpr u32 WARPS = THREADS / LANES;
  constexpr u32 LANES_LOG = 5;
  const u32 lane = threadIdx.x % LANES;
  auto* out = static_cast<typename W::Result*>(arguments.out);
  const u64 items = CHOSEN ? arguments.results : arguments.results * arguments.trees;
  const u64 step = static_cast<u64>(gridDim.x) * WARPS;
  for (u64 item = static_cast<u64>(blockIdx.x) * WARPS + threadIdx.x / LANES; item < items; item += step) {
    u64 tree = item;
    const u64 result = CHOSEN ? item : locate_sequence(arguments, tree);
    if constexpr (CHOSEN) {
      tree = static_cast<u64>(out[item]);
    }
    const W what(arguments, result);
    const auto* sequence = static_cast<const typename W::Element*>(arguments.in) + kept_offset(arguments, result);
    auto value = combine_branch<W, COLUMNS / LANES>(
        arguments, sequence, what, tree, tree_length(arguments, tree), lane, LANES_LOG);
#pragma unroll
    for (u32 half = LANES / 2; half > 0; half /= 2) {
      value = W::Combine::of(value, __shfl_down_sync(ALL_LANES, value, half));
    }
    if (lane == 0) {
      out[item] = W::result(value, tree * TREE);
    }
  }
}

template <typename W, int ROWS, int COLUMNS, int THREADS>
__device__ __forceinline__ void reduce_rows(const ReduceArguments& arguments) {
  reduce_warps<W, COLUMNS, THREADS, false>(arguments);
}

template <typename W, int ROWS, int COLUMNS, int THREADS>
__device__ __forceinline__ void reduce_chosen(const ReduceArguments& arguments) {
  reduce_warps<W, COLUMNS, THREADS, true>(arguments);
}

template <typename T, int V>
struct alignas(sizeof(T) * V) Vector {
  T element[V];
};

__device__ __forceinline__ int byte_sum(const void* vector, int words) {
  int sum = 0;
#pragma unroll
  for (int word = 0; word < words; word++) {
    sum = __dp4a(static_cast<const int*>(vector)[word], 0x01010101, sum);
  }
  return sum;
}

template <typename W, int LOADS, int V, int THREADS>
__device__ __forceinline__ void reduce_packed(const ReduceArguments& arguments) {
  using Partial = typename W::Partial;
  using Combine = typename W::Combine;
  using Load = Vector<typename W::Element, V>;
  constexpr u32 WARPS = THREADS / LANES;
  constexpr int KEPT = W::ORDERED ? V : 1;  // partial results per vector
  constexpr int LOADS_LOG = LOADS == 8 ? 3 : 4;
  static_assert(LOADS == 1 << LOADS_LOG, "other counts of loads want another logarithm");

  const u32 lane = threadIdx.x % LANES;
  const u32 group_log = static_cast<u32>(arguments.group_log);
  const u32 trees_log = LOADS_LOG - static_cast<u32>(arguments.loads_log);  // log2 of a lane's trees at a time
  const u32 groups = LANES >> group_log;
  const u32 group = lane >> group_log;
  const u32 place = lane & ((1u << group_log) - 1);
  const auto* in = static_cast<const typename W::Element*>(arguments.in);
  auto* out = static_cast<typename W::Result*>(arguments.out);
  const u64 items = arguments.results * arguments.trees;
  const u64 per_warp = static_cast<u64>(groups) << trees_log;
  const u64 step = static_cast<u64>(gridDim.x) * WARPS * per_warp;
  u64 first = (static_cast<u64>(blockIdx.x) * WARPS + threadIdx.x / LANES) * per_warp;
  for (; first < items; first += step) {
    // Locate. If sequences have several trees, a lane has one tree at a time, so that slots differ by whole sequences.
    const u64 item = first + group;
    u64 tree = item;
    const u64 result = locate_sequence(arguments, tree);
    const u64 offset = result * arguments.kept_stride + tree * TREE;
    const u64 next_offset = groups * arguments.kept_stride;
    const u32 end = item < items ? tree_length(arguments, tree) : 0;
    const u64 items_left = items - first;
    const u32 left = items_left < per_warp ? static_cast<u32>(items_left) : static_cast<u32>(per_warp);

    // Load: slot s has vector s / 2^trees_log of tree s % 2^trees_log.
    Load held[LOADS];
    u32 there = 0;  // a bit per slot: its vector exists
#pragma unroll
    for (int s = 0; s < LOADS; s++) {
      const u32 beside = s & ((1u << trees_log) - 1);
      const u32 at = (((s >> trees_log) << group_log) + place) * V;
      if (at < end && beside * groups + group < left) {
        held[s] = *reinterpret_cast<const Load*>(in + offset + beside * next_offset + at);
        there |= 1u << s;
      }
    }
    Partial values[LOADS][KEPT];
#pragma unroll
    for (int s = 0; s < LOADS; s++) {
      const u32 beside = s & ((1u << trees_log) - 1);
      const u32 at = (((s >> trees_log) << group_log) + place) * V;
      const bool is_there = (there >> s & 1) != 0;
      if constexpr (is_same<W, ByteSum> && V % 4 == 0) {
        values[s][0] = is_there ? byte_sum(&held[s], V / 4) : W::none();
      } else {
        const W what(arguments, is_there ? result + beside * groups : 0);
        Partial elements[V];
#pragma unroll
        for (int v = 0; v < V; v++) {
          elements[v] = is_there ? what.of(held[s].element[v], at + v) : W::none();
        }
        if constexpr (!W::ORDERED) {
          combine_all<W, V>(elements);
        }
#pragma unroll
        for (int k = 0; k < KEPT; k++) {
          values[s][k] = elements[k];
        }
      }
    }

    // Combine a lane's vectors, then a group's lanes, then a vector's elements.
#pragma unroll
    for (int half = LOADS / 2; half > 0; half /= 2) {
      if (half >> trees_log != 0) {  // else the slots are of different trees
#pragma unroll
        for (int s = 0; s < LOADS / 2; s++) {
          if (s < half) {
#pragma unroll
            for (int k = 0; k < KEPT; k++) {
              values[s][k] = Combine::of(values[s][k], values[s + half][k]);
            }
          }
        }
      }
    }
#pragma unroll 1
    for (u32 half = (1u << group_log) / 2; half > 0; half /= 2) {
      // Slots in groups of 1, 1, 2, 4 and so on: shuffles without a branch between them overlap.
#pragma unroll
      for (int level = 0; level <= LOADS_LOG; level++) {
        if (level <= trees_log) {
#pragma unroll
          for (int s = 0; s < LOADS; s++) {
            if (s >= (1 << level) / 2 && s < 1 << level) {
#pragma unroll
              for (int k = 0; k < KEPT; k++) {
                values[s][k] = Combine::of(values[s][k], __shfl_down_sync(ALL_LANES, values[s][k], half));
              }
            }
          }
        }
      }
    }

    // Store: neighbouring groups write neighbouring results.
#pragma unroll
    for (int s = 0; s < LOADS; s++) {
      if (s >> trees_log == 0 && place == 0 && s * groups + group < left) {
        combine_all<W, KEPT>(values[s]);
        out[item + s * groups] = W::result(values[s][0], tree * TREE);
      }
    }
  }
}

template <typename W, int ROWS, int COLUMNS, int THREADS>
__device__ __forceinline__ void reduce_columns(const ReduceArguments& arguments) {
  constexpr u32 WARPS = THREADS / LANES;
  constexpr u32 MOST_BRANCHES = 32;
  __shared__ typename W::Partial branches[MOST_BRANCHES * LANES];  // (branches, columns)
  const u32 branches_log = static_cast<u32>(arguments.group_log);
  const u32 count = 1u << branches_log;
  const u32 warps = count < WARPS ? count : WARPS;  // warps per column
  const u32 columns = LANES * (WARPS / warps);
  const u32 warp = threadIdx.x / LANES;
  const u32 column = warp / warps * LANES + threadIdx.x % LANES;
  const u64 tiles = (arguments.results + columns - 1) / columns;
  const u64 items = tiles * arguments.trees;
  for (u64 item = blockIdx.x; item < items; item += gridDim.x) {
    u64 tile = item;
    const u64 tree = arguments.trees == 1 ? 0 : divide(tile, tiles);
    const u64 result = tile * columns + column;
    const bool is_there = result < arguments.results;
    const u64 readable = is_there ? result : 0;
    const W what(arguments, readable);
    const auto* sequence = static_cast<const typename W::Element*>(arguments.in) + kept_offset(arguments, readable);
    const u32 end = is_there ? tree_length(arguments, tree) : 0;
#pragma unroll 1
    for (u32 branch = warp % warps; branch < count; branch += warps) {
      branches[branch * columns + column] =
          combine_branch<W, ROWS / MOST_BRANCHES>(arguments, sequence, what, tree, end, branch, branches_log);
    }
    __syncthreads();
    for (u32 half = count / 2; half > 0; half /= 2) {
      for (u32 at = threadIdx.x; at < half * columns; at += THREADS) {
        branches[at] = W::Combine::of(branches[at], branches[at + half * columns]);
      }
      __syncthreads();
    }
    if (threadIdx.x < columns && tile * columns + threadIdx.x < arguments.results) {
      static_cast<typename W::Result*>(arguments.out)[tree * arguments.results + tile * columns + threadIdx.x] =
          W::result(branches[threadIdx.x], tree * TREE);
    }
    __syncthreads();
  }
}

template <typename W, int ROWS, int COLUMNS, int THREADS>
__device__ __forceinline__ void reduce_columns_short(const ReduceArguments& arguments) {
  const u64 step = static_cast<u64>(gridDim.x) * THREADS;
  for (u64 result = static_cast<u64>(blockIdx.x) * THREADS + threadIdx.x; result < arguments.results; result += step) {
    const W what(arguments, result);
    const auto* sequence = static_cast<const typename W::Element*>(arguments.in) + kept_offset(arguments, result);
    static_cast<typename W::Result*>(arguments.out)[result] = W::result(
        combine_branch<W, ROWS>(arguments, sequence, what, 0, static_cast<u32>(arguments.length), 0, 0), 0);
  }
}

}  // namespace tilespark

// Thread blocks per multiprocessor, at least. Narrow loads need more, to keep enough bytes in flight; threads with many
// numbers need registers for them.
#define LEAST_BLOCKS_OF(BYTES, NUMBERS) ((NUMBERS) > 16 || (BYTES) > 4 ? 2 : (BYTES) <= 2 ? 4 : 3)
#define LEAST_BLOCKS_rows(BYTES, ROWS, COLUMNS) 2
#define LEAST_BLOCKS_chosen(BYTES, ROWS, COLUMNS) 2
#define LEAST_BLOCKS_packed(BYTES, ROWS, COLUMNS) ((BYTES) < 8 && (COLUMNS) == 1 ? 3 : 2)
#define LEAST_BLOCKS_columns(BYTES, ROWS, COLUMNS) LEAST_BLOCKS_OF(BYTES, (ROWS) / 32)
#define LEAST_BLOCKS_columns_short(BYTES, ROWS, COLUMNS) LEAST_BLOCKS_OF(BYTES, ROWS)

// reduce_<form>_<what>_<int|float>_w<width>_<rows>x<columns>x<threads>. In columns: numbers and results of the trees of
// a thread block; in packed: loads per lane and elements per load.
#define REDUCE_FORM(FORM, WHAT, KIND, BYTES, ROWS, COLUMNS, ...)                      \
  extern "C" __global__ void __launch_bounds__(256, LEAST_BLOCKS_##FORM(BYTES, ROWS, COLUMNS)) \
      reduce_##FORM##_##WHAT##_##KIND##_w##BYTES##_##ROWS##x##COLUMNS##x256(          \
          const __grid_constant__ tilespark::ReduceArguments arguments) {             \
    tilespark::reduce_##FORM<tilespark::__VA_ARGS__, ROWS, COLUMNS, 256>(arguments);  \
  }

#define REDUCE_FORMS(WHAT, KIND, BYTES, PACKED, ...)                  \
  REDUCE_FORM(rows, WHAT, KIND, BYTES, 1, 1024, __VA_ARGS__)          \
  PACKED(WHAT, KIND, BYTES, __VA_ARGS__)                              \
  REDUCE_FORM(columns, WHAT, KIND, BYTES, 512, 32, __VA_ARGS__)       \
  REDUCE_FORM(columns, WHAT, KIND, BYTES, 1024, 32, __VA_ARGS__)      \
  REDUCE_FORM(columns_short, WHAT, KIND, BYTES, 8, 1, __VA_ARGS__)    \
  REDUCE_FORM(columns_short, WHAT, KIND, BYTES, 16, 1, __VA_ARGS__)   \
  REDUCE_FORM(columns_short, WHAT, KIND, BYTES, 32, 1, __VA_ARGS__)

// These counts avoid spills: fewer loads of 8 bytes, and for places no loads of 16 elements.
#define PACKED_1(WHAT, KIND, BYTES, ...)                              \
  REDUCE_FORM(packed, WHAT, KIND, BYTES, 8, 16, __VA_ARGS__)          \
  PLACES_1(WHAT, KIND, BYTES, __VA_ARGS__)
#define PLACES_1(WHAT, KIND, BYTES, ...)                              \
  REDUCE_FORM(packed, WHAT, KIND, BYTES, 8, 4, __VA_ARGS__)           \
  REDUCE_FORM(packed, WHAT, KIND, BYTES, 16, 1, __VA_ARGS__)
#define PACKED_2(WHAT, KIND, BYTES, ...)                              \
  REDUCE_FORM(packed, WHAT, KIND, BYTES, 8, 8, __VA_ARGS__)           \
  REDUCE_FORM(packed, WHAT, KIND, BYTES, 8, 2, __VA_ARGS__)           \
  REDUCE_FORM(packed, WHAT, KIND, BYTES, 16, 1, __VA_ARGS__)
#define PLACES_2 PACKED_2
#define PACKED_4(WHAT, KIND, BYTES, ...)                              \
  REDUCE_FORM(packed, WHAT, KIND, BYTES, 8, 4, __VA_ARGS__)           \
  REDUCE_FORM(packed, WHAT, KIND, BYTES, 16, 1, __VA_ARGS__)
#define PLACES_4 PACKED_4
#define PACKED_8(WHAT, KIND, BYTES, ...)                              \
  REDUCE_FORM(packed, WHAT, KIND, BYTES, 8, 2, __VA_ARGS__)           \
  REDUCE_FORM(packed, WHAT, KIND, BYTES, 8, 1, __VA_ARGS__)
#define PLACES_8 PACKED_8

#define REDUCE(TYPE, PARTIAL, KIND, BYTES, ...)                                                              \
  REDUCE_FORMS(sum, KIND, BYTES, PACKED_##BYTES, __VA_ARGS__)                                                \
  REDUCE_FORMS(minimum, KIND, BYTES, PACKED_##BYTES, Numbers<TYPE, TYPE, PARTIAL, tilespark::Minimum>)       \
  REDUCE_FORMS(maximum, KIND, BYTES, PACKED_##BYTES, Numbers<TYPE, TYPE, PARTIAL, tilespark::Maximum>)       \
  REDUCE_FORMS(match, KIND, BYTES, PLACES_##BYTES, Places<TYPE>)                                             \
  REDUCE_FORM(chosen, match, KIND, BYTES, 1, 1024, Places<TYPE>)

REDUCE(signed char, int, int, 1, ByteSum)
REDUCE(short, int, int, 2, Numbers<short, long long, int, tilespark::Sum>)
REDUCE(int, int, int, 4, Numbers<int, long long, long long, tilespark::Sum>)
REDUCE(long long, long long, int, 8, Numbers<long long, long long, long long, tilespark::Sum>)
REDUCE(float, float, float, 4, OrderedSum<float>)
REDUCE(double, double, float, 8, OrderedSum<double>)
