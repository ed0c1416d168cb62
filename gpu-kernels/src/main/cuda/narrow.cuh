// Products with M or N of at most 16, of float operands rounded to tf32, bfloat16 or float16 while they are read, on
// the tensor cores of sm_80 and later, at memory bandwidth:
//
//   c[x, j] = alpha * sum over p of round(big(x, p)) * round(small(p, j)) + beta * c[x, j]
//                                                       0 <= x < extent, 0 <= j < count <= 16
//
// Two kernels, for any leading dimension and alignment, with the arguments of skinny.cuh (`chain` is ignored), which
// also defines big, small and the parts of K:
//
//   narrow_along   big is stored along K, (x, p) at x * lead + p
//   narrow_across  big is stored across, (x, p) at p * lead + x
//
// Threads to elements: a warp computes 32 values of x, in four mma products of 16 j of small by 8 x of big. Each covers
// 16 steps of K, of which thread t + 4 g reads steps 4 t to 4 t + 3 of big, for x = 8 i + g (along) or 4 g + i (across)
// in product i: four neighbours are one 16-byte read if rows are aligned. mma numbers the steps differently; small is
// stored in shared memory as one fragment per thread, in matching order.
//
// Bytes: big is read once, small once per piece of x (from L2), c is written once.
//
// Accuracy: the tensor cores truncate sums. Sums of SKINNY_CHUNK steps are added in ordinary registers, rounded to
// nearest. Their order depends on extents and storage alone, not on addresses.
//
// Shared memory: SKINNY_CHUNK steps of small, (SKINNY_CHUNK / 16, 32 threads, 8).
#pragma once

#include "rounding.cuh"
#include "skinny.cuh"
#include "warp_product.cuh"

namespace tilespark {

constexpr u32 NARROW_STEPS = 16;
constexpr u32 NARROW_COUNT = 16;
constexpr u32 NARROW_WARP = 32;                                   // x per warp
constexpr u32 NARROW_EXTENT = SKINNY_THREADS / 32 * NARROW_WARP;  // x per thread block
constexpr u32 NARROW_AHEAD = 2;                                   // groups of 16 steps read at a time

// A product over 16 steps for 8 values of x. v: a thread's four neighbours of big along K; s: its four of small for j =
// g and for j = g + 8.
template <typename Rounding, typename Mma>
struct Narrow16 {
  using Type = typename Rounding::Type;
  static __device__ __forceinline__ Type rounded(float value) { return Rounding::stored(value); }
  static __device__ __forceinline__ void product(float (&c)[4], const Type* s, const float (&v)[4]) {
    const uint4 a = *reinterpret_cast<const uint4*>(s);
    Mma::product(c, {a.x, a.y, a.z, a.w}, Rounding::pair(v[0], v[1]), Rounding::pair(v[2], v[3]));
  }
};
using NarrowHalf = Narrow16<RoundedFloat16, MmaHalf>;
using NarrowBfloat16 = Narrow16<RoundedBfloat16, MmaBfloat16>;
struct NarrowTf32 {
  using Type = float;
  static __device__ __forceinline__ Type rounded(float value) { return RoundedTf32::of(value); }
  // Rounds like RoundedTf32::of, in fewer instructions: infinity rounds to itself, any NaN to one NaN.
  static __device__ __forceinline__ u32 bits(float value) {
    const u32 bits = __float_as_uint(value);
    return value == value ? (bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u : 0x7fffe000u;
  }
  static __device__ __forceinline__ void product(float (&c)[4], const Type* s, const float (&v)[4]) {
#pragma unroll
    for (u32 half = 0; half < 2; half++) {
      const uint4 a = *reinterpret_cast<const uint4*>(s + 4 * half);
      MmaTf32::product(c, {a.x, a.z, a.y, a.w}, bits(v[2 * half]), bits(v[2 * half + 1]));
    }
  }
};

// A thread's addresses in big.
template <bool ACROSS>
struct NarrowReader {
  const float* from[ACROSS ? 1 : 4];  // addresses for each product's x; across, one for all
  u64 lead;
  u32 left;     // across: how many of this thread's four x are inside
  u32 first;    // this thread's first of 16 steps
  bool inside;  // across: all x of the warp are inside; along: true
  bool even;    // 16-byte reads are aligned

