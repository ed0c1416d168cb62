// Products with one small extent, at memory bandwidth:
//
//   c[x, j] = alpha * sum over p of big(x, p) * small(p, j) + beta * c[x, j]
//                                                       0 <= x < extent, 0 <= j < count
//
// Three kernels for float and double, any leading dimension and alignment. skinny_depth can also round operands while
// it reads them, with sums in float; narrow.cuh does so for the other two:
//
//   skinny_along   big is stored along K, (x, p) at x * lead + p: a warp computes SKINNY_ROWS of x, its lanes share p
//   skinny_across  big is stored across, (x, p) at p * lead + x: a thread computes two of x and loops over p
//   skinny_depth   the small extent is K: the sum over p < k <= DEPTH of a(i, p) * b(p, j); a thread block computes a
//                  tile of DEPTH_ROWS x DEPTH_COLS, a thread two columns of it
//
// A product with few columns is (big, small) = (op(A), op(B)); one with few rows is (op(B)^T, op(A)^T) with the strides
// of c swapped. If x makes too few thread blocks, K is split into parts; each writes to scratch, which skinny_sum sums.
//
// Pieces of x are numbered first, then parts; a thread block takes every gridDim.x-th number.
//
// Bytes: big is read once, small once per piece of x (from L2), c is written once; skinny_depth mainly writes c.
//
// Accuracy: no chain of additions is longer than part_k / 32 + 5 (along) or chain + part_k / chain (across), before the
// sum of the parts; the host keeps the total near 2 sqrt(k) (SkinnySteps). skinny_depth makes DEPTH / 4 + 2 additions
// per element, every fourth step in one chain (DEPTH = 4: three, every second step). The order depends on extents and
// storage alone, not on addresses.
//
// Shared memory: SKINNY_CHUNK steps of small, (COUNT, SKINNY_CHUNK) or (SKINNY_CHUNK, COUNT); skinny_depth: the tile's
// rows of a, (DEPTH_ROWS, DEPTH).
//
// Source: the usual matrix-vector product; sums in parts are Higham, "Accuracy and Stability of Numerical Algorithms",
// section 4.2 (blocked summation).
#pragma once

#include "factors.cuh"
#include "rounding.cuh"

