// Copies operands into the layout of the tensor core kernels: row-major with K along the rows, whichever way they are
// stored, rounded or split as the kernel needs. Rows are padded with zeros to whole panels of 128 bytes, and zero rows
// are appended.
//
//   to[x, p] = round(from(x, p))     0 <= x < extent, 0 <= p < k; 0 where x or p is outside
//
// from(x, p) is at x * lead + p (along K), or at p * lead + x if `across`. x counts rows of op(A) or columns of op(B).
// One launch copies A, B or both.
//
// Split writes three planes of bfloat16, value = to[0] + to[plane] + to[2 plane]. A value too small to be split becomes
// NaN; so do its sums, and split.cuh leaves them to repair_split. SplitMixed also permutes each 32 steps of K: step 8 t
// + 4 s + 2 h + e goes to place 16 s + 8 h + 2 t + e (t < 4; s, h, e < 2), so that a thread of split.cuh can read its
// part of A, stored along K, in whole 16 bytes.
//
// Threads to elements: a unit is 4 places of a row of `to`. Along: a thread block copies 1024 consecutive units at a
// time, neighbouring threads neighbouring units. Across: it copies a tile of 64 x 64; each thread reads squares of 4 x
// 4, or 4 steps of K of single columns if rows are unaligned, and writes them to shared memory with K along the rows;
// the rest is as along.
//
// Bytes: reads the operand once; writes as much, 1.5 times as much for Split, half for the 16-bit kinds.
//
// Shared memory: across, (64, 16) units, unit q of row x at q ^ (x ^ x / 4) % 8: eight neighbouring threads meet all
// banks when they write to every row, to every fourth row, or read a row.
#pragma once

#include "hopper.cuh"
#include "rounding.cuh"

