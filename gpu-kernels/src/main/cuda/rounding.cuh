// Float values as other precisions have them, ties to even: what float16 cannot hold becomes infinite, and NaN
// stays NaN.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace tilespark {

// As they are.
struct AsStored {
  template <typename T>
  static __device__ __forceinline__ T of(T value) {
    return value;
  }
};

struct RoundedTf32 {
  // Of NaN a bit is set that is not cut off.
  static __device__ __forceinline__ float of(float value) {
    const unsigned bits = __float_as_uint(value);
    const unsigned size = bits & 0x7fffffffu;
    return size < 0x7f800000u   ? __uint_as_float((bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u)
           : size > 0x7f800000u ? __uint_as_float(bits | 0x400000u)
                                : value;
  }
};

struct RoundedBfloat16 {
  static __device__ __forceinline__ float of(float value) { return __bfloat162float(__float2bfloat16_rn(value)); }
};

struct RoundedFloat16 {
  static __device__ __forceinline__ float of(float value) { return __half2float(__float2half_rn(value)); }
};

}  // namespace tilespark
