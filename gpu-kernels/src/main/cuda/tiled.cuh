// Product of two matrices, either of them transposed in memory:
//
//   c[i, j] = alpha * sum over p of a(i, p) * b(p, j) + beta * c[i, j]     0 <= i < m, 0 <= j < n, 0 <= p < k
//
// All are row-major; a(i, p) is at i * lead_a + p, or at p * lead_a + i if A is stored transposed; likewise B. A launch
// computes `batches` products, or parts of one along K, at constant steps in memory.
//
// Threads to elements: a thread block computes a tile of ROWS x COLS of C, then strides by the grid. It goes through K
// in steps of STEP: panels of A and B are in shared memory as (STEP, ROWS) and (STEP, COLS), whichever way they are
// stored, so a transposed operand only changes the indices of the copies. For float, a thread sums THREAD_ROWS x
// THREAD_COLS elements in registers, in separate groups of 4 x 4; for double, a warp sums WARP_ROWS x WARP_COLS with
// the tensor cores' 8 x 8 x 4 product, which rounds as IEEE 754 says.
//
// Accuracy: `chunk` products are one chain of fused multiply-adds, which is then added to the total, a second chain.
// The planner takes chunk near sqrt(k), so neither chain is longer than about sqrt(k), and the error is at most about 2
// u sqrt(k) |a||b| for any input.
//
// Bytes: A is read col_tiles times and B row_tiles times, mostly from L2: neighbouring thread blocks compute tiles of
// GROUP neighbouring rows of tiles. C is written once, and read once unless beta is 0.
//
// Shared memory: two stages of both panels; while one is multiplied, the next is copied (cp.async, element by element,
// since rows begin anywhere). Rows are padded, so that copies down a column spread over the banks. Elements outside A
// or B are 0 on both sides: 0 * 0 adds nothing, not even NaN.
//
// Source: the usual blocked product; the two levels of summation are Higham, "Accuracy and Stability of Numerical
// Algorithms", section 4.2 (blocked summation).

#pragma once

#include "factors.cuh"
#include "index.cuh"

namespace tilespark {

// Fields in the order of MultiplyStrategy.Tiled.launch.
template <typename T>
struct MultiplyArguments {
  const T* a;
  const T* b;
  T* c;
  u64 m;
  u64 k;
  u64 n;
  u64 lead_a;
  u64 lead_b;
  u64 lead_c;
  u64 transpose_a;  // 1: A is stored as (k, m)
  u64 transpose_b;  // 1: B is stored as (n, k)
  Factors<T> factors;
  u64 chunk;        // steps of K in a chain, a multiple of STEP; if less than STEP, panels are that short
  u64 row_tiles;
  u64 col_tiles;
  u64 batches;
  u64 step_a;  // elements from one product to the next
  u64 step_b;
  u64 step_c;
  u64 last_k;  // k of the last product or part
};

// MultiplyStrategy.Tiled.STEP in Java.
constexpr u32 STEP = 16;
// Rows of tiles in a group; the tiles of a group are computed column by column.
constexpr u64 GROUP = 8;

// Starts a copy of one element to shared memory; writes zero if it is not `inside`.
template <typename T>
__device__ __forceinline__ void copy_async(T* to, const T* from, bool inside) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const u32 target = static_cast<u32>(__cvta_generic_to_shared(to));
  const u32 bytes = inside ? sizeof(T) : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(target), "l"(from),
               "n"(sizeof(T)), "r"(bytes)
               : "memory");
#else
  *to = inside ? *from : T(0);
#endif
}

// Waits for all copies of this thread.
__device__ __forceinline__ void wait_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// c (8 x 8) += a (8 x 4) * b (4 x 8). `a` and `b` point to their first elements in shared memory, (4, pitch). A thread
// holds row lane / 4 of c, columns 2 * (lane % 4) and the next.
__device__ __forceinline__ void multiply_8x8x4(double (&c)[2], const double* a, const double* b,
                                               u32 pitch_a, u32 pitch_b, u32 lane) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const double a_piece = a[(lane % 4) * pitch_a + lane / 4];
  const double b_piece = b[(lane % 4) * pitch_b + lane / 4];
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(c[0]), "+d"(c[1])
      : "d"(a_piece), "d"(b_piece));
#else
#pragma unroll
  for (u32 p = 0; p < 4; p++) {
    const double left = a[p * pitch_a + lane / 4];
    c[0] = fma(left, b[p * pitch_b + lane % 4 * 2], c[0]);
    c[1] = fma(left, b[p * pitch_b + lane % 4 * 2 + 1], c[1]);
  }
#endif
}

// Copies of one operand to shared memory; x is a row of op(A) or a column of op(B).
template <typename T, u32 EXTENT, u32 PITCH, u32 THREADS>
struct Panel {
  static constexpr u32 COPIES = EXTENT * STEP / THREADS;
  static_assert(THREADS % EXTENT == 0 && THREADS % STEP == 0, "a thread keeps to one x or one step");