namespace tilespark {

struct PackOperand {
  u64 extent;
  u64 k;
  u64 lead;
  u64 across;
  u64 padded_extent;  // multiple of 64
  u64 padded_k;       // multiple of 32
  u64 batches;        // operands, stacked in `to`; 0: nothing to copy
  u64 from_step;      // elements from one operand to the next
};

// Fields in the order of PackedSteps.pack.
struct PackArguments {
  const float* from_a;
  void* to_a;
  const float* from_b;
  void* to_b;
  PackOperand a;
  PackOperand b;
};

constexpr u32 PACK = 64;
constexpr u32 PACK_THREADS = 256;
constexpr u32 PACK_BLOCKS = 6;  // thread blocks per multiprocessor, at least
// Units in flight per thread, and units of a piece.
constexpr u32 PACK_UNITS = 4;
constexpr u32 PACK_PIECE = PACK_THREADS * PACK_UNITS;

// Magnitudes from 2^-100 on split into three normal parts. Values that rounding makes infinite have infinite or NaN
// sums, which split.cuh detects.
constexpr u32 LEAST_BITS = 27u << 23;

// A rank by magnitude: the bits doubled, less 1. Zero wraps to the highest rank.
__device__ __forceinline__ u32 size_rank(float value) { return __float_as_uint(value) * 2 - 1; }
constexpr u32 LEAST_RANK = LEAST_BITS * 2 - 1;

// Splits two values (x in the lower half) into three bfloat16 each, x = first + second + third: each is the rest after
// the previous ones, rounded to 8 bits. Three are always exact.
__device__ __forceinline__ void cut(float x, float y, u32& first, u32& second, u32& third) {
  first = RoundedBfloat16::pair(x, y);
  x -= __uint_as_float(first << 16);
  y -= __uint_as_float(first & 0xffff0000u);
  second = RoundedBfloat16::pair(x, y);
  x -= __uint_as_float(second << 16);
  y -= __uint_as_float(second & 0xffff0000u);
  third = RoundedBfloat16::pair(x, y);
}

// Output forms: each writes the 4 values of a unit into one plane or three.
struct PackRaw {
  using Type = float;
  static constexpr bool MIXED = false;
  static __device__ __forceinline__ void put(Type* to, u64, float4 v) { *reinterpret_cast<float4*>(to) = v; }
};
struct PackTf32 {
  using Type = float;
  static constexpr bool MIXED = false;
  static __device__ __forceinline__ void put(Type* to, u64, float4 v) {
    *reinterpret_cast<float4*>(to) =
        make_float4(RoundedTf32::of(v.x), RoundedTf32::of(v.y), RoundedTf32::of(v.z), RoundedTf32::of(v.w));
  }
};
struct PackHalf {
  using Type = __half;
  static constexpr bool MIXED = false;
  static __device__ __forceinline__ void put(Type* to, u64, float4 v) {
    *reinterpret_cast<uint2*>(to) = make_uint2(RoundedFloat16::pair(v.x, v.y), RoundedFloat16::pair(v.z, v.w));
  }
};
struct PackBfloat16 {
  using Type = __nv_bfloat16;
  static constexpr bool MIXED = false;
  static __device__ __forceinline__ void put(Type* to, u64, float4 v) {
    *reinterpret_cast<uint2*>(to) = make_uint2(RoundedBfloat16::pair(v.x, v.y), RoundedBfloat16::pair(v.z, v.w));
  }
};
struct PackSplit {
  using Type = __nv_bfloat16;
  static constexpr bool MIXED = false;
  static __device__ __forceinline__ float large(float value) {
    return size_rank(value) < LEAST_RANK ? __uint_as_float(0x7fffffffu) : value;
  }
  static __device__ __forceinline__ void put(Type* to, u64 plane, float4 v) {
    uint2 parts[3];
    cut(large(v.x), large(v.y), parts[0].x, parts[1].x, parts[2].x);
    cut(large(v.z), large(v.w), parts[0].y, parts[1].y, parts[2].y);
#pragma unroll
    for (u32 i = 0; i < 3; i++) {
      *reinterpret_cast<uint2*>(to + i * plane) = parts[i];
    }
  }
};
struct PackSplitMixed : PackSplit {
  static constexpr bool MIXED = true;
};

// The step of K whose value goes to place 4 q; the step of place 4 q + 2 is NEXT further.
template <bool MIXED>
struct PackOrder {
  static constexpr u32 NEXT = MIXED ? 8 : 2;
  static __device__ __forceinline__ u32 step(u32 q) {
    return MIXED ? q / 8 * 32 + q % 2 * 16 + q / 4 % 2 * 4 + q / 2 % 2 * 2 : q * 4;
  }
};

// n / d; most numbers fit 32 bits.
__device__ __forceinline__ u64 pack_divide(u64 n, u64 d) {
  return (n | d) >> 32 == 0 ? static_cast<u32>(n) / static_cast<u32>(d) : n / d;
}

// Copies a piece of an operand stored along K. EVEN: rows begin at multiples of 16 bytes and k is a multiple of 4.
template <typename Form, bool EVEN>
__device__ __forceinline__ void pack_along(const PackOperand& of, const float* from, typename Form::Type* to,
                                           u64 number) {
  using Order = PackOrder<Form::MIXED>;
  const u64 plane = of.batches * of.padded_extent * of.padded_k;
  const u32 in_row = static_cast<u32>(of.padded_k / 4);
  const u64 first = number * PACK_PIECE;
  const u64 first_row = pack_divide(first, in_row);
  const u32 behind = static_cast<u32>(first - first_row * in_row) + threadIdx.x;

  // load
  float4 values[PACK_UNITS];
#pragma unroll
  for (u32 i = 0; i < PACK_UNITS; i++) {
    const u32 unit = behind + i * PACK_THREADS;
    const u32 down = unit / in_row;
    const u32 p = Order::step(unit - down * in_row);
    u64 x = first_row + down;
    const float* line = from;
    if (of.batches > 1) {
      const u64 batch = pack_divide(x, of.padded_extent);
      x -= batch * of.padded_extent;
      line += batch * of.from_step;
    }
    line += x * of.lead + p;
    // Past the last unit, x is past the extent, or batch past the batches.
    const bool inside = x < of.extent && (first + threadIdx.x + i * PACK_THREADS) * 4 < plane;
    float4 value = make_float4(0, 0, 0, 0);
    if (EVEN) {
      if (!Form::MIXED) {
        if (inside && p < of.k) {
          value = *reinterpret_cast<const float4*>(line);
        }
      } else {
        float2 low = make_float2(0, 0);
        float2 high = make_float2(0, 0);
        if (inside && p < of.k) {
          low = *reinterpret_cast<const float2*>(line);
        }
        if (inside && p + Order::NEXT < of.k) {
          high = *reinterpret_cast<const float2*>(line + Order::NEXT);
        }
        value = make_float4(low.x, low.y, high.x, high.y);
      }
    } else {
      if (inside && p < of.k) value.x = line[0];
      if (inside && p + 1 < of.k) value.y = line[1];
      if (inside && p + Order::NEXT < of.k) value.z = line[Order::NEXT];
      if (inside && p + Order::NEXT + 1 < of.k) value.w = line[Order::NEXT + 1];
    }
    values[i] = value;
  }

  // store
#pragma unroll
  for (u32 i = 0; i < PACK_UNITS; i++) {
    const u64 unit = first + threadIdx.x + i * PACK_THREADS;
    if (unit * 4 < plane) {
      Form::put(to + unit * 4, plane, values[i]);
    }
  }
}

using PackTile = float4[PACK][PACK / 4];

__device__ __forceinline__ u32 pack_place(u32 x, u32 q) { return q ^ ((x ^ x / 4) % 8); }

// Copies a tile of an operand stored across. EVEN: rows begin at multiples of 16 bytes and extent is a multiple of 4.
template <typename Form, bool EVEN>
__device__ __forceinline__ void pack_across(const PackOperand& of, const float* from, typename Form::Type* to,
                                            PackTile& tile, u64 number) {
  using Order = PackOrder<Form::MIXED>;
  const u64 plane = of.batches * of.padded_extent * of.padded_k;
  const u64 tiles_k = (of.padded_k + PACK - 1) / PACK;
  const u64 line_of_tiles = pack_divide(number, tiles_k);
  const u64 first_p = (number - line_of_tiles * tiles_k) * PACK;
  const u64 tiles_x = of.padded_extent / PACK;
  const u64 batch = of.batches > 1 ? pack_divide(line_of_tiles, tiles_x) : 0;
  const u64 first_x = (line_of_tiles - batch * tiles_x) * PACK;
  from += batch * of.from_step + first_p * of.lead + first_x;

  // load
  const u32 x = EVEN ? threadIdx.x % 16 * 4 : threadIdx.x % PACK;
  float4 values[4];
#pragma unroll
  for (u32 i = 0; i < 4; i++) {
    if (EVEN) {
      const u32 p = threadIdx.x / 16 * 4 + i;
      values[i] = make_float4(0, 0, 0, 0);
      if (first_p + p < of.k && first_x + x < of.extent) {
        values[i] = *reinterpret_cast<const float4*>(from + p * of.lead + x);
      }
    } else {
      const u32 p = i * 16 + threadIdx.x / PACK * 4;
      float v[4];
#pragma unroll
      for (u32 e = 0; e < 4; e++) {
        v[e] = 0;
        if (first_p + p + e < of.k && first_x + x < of.extent) {
          v[e] = from[(p + e) * of.lead + x];
        }
      }
      values[i] = make_float4(v[0], v[1], v[2], v[3]);
    }
  }
  __syncthreads();  // the previous tile is read
  if (EVEN) {
    const u32 q = threadIdx.x / 16;
    tile[x][pack_place(x, q)] = make_float4(values[0].x, values[1].x, values[2].x, values[3].x);
    tile[x + 1][pack_place(x + 1, q)] = make_float4(values[0].y, values[1].y, values[2].y, values[3].y);
    tile[x + 2][pack_place(x + 2, q)] = make_float4(values[0].z, values[1].z, values[2].z, values[3].z);
    tile[x + 3][pack_place(x + 3, q)] = make_float4(values[0].w, values[1].w, values[2].w, values[3].w);
  } else {
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
      tile[x][pack_place(x, i * 4 + threadIdx.x / PACK)] = values[i];
    }
  }
  __syncthreads();