  __device__ __forceinline__ NarrowReader(const SkinnyArguments<float>& arguments, u64 x) {
    const u32 lane = threadIdx.x % 32;
    lead = arguments.lead;
    first = lane % 4 * 4;
    even = (reinterpret_cast<u64>(arguments.big) | lead * sizeof(float)) % 16 == 0;
    inside = true;
    left = 4;
    if (ACROSS) {
      inside = x + NARROW_WARP <= arguments.extent;
      x += lane / 4 * 4;
      left = x >= arguments.extent ? 0 : arguments.extent - x < 4 ? static_cast<u32>(arguments.extent - x) : 4;
      from[0] = arguments.big + first * lead + x;
    } else {
#pragma unroll
      for (u32 i = 0; i < 4; i++) {
        // Rows past the end read the last row.
        const u64 row = x + 8 * i + lane / 4;
        from[i] = arguments.big + (row < arguments.extent ? row : arguments.extent - 1) * lead + first;
      }
    }
  }

  // True if NARROW_AHEAD times 16 of `steps` steps need no bounds checks; equal for all threads of a warp.
  __device__ __forceinline__ bool is_whole(u32 steps) const { return inside && steps >= NARROW_AHEAD * NARROW_STEPS; }

  // Reads 16 steps from p on.
  template <bool EVEN>
  __device__ __forceinline__ void read_whole(float (&values)[4][4], u64 p) const {
#pragma unroll
    for (u32 n = 0; n < 4; n++) {
      const float* const at = ACROSS ? from[0] + (p + n) * lead : from[n] + p;
      float four[4];
      if (EVEN) {
        *reinterpret_cast<float4*>(four) = __ldcs(reinterpret_cast<const float4*>(at));
      } else {
#pragma unroll
        for (u32 e = 0; e < 4; e++) {
          four[e] = __ldcs(at + e);
        }
      }
#pragma unroll
      for (u32 e = 0; e < 4; e++) {
        (ACROSS ? values[e][n] : values[n][e]) = four[e];
      }
    }
  }

