// Copies an operand into the form that the tensor core kernels read: row-major with K along the rows,
// whichever way it is stored; rounded or split as the kernel wants it; rows padded with zeros to whole
// panels of 128 bytes, and so many rows of zeros below.
//
//   to[x, p] = round(from(x, p))     0 <= x < extent, 0 <= p < k; 0 where x or p lies outside
//
// from(x, p) lies at x * lead + p, or at p * lead + x if `across`. x counts rows of op(A) or columns of
// op(B).
//
// Threads to elements: a thread block makes tiles of 64 x 64, one after the other; 256 threads read 4
// bytes each along the rows as stored and write along K. Shared memory (64, 65), so that neither goes
// against its banks twice.
//
// Bytes: reads the operand once and writes as many, twice as many for Split, half for the 16-bit kinds.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "hopper.cuh"

namespace tilespark {

// Fields in the order of the host's launch.
struct PackArguments {
  const float* from;
  void* to;
  u32* bad;  // Split: by tile of 128 of x, 1 if an element has no exact parts; may be null
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

// Magnitudes from 2^-100 to 2^127 have two parts that no rounding makes infinite or denormal.
constexpr u32 LEAST_BITS = 27u << 23;
constexpr u32 MOST_BITS = 254u << 23;

// The nearest value of 11 bits of mantissa, ties away from zero; its other bits are 0.
__device__ __forceinline__ u32 upper_part(float value) {
  return (__float_as_uint(value) + 0x1000u) & 0xffffe000u;
}

// The nearest value of 11 bits to what the upper part left out; lower bits are ignored by wgmma.
__device__ __forceinline__ u32 lower_part(float value, u32 upper) {
  return __float_as_uint(value - __uint_as_float(upper)) + 0x1000u;
}

__device__ __forceinline__ bool has_parts(float value) {
  const u32 size = __float_as_uint(value) & 0x7fffffffu;
  return size == 0 || (size >= LEAST_BITS && size < MOST_BITS);
}

// What is written of a value, into one plane or two.
struct PackRaw {
  using Type = float;
  static constexpr bool CHECKED = false;
  static __device__ __forceinline__ void put(Type* to, u64, float value) { *to = value; }
};
struct PackTf32 {
  using Type = float;
  static constexpr bool CHECKED = false;
  static __device__ __forceinline__ void put(Type* to, u64, float value) {
    const u32 bits = __float_as_uint(value);
    const u32 size = bits & 0x7fffffffu;
    // Ties to even. Of NaN a bit is set that is not cut off.
    *to = size < 0x7f800000u   ? __uint_as_float((bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u)
          : size > 0x7f800000u ? __uint_as_float(bits | 0x400000u)
                               : value;
  }
};
struct PackHalf {
  using Type = __half;
  static constexpr bool CHECKED = false;
  static __device__ __forceinline__ void put(Type* to, u64, float value) { *to = __float2half_rn(value); }
};
struct PackBfloat16 {
  using Type = __nv_bfloat16;
  static constexpr bool CHECKED = false;
  static __device__ __forceinline__ void put(Type* to, u64, float value) { *to = __float2bfloat16_rn(value); }
};
struct PackSplit {
  using Type = float;
  static constexpr bool CHECKED = true;
  static __device__ __forceinline__ void put(Type* to, u64 plane, float value) {
    const u32 upper = upper_part(value);
    to[0] = __uint_as_float(upper);
    to[plane] = __uint_as_float(lower_part(value, upper) & 0xffffe000u);
  }
};

template <typename Form>
__device__ __forceinline__ void pack(const PackArguments& arguments) {
  using Type = typename Form::Type;
  __shared__ float tile[PACK][PACK + 1];
  const u64 tiles_k = (arguments.padded_k + PACK - 1) / PACK;
  const u64 tiles_each = arguments.padded_extent / PACK * tiles_k;
  const u64 tiles = arguments.batches * tiles_each;
  const u64 plane = arguments.batches * arguments.padded_extent * arguments.padded_k;
  const u32 fast = threadIdx.x % PACK;
  const u32 slow = threadIdx.x / PACK;
  for (u64 number = blockIdx.x; number < tiles; number += gridDim.x) {
    const u64 batch = number / tiles_each;
    const float* const from = arguments.from + batch * arguments.from_step;
    Type* const to =
        static_cast<Type*>(arguments.to) + batch * arguments.padded_extent * arguments.padded_k;
    const u64 first_x = number % tiles_each / tiles_k * PACK;
    const u64 first_p = number % tiles_k * PACK;
    bool good = true;
#pragma unroll
    for (u32 i = 0; i < PACK; i += PACK_THREADS / PACK) {
      const u32 in_x = arguments.across ? fast : slow + i;
      const u32 in_p = arguments.across ? slow + i : fast;
      const u64 x = first_x + in_x;
      const u64 p = first_p + in_p;
      float value = 0;
      if (x < arguments.extent && p < arguments.k) {
        value = from[arguments.across ? p * arguments.lead + x : x * arguments.lead + p];
      }
      if (Form::CHECKED) {
        good = good && has_parts(value);
      }
      tile[in_x][in_p] = value;
    }
    __syncthreads();
    if (Form::CHECKED && !good && arguments.bad != nullptr) {
      arguments.bad[batch * ((arguments.padded_extent + 127) / 128) + first_x / 128] = 1;
    }
#pragma unroll
    for (u32 i = 0; i < PACK; i += PACK_THREADS / PACK) {
      const u64 x = first_x + slow + i;
      const u64 p = first_p + fast;
      if (p < arguments.padded_k) {
        Form::put(to + x * arguments.padded_k + p, plane, tile[slow + i][fast]);
      }
    }
    __syncthreads();
  }
}

}  // namespace tilespark
