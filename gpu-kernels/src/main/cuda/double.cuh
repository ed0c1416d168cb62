// Product of double matrices on the tensor cores of sm_90:
//
//   c[i, j] = sum over p of left(i, p) * right(p, j)  (+ c[i, j])   0 <= i < rows, 0 <= j < cols
//
// c[i, j] lies at i * row_step + j * col_step. Either operand may be stored across, K down its columns;
// it is read as it is. There are kernels for three of the four ways to store two operands:
//
//   tt   left across, right along K: op(A) = A^T, op(B) = B^T of a row-major product
//   nt   both along K
//   tn   both across
//
// A product without transposes, A along K and B across, is the tt kernel's with left = B, right = A,
// row_step = 1 and col_step = lead_c. So it is for speed: its fragments come by 16-byte reads into the
// registers where the product wants them; with A on the left each would cost 16 moves.
//
// Threads to elements: the warps of a thread block make a tile of ROWS x COLS, each WARP_ROWS x
// WARP_COLS, with products of 16 x 8 x 16. Thread t + 4 g of a warp holds of a product's left operand its rows g
// and g + 8, of the right one its column g, at the four steps t + 4 s of K. Which place of the panel that is, is
// ours to say as long as both operands agree:
//
//   left across (tt, tn)  p = 2 t + s % 2 + 8 (s / 2); rows g and g + 8 lie at 2 g and 2 g + 1: one read
//                         of 16 bytes is a step of both
//   left along K (nt)     p = t + 4 s; row g lies at the mirrored bits of g
//   right                 column g lies at g where across, at g / 2 + 4 (g % 2) beside a left across, at
//                         the mirrored bits of g beside a left along K
//
// so that reads of swizzled panels meet no bank twice.
//
// Copies: the last warp to release a stage has it filled again, so no warp waits for another one and none is
// kept from the products for it (a warp for copies alone would leave the others 168 registers).
//
// Accuracy: products and sums are those of IEEE 754. A sum of at most `chunk` panels is one chain; sums of chains
// are added to totals in shared memory, a second chain. Each fragment of 16 x 8 ends its chains before panels of
// its own, so that in every panel a few of them are added while the tensor cores work on the others. Of the inputs
// tried, terms that are all equal are the worst for a chain: n of them, on an H200, were off by up to 0.24 u n of
// |A||B|.
//
// Parts of K: product number x of a launch is part x % parts of product x / parts; parts > 1 write to
// scratch, which parts.cuh sums. HALVES: the two thread blocks of a cluster sum one half of K each, and then each
// adds and stores half of the rows, where a launch has about half as many tiles as there are multiprocessors.
//
// Shared memory: STAGES stages of both panels, (ROWS, 16) or (ROWS / 16, 16, 16) where stored across, rows
// of 128 bytes swizzled by the copy engine; then the totals, in pairs, those of one thread 16 THREADS bytes apart; then DoubleState.
//
// Launch: THREADS threads, SHARED_BYTES, a grid of at most as many thread blocks as fit at once, fewer
// than 2^31 tiles, K > 0. HALVES: an even grid, parts = 1, part_panels half of the panels, rounded up, and at least
// one panel for the second half.
#pragma once

#include "split.cuh"

