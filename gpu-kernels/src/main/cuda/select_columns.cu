// For each row of a tile, selects the columns that may be among the results (kernels.select.ColumnSelection):
//
//   estimate = tile[i][j] * scale[j] + shift[j]
//   error    = norms[i] * norms[j] <= largest ? norms[i] * per_norm[j] + errors[j] + errors[i] : infinity
//
// A column is dropped if estimate + error < least[i]. If only the `wanted` best of a row are needed, it is also dropped
// if `wanted` columns of its segment have an estimate - error above its estimate + error. NaN drops nothing. An upper
// bound of all errors in a row spares their computation: a column is dropped if its estimate < pass[i], which is least[i]
// less that bound.
//
// Threads to elements: a thread block takes a segment of COLS columns of one row, then strides by the grid; thread t
// has the columns t + THREADS * n. The `wanted`-th largest estimate - error is found bit by bit, from the highest: each
// step counts the numbers at or above a trial value. The numbers are first rounded down to float, so the result is a
// lower bound.
//
// Bytes: the tile is read once, scale and shift once per row, other bounds only where estimates do not suffice; eight
// bytes per segment and four per selected column are written.
//
// Shared memory: two words per warp.
//
// Source: nothing borrowed.

#include "index.cuh"

namespace tilespark {

constexpr u32 ALL_LANES = 0xffffffffu;
constexpr u32 LANES = 32;

// Fields in the order of SelectionPlan.launch: three pointers, then words.
struct SelectArguments {
  const void* tile;   // (rows, cols), row-major
  const double* bounds;  // per row: norms, errors, least, pass; per column: scale, shift, per_norm, errors, norms
  u64* found;         // a count; then first place and count of each segment, u32 each; then columns, u32 each
  u64 rows;
  u64 cols;
  u64 wanted;         // 0: all columns not below least
  u64 capacity;       // columns that `found` has room for
  double largest;
};

// Sums over a thread block. Calls alternate between two halves of the shared words, so one barrier per call suffices.
template <u32 WARPS>
struct BlockSum {
  u32 (&words)[2][WARPS];
  u32 half;

  // Sums `number`, which is equal in all lanes of a warp, over the warps; `before` is the sum over earlier warps.
  __device__ __forceinline__ u32 of_warps(u32 number, u32& before) {
    const u32 warp = threadIdx.x / LANES;
    if (threadIdx.x % LANES == 0) {
      words[half][warp] = number;
    }
    __syncthreads();
    u32 sum = 0;
    before = 0;
#pragma unroll
    for (u32 w = 0; w < WARPS; w++) {
      before = w == warp ? sum : before;
      sum += words[half][w];
    }
    half ^= 1;
    return sum;
  }