namespace tilespark {

using u32 = unsigned int;
using u64 = unsigned long long;

// Fields in the order of SkinnySteps.addMultiply.
template <typename T>
struct SkinnyArguments {
  const T* big;
  const T* small;
  T* c;  // or scratch, (parts, extent, count)
  u64 extent;
  u64 k;
  u64 count;    // at most COUNT
  u64 lead;     // leading dimension of big
  u64 small_k;  // stride of p in small, in elements
  u64 small_j;  // stride of j in small
  u64 c_x;
  u64 c_j;
  u64 part_k;     // steps of K in a part, a multiple of SKINNY_CHUNK
  u64 part_step;  // elements of c from one part to the next
  u64 chain;      // steps of K in a chain of skinny_across, a multiple of SKINNY_AHEAD, below 2^32
  u64 pieces;     // pieces of x
  u64 parts;
  Factors<T> factors;
};

constexpr u32 SKINNY_THREADS = 256;
constexpr u32 SKINNY_CHUNK = 256;
constexpr u32 SKINNY_ROWS = 4;
constexpr u32 SKINNY_ALONG = SKINNY_THREADS / 32 * SKINNY_ROWS;  // x per thread block
constexpr u32 SKINNY_ACROSS = 2 * SKINNY_THREADS;
constexpr u32 SKINNY_AHEAD = 8;  // steps that a thread of skinny_across reads ahead, for two x

// Computes one piece of x for one part of K.
template <typename T, u32 COUNT>
__device__ __forceinline__ void skinny_along_piece(const SkinnyArguments<T>& arguments, u64 piece, u64 part) {
  constexpr u32 R = SKINNY_ROWS;
  __shared__ T small[COUNT][SKINNY_CHUNK];
  const u32 lane = threadIdx.x % 32;
  const u64 x = (piece * u64{SKINNY_THREADS / 32} + threadIdx.x / 32) * R;
  const u64 begin = part * arguments.part_k;
  const u64 end = arguments.k - begin < arguments.part_k ? arguments.k : begin + arguments.part_k;
  const T* rows[R];
#pragma unroll
  for (u32 r = 0; r < R; r++) {
    // Rows past the end read the last row.
    const u64 row = x + r < arguments.extent ? x + r : arguments.extent - 1;
    rows[r] = arguments.big + row * arguments.lead + lane;
  }
  T sums[R][COUNT] = {};
  for (u64 from = begin; from < end; from += SKINNY_CHUNK) {
    const u32 steps = end - from < SKINNY_CHUNK ? static_cast<u32>(end - from) : SKINNY_CHUNK;
    __syncthreads();
    for (u32 at = threadIdx.x; at < COUNT * SKINNY_CHUNK; at += SKINNY_THREADS) {
      // Neighbouring threads read neighbouring elements.
      const bool k_first = arguments.small_k == 1 || COUNT == 1;
      const u32 p = k_first ? at % SKINNY_CHUNK : at / COUNT;
      const u32 j = k_first ? at / SKINNY_CHUNK : at % COUNT;
      const bool inside = p < steps && j < arguments.count;
      small[j][p] = inside ? arguments.small[(from + p) * arguments.small_k + j * arguments.small_j] : T(0);
    }
    __syncthreads();
    if (steps == SKINNY_CHUNK) {
#pragma unroll
      for (u32 half = 0; half < SKINNY_CHUNK; half += SKINNY_CHUNK / 2) {
        T values[R][SKINNY_CHUNK / 64];
#pragma unroll
        for (u32 i = 0; i < SKINNY_CHUNK / 64; i++) {
#pragma unroll
          for (u32 r = 0; r < R; r++) {
            values[r][i] = __ldcs(rows[r] + from + half + i * 32);
          }
        }
#pragma unroll
        for (u32 i = 0; i < SKINNY_CHUNK / 64; i++) {
#pragma unroll
          for (u32 j = 0; j < COUNT; j++) {
            const T factor = small[j][half + i * 32 + lane];
#pragma unroll
            for (u32 r = 0; r < R; r++) {
              sums[r][j] += values[r][i] * factor;
            }
          }
        }
      }
    } else {
      for (u32 p = lane; p < steps; p += 32) {
#pragma unroll
        for (u32 r = 0; r < R; r++) {
          const T value = rows[r][from + p - lane];
#pragma unroll
          for (u32 j = 0; j < COUNT; j++) {
            sums[r][j] += value * small[j][p];
          }
        }
      }
    }
  }
  T* const c = arguments.c + part * arguments.part_step;
#pragma unroll
  for (u32 r = 0; r < R; r++) {
#pragma unroll
    for (u32 j = 0; j < COUNT; j++) {
      T sum = sums[r][j];
#pragma unroll
      for (u32 far = 16; far > 0; far /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, far);
      }
      if (lane == (r * COUNT + j) % 32 && x + r < arguments.extent && j < arguments.count) {
        T* const to = c + (x + r) * arguments.c_x + j * arguments.c_j;
        arguments.factors.store(to, sum);
      }
    }
  }
}

// Launch: SKINNY_THREADS threads, any grid.
template <typename T, u32 COUNT>
__device__ __forceinline__ void skinny_along(const SkinnyArguments<T>& arguments) {
  const u64 all = arguments.pieces * arguments.parts;
  for (u64 number = blockIdx.x; number < all; number += gridDim.x) {
    skinny_along_piece<T, COUNT>(arguments, number % arguments.pieces, number / arguments.pieces);
  }
}