namespace tilespark {

// Fields in the order of the host's launch.
struct DoubleArguments {
  // As stored: (batches, 1, rows, k) in boxes of (1, 1, ROWS, 16); where across, (batches, rows / 16 rounded
  // up, k, 16) in boxes of (1, ROWS / 16, 16, 16): 16 of x are neighbours, 16 elements to the next 16. So
  // across wants a multiple of 16 of x, or rows of memory that go on so far.
  CUtensorMap left;
  CUtensorMap right;  // likewise with cols and COLS
  double* c;
  u64 rows;
  u64 cols;
  u64 row_step;  // elements
  u64 col_step;
  u64 panels;  // of K
  u64 chunk;   // panels to a chain
  u64 row_tiles;
  u64 col_tiles;
  u64 accumulate;
  u64 batches;
  u64 c_step;       // elements from one product to the next
  u64 parts;        // of K, none of them empty
  u64 part_panels;  // panels to a part or half
  u64 part_step;    // elements from one part to the next
  u64 left_step;    // matrices from one product to the next: 0 if all have the same, else 1
  u64 right_step;
};

template <bool ACROSS_LEFT_, bool ACROSS_RIGHT_, u32 ROWS_, u32 COLS_, u32 WARP_ROWS_, u32 WARP_COLS_, u32 STAGES_,
          bool TOTALS_, bool HALVES_>
struct DoubleShape {
  static constexpr bool ACROSS_LEFT = ACROSS_LEFT_;
  static constexpr bool ACROSS_RIGHT = ACROSS_RIGHT_;
  static_assert(ACROSS_LEFT || !ACROSS_RIGHT, "exchange the operands");
  static_assert(WARP_ROWS_ % 32 == 0, "left fragments take turns in two places");
  static constexpr u32 ROWS = ROWS_;
  static constexpr u32 COLS = COLS_;
  static constexpr u32 WARP_ROWS = WARP_ROWS_;
  static constexpr u32 WARP_COLS = WARP_COLS_;
  static constexpr u32 STAGES = STAGES_;
  // Without totals all of K is one chain, which is less exact: for comparison.
  static constexpr bool TOTALS = TOTALS_;
  // Two thread blocks, a cluster, make a tile: each sums one part of K, and then stores half of the rows.
  static constexpr bool HALVES = HALVES_;
  static_assert(!HALVES || TOTALS, "sums of the other half come where totals were");
  static constexpr u32 PANEL = 16;
  static constexpr u32 WARPS = ROWS / WARP_ROWS * (COLS / WARP_COLS);
  static constexpr u32 THREADS = 32 * WARPS;
  static constexpr u32 STAGE_BYTES = (ROWS + COLS) * 128;
  static constexpr u32 TOTAL_BYTES = TOTALS ? ROWS * COLS * 8 : 0;
  static constexpr u32 STATE_BYTES = 256;
  static constexpr u32 SHARED_BYTES = STAGES * STAGE_BYTES + TOTAL_BYTES + STATE_BYTES;
};

// Copies the box of the tensor that begins at (x, y, z, w) to shared memory; its bytes count at the barrier.
__device__ __forceinline__ void copy_box(void* to, const CUtensorMap* map, int x, int y, int z, int w, u64* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y), "r"(z), "r"(w)
      : "memory");
}

// Copies one operand's panel: a tile from `first` on, 16 steps of K from `p` on.
template <bool ACROSS>
__device__ __forceinline__ void copy_panel(char* to, const CUtensorMap* map, int first, int p, int batch,
                                           u64* barrier) {
  if (ACROSS) {
    copy_box(to, map, 0, p, first / 16, batch, barrier);
  } else {
    copy_box(to, map, p, first, 0, batch, barrier);
  }
}

__device__ __forceinline__ u32 mirrored(u32 g) {
  return g % 2 * 4 + g / 2 % 2 * 2 + g / 4;
}

// Where row g (or, half = 1, row g + 8) of 16 of the left operand lies.
template <typename Shape>
__device__ __forceinline__ u32 left_place(u32 g, u32 half) {
  return Shape::ACROSS_LEFT ? 2 * g + half : half * 8 + mirrored(g);
}

// Where column g of 8 of the right operand lies.
template <typename Shape>
__device__ __forceinline__ u32 right_place(u32 g) {
  return Shape::ACROSS_RIGHT ? g : Shape::ACROSS_LEFT ? g / 2 + g % 2 * 4 : mirrored(g);
}

