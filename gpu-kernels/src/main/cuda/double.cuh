// Product of double matrices on the tensor cores of sm_90:
//
//   c[i, j] = sum over p of a(i, p) * b(p, j)  (+ c[i, j])        0 <= i < m, 0 <= j < n, 0 <= p < k
//
// Either operand may be stored across, K down its columns; it is read as it is.
//
// Threads to elements: the warps of a thread block make a tile of ROWS x COLS of C, each WARP_ROWS x
// WARP_COLS, with products of 16 x 8 x 16; one more warp starts the copies. Thread t + 4 g of a warp has
// of each product the k = 4 s + t, s = 0..3, of rows and columns g. Which place of the panel that is, is
// ours to say as long as A and B agree: p = 2 t + s % 2 + 8 (s / 2), and rows g of panels along K are
// the rows g / 2 + 4 (g % 2), so that reads of swizzled panels meet no bank twice.
//
// Accuracy: products and sums are those of IEEE 754. A sum of `chunk` products is one chain; sums of
// chunks are added in shared memory, a second chain (see tiled.cuh).
//
// Shared memory: STAGES stages of both panels, (ROWS, 16) or (ROWS / 16, 16, 16) where stored across, rows
// of 128 bytes swizzled by the copy engine; then, where K is longer than a chunk, the totals.
#pragma once

#include "split.cuh"

namespace tilespark {

// Fields in the order of the host's launch.
struct DoubleArguments {
  CUtensorMap a;  // as stored; boxes of ROWS x 16, or 16 x 16 where stored across
  CUtensorMap b;
  double* c;
  u64 m;
  u64 n;
  u64 lead_c;
  u64 panels;  // of K
  u64 chunk;   // panels to a chain
  u64 row_tiles;
  u64 col_tiles;
  u64 accumulate;
  u64 batches;
  u64 a_step;  // rows of a as stored from one product to the next; K a multiple of 16 where across
  u64 b_step;
  u64 c_step;  // elements
};

template <bool ACROSS_A_, bool ACROSS_B_, u32 ROWS_, u32 COLS_, u32 WARP_ROWS_, u32 WARP_COLS_, u32 STAGES_,
          bool TOTALS_>
struct DoubleShape {
  static constexpr bool ACROSS_A = ACROSS_A_;
  static constexpr bool ACROSS_B = ACROSS_B_;
  static constexpr u32 ROWS = ROWS_;
  static constexpr u32 COLS = COLS_;
  static constexpr u32 WARP_ROWS = WARP_ROWS_;
  static constexpr u32 WARP_COLS = WARP_COLS_;
  static constexpr u32 STAGES = STAGES_;
  static constexpr bool TOTALS = TOTALS_;
  static constexpr u32 PANEL = 16;
  static constexpr u32 WARPS = ROWS / WARP_ROWS * (COLS / WARP_COLS);
  // A warpgroup more starts the copies: registers are handed over by warpgroups.
  static constexpr u32 THREADS = 32 * WARPS + 128;
  static constexpr u32 REGISTERS = WARPS == 8 ? 240 : 208;
  static constexpr u32 STAGE_BYTES = (ROWS + COLS) * 128;
  static constexpr u32 SUMS = WARP_ROWS * WARP_COLS / 32;
  static constexpr u32 SHARED_BYTES =
      STAGES * STAGE_BYTES + 1024 + (TOTALS ? ROWS * COLS * 8 : 0);
};

// Copies one operand's panel: EXTENT of x from `first` on, 16 steps of K from `p` on, of the matrix that
// begins at the row `rows_before`.
template <bool ACROSS, u32 EXTENT>
__device__ __forceinline__ void copy_panel(char* to, const CUtensorMap* map, int first, int p, int rows_before,
                                           u64* barrier) {
  if (ACROSS) {
    for (u32 i = 0; i < EXTENT / 16; i++) {
      copy_box(to + i * 2048, map, first + static_cast<int>(i) * 16, rows_before + p, barrier);
    }
  } else {
    copy_box(to, map, p, rows_before + first, barrier);
  }
}

// Which of 8 rows, or columns, those numbered g of a product are.
template <bool ACROSS>
__device__ __forceinline__ u32 place_of(u32 g) {
  return ACROSS ? g : g / 2 + g % 2 * 4;
}

// Reads this thread's 4 values of K at x (a multiple of 8) + its row.
template <bool ACROSS>
__device__ __forceinline__ void read_steps(double (&values)[4], u32 panel, u32 x, u32 lane) {
  const u32 g = lane / 4;
  const u32 t = lane % 4;
  if (ACROSS) {
    const u32 in_box = x % 16 + g;
    const u32 box = panel + x / 16 * 2048;
#pragma unroll
    for (u32 s = 0; s < 4; s++) {
      const u32 p = 2 * t + s % 2;
      const u32 at = box + (p + s / 2 * 8) * 128 + ((in_box / 2) ^ p) * 16 + in_box % 2 * 8;
      asm volatile("ld.shared.f64 %0, [%1];" : "=d"(values[s]) : "r"(at));
    }
  } else {
    const u32 row = place_of<false>(g);
    const u32 at = panel + (x + row) * 128 + (t ^ row) * 16;
    asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(values[0]), "=d"(values[1]) : "r"(at));
    asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(values[2]), "=d"(values[3]) : "r"(at ^ 64));
  }
}