// Computes one piece of x for one part of K.
template <typename T, u32 COUNT>
__device__ __forceinline__ void skinny_across_piece(const SkinnyArguments<T>& arguments, u64 piece, u64 part) {
  __shared__ __align__(16) T small[SKINNY_CHUNK][COUNT];
  const u64 x = piece * u64{SKINNY_ACROSS} + threadIdx.x;
  const u64 begin = part * arguments.part_k;
  const u64 end = arguments.k - begin < arguments.part_k ? arguments.k : begin + arguments.part_k;
  // Threads past the last x read the last x.
  const u64 last = arguments.extent - 1;
  const T* const first = arguments.big + (x < last ? x : last);
  const u64 apart = (x + SKINNY_THREADS < last ? x + SKINNY_THREADS : last) - (x < last ? x : last);
  T sums[2][COUNT] = {};
  T totals[2][COUNT] = {};
  u32 left = static_cast<u32>(arguments.chain);  // steps left in this chain
  for (u64 from = begin; from < end; from += SKINNY_CHUNK) {
    const u32 steps = end - from < SKINNY_CHUNK ? static_cast<u32>(end - from) : SKINNY_CHUNK;
    __syncthreads();
    for (u32 at = threadIdx.x; at < COUNT * SKINNY_CHUNK; at += SKINNY_THREADS) {
      const bool k_first = arguments.small_k == 1 || COUNT == 1;
      const u32 p = k_first ? at % SKINNY_CHUNK : at / COUNT;
      const u32 j = k_first ? at / SKINNY_CHUNK : at % COUNT;
      const bool inside = p < steps && j < arguments.count;
      small[p][j] = inside ? arguments.small[(from + p) * arguments.small_k + j * arguments.small_j] : T(0);
    }
    __syncthreads();
    const T* line = first + from * arguments.lead;
    u32 p = 0;
    for (; p + SKINNY_AHEAD <= steps; p += SKINNY_AHEAD) {
      T values[SKINNY_AHEAD][2];
#pragma unroll
      for (u32 i = 0; i < SKINNY_AHEAD; i++) {
        values[i][0] = __ldcs(line);
        values[i][1] = __ldcs(line + apart);
        line += arguments.lead;
      }
#pragma unroll
      for (u32 i = 0; i < SKINNY_AHEAD; i++) {
#pragma unroll
        for (u32 j = 0; j < COUNT; j++) {
          sums[0][j] += values[i][0] * small[p + i][j];
          sums[1][j] += values[i][1] * small[p + i][j];
        }
      }
      left -= SKINNY_AHEAD;
      if (left == 0) {
        left = static_cast<u32>(arguments.chain);
#pragma unroll
        for (u32 j = 0; j < COUNT; j++) {
          totals[0][j] += sums[0][j];
          totals[1][j] += sums[1][j];
          sums[0][j] = sums[1][j] = 0;
        }
      }
    }
    for (; p < steps; p++, line += arguments.lead) {
#pragma unroll
      for (u32 j = 0; j < COUNT; j++) {
        sums[0][j] += line[0] * small[p][j];
        sums[1][j] += line[apart] * small[p][j];
      }
    }
  }
  T* const c = arguments.c + part * arguments.part_step;
#pragma unroll
  for (u32 v = 0; v < 2; v++) {
    const u64 row = x + v * SKINNY_THREADS;
#pragma unroll
    for (u32 j = 0; j < COUNT; j++) {
      if (row < arguments.extent && j < arguments.count) {
        T* const to = c + row * arguments.c_x + j * arguments.c_j;
        const T sum = totals[v][j] + sums[v][j];
        arguments.factors.store(to, sum);
      }
    }
  }
}

// Launch: SKINNY_THREADS threads, any grid.
template <typename T, u32 COUNT>
__device__ __forceinline__ void skinny_across(const SkinnyArguments<T>& arguments) {
  const u64 all = arguments.pieces * arguments.parts;
  for (u64 number = blockIdx.x; number < all; number += gridDim.x) {
    skinny_across_piece<T, COUNT>(arguments, number % arguments.pieces, number / arguments.pieces);
  }
}

// Fields in the order of SkinnySteps.depth.
template <typename T>
struct DepthArguments {
  const T* a;
  const T* b;
  T* c;  // row-major
  u64 m;
  u64 k;  // at most DEPTH
  u64 n;
  u64 a_row;  // stride of the rows of op(A), in elements
  u64 a_k;    // stride of p in op(A)
  u64 b_k;
  u64 b_col;
  u64 lead_c;
  u64 row_tiles;
  u64 col_tiles;
  Factors<T> factors;
};

constexpr u32 DEPTH_ROWS = 64;
constexpr u32 DEPTH_COLS = 2 * SKINNY_THREADS;

