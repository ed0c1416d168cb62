// Float values rounded to other precisions, ties to even. Values beyond the range of float16 become infinite; NaN stays
// NaN.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace tilespark {

// Values as they are.
struct AsStored {
  template <typename T>
  static __device__ __forceinline__ T of(T value) {
    return value;
  }
};

struct RoundedTf32 {
  // Of a NaN, sets a mantissa bit that tf32 keeps, so that it stays NaN.
  static __device__ __forceinline__ float of(float value) {
    const unsigned bits = __float_as_uint(value);
    const unsigned size = bits & 0x7fffffffu;
    return size < 0x7f800000u   ? __uint_as_float((bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u)
           : size > 0x7f800000u ? __uint_as_float(bits | 0x400000u)
                                : value;
  }
};

// The 16-bit formats also round one value to the stored type, and two values into a register, x in the lower half
// (sm_80 and later).
struct RoundedBfloat16 {
  using Type = __nv_bfloat16;
  static __device__ __forceinline__ Type stored(float value) { return __float2bfloat16_rn(value); }
  static __device__ __forceinline__ float of(float value) { return __bfloat162float(stored(value)); }
  static __device__ __forceinline__ unsigned pair(float x, float y) {
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(y), "f"(x));
    return pair;
  }
};

struct RoundedFloat16 {
  using Type = __half;
  static __device__ __forceinline__ Type stored(float value) { return __float2half_rn(value); }
  static __device__ __forceinline__ float of(float value) { return __half2float(stored(value)); }
  static __device__ __forceinline__ unsigned pair(float x, float y) {
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(y), "f"(x));
    return pair;
  }
};

}  // namespace tilespark