__device__ __forceinline__ void read_pair(double& first, double& second, u32 at) {
  asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(first), "=d"(second) : "r"(at) : "memory");
}
__device__ __forceinline__ void write_pair(double first, double second, u32 at) {
  asm volatile("st.shared.v2.f64 [%0], {%1, %2};" ::"r"(at), "d"(first), "d"(second) : "memory");
}
__device__ __forceinline__ void read_one(double& value, u32 at) {
  asm volatile("ld.shared.f64 %0, [%1];" : "=d"(value) : "r"(at) : "memory");
}

// A thread's places in an operand's panel, in bytes, for 16 rows or 8 columns that begin it.
template <typename Shape>
struct DoublePlaces {
  u32 left[Shape::ACROSS_LEFT ? 2 : 4];
  u32 right[4];

  __device__ __forceinline__ explicit DoublePlaces(u32 lane) {
    const u32 g = lane / 4;
    const u32 t = lane % 4;
    if (Shape::ACROSS_LEFT) {
#pragma unroll
      for (u32 s = 0; s < 2; s++) {
        const u32 p = 2 * t + s;
        left[s] = p * 128 + (g ^ p) * 16;
      }
    }
#pragma unroll
    for (u32 s = 0; s < 4; s++) {
      const u32 row = mirrored(g);
      const u32 along = row * 128 + ((2 * s + t / 2) ^ row) * 16 + t % 2 * 8;
      if (!Shape::ACROSS_LEFT) {
        left[s] = along;
      }
      if (Shape::ACROSS_RIGHT) {  // step s % 2 of columns 8 (s / 2) on
        const u32 p = 2 * t + s % 2;
        right[s] = p * 128 + ((s / 2 * 4 + g / 2) ^ p) * 16 + g % 2 * 8;
      } else if (Shape::ACROSS_LEFT) {
        const u32 place = right_place<Shape>(g);
        right[s] = place * 128 + ((t ^ place) * 16 ^ s % 2 * 64);
      } else {
        right[s] = along;
      }
    }
  }

  // Rows r * 16 on of the panel at `panel`.
  __device__ __forceinline__ void read_left(double (&values)[8], u32 panel, u32 r) const {
#pragma unroll
    for (u32 s = 0; s < 4; s++) {
      if (Shape::ACROSS_LEFT) {
        read_pair(values[2 * s], values[2 * s + 1], panel + left[s % 2] + s / 2 * 1024 + r * 2048);
      } else {
        read_one(values[2 * s], panel + left[s] + r * 2048);
        read_one(values[2 * s + 1], panel + left[s] + r * 2048 + 1024);
      }
    }
  }

  // Columns c * 8 on.
  __device__ __forceinline__ void read_right(double (&values)[4], u32 panel, u32 c) const {
    if (Shape::ACROSS_RIGHT) {
#pragma unroll
      for (u32 s = 0; s < 4; s++) {
        read_one(values[s], panel + right[s % 2 + c % 2 * 2] + s / 2 * 1024 + c / 2 * 2048);
      }
    } else if (Shape::ACROSS_LEFT) {
      read_pair(values[0], values[1], panel + right[0] + c * 1024);
      read_pair(values[2], values[3], panel + right[1] + c * 1024);
    } else {
#pragma unroll
      for (u32 s = 0; s < 4; s++) {
        read_one(values[s], panel + right[s] + c * 1024);
      }
    }
  }
};

__device__ __forceinline__ void product_16x8x16(double (&c)[4], const double (&a)[8], const double (&b)[4]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3},"
      " {%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]),
        "d"(b[1]), "d"(b[2]), "d"(b[3]));
}