// Computes one tile; tiles are numbered along rows. DEPTH is a multiple of 4.
template <typename T, u32 DEPTH, typename Rounding>
__device__ __forceinline__ void skinny_depth_tile(const DepthArguments<T>& arguments, u64 number) {
  __shared__ __align__(16) T rows[DEPTH_ROWS][DEPTH];
  const u64 row = number / arguments.col_tiles * DEPTH_ROWS;
  const u64 col = number % arguments.col_tiles * DEPTH_COLS + threadIdx.x;
  __syncthreads();  // the previous tile is finished
  for (u32 at = threadIdx.x; at < DEPTH_ROWS * DEPTH; at += SKINNY_THREADS) {
    const bool k_first = arguments.a_k == 1;
    const u32 i = k_first ? at / DEPTH : at % DEPTH_ROWS;
    const u32 p = k_first ? at % DEPTH : at / DEPTH_ROWS;
    const bool inside = row + i < arguments.m && p < arguments.k;
    rows[i][p] = inside ? Rounding::of(arguments.a[(row + i) * arguments.a_row + p * arguments.a_k]) : T(0);
  }
  T factors[2][DEPTH];
#pragma unroll
  for (u32 v = 0; v < 2; v++) {
    const u64 j = col + v * SKINNY_THREADS;
#pragma unroll
    for (u32 p = 0; p < DEPTH; p++) {
      const bool inside = j < arguments.n && p < arguments.k;
      factors[v][p] = inside ? Rounding::of(arguments.b[p * arguments.b_k + j * arguments.b_col]) : T(0);
    }
  }
  __syncthreads();
  const u32 height = arguments.m - row < DEPTH_ROWS ? static_cast<u32>(arguments.m - row) : DEPTH_ROWS;
  T* to = arguments.c + row * arguments.lead_c + col;
  const bool first = col < arguments.n;
  const bool second = col + SKINNY_THREADS < arguments.n;
#pragma unroll 4
  for (u32 i = 0; i < height; i++, to += arguments.lead_c) {
    constexpr u32 CHAINS = DEPTH > 4 ? 4 : 2;
    T chains[2][CHAINS] = {};
#pragma unroll
    for (u32 p = 0; p < DEPTH; p++) {
      chains[0][p % CHAINS] += rows[i][p] * factors[0][p];
      chains[1][p % CHAINS] += rows[i][p] * factors[1][p];
    }
    T sums[2];
#pragma unroll
    for (u32 v = 0; v < 2; v++) {
      sums[v] = chains[v][0] + chains[v][1];
      if (CHAINS > 2) {
        sums[v] += chains[v][CHAINS - 2] + chains[v][CHAINS - 1];
      }
    }
    if (first) {
      arguments.factors.store(to, sums[0]);
    }
    if (second) {
      arguments.factors.store(to + SKINNY_THREADS, sums[1]);
    }
  }
}

// Launch: SKINNY_THREADS threads, any grid.
template <typename T, u32 DEPTH, typename Rounding = AsStored>
__device__ __forceinline__ void skinny_depth(const DepthArguments<T>& arguments) {
  const u64 all = arguments.row_tiles * arguments.col_tiles;
  for (u64 number = blockIdx.x; number < all; number += gridDim.x) {
    skinny_depth_tile<T, DEPTH, Rounding>(arguments, number);
  }
}

// Sums parts from left to right; neighbouring threads take neighbouring columns:
//
//   c[i, j] = alpha * (scratch[0, i, j] + scratch[1, i, j] + ...) + beta * c[i, j]
//
// Fields in the order of SkinnySteps.addSum.
template <typename T>
struct SkinnySumArguments {
  const T* scratch;  // (parts, rows, cols), without gaps
  T* c;
  u64 rows;
  u64 cols;
  u64 row_step;  // elements of c from one row to the next
  u64 col_step;
  u64 parts;
  Factors<T> factors;
};

// Launch: SKINNY_THREADS threads, any grid.
template <typename T>
__device__ __forceinline__ void skinny_sum(const SkinnySumArguments<T>& arguments) {
  const u64 plane = arguments.rows * arguments.cols;
  for (u64 at = blockIdx.x * u64{SKINNY_THREADS} + threadIdx.x; at < plane;
       at += u64{gridDim.x} * SKINNY_THREADS) {
    T sum = arguments.scratch[at];
    for (u64 part = 1; part < arguments.parts; part++) {
      sum += arguments.scratch[part * plane + at];
    }
    T* const to = arguments.c + at / arguments.cols * arguments.row_step + at % arguments.cols * arguments.col_step;
    arguments.factors.store(to, sum);
  }
}

}  // namespace tilespark
