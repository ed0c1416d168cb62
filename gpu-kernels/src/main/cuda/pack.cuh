// Copies an operand into the form that the tensor core kernels read: row-major with K along the rows,
// whichever way it is stored; rounded or split as the kernel wants it; rows padded with zeros to whole
// panels of 128 bytes, and so many rows of zeros below.
//
//   to[x, p] = round(from(x, p))     0 <= x < extent, 0 <= p < k; 0 where x or p lies outside
//
// from(x, p) lies at x * lead + p, or at p * lead + x if `across`. x counts rows of op(A) or columns of
// op(B).
//
// Split writes three planes of bfloat16, value = to[0] + to[plane] + to[2 plane]. SplitMixed also puts, of
// each 32 steps of K, step 8 t + 4 s + 2 h + e at place 16 s + 8 h + 2 t + e (t < 4; s, h, e < 2): so a
// thread of split.cuh finds its part of A's rows, K along them, in whole 16 bytes.
//
// Threads to elements: a thread block makes tiles of 64 x 64, one after the other; 256 threads read 4
// bytes each along the rows as stored and write 8 elements each along K. Shared memory (64, 65).
//
// Bytes: reads the operand once and writes as many, half as many again for Split, half for the 16-bit
// kinds.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "hopper.cuh"

namespace tilespark {

// Fields in the order of the host's launch.
struct PackArguments {
  const float* from;
  void* to;
  u32* bad;  // Split: by tile of 128 of x, set to 1 if an element is too small to cut; may be null
  u64 extent;
  u64 k;
  u64 lead;
  u64 across;
  u64 padded_extent;  // multiple of 64
  u64 padded_k;       // multiple of 32
  u64 batches;        // operands, one below the other in `to`
  u64 from_step;      // elements between them
};

constexpr u32 PACK = 64;
constexpr u32 PACK_THREADS = 256;

// Magnitudes from 2^-100 on have three parts of which none is denormal. Of those that rounding makes
// infinite the sums are no numbers, which split.cuh sees.
constexpr u32 LEAST_BITS = 27u << 23;

// Of zero the greatest number; of others the bits of the magnitude, doubled, less 1: in their order.
__device__ __forceinline__ u32 size_rank(float value) { return __float_as_uint(value) * 2 - 1; }
constexpr u32 LEAST_RANK = LEAST_BITS * 2 - 1;

// Two values (x in the lower half) as three bfloat16 each, x = parts[0] + parts[1] + parts[2]: each is the
// nearest of 8 bits to what those before left out, which three always reach.
__device__ __forceinline__ void cut(float x, float y, u32& first, u32& second, u32& third) {
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(first) : "f"(y), "f"(x));
  x -= __uint_as_float(first << 16);
  y -= __uint_as_float(first & 0xffff0000u);
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(second) : "f"(y), "f"(x));
  x -= __uint_as_float(second << 16);
  y -= __uint_as_float(second & 0xffff0000u);
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(third) : "f"(y), "f"(x));
}

// What is written of 8 values that follow each other along K, into one plane or three.
struct PackRaw {
  using Type = float;
  static constexpr bool CUT = false;
  static constexpr bool MIXED = false;
  static __device__ __forceinline__ void put(Type* to, u64, const float (&v)[8]) {
    reinterpret_cast<float4*>(to)[0] = make_float4(v[0], v[1], v[2], v[3]);
    reinterpret_cast<float4*>(to)[1] = make_float4(v[4], v[5], v[6], v[7]);
  }
};
struct PackTf32 {
  using Type = float;
  static constexpr bool CUT = false;
  static constexpr bool MIXED = false;
  static __device__ __forceinline__ void put(Type* to, u64, const float (&v)[8]) {
    float rounded[8];
#pragma unroll
    for (u32 i = 0; i < 8; i++) {
      const u32 bits = __float_as_uint(v[i]);
      const u32 size = bits & 0x7fffffffu;
      // Ties to even. Of NaN a bit is set that is not cut off.
      rounded[i] = size < 0x7f800000u   ? __uint_as_float((bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u)
                   : size > 0x7f800000u ? __uint_as_float(bits | 0x400000u)
                                        : v[i];
    }
    PackRaw::put(to, 0, rounded);
  }
};
struct PackHalf {
  using Type = __half;
  static constexpr bool CUT = false;
  static constexpr bool MIXED = false;
  static __device__ __forceinline__ void put(Type* to, u64, const float (&v)[8]) {
    u32 pairs[4];
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
      asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pairs[i]) : "f"(v[2 * i + 1]), "f"(v[2 * i]));
    }
    *reinterpret_cast<uint4*>(to) = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
  }
};
struct PackBfloat16 {
  using Type = __nv_bfloat16;
  static constexpr bool CUT = false;
  static constexpr bool MIXED = false;
  static __device__ __forceinline__ void put(Type* to, u64, const float (&v)[8]) {
    u32 pairs[4];
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pairs[i]) : "f"(v[2 * i + 1]), "f"(v[2 * i]));
    }
    *reinterpret_cast<uint4*>(to) = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
  }
};
struct PackSplit {
  using Type = __nv_bfloat16;
  static constexpr bool CUT = true;
  static constexpr bool MIXED = false;
  static __device__ __forceinline__ void put(Type* to, u64 plane, const float (&v)[8]) {
    u32 parts[3][4];
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
      cut(v[2 * i], v[2 * i + 1], parts[0][i], parts[1][i], parts[2][i]);
    }
#pragma unroll
    for (u32 i = 0; i < 3; i++) {
      *reinterpret_cast<uint4*>(to + i * plane) = make_uint4(parts[i][0], parts[i][1], parts[i][2], parts[i][3]);
    }
  }
};