  const T* from;  // this thread's first element of the next panel
  u64 from_step;  // elements between this thread's copies
  u64 advance;    // elements between panels
  u32 x;          // x of this thread's first copy, in the tile
  u32 x_step;
  u32 p;  // p of this thread's first copy, in the panel
  u32 p_step;
  u32 x_left;  // how many x of the tile are inside, at most EXTENT

  // `steps_contiguous`: p is the contiguous axis, else x is. A panel has `steps` steps of K.
  __device__ __forceinline__ void locate(const T* base, u64 lead, bool steps_contiguous,
                                         u64 first, u64 extent, u32 steps) {
    const u32 t = threadIdx.x;
    if (steps_contiguous) {
      p = t % STEP;
      x = t / STEP;
      p_step = 0;
      x_step = THREADS / STEP;
      from = base + (first + x) * lead + p;
      from_step = x_step * lead;
      advance = steps;
    } else {
      p = t / EXTENT;
      x = t % EXTENT;
      p_step = THREADS / EXTENT;
      x_step = 0;
      from = base + p * lead + first + x;
      from_step = p_step * lead;
      advance = steps * lead;
    }
    const u64 left = extent - first;
    x_left = left < EXTENT ? static_cast<u32>(left) : EXTENT;
  }

  // Starts the copies of the next panel, of which `p_left` steps are inside.
  __device__ __forceinline__ void load(T* to, u32 p_left) {
    T* target = to + p * PITCH + x;
    const u32 target_step = p_step * PITCH + x_step;
    if (x_left == EXTENT && p_left == STEP) {
#pragma unroll
      for (u32 copy = 0; copy < COPIES; copy++) {
        copy_async(target + copy * target_step, from + copy * from_step, true);
      }
    } else {
#pragma unroll
      for (u32 copy = 0; copy < COPIES; copy++) {
        const bool inside = x + copy * x_step < x_left && p + copy * p_step < p_left;
        // Outside, any valid address does; nothing is read there.
        copy_async(target + copy * target_step, inside ? from + copy * from_step : from, inside);
      }
    }
    from += advance;
  }
};

// A thread's sums for float: groups of 4 x 4, spread over the tile.
template <u32 ROWS_, u32 COLS_, u32 THREAD_ROWS, u32 THREAD_COLS>
struct FloatSums {
  using T = float;
  static constexpr u32 ROWS = ROWS_;
  static constexpr u32 COLS = COLS_;
  static constexpr u32 THREADS = ROWS / THREAD_ROWS * (COLS / THREAD_COLS);
  // Padding shifts each line of a panel by 4 banks: copies down a column of 8 steps have no bank conflicts.
  static constexpr u32 PITCH_A = ROWS + 4;
  static constexpr u32 PITCH_B = COLS + 4;
  // A warp is 4 x 8 threads, so that each of its reads of A and of B is one access.
  static constexpr u32 WARP_COLUMNS = COLS / THREAD_COLS / 8;
  static constexpr u32 ROW_STRIDE = ROWS / THREAD_ROWS * 4;  // between groups
  static constexpr u32 COL_STRIDE = COLS / THREAD_COLS * 4;

  u32 row;
  u32 col;
  float part[THREAD_ROWS][THREAD_COLS];
  float total[THREAD_ROWS][THREAD_COLS];

  __device__ __forceinline__ void begin() {
    const u32 warp = threadIdx.x / 32;
    const u32 lane = threadIdx.x % 32;
    row = (warp / WARP_COLUMNS * 4 + lane / 8) * 4;
    col = (warp % WARP_COLUMNS * 8 + lane % 8) * 4;
#pragma unroll
    for (u32 r = 0; r < THREAD_ROWS; r++) {
#pragma unroll
      for (u32 c = 0; c < THREAD_COLS; c++) {
        part[r][c] = 0;
        total[r][c] = 0;
      }
    }
  }

  __device__ __forceinline__ void multiply(const float* a, const float* b) {
#pragma unroll
    for (u32 p = 0; p < STEP; p++) {
      float left[THREAD_ROWS];
      float right[THREAD_COLS];
#pragma unroll
      for (u32 r = 0; r < THREAD_ROWS; r += 4) {
        const float4 four =
            *reinterpret_cast<const float4*>(a + p * PITCH_A + row + r / 4 * ROW_STRIDE);
        left[r] = four.x;
        left[r + 1] = four.y;
        left[r + 2] = four.z;
        left[r + 3] = four.w;
      }
#pragma unroll
      for (u32 c = 0; c < THREAD_COLS; c += 4) {
        const float4 four =
            *reinterpret_cast<const float4*>(b + p * PITCH_B + col + c / 4 * COL_STRIDE);
        right[c] = four.x;
        right[c + 1] = four.y;
        right[c + 2] = four.z;
        right[c + 3] = four.w;
      }
#pragma unroll
      for (u32 r = 0; r < THREAD_ROWS; r++) {
#pragma unroll
        for (u32 c = 0; c < THREAD_COLS; c++) {
          part[r][c] = fmaf(left[r], right[c], part[r][c]);
        }
      }
    }
  }

