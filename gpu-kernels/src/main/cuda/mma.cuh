// Product of matrices of half, bfloat16 or tf32 on the tensor cores of sm_80 and later, with sums in float:
//
//   c[i, j] = alpha * sum over p of a(i, p) * b(p, j) + beta * c[i, j]     0 <= i < m, 0 <= j < n, 0 <= p < k
//
// Both operands have K along their rows, as pack.cuh writes them; a row is a whole number of panels of 128 bytes.
//
// Threads to elements: a thread block computes tiles of ROWS x COLS, one after the other; a warp computes WARP_ROWS x
// WARP_COLS of each, with mma products of 16 x 8 x 32 bytes. Thread t + 4 g of a warp holds rows g and g + 8 of c,
// columns 2 t and the next.
//
// Accuracy: the tensor cores truncate sums. If PROMOTED, the sums of each stage are added in ordinary registers,
// rounded to nearest; else one chain of products is as long as K.
//
// Shared memory: STAGES stages of (ROWS, DEPTH bytes) and (COLS, DEPTH bytes), filled ahead by cp.async. Chunks of 16
// bytes are swizzled, so that copies and ldmatrix are free of bank conflicts.
//
// Bytes: A is read col_tiles times and B row_tiles times, mostly from L2; C is written once, and read once unless beta
// is 0.
//
// Source: NVIDIA, "PTX ISA" 9.0, sections 9.7.9 (cp.async) and 9.7.14 (ldmatrix).
#pragma once

#include "split.cuh"
#include "warp_product.cuh"

namespace tilespark {

// Fields in the order of PackedSteps.addMultiply.
struct MmaArguments {
  const void* a;  // (a_rows, all_panels * 128 bytes)
  const void* b;  // (b_rows, all_panels * 128 bytes)
  float* c;
  u64 m;
  u64 n;
  u64 lead_c;
  u64 a_rows;       // rows of all products
  u64 b_rows;
  u64 all_panels;   // panels in a row
  u64 panels;       // panels in K of a product or part; the last part may have fewer
  u64 row_tiles;
  u64 col_tiles;
  Factors<float> factors;
  u64 batches;      // independent products, or parts of one along K
  u64 a_step;       // rows of a from one product to the next
  u64 b_step;
  u64 c_step;       // elements of c
  u64 panel_step;   // panels from one part to the next; 0 for independent products
};

template <typename Kind_, u32 ROWS_, u32 COLS_, u32 WARP_ROWS_, u32 WARP_COLS_, u32 DEPTH_, u32 STAGES_, bool PROMOTED_>
struct MmaShape {
  using Kind = Kind_;
  static constexpr u32 ROWS = ROWS_;
  static constexpr u32 COLS = COLS_;
  static constexpr u32 WARP_ROWS = WARP_ROWS_;
  static constexpr u32 WARP_COLS = WARP_COLS_;
  static constexpr u32 DEPTH = DEPTH_;  // bytes of K in a stage
  static constexpr u32 STAGES = STAGES_;
  static constexpr bool PROMOTED = PROMOTED_;
  static constexpr u32 THREADS = ROWS / WARP_ROWS * (COLS / WARP_COLS) * 32;
  static constexpr u32 STAGE_BYTES = (ROWS + COLS) * DEPTH;
  static constexpr u32 SHARED_BYTES = STAGES * STAGE_BYTES;
  static_assert(WARP_ROWS % 16 == 0 && WARP_COLS % 16 == 0, "ldmatrix reads 16 rows");
  static_assert(DEPTH == 64 || DEPTH == 128, "two fragments take turns, and panels are of whole stages");
  static_assert(STAGES >= 2, "one is filled while another is read");
};

// Starts a copy of 16 bytes to shared memory.
__device__ __forceinline__ void copy_16(u32 to, const char* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <u32 PENDING>
__device__ __forceinline__ void copies_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}
// Reads four matrices of 8 rows of 16 bytes; lane l gives the address of row l % 8 of matrix l / 8.
__device__ __forceinline__ void read_matrices(u32 (&values)[4], u32 at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
               : "r"(at)
               : "memory");
}

