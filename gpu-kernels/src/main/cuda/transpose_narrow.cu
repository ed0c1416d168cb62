// Batched two-dimensional transpose with one short extent, at most 31, whose side is dense:
//
//   split:  out[o][j * stride + i] = in[o][i * n + j]    0 <= i < count, 0 <= j < n
//   merge:  out[o][i * n + j] = in[o][j * stride + i]
//
// where o runs over up to four outer axes with separate strides for input and output. Split turns an array of
// structures of n elements into n arrays; merge is its inverse.
//
// Threads to elements: one thread block per piece of LENGTH = 2^length_bits values of i, or several pieces in turn. The
// dense side of a piece is one contiguous range, the other side n ranges; both are moved in vectors of 16 bytes,
// neighbouring threads neighbouring vectors.
//
// Bytes: each element is read once and written once; 2 * n * count * width for each o.
//
// Shared memory: the piece in the order of the dense side, with a word of padding after every 32 words, so that threads
// along i meet different banks even if n is a power of two.
//
// Source: ours.

#include "index.cuh"

namespace tilespark {

// Fields in the order of TransposeStrategy.Narrow.launch.
struct NarrowArguments {
  const void* in;
  void* out;
  u64 n;
  u64 count;
  u64 stride;       // elements from one of the n ranges to the next
  u64 tiles;        // pieces * product of outer extents
  u64 pieces;       // ceil(count / LENGTH)
  u64 length_bits;  // n * width << length_bits is at most STAGE_BYTES
  Axis outer[MAX_OUTER];
};

constexpr int STAGE_BYTES = 16384;

// Largest short extent; TransposeStrategy.Narrow.MOST in Java.
constexpr int MOST_NARROW = 31;

template <int BYTES, bool SPLIT, int THREADS>
struct Narrow {
  using T = typename Element<BYTES>::type;
  using U = uint4;
  static constexpr int UNIT_BYTES = 16;
  static constexpr int PER_UNIT = UNIT_BYTES / BYTES;
  static constexpr int STEPS = STAGE_BYTES / UNIT_BYTES / THREADS;
  static constexpr int BATCH = STEPS < 8 ? STEPS : 8;  // units in flight per thread
  static constexpr int SHARED_BYTES = STAGE_BYTES + STAGE_BYTES / 32;

  // Offset of byte `at` of the piece in shared memory.
  static __device__ __forceinline__ u32 place(u32 at) { return at + at / 128 * 4; }

  static __device__ __forceinline__ void put_element(char* shared, u32 at, const char* from) {
    if constexpr (BYTES >= 4) {
#pragma unroll
      for (int b = 0; b < BYTES; b += 4) {
        *reinterpret_cast<u32*>(shared + place(at + b)) = *reinterpret_cast<const u32*>(from + b);
      }
    } else {
      *reinterpret_cast<T*>(shared + place(at)) = *reinterpret_cast<const T*>(from);
    }
  }

  static __device__ __forceinline__ void take_element(const char* shared, u32 at, char* to) {
    if constexpr (BYTES >= 4) {
#pragma unroll
      for (int b = 0; b < BYTES; b += 4) {
        *reinterpret_cast<u32*>(to + b) = *reinterpret_cast<const u32*>(shared + place(at + b));
      }
    } else {
      *reinterpret_cast<T*>(to) = *reinterpret_cast<const T*>(shared + place(at));
    }
  }

  // Stores a unit of the dense side: contiguous in shared memory except for the padding.
  static __device__ __forceinline__ void put_dense(char* shared, u32 at, const U& unit) {
    const char* const from = reinterpret_cast<const char*>(&unit);
#pragma unroll
    for (int b = 0; b < UNIT_BYTES; b += 4) {
      *reinterpret_cast<u32*>(shared + place(at) + b) = *reinterpret_cast<const u32*>(from + b);
    }
  }

  static __device__ __forceinline__ U take_dense(const char* shared, u32 at) {
    U unit;
    char* const to = reinterpret_cast<char*>(&unit);
#pragma unroll
    for (int b = 0; b < UNIT_BYTES; b += 4) {
      *reinterpret_cast<u32*>(to + b) = *reinterpret_cast<const u32*>(shared + place(at) + b);
    }
    return unit;
  }