// This warp reads the stage no more: returns, to lane 0, how many warps had said so before. The values read
// last go into the address of the counter (`zero` is 0, which the compiler does not know), so that they have
// arrived before. A count may overtake reads under way, and the copy engine then overwrites what they read:
// without this, an H200 got a few of the 2 million panels that the warps read for 4096^3 wrong, always in the
// rows read last.
__device__ __forceinline__ u32 release_read(u32* released, u32 lane, const double (&values)[8], u32 zero) {
  u32 last = 0;
#pragma unroll
  for (u32 i = 0; i < 8; i++) {
    last |= static_cast<u32>(__double2loint(values[i]));
  }
  const u32 counter = shared_address(released) + (last & zero);
  u32 before = 0;
  __syncwarp();
  if (lane == 0) {
    asm volatile("atom.relaxed.cta.shared::cta.add.u32 %0, [%1], 1;" : "=r"(before) : "r"(counter) : "memory");
  }
  return before;
}

__device__ __forceinline__ void block_fence() { asm volatile("fence.acq_rel.cta;" ::: "memory"); }

// The tile of that number: products and parts apart, and within one an order in which neighbours share
// rows of the left and columns of the right operand: GROUP rows of tiles at a time, column by column.
struct DoublePlace {
  u32 batch;
  u32 part;
  u32 row;
  u32 col;
};
__device__ __forceinline__ DoublePlace double_place(u32 number, u32 parts, u32 rows, u32 cols) {
  constexpr u32 GROUP = 8;
  const u32 product = number / (rows * cols);
  number -= product * (rows * cols);
  const u32 group = number / (GROUP * cols);
  const u32 in_group = number - group * (GROUP * cols);
  const u32 high = rows - group * GROUP < GROUP ? rows - group * GROUP : GROUP;
  const u32 col = in_group / high;
  return {product / parts, product % parts, group * GROUP + in_group - col * high, col};
}

__device__ __forceinline__ u32 cluster_rank() {
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
// Where that address of this thread block's shared memory is in that of another one of the cluster.
__device__ __forceinline__ u32 address_at(u32 rank, u32 at) {
  u32 there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at), "r"(rank));
  return there;
}
__device__ __forceinline__ void write_pair_to(double first, double second, u32 there) {
  asm volatile("st.shared::cluster.v2.f64 [%0], {%1, %2};" ::"r"(there), "d"(first), "d"(second) : "memory");
}

template <typename Shape>
__device__ __forceinline__ DoublePlace double_place(const DoubleArguments& arguments, u32 number) {
  const u32 rows = static_cast<u32>(arguments.row_tiles);
  const u32 cols = static_cast<u32>(arguments.col_tiles);
  if (Shape::HALVES) {
    DoublePlace place = double_place(number, 1, rows, cols);
    place.part = cluster_rank();
    return place;
  }
  return double_place(number, static_cast<u32>(arguments.parts), rows, cols);
}

// The same value, of which the compiler knows nothing.
__device__ __forceinline__ u32 hidden(u32 value) {
  asm volatile("" : "+r"(value));
  return value;
}