  __device__ __forceinline__ u32 of_threads(u32 number) {
#pragma unroll
    for (u32 step = LANES / 2; step > 0; step /= 2) {
      number += __shfl_xor_sync(ALL_LANES, number, step);
    }
    u32 before;
    return of_warps(number, before);
  }
};

// Maps floats to integers in the same order, NaN to 0.
__device__ __forceinline__ u32 order(float x) {
  const u32 bits = __float_as_uint(x);
  return x != x ? 0 : (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
}

// The inverse of order(): the float, or NaN for 0.
__device__ __forceinline__ double in_order(u32 number) {
  return __uint_as_float((number >> 31) != 0 ? number ^ 0x80000000u : ~number);
}

template <typename T, u32 COLS, u32 THREADS>
__device__ __forceinline__ void select_columns(const SelectArguments& arguments) {
  constexpr u32 EACH = COLS / THREADS;
  constexpr u32 WARPS = THREADS / LANES;
  static_assert(EACH <= 32, "a thread marks its columns in one word");
  __shared__ u32 words[2][WARPS];
  __shared__ u64 reserved;
  BlockSum<WARPS> sum = {words, 0};
  const u64 segments = (arguments.cols + COLS - 1) / COLS;
  const u64 pieces = arguments.rows * segments;
  u64* const __restrict__ total = arguments.found;
  u32* const __restrict__ heads = reinterpret_cast<u32*>(arguments.found + 1);
  u32* const __restrict__ found = heads + 2 * pieces;

  for (u64 piece = blockIdx.x; piece < pieces; piece += gridDim.x) {
    // locate
    const u64 row = piece / segments;
    const u64 first = piece % segments * COLS;
    const u32 cols = static_cast<u32>(min(static_cast<u64>(COLS), arguments.cols - first));
    const T* const __restrict__ elements = static_cast<const T*>(arguments.tile) + row * arguments.cols + first;
    const double* const __restrict__ of_rows = arguments.bounds + row;
    const double norm = of_rows[0];
    const double error_of_row = of_rows[arguments.rows];
    const double least = of_rows[2 * arguments.rows];
    const double pass = of_rows[3 * arguments.rows];
    const double* const __restrict__ scale = arguments.bounds + 4 * arguments.rows + first;
    const double* const __restrict__ shift = scale + arguments.cols;
    const double* const __restrict__ per_norm = shift + arguments.cols;
    const double* const __restrict__ errors = per_norm + arguments.cols;
    const double* const __restrict__ norms = errors + arguments.cols;
    const auto error = [&](u32 col) {
      return __dmul_rn(norm, norms[col]) <= arguments.largest
                 ? __dadd_rn(__dadd_rn(__dmul_rn(norm, per_norm[col]), errors[col]), error_of_row)
                 : __longlong_as_double(0x7ff0000000000000LL);
    };

    // estimate
    double estimates[EACH];
    u32 kept = 0;
#pragma unroll
    for (u32 n = 0; n < EACH; n++) {
      const u32 col = n * THREADS + threadIdx.x;
      estimates[n] = 0;
      if (col < cols) {
        const double estimate = __dadd_rn(__dmul_rn(static_cast<double>(elements[col]), scale[col]), shift[col]);
        estimates[n] = estimate;
        if (!(estimate < pass) && !(__dadd_rn(estimate, error(col)) < least)) {
          kept |= 1u << n;
        }
      }
    }
    u32 count = sum.of_threads(__popc(kept));

    // raise the lower bound
    if (arguments.wanted > 0 && count > arguments.wanted) {
      u32 numbers[EACH];
#pragma unroll
      for (u32 n = 0; n < EACH; n++) {
        const u32 col = n * THREADS + threadIdx.x;
        numbers[n] = (kept >> n & 1) != 0 ? order(__double2float_rd(__dsub_rn(estimates[n], error(col)))) : 0;
      }
      u32 raised = 0;
      for (u32 bit = 0x80000000u; bit != 0; bit >>= 1) {
        const u32 trial = raised | bit;
        u32 above = 0;
#pragma unroll
        for (u32 n = 0; n < EACH; n++) {
          above += numbers[n] >= trial ? 1 : 0;
        }
        if (sum.of_threads(above) >= arguments.wanted) {
          raised = trial;
        }
      }
      const double more = in_order(raised);
      if (more > least) {
#pragma unroll
        for (u32 n = 0; n < EACH; n++) {
          const u32 col = n * THREADS + threadIdx.x;
          if ((kept >> n & 1) != 0 && __dadd_rn(estimates[n], error(col)) < more) {
            kept &= ~(1u << n);
          }
        }
        count = sum.of_threads(__popc(kept));
      }
    }

    // store
    if (threadIdx.x == 0) {
      reserved = count == 0 ? 0 : atomicAdd(total, static_cast<u64>(count));
      heads[2 * piece] = static_cast<u32>(reserved);
      heads[2 * piece + 1] = count;
    }
    __syncthreads();
    u64 place = reserved;
    if (count > 0 && place + count <= arguments.capacity) {
#pragma unroll
      for (u32 n = 0; n < EACH; n++) {
        const bool keep = (kept >> n & 1) != 0;
        const u32 lanes = __ballot_sync(ALL_LANES, keep);
        u32 before;
        const u32 all = sum.of_warps(__popc(lanes), before);
        if (keep) {
          const u32 lower = lanes & ((1u << threadIdx.x % LANES) - 1);
          found[place + before + __popc(lower)] = static_cast<u32>(first) + n * THREADS + threadIdx.x;
        }
        place += all;
      }
    }
  }
}

}  // namespace tilespark

// select_columns_w<width>_1x<columns of a segment>x<threads>
#define SELECT_COLUMNS(BYTES, TYPE, COLS, THREADS)                        \
  extern "C" __global__ void __launch_bounds__(THREADS)                   \
      select_columns_w##BYTES##_1x##COLS##x##THREADS(                     \
          const __grid_constant__ tilespark::SelectArguments arguments) { \
    tilespark::select_columns<TYPE, COLS, THREADS>(arguments);            \
  }

SELECT_COLUMNS(4, float, 4096, 256)
SELECT_COLUMNS(8, double, 4096, 256)