// Swizzled rows of DEPTH bytes in shared memory: equal chunks of 8 neighbouring rows are in different banks.
template <u32 DEPTH>
struct MmaPanel {
  static constexpr u32 CHUNKS = DEPTH / 16;
  static constexpr u32 ROWS_OF_LINE = CHUNKS < 8 ? 8 / CHUNKS : 1;  // rows in 128 bytes
  static __device__ __forceinline__ u32 turn(u32 row) {
    return row / ROWS_OF_LINE % (CHUNKS < 8 ? CHUNKS : 8);
  }

  // Starts the copy of EXTENT rows from row `first` on. Rows past `last` are copies of row `last`; their products are
  // not stored.
  template <u32 EXTENT, u32 THREADS>
  static __device__ __forceinline__ void copy(u32 to, const char* from, u64 row_bytes, u32 first, u32 last) {
    constexpr u32 AT_ONCE = THREADS / CHUNKS;
    const u32 row = threadIdx.x / CHUNKS;
    const u32 chunk = threadIdx.x % CHUNKS;
    from += chunk * 16;
#pragma unroll
    for (u32 i = 0; i < EXTENT; i += AT_ONCE) {
      if (EXTENT % AT_ONCE == 0 || i + row < EXTENT) {
        copy_16(to + (i + row) * DEPTH + (chunk ^ turn(i + row)) * 16, from + min(first + i + row, last) * row_bytes);
      }
    }
  }
};