__device__ __forceinline__ void product_16x8x16(double (&c)[4], const double (&above)[4],
                                                const double (&below)[4], const double (&b)[4]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3},"
      " {%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(above[0]), "d"(below[0]), "d"(above[1]), "d"(below[1]), "d"(above[2]), "d"(below[2]),
        "d"(above[3]), "d"(below[3]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
}

template <typename Shape>
__device__ __forceinline__ void multiply_double(const DoubleArguments& arguments) {
  constexpr u32 STAGES = Shape::STAGES;
  constexpr u32 HIGH = Shape::WARP_ROWS / 16;
  constexpr u32 WIDE = Shape::WARP_COLS / 8;
  extern __shared__ char dynamic[];
  char* const shared = dynamic + (1024 - shared_address(dynamic) % 1024) % 1024;
  __shared__ u64 full[STAGES];
  __shared__ u64 empty[STAGES];
  if (threadIdx.x == 0) {
    for (u32 stage = 0; stage < STAGES; stage++) {
      barrier_init(&full[stage], 1);
      barrier_init(&empty[stage], Shape::WARPS);
    }
    barrier_init_fence();
  }
  __syncthreads();

  const u64 tiles = arguments.batches * arguments.row_tiles * arguments.col_tiles;
  const u32 warp = threadIdx.x / 32;
  const u32 lane = threadIdx.x % 32;
  Ring<STAGES> ring;
  if (warp >= Shape::WARPS) {
    // copy
    registers_down<24>();
    if (warp == Shape::WARPS && lane == 0) {
      prefetch_map(&arguments.a);
      prefetch_map(&arguments.b);
      for (u64 number = blockIdx.x; number < tiles; number += gridDim.x) {
        const TilePlace place = tile_place(number, arguments.row_tiles, arguments.col_tiles);
        const int rows_a = static_cast<int>(place.batch * arguments.a_step);
        const int rows_b = static_cast<int>(place.batch * arguments.b_step);
        const int row = static_cast<int>(place.row * Shape::ROWS);
        const int col = static_cast<int>(place.col * Shape::COLS);
        for (u64 panel = 0; panel < arguments.panels; panel++) {
          char* const a = shared + ring.stage * Shape::STAGE_BYTES;
          const int p = static_cast<int>(panel * Shape::PANEL);
          barrier_wait(&empty[ring.stage], ring.parity ^ 1);
          barrier_expect(&full[ring.stage], Shape::STAGE_BYTES);
          copy_panel<Shape::ACROSS_A, Shape::ROWS>(a, &arguments.a, row, p, rows_a, &full[ring.stage]);
          copy_panel<Shape::ACROSS_B, Shape::COLS>(a + Shape::ROWS * 128, &arguments.b, col, p, rows_b,
                                                   &full[ring.stage]);
          ring.next();
        }
      }
    }
  } else {
  // multiply
  registers_up<Shape::REGISTERS>();
  const u32 in_row = warp / (Shape::COLS / Shape::WARP_COLS) * Shape::WARP_ROWS;
  const u32 in_col = warp % (Shape::COLS / Shape::WARP_COLS) * Shape::WARP_COLS;
  double* const totals =
      reinterpret_cast<double*>(shared + STAGES * Shape::STAGE_BYTES) + threadIdx.x;
  constexpr u32 APART = 32 * Shape::WARPS;  // between a thread's totals
  for (u64 number = blockIdx.x; number < tiles; number += gridDim.x) {
    const TilePlace place = tile_place(number, arguments.row_tiles, arguments.col_tiles);
    double sums[HIGH][WIDE][4];
    bool chained = false;
    u64 chain = 0;
#pragma unroll
    for (u32 r = 0; r < HIGH; r++) {
#pragma unroll
      for (u32 c = 0; c < WIDE; c++) {
#pragma unroll
        for (u32 e = 0; e < 4; e++) {
          sums[r][c][e] = 0;
        }
      }
    }
    for (u64 panel = 0; panel < arguments.panels; panel++) {
      if (Shape::TOTALS && chain == arguments.chunk) {
#pragma unroll
        for (u32 r = 0; r < HIGH; r++) {
#pragma unroll
          for (u32 c = 0; c < WIDE; c++) {
#pragma unroll
            for (u32 e = 0; e < 4; e++) {
              double* const total = totals + ((r * WIDE + c) * 4 + e) * APART;
              *total = chained ? *total + sums[r][c][e] : sums[r][c][e];
              sums[r][c][e] = 0;
            }
          }
        }
        chained = true;
        chain = 0;
      }
      chain++;
      barrier_wait(&full[ring.stage], ring.parity);
      const u32 a = shared_address(shared + ring.stage * Shape::STAGE_BYTES);
      const u32 b = a + Shape::ROWS * 128;
      double right[WIDE][4];
#pragma unroll
      for (u32 c = 0; c < WIDE; c++) {
        read_steps<Shape::ACROSS_B>(right[c], b, in_col + c * 8, lane);
      }
#pragma unroll
      for (u32 r = 0; r < HIGH; r++) {
        double above[4];
        double below[4];
        read_steps<Shape::ACROSS_A>(above, a, in_row + r * 16, lane);
        read_steps<Shape::ACROSS_A>(below, a, in_row + r * 16 + 8, lane);
#pragma unroll
        for (u32 c = 0; c < WIDE; c++) {
          product_16x8x16(sums[r][c], above, below, right[c]);
        }
      }
      release<1>(&empty[ring.stage], lane);
      ring.next();
    }

    // store
    const u64 first_row = place.row * Shape::ROWS + in_row + place_of<Shape::ACROSS_A>(lane / 4);
#pragma unroll
    for (u32 r = 0; r < HIGH; r++) {
#pragma unroll
      for (u32 half = 0; half < 2; half++) {
        const u64 row = first_row + r * 16 + half * 8;
        if (row >= arguments.m) {
          continue;
        }
        double* const line = arguments.c + place.batch * arguments.c_step + row * arguments.lead_c;
#pragma unroll
        for (u32 c = 0; c < WIDE; c++) {
#pragma unroll
          for (u32 e = 0; e < 2; e++) {
            const u64 col = place.col * Shape::COLS + in_col + c * 8 +
                            place_of<Shape::ACROSS_B>(lane % 4 * 2 + e);
            if (col < arguments.n) {
              double sum = sums[r][c][half * 2 + e];
              if (Shape::TOTALS && chained) {
                sum += totals[((r * WIDE + c) * 4 + half * 2 + e) * APART];
              }
              line[col] = arguments.accumulate ? line[col] + sum : sum;
            }
          }
        }
      }
    }
  }
  }
}

}  // namespace tilespark