// Writes a warp's sums to C or adds them. `row` and `col` are of the warp's first element. What is added to is
// read LINES lines at a time: behind a store the compiler waits for each read.
template <typename Shape>
__device__ __forceinline__ void store_double(const double (&sums)[Shape::WARP_ROWS / 16][Shape::WARP_COLS / 8][4],
                                             const DoubleArguments& arguments, double* c, u64 row, u64 col,
                                             u32 lane, bool add) {
  constexpr u32 HIGH = Shape::WARP_ROWS / 16;
  constexpr u32 WIDE = Shape::WARP_COLS / 8;
  constexpr u32 LINES = 1;  // as many as registers are left for
  const u32 g = lane / 4;
  const u32 t = lane % 4;
  const bool inside = row + Shape::WARP_ROWS <= arguments.rows && col + Shape::WARP_COLS <= arguments.cols;
  const bool even_c = reinterpret_cast<u64>(c) % 16 == 0;
  if (Shape::ACROSS_LEFT && inside && arguments.row_step == 1 && arguments.col_step % 2 == 0 && even_c) {
    // Rows 2 g and the next are neighbours in C.
    double* const first = c + row + 2 * g;
#pragma unroll
    for (u32 x = 0; x < WIDE; x++) {
#pragma unroll
      for (u32 begin = 0; begin < 2; begin += LINES) {
        double2 before[LINES][HIGH];
#pragma unroll
        for (u32 e = begin; e < begin + LINES; e++) {
          const double* const line = first + (col + x * 8 + right_place<Shape>(2 * t + e)) * arguments.col_step;
#pragma unroll
          for (u32 r = 0; r < HIGH; r++) {
            before[e - begin][r] = add ? *reinterpret_cast<const double2*>(line + r * 16) : make_double2(0, 0);
          }
        }
#pragma unroll
        for (u32 e = begin; e < begin + LINES; e++) {
          double* const line = first + (col + x * 8 + right_place<Shape>(2 * t + e)) * arguments.col_step;
#pragma unroll
          for (u32 r = 0; r < HIGH; r++) {
            double2 pair = make_double2(sums[r][x][e], sums[r][x][2 + e]);
            if (add) {
              pair.x += before[e - begin][r].x;
              pair.y += before[e - begin][r].y;
            }
            *reinterpret_cast<double2*>(line + r * 16) = pair;
          }
        }
      }
    }
    return;
  }
  if (Shape::ACROSS_RIGHT && inside && arguments.col_step == 1 && arguments.row_step % 2 == 0 && even_c) {
    // Columns 2 t and the next are neighbours in C.
#pragma unroll
    for (u32 r = 0; r < HIGH; r++) {
#pragma unroll
      for (u32 begin = 0; begin < 2; begin += LINES) {
        double2 before[LINES][WIDE];
#pragma unroll
        for (u32 half = begin; half < begin + LINES; half++) {
          const double* const line =
              c + (row + r * 16 + left_place<Shape>(g, half)) * arguments.row_step + col + 2 * t;
#pragma unroll
          for (u32 x = 0; x < WIDE; x++) {
            before[half - begin][x] = add ? *reinterpret_cast<const double2*>(line + x * 8) : make_double2(0, 0);
          }
        }
#pragma unroll
        for (u32 half = begin; half < begin + LINES; half++) {
          double* const line = c + (row + r * 16 + left_place<Shape>(g, half)) * arguments.row_step + col + 2 * t;
#pragma unroll
          for (u32 x = 0; x < WIDE; x++) {
            double2 pair = make_double2(sums[r][x][half * 2], sums[r][x][half * 2 + 1]);
            if (add) {
              pair.x += before[half - begin][x].x;
              pair.y += before[half - begin][x].y;
            }
            *reinterpret_cast<double2*>(line + x * 8) = pair;
          }
        }
      }
    }
    return;
  }
#pragma unroll
  for (u32 r = 0; r < HIGH; r++) {
#pragma unroll
    for (u32 begin = 0; begin < 2; begin += LINES) {
      double before[LINES][WIDE][2];
#pragma unroll
      for (u32 half = begin; half < begin + LINES; half++) {
        const u64 i = row + r * 16 + left_place<Shape>(g, half);
#pragma unroll
        for (u32 x = 0; x < WIDE; x++) {
#pragma unroll
          for (u32 e = 0; e < 2; e++) {
            const u64 j = col + x * 8 + right_place<Shape>(2 * t + e);
            before[half - begin][x][e] = add && i < arguments.rows && j < arguments.cols
                                             ? c[i * arguments.row_step + j * arguments.col_step]
                                             : 0;
          }
        }
      }
#pragma unroll
      for (u32 half = begin; half < begin + LINES; half++) {
        const u64 i = row + r * 16 + left_place<Shape>(g, half);
#pragma unroll
        for (u32 x = 0; x < WIDE; x++) {
#pragma unroll
          for (u32 e = 0; e < 2; e++) {
            const u64 j = col + x * 8 + right_place<Shape>(2 * t + e);
            if (i < arguments.rows && j < arguments.cols) {
              const double sum = sums[r][x][half * 2 + e];
              c[i * arguments.row_step + j * arguments.col_step] = add ? before[half - begin][x][e] + sum : sum;
            }
          }
        }
      }
    }
  }
}