template <typename Shape>
__device__ __forceinline__ void multiply_mma(const MmaArguments& arguments) {
  using Kind = typename Shape::Kind;
  constexpr u32 STAGES = Shape::STAGES;
  constexpr u32 DEPTH = Shape::DEPTH;
  using Panel = MmaPanel<DEPTH>;
  constexpr u32 HIGH = Shape::WARP_ROWS / 16;
  constexpr u32 WIDE = Shape::WARP_COLS / 8;
  constexpr u32 STEPS = DEPTH / 32;  // products of 32 bytes in a stage
  extern __shared__ __align__(128) char dynamic[];
  const u32 shared = shared_address(dynamic);
  const u32 warp = threadIdx.x / 32;
  const u32 lane = threadIdx.x % 32;
  const u32 in_row = warp / (Shape::COLS / Shape::WARP_COLS) * Shape::WARP_ROWS;
  const u32 in_col = warp % (Shape::COLS / Shape::WARP_COLS) * Shape::WARP_COLS;
  // Each ldmatrix of a reads rows 0-7 and 8-15 at 16 bytes of K, then at the next 16 bytes; of b, columns 0-7 at both,
  // then columns 8-15 at both.
  const u32 a_row = in_row + lane % 16;
  const u32 b_row = in_col + lane % 8 + lane / 16 * 8;
  const u32 a_chunk = lane / 16;
  const u32 b_chunk = lane / 8 % 2;
  const u32 a_read = shared + a_row * DEPTH;
  const u32 b_read = shared + (Shape::ROWS + b_row) * DEPTH;
  const u32 a_turn = Panel::turn(a_row);
  const u32 b_turn = Panel::turn(b_row);

  const u64 row_bytes = arguments.all_panels * 128;
  const u32 last_a = static_cast<u32>(arguments.a_rows - 1);
  const u32 last_b = static_cast<u32>(arguments.b_rows - 1);
  const u64 tiles = arguments.batches * arguments.row_tiles * arguments.col_tiles;

  // The tile whose copies have begun.
  TilePlace place = {};
  const char* a = nullptr;
  const char* b = nullptr;
  u32 first_a = 0;
  u32 first_b = 0;
  u32 steps = 0;   // stages that the tile's K takes
  u32 copied = 0;  // stages whose copies have begun
  const auto copy = [&](u32 stage) {
    if (copied < steps) {
      const u32 to = shared + stage * Shape::STAGE_BYTES;
      const u64 along = u64{copied} * DEPTH;
      Panel::template copy<Shape::ROWS, Shape::THREADS>(to, a + along, row_bytes, first_a, last_a);
      Panel::template copy<Shape::COLS, Shape::THREADS>(to + Shape::ROWS * DEPTH, b + along, row_bytes, first_b,
                                                        last_b);
      copied++;
    }
    copies_commit();
  };
  const auto begin = [&](u64 number) {
    place = tile_place(number, arguments.row_tiles, arguments.col_tiles);
    const u64 first_panel = place.batch * arguments.panel_step;
    a = static_cast<const char*>(arguments.a) + first_panel * 128;
    b = static_cast<const char*>(arguments.b) + first_panel * 128;
    first_a = static_cast<u32>(place.batch * arguments.a_step) + place.row * Shape::ROWS;
    first_b = static_cast<u32>(place.batch * arguments.b_step) + place.col * Shape::COLS;
    const u64 bytes = min(arguments.panels, arguments.all_panels - first_panel) * 128;
    steps = static_cast<u32>(bytes / DEPTH);
    copied = 0;
#pragma unroll
    for (u32 stage = 0; stage < STAGES - 1; stage++) {
      copy(stage);
    }
  };

  if (blockIdx.x < tiles) {
    begin(blockIdx.x);
  }
  for (u64 number = blockIdx.x; number < tiles; number += gridDim.x) {
    float sums[HIGH][WIDE * 4] = {};
    float totals[HIGH][WIDE * 4] = {};  // if not PROMOTED, the compiler removes it
    u32 left[2][HIGH][4];
    u32 right[2][WIDE / 2][4];
    const auto read = [&](u32 stage, u32 s) {
      const u32 from = stage * Shape::STAGE_BYTES;
#pragma unroll
      for (u32 x = 0; x < WIDE / 2; x++) {
        read_matrices(right[s % 2][x], b_read + from + x * 16 * DEPTH + ((2 * s + b_chunk) ^ b_turn) * 16);
      }
#pragma unroll
      for (u32 r = 0; r < HIGH; r++) {
        read_matrices(left[s % 2][r], a_read + from + r * 16 * DEPTH + ((2 * s + a_chunk) ^ a_turn) * 16);
      }
    };
    copies_wait<STAGES - 2>();
    __syncthreads();
    read(0, 0);
    u32 stage = 0;
    u32 filled = STAGES - 1;  // the next stage to be filled
    for (u32 step = 0; step < steps; step++) {
      const u32 next = stage + 1 == STAGES ? 0 : stage + 1;
#pragma unroll
      for (u32 s = 0; s < STEPS; s++) {
        if (s == 0) {
          copy(filled);
          filled = filled + 1 == STAGES ? 0 : filled + 1;
        }
        if (s + 1 < STEPS) {
          read(stage, s + 1);
        } else {
          copies_wait<STAGES - 2>();
          __syncthreads();  // the next stage is visible to all, and nobody reads this one any more
          if (step + 1 < steps) {
            read(next, 0);
          }
        }
#pragma unroll
        for (u32 r = 0; r < HIGH; r++) {
#pragma unroll
          for (u32 x = 0; x < WIDE; x++) {
            Kind::product(&sums[r][x * 4], left[s % 2][r], right[s % 2][x / 2][x % 2 * 2],
                          right[s % 2][x / 2][x % 2 * 2 + 1]);
          }
        }
      }
      if (Shape::PROMOTED) {
#pragma unroll
        for (u32 r = 0; r < HIGH; r++) {
#pragma unroll
          for (u32 e = 0; e < WIDE * 4; e++) {
            totals[r][e] += sums[r][e];
            sums[r][e] = 0;
          }
        }
      }
      stage = next;
    }

    // Start the next tile's copies before this tile is stored.
    const TilePlace made = place;
    if (number + gridDim.x < tiles) {
      begin(number + gridDim.x);
    }
#pragma unroll
    for (u32 r = 0; r < HIGH; r++) {
      store_sums<WIDE, true>(Shape::PROMOTED ? totals[r] : sums[r], arguments.c + made.batch * arguments.c_step,
                             u64{made.row} * Shape::ROWS + in_row + r * 16 + lane / 4,
                             u64{made.col} * Shape::COLS + in_col, arguments.m, arguments.n, arguments.lead_c,
                             arguments.factors, nullptr);
    }
  }
}

}  // namespace tilespark