  static __device__ __forceinline__ void move(const char* __restrict__ in, char* __restrict__ out,
                                              char* shared, u32 n, u32 length_bits, u32 length,
                                              u64 stride) {
    const char* const __restrict__ ranges_in = in;
    const u32 dense_bytes = length * n * BYTES;
    const u32 unit_bits = length_bits - log2_of(PER_UNIT);
    const u32 range_units = n << unit_bits;
    // load
#pragma unroll 1
    for (u32 first = threadIdx.x; SPLIT ? first * UNIT_BYTES < dense_bytes : first < range_units;
         first += BATCH * THREADS) {
      U held[BATCH];
#pragma unroll
      for (int k = 0; k < BATCH; k++) {
        const u32 unit = first + static_cast<u32>(k * THREADS);
        if constexpr (SPLIT) {
          if ((unit + 1) * UNIT_BYTES <= dense_bytes) {
            held[k] = reinterpret_cast<const U*>(in)[unit];
          }
        } else {
          const u32 i = (unit & ((1u << unit_bits) - 1)) * PER_UNIT;
          if (unit < range_units && i + PER_UNIT <= length) {
            held[k] = *reinterpret_cast<const U*>(
                ranges_in + ((unit >> unit_bits) * stride + i) * BYTES);
          }
        }
      }
#pragma unroll
      for (int k = 0; k < BATCH; k++) {
        const u32 unit = first + static_cast<u32>(k * THREADS);
        if constexpr (SPLIT) {
          if ((unit + 1) * UNIT_BYTES <= dense_bytes) {
            put_dense(shared, unit * UNIT_BYTES, held[k]);
          } else {
#pragma unroll 1
          for (u32 at = unit * UNIT_BYTES; at < dense_bytes; at += BYTES) {
              put_element(shared, at, in + at);
            }
          }
        } else {
          const u32 j = unit >> unit_bits;
          const u32 i = (unit & ((1u << unit_bits) - 1)) * PER_UNIT;
          if (unit < range_units) {
            if (i + PER_UNIT <= length) {
#pragma unroll
              for (int e = 0; e < PER_UNIT; e++) {
                put_element(shared, ((i + e) * n + j) * BYTES,
                            reinterpret_cast<const char*>(&held[k]) + e * BYTES);
              }
            } else {
#pragma unroll 1
          for (u32 at = i; at < length; at++) {
                put_element(shared, (at * n + j) * BYTES, in + (j * stride + at) * BYTES);
              }
            }
          }
        }
      }
    }

    // synchronise
    __syncthreads();

    // store
#pragma unroll 2
    for (u32 unit = threadIdx.x; SPLIT ? unit < range_units : unit * UNIT_BYTES < dense_bytes;
         unit += THREADS) {
      if constexpr (SPLIT) {
        const u32 j = unit >> unit_bits;
        const u32 i = (unit & ((1u << unit_bits) - 1)) * PER_UNIT;
        char* const to = out + (j * stride + i) * BYTES;
        if (i + PER_UNIT <= length) {
          U held;
#pragma unroll
          for (int e = 0; e < PER_UNIT; e++) {
            take_element(shared, ((i + e) * n + j) * BYTES,
                         reinterpret_cast<char*>(&held) + e * BYTES);
          }
          *reinterpret_cast<U*>(to) = held;
        } else {
#pragma unroll 1
          for (u32 at = i; at < length; at++) {
            take_element(shared, (at * n + j) * BYTES, out + (j * stride + at) * BYTES);
          }
        }
      } else {
        if ((unit + 1) * UNIT_BYTES <= dense_bytes) {
          reinterpret_cast<U*>(out)[unit] = take_dense(shared, unit * UNIT_BYTES);
        } else {
#pragma unroll 1
          for (u32 at = unit * UNIT_BYTES; at < dense_bytes; at += BYTES) {
            take_element(shared, at, out + at);
          }
        }
      }
    }
  }

  static __device__ __forceinline__ constexpr u32 log2_of(int value) {
    return value == 1 ? 0 : 1 + log2_of(value / 2);
  }

  static __device__ __forceinline__ void run(const NarrowArguments& arguments) {
    __shared__ __align__(16) char shared[SHARED_BYTES];
    const u32 n = static_cast<u32>(arguments.n);
    const u32 length_bits = static_cast<u32>(arguments.length_bits);
    for (u64 tile = blockIdx.x; tile < arguments.tiles; tile += gridDim.x) {
      // locate
      u64 piece = tile;
      const u64 step = divide(piece, arguments.pieces);
      const Offsets at = locate_outer(arguments.outer, step);
      const u64 i = piece << length_bits;
      const u64 left = arguments.count - i;
      const u32 length = left >> length_bits ? 1u << length_bits : static_cast<u32>(left);
      move(static_cast<const char*>(arguments.in) + (at.in + (SPLIT ? i * n : i)) * BYTES,
           static_cast<char*>(arguments.out) + (at.out + (SPLIT ? i : i * n)) * BYTES, shared, n,
           length_bits, length, arguments.stride);

      // The next piece overwrites shared memory. All threads take the same branch.
      if (tile + gridDim.x < arguments.tiles) {
        __syncthreads();
      }
    }
  }
};

// Like Narrow, for sides that begin at any address: they are still moved in aligned vectors. The first element of range
// j is m(j) elements past a multiple of 16 bytes. Piece t of a split has range j from i = t * LENGTH - m(j) on, so that
// its vectors are whole; over all ranges, it has up to V - 1 more values of i. A merge reads all vectors that its
// ranges touch. Up to 15 bytes before and after a range are read, never past a multiple of 16: buffers begin and end at
// multiples of 16.
template <int BYTES, bool SPLIT, int THREADS>
struct NarrowShifted {
  using Base = Narrow<BYTES, SPLIT, THREADS>;
  static constexpr int V = 16 / BYTES;
  static constexpr int BATCH = 8;
  // A piece, V - 1 more values of i, and the partial vectors at its ends.
  static constexpr int MOST_BYTES = STAGE_BYTES + MOST_NARROW * 16 + 32;
  static constexpr int SHARED_BYTES = MOST_BYTES + MOST_BYTES / 32 + 4;