  // Like read_whole, with bounds checks: 0 from step `steps` on, and for x past the last.
  __device__ __forceinline__ void read_some(float (&values)[4][4], u64 p, u32 steps) const {
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
#pragma unroll
      for (u32 e = 0; e < 4; e++) {
        const bool is_inside = first + e < steps && (!ACROSS || i < left);
        values[i][e] = is_inside ? __ldcs(ACROSS ? from[0] + (p + e) * lead + i : from[i] + p + e) : 0;
      }
    }
  }
};

// Multiplies 16 steps.
template <typename Kind>
__device__ __forceinline__ void narrow_products(const float (&values)[4][4], const typename Kind::Type (*small)[8],
                                                float (&sums)[4][4]) {
#pragma unroll
  for (u32 i = 0; i < 4; i++) {
    Kind::product(sums[i], small[threadIdx.x % 32], values[i]);
  }
}

// Reads NARROW_AHEAD times 16 steps from p on, then multiplies them.
template <typename Kind, bool ACROSS, bool EVEN>
__device__ __forceinline__ void narrow_steps(const NarrowReader<ACROSS>& reader, u64 p,
                                             const typename Kind::Type (*small)[32][8], float (&sums)[4][4]) {
  float values[NARROW_AHEAD][4][4];
#pragma unroll
  for (u32 ahead = 0; ahead < NARROW_AHEAD; ahead++) {
    reader.template read_whole<EVEN>(values[ahead], p + ahead * NARROW_STEPS);
  }
#pragma unroll
  for (u32 ahead = 0; ahead < NARROW_AHEAD; ahead++) {
    narrow_products<Kind>(values[ahead], small[ahead], sums);
  }
}

// Computes one piece of x for one part of K.
template <typename Kind, bool ACROSS>
__device__ __forceinline__ void narrow_piece(const SkinnyArguments<float>& arguments, u64 piece, u64 part) {
  using Type = typename Kind::Type;
  __shared__ __align__(16) Type small[SKINNY_CHUNK / NARROW_STEPS][32][8];
  const u32 lane = threadIdx.x % 32;
  const u64 x = piece * NARROW_EXTENT + threadIdx.x / 32 * NARROW_WARP;
  const u64 begin = part * arguments.part_k;
  const u64 end = arguments.k - begin < arguments.part_k ? arguments.k : begin + arguments.part_k;
  const NarrowReader<ACROSS> reader(arguments, x);
  float totals[4][4] = {};
  for (u64 from = begin; from < end; from += SKINNY_CHUNK) {
    const u32 steps = end - from < SKINNY_CHUNK ? static_cast<u32>(end - from) : SKINNY_CHUNK;
    __syncthreads();
    for (u32 at = threadIdx.x; at < NARROW_COUNT * SKINNY_CHUNK; at += SKINNY_THREADS) {
      // Neighbouring threads read neighbouring elements.
      const bool k_first = arguments.small_k == 1;
      const u32 p = k_first ? at % SKINNY_CHUNK : at / NARROW_COUNT;
      const u32 j = k_first ? at / SKINNY_CHUNK : at % NARROW_COUNT;
      const bool inside = p < steps && j < arguments.count;
      const float value = inside ? arguments.small[(from + p) * arguments.small_k + j * arguments.small_j] : 0;
      const u32 e = p % 4;
      small[p / NARROW_STEPS][j % 8 * 4 + p % NARROW_STEPS / 4][e / 2 * 4 + j / 8 * 2 + e % 2] = Kind::rounded(value);
    }
    __syncthreads();
    float sums[4][4] = {};
    const u32 mine = x < arguments.extent ? steps : 0;  // equal for all threads of a warp
    u32 p = 0;
    if (reader.even) {
      for (; reader.is_whole(mine - p); p += NARROW_AHEAD * NARROW_STEPS) {
        narrow_steps<Kind, ACROSS, true>(reader, from + p, small + p / NARROW_STEPS, sums);
      }
    } else {
      for (; reader.is_whole(mine - p); p += NARROW_AHEAD * NARROW_STEPS) {
        narrow_steps<Kind, ACROSS, false>(reader, from + p, small + p / NARROW_STEPS, sums);
      }
    }
#pragma unroll 1
    for (; p < mine; p += NARROW_STEPS) {
      float values[4][4];
      reader.read_some(values, from + p, mine - p);
      narrow_products<Kind>(values, small[p / NARROW_STEPS], sums);
    }
#pragma unroll
    for (u32 at = 0; at < 16; at++) {
      totals[at / 4][at % 4] += sums[at / 4][at % 4];
    }
  }
  float* const c = arguments.c + part * arguments.part_step;
#pragma unroll
  for (u32 i = 0; i < 4; i++) {
#pragma unroll
    for (u32 r = 0; r < 4; r++) {
      const u32 col = lane % 4 * 2 + r % 2;  // x in the product, 0 to 7
      const u64 to_x = x + (ACROSS ? 4 * col + i : 8 * i + col);
      const u32 j = lane / 4 + r / 2 * 8;
      if (to_x < arguments.extent && j < arguments.count) {
        arguments.factors.store(c + to_x * arguments.c_x + j * arguments.c_j, totals[i][r]);
      }
    }
  }
}

// Launch: SKINNY_THREADS threads, any grid.
template <typename Kind, bool ACROSS>
__device__ __forceinline__ void narrow(const SkinnyArguments<float>& arguments) {
  const u64 all = arguments.pieces * arguments.parts;
  for (u64 number = blockIdx.x; number < all; number += gridDim.x) {
    narrow_piece<Kind, ACROSS>(arguments, number % arguments.pieces, number / arguments.pieces);
  }
}

}  // namespace tilespark
