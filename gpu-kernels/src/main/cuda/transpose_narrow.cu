// Batched two-dimensional transpose where one extent is short, at most 31, and that side is dense:
//
//   split:  out[o][j * stride + i] = in[o][i * n + j]    0 <= i < count, 0 <= j < n
//   merge:  out[o][i * n + j] = in[o][j * stride + i]
//
// where o runs over up to four outer axes with strides of their own on both sides. Split turns an
// array of structures of n elements into n arrays; merge is its inverse.
//
// Threads to elements: one thread block per piece of LENGTH = 2^length_bits values of i, or several
// pieces in turn. The dense side of a piece is one contiguous range, the other n ranges; both are
// moved in accesses of UNIT bytes, neighbouring threads neighbouring units.
//
// Bytes: each element is read once and written once; 2 * n * count * width for each o.
//
// Shared memory: the piece in the order of the dense side, one word more after every 32 words, so that
// threads that walk along i meet different banks when n is a power of two too.
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
  u64 stride;       // elements between the n ranges
  u64 tiles;        // pieces * product of outer extents
  u64 pieces;       // ceil(count / LENGTH)
  u64 length_bits;  // n * width << length_bits is at most STAGE_BYTES
  Axis outer[MAX_OUTER];
};

constexpr int STAGE_BYTES = 16384;

template <int BYTES, int UNIT_BYTES, bool SPLIT, int THREADS>
struct Narrow {
  using T = typename Element<BYTES>::type;
  using U = typename Element<UNIT_BYTES>::type;
  static constexpr int PER_UNIT = UNIT_BYTES / BYTES;
  static constexpr int STEPS = STAGE_BYTES / UNIT_BYTES / THREADS;
  static constexpr int BATCH = STEPS < 8 ? STEPS : UNIT_BYTES < 4 ? 4 : 8;  // units in flight for each thread
  static constexpr int SHARED_BYTES = STAGE_BYTES + STAGE_BYTES / 32;

  // Where byte `at` of the piece lies in shared memory.
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

  // A unit of the dense side: contiguous in shared memory but for the pads.
  static __device__ __forceinline__ void put_dense(char* shared, u32 at, const U& unit) {
    const char* const from = reinterpret_cast<const char*>(&unit);
    if constexpr (UNIT_BYTES >= 4) {
#pragma unroll
      for (int b = 0; b < UNIT_BYTES; b += 4) {
        *reinterpret_cast<u32*>(shared + place(at) + b) = *reinterpret_cast<const u32*>(from + b);
      }
    } else {
      *reinterpret_cast<U*>(shared + place(at)) = unit;
    }
  }

  static __device__ __forceinline__ U take_dense(const char* shared, u32 at) {
    U unit;
    char* const to = reinterpret_cast<char*>(&unit);
    if constexpr (UNIT_BYTES >= 4) {
#pragma unroll
      for (int b = 0; b < UNIT_BYTES; b += 4) {
        *reinterpret_cast<u32*>(to + b) = *reinterpret_cast<const u32*>(shared + place(at) + b);
      }
    } else {
      unit = *reinterpret_cast<const U*>(shared + place(at));
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

      // The next piece overwrites the shared one. All threads take the same branch.
      if (tile + gridDim.x < arguments.tiles) {
        __syncthreads();
      }
    }
  }
};

}  // namespace tilespark

#ifndef TILESPARK_EXPLORE
// split_narrow_w<width>_<threads>, merge_narrow_w<width>_<threads>: in units of 16 bytes;
// ..._any_w<width>_<threads>: in units of one element
#define NARROW(NAME, BYTES, UNIT_BYTES, SPLIT, THREADS)                              \
  extern "C" __global__ void __launch_bounds__(THREADS) NAME##_w##BYTES##_##THREADS( \
      const __grid_constant__ tilespark::NarrowArguments arguments) {                \
    tilespark::Narrow<BYTES, UNIT_BYTES, SPLIT, THREADS>::run(arguments);            \
  }
#define NARROW_WIDTH(BYTES)                            \
  NARROW(split_narrow, BYTES, 16, true, 128)           \
  NARROW(merge_narrow, BYTES, 16, false, 128)          \
  NARROW(split_narrow_any, BYTES, BYTES, true, 128)    \
  NARROW(merge_narrow_any, BYTES, BYTES, false, 128)

NARROW_WIDTH(1)
NARROW_WIDTH(2)
NARROW_WIDTH(4)
NARROW_WIDTH(8)
NARROW(split_narrow, 16, 16, true, 128)
NARROW(merge_narrow, 16, 16, false, 128)
#endif
