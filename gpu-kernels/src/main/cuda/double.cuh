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
// WARP_COLS, with products of 16 x 8 x 16; thread 0 starts the copies as well (a warp for it alone would
// leave the others 168 registers). Thread t + 4 g of a warp holds of a product's left operand its rows g and
// g + 8, of the right one its column g, at the four steps t + 4 s of K. Which place of the panel that is, is ours to say as long as both operands agree:
//
//   left across (tt, tn)  p = 2 t + s % 2 + 8 (s / 2); rows g and g + 8 lie at 2 g and 2 g + 1: one read
//                         of 16 bytes is a step of both
//   left along K (nt)     p = t + 4 s; row g lies at the mirrored bits of g
//   right                 column g lies at g where across, at g / 2 + 4 (g % 2) beside a left across, at
//                         the mirrored bits of g beside a left along K
//
// so that reads of swizzled panels meet no bank twice.
//
// Accuracy: products and sums are those of IEEE 754. A sum of `chunk` panels is one chain; sums of chunks
// are added in shared memory (TOTALS) or in C, a second chain. One chain is at most u K of |A||B| off; on
// random input of either sign an H200 showed 4.2e-16 at K = 4096 and 8192, as cuBLAS did; on badly scaled
// input, of which the largest terms may come first, 2.0e-15 at K = 77.
//
// Parts of K: product number x of a launch is part x % parts of product x / parts; parts > 1 write to
// scratch, which parts.cuh sums.
//
// Shared memory: STAGES stages of both panels, (ROWS, 16) or (ROWS / 16, 16, 16) where stored across, rows
// of 128 bytes swizzled by the copy engine; then, where TOTALS, the totals.
//
// Launch: THREADS threads, SHARED_BYTES, a grid of at most as many thread blocks as fit at once, fewer
// than 2^31 tiles, K > 0.
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
  u64 part_panels;  // panels to a part
  u64 part_step;    // elements from one part to the next
  u64 left_step;    // matrices from one product to the next: 0 if all have the same, else 1
  u64 right_step;
};

template <bool ACROSS_LEFT_, bool ACROSS_RIGHT_, u32 ROWS_, u32 COLS_, u32 WARP_ROWS_, u32 WARP_COLS_, u32 STAGES_,
          bool TOTALS_, bool AHEAD_>
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
  static constexpr bool TOTALS = TOTALS_;
  // The next panel's first fragments are read beside this one's last products.
  static constexpr bool AHEAD = AHEAD_;
  static constexpr u32 PANEL = 16;
  static constexpr u32 WARPS = ROWS / WARP_ROWS * (COLS / WARP_COLS);
  static constexpr u32 THREADS = 32 * WARPS;
  // A stage is filled again so many panels after it was read.
  static constexpr u32 LAG = STAGES > 4 ? 2 : 1;
  static constexpr u32 STAGE_BYTES = (ROWS + COLS) * 128;
  static constexpr u32 SHARED_BYTES = STAGES * STAGE_BYTES + 1024 + (TOTALS ? ROWS * COLS * 8 : 0);
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

// This warp reads the stage no more. The values read last go into the address of the barrier (`zero` is 0,
// which the compiler does not know), so that they have arrived before. An arrival may overtake reads under way,
// and the copy engine then overwrites what they read: without this, an H200 got a few of the 2 million
// panels that the warps read for 4096^3 wrong, always in the rows read last.
__device__ __forceinline__ void release_read(u64* empty, u32 lane, const double (&values)[8], u32 zero) {
  u32 last = 0;
#pragma unroll
  for (u32 i = 0; i < 8; i++) {
    last |= static_cast<u32>(__double2loint(values[i]));
  }
  const u32 barrier = shared_address(empty) + (last & zero);
  __syncwarp();
  if (lane == 0) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
  }
}

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
  constexpr u32 LINES = Shape::AHEAD || Shape::WARP_ROWS < 64 ? 1 : 2;  // as many as registers are left for
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