// What is to be copied next, tile after tile. In shared memory, for each time another warp may start the copy.
struct DoubleFeed {
  u32 number;  // of the tile; its place and panels follow
  u32 panel;
  u32 end;
  int left_batch;
  int right_batch;
  int row;
  int col;
  u32 stage;
};

template <u32 STAGES>
struct DoubleState {
  u64 full[STAGES];      // barriers: the panel is there
  u32 released[STAGES];  // warps that read it no more, counted on and on
  DoubleFeed feed;
};

template <typename Shape>
__device__ __forceinline__ void feed_tile(const DoubleArguments& arguments, DoubleFeed* feed, u32 number, u32 tiles) {
  feed->number = number;
  if (number < tiles) {
    const DoublePlace place = double_place<Shape>(arguments, number);
    const u32 panels = static_cast<u32>(arguments.panels);
    const u32 part_panels = static_cast<u32>(arguments.part_panels);
    const u32 begin = place.part * part_panels;
    feed->panel = begin;
    feed->end = panels - begin < part_panels ? panels : begin + part_panels;
    feed->left_batch = static_cast<int>(place.batch * static_cast<u32>(arguments.left_step));
    feed->right_batch = static_cast<int>(place.batch * static_cast<u32>(arguments.right_step));
    feed->row = static_cast<int>(place.row * Shape::ROWS);
    feed->col = static_cast<int>(place.col * Shape::COLS);
  }
}

// Starts the copies of one panel into the next stage, which is free.
template <typename Shape>
__device__ __forceinline__ void feed_panel(const DoubleArguments& arguments, DoubleState<Shape::STAGES>* state,
                                           char* shared, u32 tiles) {
  DoubleFeed* const feed = &state->feed;
  const u32 panel = feed->panel;
  if (feed->number >= tiles) {
    return;
  }
  const u32 stage = feed->stage;
  char* const to = shared + stage * Shape::STAGE_BYTES;
  const int p = static_cast<int>(panel * Shape::PANEL);
  barrier_expect(&state->full[stage], Shape::STAGE_BYTES);
  copy_panel<Shape::ACROSS_LEFT>(to, &arguments.left, feed->row, p, feed->left_batch, &state->full[stage]);
  copy_panel<Shape::ACROSS_RIGHT>(to + Shape::ROWS * 128, &arguments.right, feed->col, p, feed->right_batch,
                                  &state->full[stage]);
  feed->stage = stage + 1 == Shape::STAGES ? 0 : stage + 1;
  feed->panel = panel + 1;
  if (panel + 1 == feed->end) {
    feed_tile<Shape>(arguments, feed, feed->number + gridDim.x / (Shape::HALVES ? 2 : 1), tiles);
  }
}