  // Ends a chain: adds it to the total.
  __device__ __forceinline__ void promote() {
#pragma unroll
    for (u32 r = 0; r < THREAD_ROWS; r++) {
#pragma unroll
      for (u32 c = 0; c < THREAD_COLS; c++) {
        total[r][c] += part[r][c];
        part[r][c] = 0;
      }
    }
  }

  // `to` is the tile's first element; rows_left and cols_left of the tile are inside.
  __device__ __forceinline__ void write(float* to, u64 lead, u32 rows_left, u32 cols_left,
                                        const Factors<float>& factors) const {
    const bool vectors = !factors.reads_c() && cols_left == COLS && lead % 4 == 0 &&
                         reinterpret_cast<u64>(to) % sizeof(float4) == 0;
#pragma unroll
    for (u32 r = 0; r < THREAD_ROWS; r++) {
      const u32 at_row = row + r / 4 * ROW_STRIDE + r % 4;
      if (at_row >= rows_left) {
        continue;
      }
      float* const line = to + at_row * lead;
#pragma unroll
      for (u32 c = 0; c < THREAD_COLS; c += 4) {
        const u32 at_col = col + c / 4 * COL_STRIDE;
        if (vectors) {
          *reinterpret_cast<float4*>(line + at_col) =
              make_float4(factors.alpha * total[r][c], factors.alpha * total[r][c + 1],
                          factors.alpha * total[r][c + 2], factors.alpha * total[r][c + 3]);
        } else {
#pragma unroll
          for (u32 e = 0; e < 4; e++) {
            if (at_col + e < cols_left) {
              factors.store(line + at_col + e, total[r][c + e]);
            }
          }
        }
      }
    }
  }
};

// A thread's sums for double: its share of the warp's pieces of 8 x 8.
template <u32 ROWS_, u32 COLS_, u32 WARP_ROWS, u32 WARP_COLS>
struct DoubleSums {
  using T = double;
  static constexpr u32 ROWS = ROWS_;
  static constexpr u32 COLS = COLS_;
  static constexpr u32 THREADS = ROWS / WARP_ROWS * (COLS / WARP_COLS) * 32;
  // Half a warp reads four steps of four neighbours, without bank conflicts.
  static constexpr u32 PITCH_A = ROWS + 4;
  static constexpr u32 PITCH_B = COLS + 4;

  u32 lane;
  u32 row;  // first row of the warp, in the tile
  u32 col;
  double part[WARP_ROWS / 8][WARP_COLS / 8][2];
  double total[WARP_ROWS / 8][WARP_COLS / 8][2];

  __device__ __forceinline__ void begin() {
    const u32 warp = threadIdx.x / 32;
    lane = threadIdx.x % 32;
    row = warp / (COLS / WARP_COLS) * WARP_ROWS;
    col = warp % (COLS / WARP_COLS) * WARP_COLS;
#pragma unroll
    for (u32 r = 0; r < WARP_ROWS / 8; r++) {
#pragma unroll
      for (u32 c = 0; c < WARP_COLS / 8; c++) {
#pragma unroll
        for (u32 e = 0; e < 2; e++) {
          part[r][c][e] = 0;
          total[r][c][e] = 0;
        }
      }
    }
  }

  __device__ __forceinline__ void multiply(const double* a, const double* b) {
#pragma unroll
    for (u32 p = 0; p < STEP; p += 4) {
#pragma unroll
      for (u32 r = 0; r < WARP_ROWS / 8; r++) {
#pragma unroll
        for (u32 c = 0; c < WARP_COLS / 8; c++) {
          multiply_8x8x4(part[r][c], a + p * PITCH_A + row + r * 8, b + p * PITCH_B + col + c * 8,
                         PITCH_A, PITCH_B, lane);
        }
      }
    }
  }

  __device__ __forceinline__ void promote() {
#pragma unroll
    for (u32 r = 0; r < WARP_ROWS / 8; r++) {
#pragma unroll
      for (u32 c = 0; c < WARP_COLS / 8; c++) {
#pragma unroll
        for (u32 e = 0; e < 2; e++) {
          total[r][c][e] += part[r][c][e];
          part[r][c][e] = 0;
        }
      }
    }
  }