// What is to be copied next, tile after tile. One thread starts the copies; in shared memory this costs
// the others no registers.
struct DoubleFeed {
  u32 number;  // of the tile; its place and panels follow
  u32 panel;
  u32 end;
  int left_batch;
  int right_batch;
  int row;
  int col;
  u32 stage;
  u32 parity;
};

template <typename Shape>
__device__ __forceinline__ void feed_tile(const DoubleArguments& arguments, DoubleFeed* feed, u32 number, u32 tiles) {
  feed->number = number;
  if (number < tiles) {
    const DoublePlace place =
        double_place(number, static_cast<u32>(arguments.parts), static_cast<u32>(arguments.row_tiles),
                     static_cast<u32>(arguments.col_tiles));
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

// Starts the copies of one panel, once its stage is free.
template <typename Shape>
__device__ __forceinline__ void feed_panel(const DoubleArguments& arguments, DoubleFeed* feed, char* shared, u64* full,
                                           u64* empty, u32 tiles) {
  const u32 panel = feed->panel;
  if (feed->number >= tiles || panel >= feed->end) {
    return;
  }
  const u32 stage = feed->stage;
  char* const to = shared + stage * Shape::STAGE_BYTES;
  const int p = static_cast<int>(panel * Shape::PANEL);
  barrier_wait(empty + stage, feed->parity ^ 1);
  barrier_expect(full + stage, Shape::STAGE_BYTES);
  copy_panel<Shape::ACROSS_LEFT>(to, &arguments.left, feed->row, p, feed->left_batch, full + stage);
  copy_panel<Shape::ACROSS_RIGHT>(to + Shape::ROWS * 128, &arguments.right, feed->col, p,
                                    feed->right_batch, full + stage);
  feed->stage = stage + 1 == Shape::STAGES ? 0 : stage + 1;
  feed->parity ^= stage + 1 == Shape::STAGES ? 1 : 0;
  feed->panel = panel + 1;
  if (panel + 1 == feed->end) {
    feed_tile<Shape>(arguments, feed, feed->number + gridDim.x, tiles);
  }
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
  __shared__ DoubleFeed feed;
  if (threadIdx.x == 0) {
    for (u32 stage = 0; stage < STAGES; stage++) {
      barrier_init(&full[stage], 1);
      barrier_init(&empty[stage], Shape::WARPS);
    }
    barrier_init_fence();
  }
  __syncthreads();

  const u32 row_tiles = static_cast<u32>(arguments.row_tiles);
  const u32 col_tiles = static_cast<u32>(arguments.col_tiles);
  const u32 parts = static_cast<u32>(arguments.parts);
  const u32 panels = static_cast<u32>(arguments.panels);
  const u32 part_panels = static_cast<u32>(arguments.part_panels);
  const u32 tiles = static_cast<u32>(arguments.batches) * parts * row_tiles * col_tiles;
  const u32 warp = threadIdx.x / 32;
  const u32 lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    prefetch_map(&arguments.left);
    prefetch_map(&arguments.right);
    feed.stage = 0;
    feed.parity = 0;
    feed.panel = 0;
    feed.end = 0;
    feed_tile<Shape>(arguments, &feed, blockIdx.x, tiles);
    for (u32 ahead = 0; ahead < STAGES - Shape::LAG; ahead++) {
      feed_panel<Shape>(arguments, &feed, shared, full, empty, tiles);
    }
  }
  __syncwarp();

  const u32 in_row = warp / (Shape::COLS / Shape::WARP_COLS) * Shape::WARP_ROWS;
  const u32 in_col = warp % (Shape::COLS / Shape::WARP_COLS) * Shape::WARP_COLS;
  const DoublePlaces<Shape> places(lane);
  const u32 left_base = shared_address(shared) + in_row * 128;
  const u32 right_base = shared_address(shared) + (Shape::ROWS + in_col) * 128;
  double* const totals = reinterpret_cast<double*>(shared + STAGES * Shape::STAGE_BYTES) + threadIdx.x;
  constexpr u32 APART = 32 * Shape::WARPS;  // between a thread's totals
  const u32 chunk = static_cast<u32>(arguments.chunk);
  const u32 zero = static_cast<u32>(reinterpret_cast<u64>(arguments.c)) & 7;
  Ring<STAGES> ring;
  for (u32 number = blockIdx.x; number < tiles; number += gridDim.x) {
    u32 panel = double_place(number, parts, row_tiles, col_tiles).part * part_panels;
    const u32 end = panels - panel < part_panels ? panels : panel + part_panels;
    bool chained = false;
    double sums[HIGH][WIDE][4];
    double left[2][8];
    double right[WIDE][4];
    for (;;) {
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
      const u32 stop = end - panel < chunk ? end : panel + chunk;
      if (Shape::AHEAD && panel < stop) {
        barrier_wait(&full[ring.stage], ring.parity);
        const u32 at = ring.stage * Shape::STAGE_BYTES;
        places.read_left(left[0], left_base + at, 0);
#pragma unroll
        for (u32 x = 0; x < WIDE; x++) {
          places.read_right(right[x], right_base + at, x);
        }
      }
      while (panel < stop) {
        const bool more = ++panel < stop;
        const u32 at = ring.stage * Shape::STAGE_BYTES;
        u64* const read = &empty[ring.stage];
        if (!Shape::AHEAD) {
          barrier_wait(&full[ring.stage], ring.parity);
          places.read_left(left[0], left_base + at, 0);
#pragma unroll
          for (u32 x = 0; x < WIDE; x++) {
            places.read_right(right[x], right_base + at, x);
          }
        }
        ring.next();
        const u32 next = ring.stage * Shape::STAGE_BYTES;
#pragma unroll
        for (u32 r = 0; r < HIGH - 1; r++) {
          places.read_left(left[(r + 1) % 2], left_base + at, r + 1);
#pragma unroll
          for (u32 x = 0; x < WIDE; x++) {
            product_16x8x16(sums[r][x], left[r % 2], right[x]);
          }
          if (r == (HIGH - 1) / 2) {
            // The stage that is filled now was read LAG panels ago; by now all warps are past that.
            if (threadIdx.x == 0) {
              feed_panel<Shape>(arguments, &feed, shared, full, empty, tiles);
            }
            __syncwarp();
          }
        }
        // The last rows, beside which the next panel is read: the tensor cores would idle else.
        release_read(read, lane, left[(HIGH - 1) % 2], zero);
        if (Shape::AHEAD && more) {
          barrier_wait(&full[ring.stage], ring.parity);
          places.read_left(left[0], left_base + next, 0);
        }
#pragma unroll
        for (u32 x = 0; x < WIDE; x++) {
          product_16x8x16(sums[HIGH - 1][x], left[(HIGH - 1) % 2], right[x]);
          if (Shape::AHEAD && more) {
            places.read_right(right[x], right_base + next, x);
          }
        }
      }
      bool add = arguments.accumulate != 0;
      if (Shape::TOTALS) {
#pragma unroll
        for (u32 r = 0; r < HIGH; r++) {
#pragma unroll
          for (u32 x = 0; x < WIDE; x++) {
#pragma unroll
            for (u32 e = 0; e < 4; e++) {
              double* const total = totals + ((r * WIDE + x) * 4 + e) * APART;
              if (chained) {
                sums[r][x][e] += *total;
              }
              if (panel < end) {
                *total = sums[r][x][e];
              }
            }
          }
        }
      } else {
        add = add || chained;
      }
      if (!Shape::TOTALS || panel == end) {
        // Located again, for no register holds it meanwhile.
        const DoublePlace place = double_place(hidden(number), parts, row_tiles, col_tiles);
        double* const c = arguments.c + place.batch * arguments.c_step + place.part * arguments.part_step;
        store_double<Shape>(sums, arguments, c, u64{place.row} * Shape::ROWS + in_row,
                            u64{place.col} * Shape::COLS + in_col, lane, add);
      }
      if (panel == end) {
        break;
      }
      chained = true;
    }
  }
}

}  // namespace tilespark