struct PackSplitMixed : PackSplit {
  static constexpr bool MIXED = true;
};

template <typename Form>
__device__ __forceinline__ void pack(const PackArguments& arguments) {
  using Type = typename Form::Type;
  constexpr u32 ROWS = PACK_THREADS / PACK;
  __shared__ float tile[PACK][PACK + 1];
  const u32 tiles_k = static_cast<u32>((arguments.padded_k + PACK - 1) / PACK);
  const u32 tiles_each = static_cast<u32>(arguments.padded_extent / PACK) * tiles_k;
  const u64 tiles = arguments.batches * tiles_each;
  const u64 plane = arguments.batches * arguments.padded_extent * arguments.padded_k;
  const u32 fast = threadIdx.x % PACK;
  const u32 slow = threadIdx.x / PACK;
  const bool across = arguments.across != 0;
  const bool aligned = !across && reinterpret_cast<u64>(arguments.from) % 16 == 0 && arguments.lead % 4 == 0 &&
                       arguments.from_step % 4 == 0;
  for (u64 number = blockIdx.x; number < tiles; number += gridDim.x) {
    const u32 batch = static_cast<u32>(number) / tiles_each;
    const u32 in_batch = static_cast<u32>(number) - batch * tiles_each;
    const u64 first_x = static_cast<u64>(in_batch / tiles_k) * PACK;
    const u64 first_p = static_cast<u64>(in_batch % tiles_k) * PACK;
    // Rows and columns as stored.
    const u64 rows = across ? arguments.k : arguments.extent;
    const u64 cols = across ? arguments.extent : arguments.k;
    const u64 row = (across ? first_p : first_x) + slow;
    const u64 col = (across ? first_x : first_p) + fast;
    const float* from = arguments.from + batch * arguments.from_step + row * arguments.lead + col;

    // Whole rows of 16 bytes along K need not go through shared memory.
    if (!Form::MIXED && aligned && first_x + PACK <= rows && first_p + PACK <= cols) {
      const u32 x = threadIdx.x / (PACK / 8);
      const u32 p = threadIdx.x % (PACK / 8) * 8;
      const float* const line = arguments.from + batch * arguments.from_step + (first_x + x) * arguments.lead + first_p + p;
      Type* const to = static_cast<Type*>(arguments.to) +
                       (batch * arguments.padded_extent + first_x + x) * arguments.padded_k + first_p + p;
      constexpr u32 LINES = PACK_THREADS / (PACK / 8);
      float4 four[2 * PACK / LINES];
#pragma unroll
      for (u32 i = 0; i < PACK / LINES; i++) {
        const float4* const at = reinterpret_cast<const float4*>(line + i * LINES * arguments.lead);
        four[2 * i] = at[0];
        four[2 * i + 1] = at[1];
      }
      u32 least = ~0u;
#pragma unroll
      for (u32 i = 0; i < PACK / LINES; i++) {
        const float4 u = four[2 * i];
        const float4 v = four[2 * i + 1];
        const float eight[8] = {u.x, u.y, u.z, u.w, v.x, v.y, v.z, v.w};
#pragma unroll
        for (u32 e = 0; e < 8; e++) {
          least = min(least, size_rank(eight[e]));
        }
        Form::put(to + i * LINES * arguments.padded_k, plane, eight);
      }
      if (Form::CUT && least < LEAST_RANK && arguments.bad != nullptr) {
        arguments.bad[batch * ((arguments.padded_extent + 127) / 128) + first_x / 128] = 1;
      }
      continue;
    }

    // load
    float values[PACK / ROWS];
    const u64 step = arguments.lead * ROWS;
    if (row - slow + PACK <= rows && col - fast + PACK <= cols) {
#pragma unroll
      for (u32 i = 0; i < PACK / ROWS; i++) {
        values[i] = from[i * step];
      }
    } else {
#pragma unroll
      for (u32 i = 0; i < PACK / ROWS; i++) {
        values[i] = row + i * ROWS < rows && col < cols ? from[i * step] : 0;
      }
    }
    u32 least = ~0u;
#pragma unroll
    for (u32 i = 0; i < PACK / ROWS; i++) {
      if (Form::CUT) {
        least = min(least, size_rank(values[i]));
      }
      if (across) {
        tile[fast][slow + i * ROWS] = values[i];
      } else {
        tile[slow + i * ROWS][fast] = values[i];
      }
    }
    __syncthreads();
    if (Form::CUT && least < LEAST_RANK && arguments.bad != nullptr) {
      arguments.bad[batch * ((arguments.padded_extent + 127) / 128) + first_x / 128] = 1;
    }

    // store
    Type* const to = static_cast<Type*>(arguments.to) +
                     (batch * arguments.padded_extent + first_x) * arguments.padded_k + first_p;
#pragma unroll
    for (u32 i = 0; i < PACK * PACK / 8; i += PACK_THREADS) {
      const u32 x = (i + threadIdx.x) / (PACK / 8);
      const u32 p = (i + threadIdx.x) % (PACK / 8) * 8;
      if (first_p + p < arguments.padded_k) {
        float eight[8];
#pragma unroll
        for (u32 e = 0; e < 8; e++) {
          eight[e] = tile[x][Form::MIXED ? p / 32 * 32 + e / 2 * 8 + p % 32 / 16 * 4 + p % 16 / 8 * 2 + e % 2 : p + e];
        }
        Form::put(to + x * arguments.padded_k + p, plane, eight);
      }
    }
    __syncthreads();
  }
}

}  // namespace tilespark
