// Values rounded to tf32, bfloat16 or float16 where they are read and used as float, ties to even; what float16
// cannot hold becomes infinite, and NaN stays NaN.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace tilespark {

// Of NaN a bit is set that is not cut off.
__device__ __forceinline__ float rounded_tf32(float value) {
  const unsigned bits = __float_as_uint(value);
  const unsigned size = bits & 0x7fffffffu;
  return size < 0x7f800000u   ? __uint_as_float((bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u)
         : size > 0x7f800000u ? __uint_as_float(bits | 0x400000u)
                              : value;
}

// What a kernel takes for its values: these.
struct AsStored {
  template <typename T>
  __device__ __forceinline__ T one(T value) const {
    return value;
  }
  template <typename T, unsigned ROWS, unsigned COLS>
  __device__ __forceinline__ void all(T (&)[ROWS][COLS]) const {}
};

// Or these; one kernel for all precisions, since what rounds while memory is read costs no time.
struct Rounded {
  enum Kind : unsigned long long { TF32 = 1, BFLOAT16 = 2, FLOAT16 = 3 };  // SkinnySteps.rounding

  unsigned long long kind;

  __device__ __forceinline__ float one(float value) const {
    return kind == TF32       ? rounded_tf32(value)
           : kind == BFLOAT16 ? __bfloat162float(__float2bfloat16_rn(value))
                              : __half2float(__float2half_rn(value));
  }

  // In registers, asked for its kind once; COLS is even.
  template <unsigned ROWS, unsigned COLS>
  __device__ __forceinline__ void all(float (&values)[ROWS][COLS]) const {
    static_assert(COLS % 2 == 0, "pairs");
    if (kind == TF32) {
#pragma unroll
      for (unsigned at = 0; at < ROWS * COLS; at++) {
        values[at / COLS][at % COLS] = rounded_tf32(values[at / COLS][at % COLS]);
      }
    } else if (kind == BFLOAT16) {
#pragma unroll
      for (unsigned at = 0; at < ROWS * COLS; at += 2) {
        float* const pair = &values[at / COLS][at % COLS];
        const float2 rounded = __bfloat1622float2(__floats2bfloat162_rn(pair[0], pair[1]));
        pair[0] = rounded.x;
        pair[1] = rounded.y;
      }
    } else {
#pragma unroll
      for (unsigned at = 0; at < ROWS * COLS; at += 2) {
        float* const pair = &values[at / COLS][at % COLS];
        const float2 rounded = __half22float2(__floats2half2_rn(pair[0], pair[1]));
        pair[0] = rounded.x;
        pair[1] = rounded.y;
      }
    }
  }
};

}  // namespace tilespark