  // store
  to += (batch * of.padded_extent + first_x) * of.padded_k + first_p;
#pragma unroll
  for (u32 i = 0; i < PACK * PACK / 4; i += PACK_THREADS) {
    const u32 down = (i + threadIdx.x) / (PACK / 4);
    const u32 q = threadIdx.x % (PACK / 4);
    if (first_p + q * 4 < of.padded_k) {
      float4 value;
      if (!Form::MIXED) {
        value = tile[down][pack_place(down, q)];
      } else {
        const u32 step = Order::step(q);
        const u32 half = step / 2 % 2;
        const float2 low = reinterpret_cast<const float2*>(&tile[down][pack_place(down, step / 4)])[half];
        const float2 high = reinterpret_cast<const float2*>(&tile[down][pack_place(down, (step + Order::NEXT) / 4)])[half];
        value = make_float4(low.x, low.y, high.x, high.y);
      }
      Form::put(to + down * of.padded_k + q * 4, plane, value);
    }
  }
}

// Copies every gridDim-th piece of an operand from piece `number` on; returns the first piece of the next operand.
template <typename Form>
__device__ __forceinline__ u64 pack_operand(const PackOperand& of, const float* from, void* out, PackTile& tile,
                                            u64 number) {
  using Type = typename Form::Type;
  Type* const to = static_cast<Type*>(out);
  const bool even = reinterpret_cast<u64>(from) % 16 == 0 && of.lead % 4 == 0 && of.from_step % 4 == 0 &&
                    (of.across != 0 ? of.extent : of.k) % 4 == 0;
  const u64 pieces = of.across != 0
                         ? of.batches * (of.padded_extent / PACK) * ((of.padded_k + PACK - 1) / PACK)
                         : (of.batches * of.padded_extent * of.padded_k / 4 + PACK_PIECE - 1) / PACK_PIECE;
  if (of.across != 0) {
    if (even) {
      for (; number < pieces; number += gridDim.x) pack_across<Form, true>(of, from, to, tile, number);
    } else {
      for (; number < pieces; number += gridDim.x) pack_across<Form, false>(of, from, to, tile, number);
    }
  } else if (even) {
    for (; number < pieces; number += gridDim.x) pack_along<Form, true>(of, from, to, number);
  } else {
    for (; number < pieces; number += gridDim.x) pack_along<Form, false>(of, from, to, number);
  }
  return number - pieces;
}

template <typename FormA, typename FormB>
__device__ __forceinline__ void pack(const PackArguments& arguments) {
  __shared__ PackTile tile;
  const u64 number = pack_operand<FormA>(arguments.a, arguments.from_a, arguments.to_a, tile, blockIdx.x);
  pack_operand<FormB>(arguments.b, arguments.from_b, arguments.to_b, tile, number);
#if __CUDA_ARCH__ >= 900
  // The kernel of the product may be launched now; it waits for this one.
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace tilespark