  static __device__ __forceinline__ u32 elements_past(u64 address) {
    return static_cast<u32>(address) % 16 / BYTES;
  }

  // Splits a piece, from i = first - m(j) on.
  static __device__ __forceinline__ void split(const char* __restrict__ in, char* __restrict__ out,
                                               char* shared, u32 n, u32 length_bits, i64 first,
                                               i64 count, u64 stride) {
    const u32 unit_bits = length_bits - Base::log2_of(V);
    const i64 from = first < V ? 0 : first - (V - 1);
    const i64 to = first + (i64{1} << length_bits) < count ? first + (i64{1} << length_bits) : count;
    const char* const begin = in + from * n * BYTES;
    const u32 skew = static_cast<u32>(reinterpret_cast<u64>(begin)) % 16;
    const uint4* const aligned = reinterpret_cast<const uint4*>(begin - skew);
    const u32 vectors = to <= from ? 0 : (skew + static_cast<u32>(to - from) * n * BYTES + 15) / 16;

    // load
#pragma unroll 1
    for (u32 start = threadIdx.x; start < vectors; start += BATCH * THREADS) {
      uint4 held[BATCH];
#pragma unroll
      for (int k = 0; k < BATCH; k++) {
        const u32 unit = start + static_cast<u32>(k * THREADS);
        if (unit < vectors) {
          held[k] = aligned[unit];
        }
      }
#pragma unroll
      for (int k = 0; k < BATCH; k++) {
        const u32 unit = start + static_cast<u32>(k * THREADS);
        if (unit < vectors) {
          Base::put_dense(shared, unit * 16, held[k]);
        }
      }
    }

    // synchronise
    __syncthreads();

    // store
#pragma unroll 2
    for (u32 unit = threadIdx.x; unit < n << unit_bits; unit += THREADS) {
      const u32 j = unit >> unit_bits;
      char* const range = out + j * stride * BYTES;
      const i64 i = first + (unit & ((1u << unit_bits) - 1)) * V -
                    elements_past(reinterpret_cast<u64>(range));
      const u32 at = skew + (static_cast<u32>(i - from) * n + j) * BYTES;
      if (i >= 0 && i + V <= count) {
        uint4 held;
#pragma unroll
        for (int e = 0; e < V; e++) {
          Base::take_element(shared, at + e * n * BYTES, reinterpret_cast<char*>(&held) + e * BYTES);
        }
        *reinterpret_cast<uint4*>(range + i * BYTES) = held;
      } else {
#pragma unroll 1
        for (int e = 0; e < V; e++) {
          if (i + e >= 0 && i + e < count) {
            Base::take_element(shared, at + e * n * BYTES, range + (i + e) * BYTES);
          }
        }
      }
    }
  }