template <typename Shape>
__device__ __forceinline__ void multiply_double(const DoubleArguments& arguments) {
  constexpr u32 STAGES = Shape::STAGES;
  constexpr u32 HIGH = Shape::WARP_ROWS / 16;
  constexpr u32 WIDE = Shape::WARP_COLS / 8;
  constexpr u32 FRAGMENTS = HIGH * WIDE;
  extern __shared__ __align__(1024) char double_shared[];
  char* const shared = double_shared;
  DoubleState<STAGES>* const state =
      reinterpret_cast<DoubleState<STAGES>*>(shared + STAGES * Shape::STAGE_BYTES + Shape::TOTAL_BYTES);
  static_assert(sizeof(DoubleState<STAGES>) <= Shape::STATE_BYTES, "the state has room");

  const u32 panels = static_cast<u32>(arguments.panels);
  const u32 part_panels = static_cast<u32>(arguments.part_panels);
  const u32 tiles = static_cast<u32>(arguments.batches) * (Shape::HALVES ? 1 : static_cast<u32>(arguments.parts)) *
                    static_cast<u32>(arguments.row_tiles) * static_cast<u32>(arguments.col_tiles);
  const u32 first_tile = blockIdx.x / (Shape::HALVES ? 2 : 1);
  const u32 tile_step = gridDim.x / (Shape::HALVES ? 2 : 1);
  const u32 warp = threadIdx.x / 32;
  const u32 lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    prefetch_map(&arguments.left);
    prefetch_map(&arguments.right);
    for (u32 stage = 0; stage < STAGES; stage++) {
      barrier_init(&state->full[stage], 1);
      state->released[stage] = 0;
    }
    barrier_init_fence();
    state->feed.stage = 0;
    feed_tile<Shape>(arguments, &state->feed, first_tile, tiles);
    for (u32 stage = 0; stage < STAGES; stage++) {
      feed_panel<Shape>(arguments, state, shared, tiles);
    }
  }
  __syncthreads();

  const u32 in_row = warp / (Shape::COLS / Shape::WARP_COLS) * Shape::WARP_ROWS;
  const u32 in_col = warp % (Shape::COLS / Shape::WARP_COLS) * Shape::WARP_COLS;
  const DoublePlaces<Shape> places(lane);
  const u32 left_base = shared_address(shared) + in_row * 128;
  const u32 right_base = shared_address(shared) + (Shape::ROWS + in_col) * 128;
  const u32 totals_base = shared_address(shared) + STAGES * Shape::STAGE_BYTES + threadIdx.x * 16;
  constexpr u32 APART = 16 * Shape::THREADS;  // bytes between pairs of a thread's totals
  const u32 zero = static_cast<u32>(reinterpret_cast<u64>(arguments.c)) & 7;
  Ring<STAGES> ring;
  for (u32 number = first_tile; number < tiles; number += tile_step) {
    u32 left_panels = panels - double_place<Shape>(arguments, number).part * part_panels;
    left_panels = left_panels < part_panels ? left_panels : part_panels;
    // Fragment f's chains end before panels p of the tile, 0 < p, where
    //   p % chunk = (f + 1) * chunk / FRAGMENTS, rounded up  (mod chunk)
    // so that every panel has its share of them. `turn` is FRAGMENTS * p, from the second round on less whole
    // rounds.
    const u32 chunk = static_cast<u32>(arguments.chunk);
    const bool chained = Shape::TOTALS && chunk < left_panels;
    const u32 my_turn = chained ? (lane + 1) * chunk : ~0u;  // of fragment number `lane`
    u32 turn = 0;
    bool first = true;
    double sums[HIGH][WIDE][4];
    double left[2][8];
    double right[WIDE][4];
#pragma unroll
    for (u32 r = 0; r < HIGH; r++) {
#pragma unroll
      for (u32 x = 0; x < WIDE; x++) {
#pragma unroll
        for (u32 e = 0; e < 4; e++) {
          sums[r][x][e] = 0;
        }
      }
    }
    barrier_wait(&state->full[ring.stage], ring.parity);
    places.read_left(left[0], left_base + ring.stage * Shape::STAGE_BYTES, 0);
#pragma unroll
    for (u32 x = 0; x < WIDE; x++) {
      places.read_right(right[x], right_base + ring.stage * Shape::STAGE_BYTES, x);
    }
    for (;;) {
      const bool more = --left_panels > 0;
      const u32 at = ring.stage * Shape::STAGE_BYTES;
      u32* const released = &state->released[ring.stage];
      u32 before = 0;
      ring.next();
      const u32 next = ring.stage * Shape::STAGE_BYTES;
      const u32 due =
          Shape::TOTALS ? __ballot_sync(~0u, lane < FRAGMENTS && turn - my_turn < FRAGMENTS) : 0;
#pragma unroll
      for (u32 r = 0; r < HIGH; r++) {
        if (r < HIGH - 1) {
          places.read_left(left[(r + 1) % 2], left_base + at, r + 1);
        } else if (more) {
          // Beside the last rows' products the next panel is read: the tensor cores would idle else.
          barrier_wait(&state->full[ring.stage], ring.parity);
          places.read_left(left[0], left_base + next, 0);
        }
#pragma unroll
        for (u32 x = 0; x < WIDE; x++) {
          const u32 f = r * WIDE + x;
          if (Shape::TOTALS && (due >> f & 1)) {
#pragma unroll
            for (u32 e = 0; e < 4; e += 2) {
              double total[2] = {0, 0};
              const u32 place = totals_base + (f * 2 + e / 2) * APART;
              if (!first) {
                read_pair(total[0], total[1], place);
              }
              write_pair(total[0] + sums[r][x][e], total[1] + sums[r][x][e + 1], place);
              sums[r][x][e] = 0;
              sums[r][x][e + 1] = 0;
            }
          }
          product_16x8x16(sums[r][x], left[r % 2], right[x]);
          if (r == HIGH - 2 && x == 0) {
            before = release_read(released, lane, left[(HIGH - 1) % 2], zero);
          }
          if (r == HIGH - 2 && x == WIDE - 2) {
            // The last warp to release the stage has it filled again.
            if (lane == 0 && before % Shape::WARPS == Shape::WARPS - 1) {
              block_fence();
              feed_panel<Shape>(arguments, state, shared, tiles);
              block_fence();
            }
            __syncwarp();
          }
          if (r == HIGH - 1 && more) {
            places.read_right(right[x], right_base + next, x);
          }
        }
      }
      if (!more) {
        break;
      }
      const bool round = turn == FRAGMENTS * chunk;
      turn = (round ? 0 : turn) + FRAGMENTS;
      first = first && !round;
    }
    if (chained) {
#pragma unroll
      for (u32 r = 0; r < HIGH; r++) {
#pragma unroll
        for (u32 x = 0; x < WIDE; x++) {
#pragma unroll
          for (u32 e = 0; e < 4; e += 2) {
            double total[2];
            read_pair(total[0], total[1], totals_base + ((r * WIDE + x) * 2 + e / 2) * APART);
            sums[r][x][e] += total[0];
            sums[r][x][e + 1] += total[1];
          }
        }
      }
    }
    if (Shape::HALVES) {
      // Each thread block is given half of the sums by the other one, where the totals of those warps were.
      cluster_sync();
      const u32 rank = cluster_rank();
      const bool gives = hidden(threadIdx.x) / (Shape::THREADS / 2) != rank;
      if (gives) {
        const u32 there = address_at(rank ^ 1, totals_base);
#pragma unroll
        for (u32 f = 0; f < FRAGMENTS; f++) {
          const double(&sum)[4] = sums[f / WIDE][f % WIDE];
          write_pair_to(sum[0], sum[1], there + f * 2 * APART);
          write_pair_to(sum[2], sum[3], there + (f * 2 + 1) * APART);
        }
      }
      cluster_sync();
      if (gives) {
        continue;
      }
#pragma unroll
      for (u32 f = 0; f < FRAGMENTS; f++) {
        double(&sum)[4] = sums[f / WIDE][f % WIDE];
#pragma unroll
        for (u32 e = 0; e < 4; e += 2) {
          double other[2];
          read_pair(other[0], other[1], totals_base + (f * 2 + e / 2) * APART);
          sum[e] += other[0];
          sum[e + 1] += other[1];
        }
      }
    }
    // Located again, for no register holds it meanwhile.
    const DoublePlace place = double_place<Shape>(arguments, hidden(number));
    double* const c =
        arguments.c + place.batch * arguments.c_step + (Shape::HALVES ? 0 : place.part * arguments.part_step);
    store_double<Shape>(sums, arguments, c, u64{place.row} * Shape::ROWS + in_row,
                        u64{place.col} * Shape::COLS + in_col, lane, arguments.accumulate != 0);
  }
}

}  // namespace tilespark