  __device__ __forceinline__ void write(double* to, u64 lead, u32 rows_left, u32 cols_left,
                                        const Factors<double>& factors) const {
#pragma unroll
    for (u32 r = 0; r < WARP_ROWS / 8; r++) {
      const u32 at_row = row + r * 8 + lane / 4;
      if (at_row >= rows_left) {
        continue;
      }
      double* const line = to + at_row * lead;
#pragma unroll
      for (u32 c = 0; c < WARP_COLS / 8; c++) {
        const u32 at_col = col + c * 8 + lane % 4 * 2;
#pragma unroll
        for (u32 e = 0; e < 2; e++) {
          if (at_col + e < cols_left) {
            factors.store(line + at_col + e, total[r][c][e]);
          }
        }
      }
    }
  }
};

// FLAGGED: computes only the tiles that multiply_split skipped. Flags are ordered by product; each covers 2 x 2 tiles,
// bit 0x1 the upper two and 0x10000 the lower two.
template <typename Sums, bool FLAGGED>
__device__ __forceinline__ void multiply_tiles(const MultiplyArguments<typename Sums::T>& arguments,
                                               const u32* flags) {
  using T = typename Sums::T;
  constexpr u32 STAGE_A = STEP * Sums::PITCH_A;
  constexpr u32 STAGE_B = STEP * Sums::PITCH_B;
  __shared__ __align__(16) T shared_a[2 * STAGE_A];
  __shared__ __align__(16) T shared_b[2 * STAGE_B];

  const u32 steps = arguments.chunk < STEP ? static_cast<u32>(arguments.chunk) : STEP;
  const u64 each = arguments.row_tiles * arguments.col_tiles;
  const u64 tiles = arguments.batches * each;
  for (u64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    // locate
    u64 in_group = tile;
    const u64 batch = divide(in_group, each);
    const u64 first_row_tile = divide(in_group, GROUP * arguments.col_tiles) * GROUP;
    const u64 group_rows =
        arguments.row_tiles - first_row_tile < GROUP ? arguments.row_tiles - first_row_tile : GROUP;
    const u64 col_tile = divide(in_group, group_rows);
    const u64 row_tile = first_row_tile + in_group;
    if (FLAGGED) {
      const u64 flag = (batch * ((arguments.row_tiles + 1) / 2) + row_tile / 2) * ((arguments.col_tiles + 1) / 2) +
                       col_tile / 2;
      if ((flags[flag] >> (row_tile % 2 * 16) & 1) == 0) {
        continue;
      }
    }
    Panel<T, Sums::ROWS, Sums::PITCH_A, Sums::THREADS> panel_a;
    Panel<T, Sums::COLS, Sums::PITCH_B, Sums::THREADS> panel_b;
    panel_a.locate(arguments.a + batch * arguments.step_a, arguments.lead_a,
                   !arguments.transpose_a, row_tile * Sums::ROWS, arguments.m, steps);
    panel_b.locate(arguments.b + batch * arguments.step_b, arguments.lead_b,
                   arguments.transpose_b, col_tile * Sums::COLS, arguments.n, steps);
    Sums sums;
    sums.begin();

    // load the first panels
    u64 k_left = batch + 1 == arguments.batches ? arguments.last_k : arguments.k;
    u32 p_left = k_left < steps ? static_cast<u32>(k_left) : steps;
    panel_a.load(shared_a, p_left);
    panel_b.load(shared_b, p_left);

    u64 chain_left = arguments.chunk;
    for (u32 stage = 0; k_left > 0; stage ^= 1) {
      // synchronise: these panels have arrived, and nobody reads the previous ones any more
      wait_copies();
      __syncthreads();

      // load the next
      k_left -= p_left;
      p_left = k_left < steps ? static_cast<u32>(k_left) : steps;
      if (k_left > 0) {
        panel_a.load(shared_a + (stage ^ 1) * STAGE_A, p_left);
        panel_b.load(shared_b + (stage ^ 1) * STAGE_B, p_left);
      }

      // multiply
      sums.multiply(shared_a + stage * STAGE_A, shared_b + stage * STAGE_B);
      chain_left -= steps;
      if (chain_left == 0 || k_left == 0) {
        sums.promote();
        chain_left = arguments.chunk;
      }
    }

    // store
    const u64 rows_left = arguments.m - row_tile * Sums::ROWS;
    const u64 cols_left = arguments.n - col_tile * Sums::COLS;
    T* const to = arguments.c + batch * arguments.step_c +
                  row_tile * Sums::ROWS * arguments.lead_c + col_tile * Sums::COLS;
    sums.write(to, arguments.lead_c,
               rows_left < Sums::ROWS ? static_cast<u32>(rows_left) : Sums::ROWS,
               cols_left < Sums::COLS ? static_cast<u32>(cols_left) : Sums::COLS,
               arguments.factors);
    __syncthreads();  // the next tile's first panels overwrite the last ones
  }
}

}  // namespace tilespark