  // Merges a piece of `length` values of i; its ranges begin at `in`.
  static __device__ __forceinline__ void merge(const char* __restrict__ in, char* __restrict__ out,
                                               char* shared, u32 n, u32 length_bits, u32 length,
                                               u64 stride) {
    const u32 unit_bits = length_bits - Base::log2_of(V);
    const u32 lead = static_cast<u32>(reinterpret_cast<u64>(out)) % 16;

    // load: 2^unit_bits vectors of each range, then one more vector that each range can touch
#pragma unroll 1
    for (u32 start = threadIdx.x; start < (n << unit_bits) + n; start += BATCH * THREADS) {
      uint4 held[BATCH];
      int from[BATCH];
      u32 ranges[BATCH];
#pragma unroll
      for (int k = 0; k < BATCH; k++) {
        const u32 unit = start + static_cast<u32>(k * THREADS);
        const bool last = unit >= n << unit_bits;
        const u32 j = last ? unit - (n << unit_bits) : unit >> unit_bits;
        const u32 v = last ? 1u << unit_bits : unit & ((1u << unit_bits) - 1);
        const u64 range = reinterpret_cast<u64>(in) + j * stride * BYTES;
        from[k] = static_cast<int>(v * V) - static_cast<int>(elements_past(range));
        ranges[k] = j;
        if (j >= n || from[k] >= static_cast<int>(length)) {
          from[k] = static_cast<int>(length);
        } else {
          held[k] = *reinterpret_cast<const uint4*>(range + static_cast<i64>(from[k]) * BYTES);
        }
      }
#pragma unroll
      for (int k = 0; k < BATCH; k++) {
        if (from[k] >= 0 && from[k] + V <= static_cast<int>(length)) {
          const u32 at = lead + (static_cast<u32>(from[k]) * n + ranges[k]) * BYTES;
#pragma unroll
          for (int e = 0; e < V; e++) {
            Base::put_element(shared, at + e * n * BYTES,
                              reinterpret_cast<const char*>(&held[k]) + e * BYTES);
          }
        } else {
          const char* const range = in + ranges[k] * stride * BYTES;
#pragma unroll 1
          for (int i = from[k] < 0 ? 0 : from[k];
               i < from[k] + V && i < static_cast<int>(length); i++) {
            Base::put_element(shared, lead + (static_cast<u32>(i) * n + ranges[k]) * BYTES,
                              range + i * BYTES);
          }
        }
      }
    }

    // synchronise
    __syncthreads();

    // store
    const u32 end = lead + length * n * BYTES;
    char* const aligned = out - lead;
#pragma unroll 2
    for (u32 at = threadIdx.x * 16; at < end; at += THREADS * 16) {
      if (at >= lead && at + 16 <= end) {
        *reinterpret_cast<uint4*>(aligned + at) = Base::take_dense(shared, at);
      } else {
#pragma unroll 1
        for (u32 b = at; b < at + 16; b += BYTES) {
          if (b >= lead && b < end) {
            Base::take_element(shared, b, aligned + b);
          }
        }
      }
    }
  }

  static __device__ __forceinline__ void run(const NarrowArguments& arguments) {
    __shared__ __align__(16) char shared[SHARED_BYTES];
    const u32 n = static_cast<u32>(arguments.n);
    const u32 length_bits = static_cast<u32>(arguments.length_bits);
    for (u64 tile = blockIdx.x; tile < arguments.tiles; tile += gridDim.x) {
      // locate
      u64 piece = tile;
      const u64 step = divide(piece, arguments.pieces);
      const Offsets at = locate_outer(arguments.outer, step);
      const char* const in = static_cast<const char*>(arguments.in) + at.in * BYTES;
      char* const out = static_cast<char*>(arguments.out) + at.out * BYTES;
      const u64 i = piece << length_bits;
      if constexpr (SPLIT) {
        split(in, out, shared, n, length_bits, static_cast<i64>(i), static_cast<i64>(arguments.count),
              arguments.stride);
      } else {
        const u64 left = arguments.count - i;
        const u32 length = left >> length_bits ? 1u << length_bits : static_cast<u32>(left);
        merge(in + i * BYTES, out + i * n * BYTES, shared, n, length_bits, length, arguments.stride);
      }

      // The next piece overwrites shared memory. All threads take the same branch.
      if (tile + gridDim.x < arguments.tiles) {
        __syncthreads();
      }
    }
  }
};

}  // namespace tilespark

// split_narrow_w<width>_<threads>, merge_narrow_w<width>_<threads>: ranges and dense side at multiples of 16 bytes;
// ..._shifted_w<width>_<threads>: at any address
#define NARROW(NAME, STRUCT, BYTES, SPLIT, THREADS)                                  \
  extern "C" __global__ void __launch_bounds__(THREADS) NAME##_w##BYTES##_##THREADS( \
      const __grid_constant__ tilespark::NarrowArguments arguments) {                \
    tilespark::STRUCT<BYTES, SPLIT, THREADS>::run(arguments);                        \
  }
#define NARROW_WIDTH(BYTES)                                        \
  NARROW(split_narrow, Narrow, BYTES, true, 128)                   \
  NARROW(merge_narrow, Narrow, BYTES, false, 128)                  \
  NARROW(split_narrow_shifted, NarrowShifted, BYTES, true, 128)    \
  NARROW(merge_narrow_shifted, NarrowShifted, BYTES, false, 128)

NARROW_WIDTH(1)
NARROW_WIDTH(2)
NARROW_WIDTH(4)
NARROW_WIDTH(8)
NARROW(split_narrow, Narrow, 16, true, 128)
NARROW(merge_narrow, Narrow, 16, false, 128)
