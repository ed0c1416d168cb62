// The lab's own way to make what multiply_split leaves alone; repair_split.cu is what ships.
#pragma once

#include "split.cuh"

namespace tilespark {

// Makes what multiply_split left alone, in plain arithmetic, of A and B as they are stored.
//
// Threads to elements: a thread block takes quarters of tiles, 64 x 64, every gridDim-th, and skips those
// that are done; 256 threads sum 4 x 4 each, in the order of K. Shared memory (16, 68) of each operand.
//
// Fields in the order of Split::mend in lab.cu.
struct BadArguments {
  const float* a;  // (m, k), or (k, m) if a_across
  const float* b;  // (n, k), or (k, n) if b_across
  float* c;
  const u32* bad_tiles;  // as in SplitArguments
  u64 m;
  u64 n;
  u64 k;
  u64 lead_a;
  u64 lead_b;
  u64 lead_c;
  u64 a_across;
  u64 b_across;
  u64 row_tiles;
  u64 col_tiles;
  Factors<float> factors;
  u64 batches;
  u64 a_step;  // elements from one product to the next
  u64 b_step;
  u64 c_step;
};

constexpr u32 BAD_THREADS = 256;
constexpr u32 BAD_TILE = 64;
constexpr u32 BAD_PANEL = 16;
// Whole chunks of 16 bytes; rows 4 banks on.
using BadPanel = float[BAD_PANEL][BAD_TILE + 4];

// Copies (64, 16) of an operand from (x, p) on; 0 outside.
__device__ __forceinline__ void load_bad(BadPanel& to, const float* from, u64 lead, bool across, u64 x, u64 p,
                                         u64 extent, u64 k) {
#pragma unroll
  for (u32 i = threadIdx.x; i < BAD_TILE * BAD_PANEL; i += BAD_THREADS) {
    const u32 in_x = across ? i % BAD_TILE : i / BAD_PANEL;
    const u32 in_p = across ? i / BAD_TILE : i % BAD_PANEL;
    const bool inside = x + in_x < extent && p + in_p < k;
    to[in_p][in_x] = !inside ? 0 : across ? from[(p + in_p) * lead + x + in_x] : from[(x + in_x) * lead + p + in_p];
  }
}

__device__ __forceinline__ void multiply_bad(const BadArguments& arguments) {
  __shared__ BadPanel a;
  __shared__ BadPanel b;
  __shared__ u32 found[BAD_THREADS];
  __shared__ u32 count;
  const u64 each = arguments.row_tiles * arguments.col_tiles;
  const u64 quarters = 4 * arguments.batches * each;
  const u32 tx = threadIdx.x % 16;
  const u32 ty = threadIdx.x / 16;
  for (u64 first = blockIdx.x; first < quarters; first += static_cast<u64>(gridDim.x) * BAD_THREADS) {
    // find
    if (threadIdx.x == 0) {
      count = 0;
    }
    __syncthreads();
    const u64 mine = first + static_cast<u64>(threadIdx.x) * gridDim.x;
    if (mine < quarters && (arguments.bad_tiles[mine / 4] >> (mine / 2 % 2 * 16) & 1) != 0) {
      found[atomicAdd(&count, 1)] = static_cast<u32>(mine);
    }
    __syncthreads();
    for (u32 i = 0; i < count; i++) {
      const u64 tile = found[i] / 4;
      const u64 batch = tile / each;
      const u64 row = tile % each / arguments.col_tiles * 128 + found[i] / 2 % 2 * BAD_TILE;
      const u64 col = tile % arguments.col_tiles * 128 + found[i] % 2 * BAD_TILE;
      if (row >= arguments.m || col >= arguments.n) {
        continue;
      }
      float sums[4][4] = {};
      for (u64 p = 0; p < arguments.k; p += BAD_PANEL) {
        load_bad(a, arguments.a + batch * arguments.a_step, arguments.lead_a, arguments.a_across != 0, row, p, arguments.m, arguments.k);
        load_bad(b, arguments.b + batch * arguments.b_step, arguments.lead_b, arguments.b_across != 0, col, p, arguments.n, arguments.k);
        __syncthreads();
#pragma unroll
        for (u32 q = 0; q < BAD_PANEL; q++) {
          const float4 x = *reinterpret_cast<const float4*>(&a[q][ty * 4]);
          const float4 y = *reinterpret_cast<const float4*>(&b[q][tx * 4]);
          const float left[4] = {x.x, x.y, x.z, x.w};
          const float right[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
          for (u32 e = 0; e < 16; e++) {
            sums[e / 4][e % 4] = fmaf(left[e / 4], right[e % 4], sums[e / 4][e % 4]);
          }
        }
        __syncthreads();
      }
#pragma unroll
      for (u32 e = 0; e < 16; e++) {
        const u64 i_row = row + ty * 4 + e / 4;
        const u64 i_col = col + tx * 4 + e % 4;
        if (i_row < arguments.m && i_col < arguments.n) {
          float* const to = arguments.c + batch * arguments.c_step + i_row * arguments.lead_c + i_col;
          arguments.factors.store(to, sums[e / 4][e % 4]);
        }
      }
    }
    __syncthreads();
  }
}

}  // namespace tilespark
