// Product of double matrices on the tensor cores of sm_90:
//
//   c[i, j] = alpha * sum over p of left(i, p) * right(p, j) + beta * c[i, j]   0 <= i < rows, 0 <= j < cols
//
// c[i, j] is at i * row_step + j * col_step. An operand is stored along K (K is the contiguous axis) or across (K is
// the strided axis) and is read as stored. There are kernels for three of the four combinations:
//
//   tt   left across, right along K: op(A) = A^T, op(B) = B^T of a row-major product
//   nt   both along K
//   tn   both across
//
// A product without transposes, A along K and B across, runs as tt with left = B, right = A, row_step = 1 and col_step
// = lead_c. In this order one 16-byte load fills a fragment; with A on the left each fragment would cost 16 moves.
//
// Threads to elements: a thread block has two teams of four warps and computes tiles of ROWS x COLS. TOGETHER, each
// team computes half of a tile's columns; else ("alone") each has its own tiles. A warp computes WARP_ROWS x WARP_COLS
// with mma products of 16 x 8 x 8. A panel is 16 steps of K, two halves. Thread t + 4 g of a warp holds rows g and g +
// 8 of the left fragment and column g of the right one, at the steps t + 4 s of K, s = 0..3. These indices may stand
// for any elements of the panel, as long as both operands agree:
//
//   left across (tt, tn)  the step is p = 2 t + s % 2 + 8 (s / 2); rows g and g + 8 are panel rows 2 g and 2 g + 1: one
//                         16-byte read loads a step of both
//   left along K (nt)     p = t + 4 s; row g is the panel row with the reversed bits of g
//   right                 column g is panel column g if right is across, g / 2 + 4 (g % 2) if it is along K and left is
//                         across, the reversed bits of g if both are along K
//
// so that reads of swizzled panels are free of bank conflicts.
//
// Teams: every scheduler has a warp of each team; while one team waits, ends its chains or stores C, the other keeps
// the tensor cores busy. TOGETHER, they share panels: one thread refills a stage as soon as both teams have read it,
// and an extra warp per team waits for the next panel. Alone, an extra warp per team copies and waits; this is faster
// where K is so short that storing tiles takes most of the time. The extra warp and its team meet once per panel at a
// named barrier, which takes no branch: the loop over panels is one basic block.
//
// Accuracy: products and sums are those of IEEE 754. A chain of sums covers at most `chunk` panels; chains are added to
// totals in registers, a second chain. Of the inputs tried, equal terms are the worst for a chain: on an H200, n of
// them had errors of up to 0.24 u n |A||B|.
//
// Parts of K (split-K): product number x of a launch is part x % parts of product x / parts; parts > 1 write to
// scratch, which parts.cuh sums.
//
// Shared memory: STAGES stages, each a panel of left and one of right; TOGETHER, one of right for each team; alone,
// each team has its own stages. Panels are (rows, 16), or (rows / 16, 16, 16) if stored across; the copy engine
// swizzles their rows of 128 bytes. A DoubleState follows, or one for each team if alone.
//
// Launch: THREADS threads, SHARED_BYTES, at most as many thread blocks as multiprocessors and as tiles. There are fewer
// than 2^31 tiles, and K > 0.
#pragma once

#include "split.cuh"

namespace tilespark {

// Fields in the order of DoubleSteps.addMultiply.
struct DoubleArguments {
  // The operand as stored, rows at multiples of 16 bytes. Along K: (batches, rows, k) in boxes of (1, ROWS, 16).
  // Across: (batches, k, rows) in boxes of (1, 16, 16).
  CUtensorMap left;
  CUtensorMap right;  // like left, with cols and TEAM_COLS
  double* c;
  u64 rows;
  u64 cols;
  u64 row_step;  // elements
  u64 col_step;
  u64 panels;  // panels in K
  u64 chunk;   // panels in a chain
  u64 row_tiles;
  u64 col_tiles;
  Factors<double> factors;
  u64 batches;
  u64 c_step;       // elements of c from one product to the next
  u64 parts;        // parts of K, none of them empty
  u64 part_panels;  // panels in a part
  u64 part_step;    // elements of c from one part to the next
  u64 left_step;    // matrices from one product to the next: 0 if all share one, else 1
  u64 right_step;
};

template <bool ACROSS_LEFT_, bool ACROSS_RIGHT_, u32 ROWS_, u32 COLS_, u32 WARP_ROWS_, u32 WARP_COLS_, u32 STAGES_,
          bool TOTALS_>
struct DoubleShape {
  static constexpr bool ACROSS_LEFT = ACROSS_LEFT_;
  static constexpr bool ACROSS_RIGHT = ACROSS_RIGHT_;
  static_assert(ACROSS_LEFT || !ACROSS_RIGHT, "exchange the operands");
  static_assert(WARP_ROWS_ % 32 == 0, "each half of a panel begins in the same place of a left operand");
  static_assert(WARP_COLS_ % 16 == 0 && WARP_COLS_ >= 32, "reads stand behind the third of its fragments");
  static constexpr u32 TEAMS = 2;
  static constexpr bool TOGETHER = TOTALS_;
  static constexpr u32 ROWS = ROWS_;
  static constexpr u32 COLS = COLS_;
  static constexpr u32 SHARING = TOGETHER ? TEAMS : 1;  // teams that share a stage
  static constexpr u32 TEAM_COLS = COLS / SHARING;
  static constexpr u32 WARP_ROWS = WARP_ROWS_;
  static constexpr u32 WARP_COLS = WARP_COLS_;
  static constexpr u32 STAGES = STAGES_;
  static_assert(STAGES > 1, "a stage is filled while another one is read");
  // Without totals, all of K is one chain and `chunk` is ignored.
  static constexpr bool TOTALS = TOTALS_;
  static constexpr u32 PANEL = 16;
  static constexpr u32 WARPS = ROWS / WARP_ROWS * (TEAM_COLS / WARP_COLS);  // warps of a team
  static_assert(WARPS == 4, "a team is a warpgroup");
  static constexpr u32 TEAM_THREADS = 32 * WARPS;
  static constexpr u32 THREADS = (TEAMS + 1) * TEAM_THREADS;  // the last warpgroup copies
  static constexpr u32 LEFT_BYTES = ROWS * 128;
  static constexpr u32 RIGHT_BYTES = TEAM_COLS * 128;  // panel of one team
  static constexpr u32 STAGE_BYTES = LEFT_BYTES + SHARING * RIGHT_BYTES;
  static constexpr u32 PANEL_BYTES = STAGES * STAGE_BYTES;
  static_assert(LEFT_BYTES % 1024 == 0 && RIGHT_BYTES % 1024 == 0, "panels begin where swizzling does");
  static constexpr u32 STATES = TEAMS / SHARING;
  static constexpr u32 STATE_BYTES = 512;  // room for all states
  static constexpr u32 SHARED_BYTES = STATES * PANEL_BYTES + STATE_BYTES;
  // Registers per thread. The launch gives each thread 168; setmaxnreg changes the count in steps of 8. With 24
  // registers, copies of several boxes would spill.
  static constexpr u32 SUMMING_REGISTERS = TOGETHER || ACROSS_LEFT ? 232 : 240;
  static constexpr u32 COPYING_REGISTERS = TOGETHER || ACROSS_LEFT ? 40 : 24;
  static_assert(2 * SUMMING_REGISTERS + COPYING_REGISTERS <= 3 * 168, "there are no more");
};

// Copies a panel of one operand: EXTENT rows or columns of a tile from `first` on, 16 steps of K from `p` on. If stored
// across, in boxes of 16 rows or columns; the copy engine fills boxes with zeros past the end of the matrix.
template <bool ACROSS, u32 EXTENT>
__device__ __forceinline__ void copy_panel(char* to, const CUtensorMap* map, int first, int p, int batch,
                                           u64* barrier) {
  if (ACROSS) {
#pragma unroll
    for (u32 x = 0; x < EXTENT; x += 16) {
      copy_box(to + x * 128, map, first + static_cast<int>(x), p, batch, barrier);
    }
  } else {
    copy_box(to, map, p, first, batch, barrier);
  }
}

__device__ __forceinline__ u32 mirrored(u32 g) {
  return g % 2 * 4 + g / 2 % 2 * 2 + g / 4;
}

// Maps row g (half = 1: row g + 8) of the left fragment to one of 16 panel rows.
template <typename Shape>
__device__ __forceinline__ u32 left_place(u32 g, u32 half) {
  return Shape::ACROSS_LEFT ? 2 * g + half : half * 8 + mirrored(g);
}

// Maps column g of the right fragment to one of 8 panel columns.
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

// Shared memory addresses of a thread's first values in the panels of stage 0: for the first 16 rows and the first 8
// columns of its warp, which begin at multiples of 1024 bytes. Other steps of K flip bits, because panels are swizzled.
template <typename Shape>
struct DoublePlaces {
  u32 left;
  u32 right;

  __device__ __forceinline__ DoublePlaces(u32 left_panel, u32 right_panel, u32 lane) {
    const u32 g = lane / 4;
    const u32 t = lane % 4;
    const u32 row = mirrored(g);
    const u32 along = row * 128 + (t / 2 ^ row) * 16 + t % 2 * 8;
    left = left_panel + (Shape::ACROSS_LEFT ? 2 * t * 128 + (g ^ 2 * t) * 16 : along);
    const u32 place = right_place<Shape>(g);
    right = right_panel + (Shape::ACROSS_RIGHT  ? 2 * t * 128 + (g / 2 ^ 2 * t) * 16 + g % 2 * 8
                           : Shape::ACROSS_LEFT ? place * 128 + (t ^ place) * 16
                                                : along);
  }

  // Reads the left fragment of 16 rows from r * 16 on, of half `half` of the panel, in the stage at byte offset `at`.
  __device__ __forceinline__ void read_left(double (&values)[4], u32 at, u32 r, u32 half) const {
#pragma unroll
    for (u32 s = 0; s < 2; s++) {
      if (Shape::ACROSS_LEFT) {
        read_pair(values[2 * s], values[2 * s + 1], ((left + at) ^ s * 144) + half * 1024 + r * 2048);
      } else {
        const u32 place = ((left + at) ^ (2 * half + s) * 32) + r * 2048;
        read_one(values[2 * s], place);
        read_one(values[2 * s + 1], place + 1024);
      }
    }
  }

  // Reads the right fragment of 8 columns from c * 8 on.
  __device__ __forceinline__ void read_right(double (&values)[2], u32 at, u32 c, u32 half) const {
    if (Shape::ACROSS_RIGHT) {
#pragma unroll
      for (u32 s = 0; s < 2; s++) {
        read_one(values[s], ((right + at) ^ s * 144 ^ c % 2 * 64) + half * 1024 + c / 2 * 2048);
      }
    } else if (Shape::ACROSS_LEFT) {
      read_pair(values[0], values[1], ((right + at) ^ half * 64) + c * 1024);
    } else {
#pragma unroll
      for (u32 s = 0; s < 2; s++) {
        read_one(values[s], ((right + at) ^ (2 * half + s) * 32) + c * 1024);
      }
    }
  }
};

__device__ __forceinline__ void product_16x8x8(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
}

// Waits for the warps of the team and its extra warp. All threads of a warp must be converged (.aligned).
template <typename Shape>
__device__ __forceinline__ void team_barrier(u32 barrier) {
  asm volatile("barrier.cta.sync.aligned %0, %1;" ::"r"(barrier), "n"(Shape::TEAM_THREADS + 32) : "memory");
}

// Like team_barrier, after code that may diverge: lanes leave an mbarrier wait one by one, and only one lane copies.
template <typename Shape>
__device__ __forceinline__ void team_sync(u32 barrier) {
  __syncwarp();
  team_barrier<Shape>(barrier);
}

// see_left and see_right order the release of a panel after its reads. The copy engine overwrites the panel as soon as
// all warps have arrived at the barrier, but a barrier does not wait for reads in flight: with a plain one, an H200 got
// a few of the 2 million panels wrong that the warps read for 4096^3. Products before the barrier do not delay it
// either: the compiler moves it ahead of them. So a word of every read of the panel's second half is ORed into `seen`;
// `seen & zero`, which is 0 though the compiler cannot know it, is added to the barrier's number. So the barrier cannot
// issue before those reads have arrived. For reads of the first half nothing in this source enforces that:
// dev/check-reads verifies in the machine code that every loaded value is used before the barrier.
template <typename Shape>
__device__ __forceinline__ void see_left(u32& seen, const double (&values)[4]) {
#pragma unroll
  for (u32 i = 0; i < 4; i += Shape::ACROSS_LEFT ? 2 : 1) {  // one value per read
    seen |= static_cast<u32>(__double2loint(values[i]));
  }
}
template <typename Shape>
__device__ __forceinline__ void see_right(u32& seen, const double (&values)[2]) {
#pragma unroll
  for (u32 i = 0; i < 2; i += Shape::ACROSS_LEFT && !Shape::ACROSS_RIGHT ? 2 : 1) {
    seen |= static_cast<u32>(__double2loint(values[i]));
  }
}

// Locates the tile with this number. Tiles are ordered by product and part; in a part, GROUP rows of tiles at a time,
// column by column, so that neighbours share rows of the left and columns of the right operand.
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

// Stores a warp's sums to C; `row` and `col` are of the warp's first element. If beta is not 0, LINES lines of C are
// read before they are stored: the compiler waits for each read that follows a store. PLAIN: alpha = 1 and beta = 0 are
// known at compile time.
template <typename Shape, bool PLAIN>
__device__ __forceinline__ void store_double(const double (&sums)[Shape::WARP_ROWS / 16][Shape::WARP_COLS / 8][4],
                                             const DoubleArguments& arguments, double* c, u64 row, u64 col,
                                             u32 lane) {
  constexpr u32 HIGH = Shape::WARP_ROWS / 16;
  constexpr u32 WIDE = Shape::WARP_COLS / 8;
  constexpr u32 LINES = 1;  // limited by registers
  const Factors<double>& factors = arguments.factors;
  const bool read = !PLAIN && factors.reads_c();
  const u32 g = lane / 4;
  const u32 t = lane % 4;
  const bool inside = row + HIGH * 16 <= arguments.rows && col + Shape::WARP_COLS <= arguments.cols;
  const bool even_c = inside && reinterpret_cast<u64>(c) % 16 == 0;
  if (Shape::ACROSS_LEFT && even_c && arguments.row_step == 1 && arguments.col_step % 2 == 0) {
    // Panel rows 2 g and 2 g + 1 are neighbours in C.
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
            before[e - begin][r] = read ? *reinterpret_cast<const double2*>(line + r * 16) : make_double2(0, 0);
          }
        }
#pragma unroll
        for (u32 e = begin; e < begin + LINES; e++) {
          double* const line = first + (col + x * 8 + right_place<Shape>(2 * t + e)) * arguments.col_step;
#pragma unroll
          for (u32 r = 0; r < HIGH; r++) {
            const double2 pair = make_double2(sums[r][x][e], sums[r][x][2 + e]);
            *reinterpret_cast<double2*>(line + r * 16) = combined<PLAIN>(factors, pair, before[e - begin][r]);
          }
        }
      }
    }
    return;
  }
  if (Shape::ACROSS_RIGHT && even_c && arguments.col_step == 1 && arguments.row_step % 2 == 0) {
    // Columns 2 t and 2 t + 1 are neighbours in C.
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
            before[half - begin][x] = read ? *reinterpret_cast<const double2*>(line + x * 8) : make_double2(0, 0);
          }
        }
#pragma unroll
        for (u32 half = begin; half < begin + LINES; half++) {
          double* const line = c + (row + r * 16 + left_place<Shape>(g, half)) * arguments.row_step + col + 2 * t;
#pragma unroll
          for (u32 x = 0; x < WIDE; x++) {
            const double2 pair = make_double2(sums[r][x][half * 2], sums[r][x][half * 2 + 1]);
            *reinterpret_cast<double2*>(line + x * 8) = combined<PLAIN>(factors, pair, before[half - begin][x]);
          }
        }
      }
    }
    return;
  }
  if (!Shape::ACROSS_RIGHT && even_c && arguments.col_step == 1 && arguments.row_step % 2 == 0) {
    // One thread holds columns j and j + 4 of a row, another j + 1 and j + 5: they exchange two values to store
    // neighbours.
    constexpr u32 OTHER = Shape::ACROSS_LEFT ? 1 : 2;
    const bool upper = (t & OTHER) != 0;
    const u32 pair_col = right_place<Shape>(2 * (t & ~OTHER)) + (upper ? 4 : 0);
#pragma unroll
    for (u32 r = 0; r < HIGH; r++) {
#pragma unroll
      for (u32 half = 0; half < 2; half++) {
        double* const line =
            c + (row + r * 16 + left_place<Shape>(g, half)) * arguments.row_step + col + pair_col;
        double2 before[WIDE];
#pragma unroll
        for (u32 x = 0; x < WIDE; x++) {
          before[x] = read ? *reinterpret_cast<const double2*>(line + x * 8) : make_double2(0, 0);
        }
#pragma unroll
        for (u32 x = 0; x < WIDE; x++) {
          const double low = sums[r][x][half * 2];
          const double high = sums[r][x][half * 2 + 1];
          const double other = __shfl_xor_sync(~0u, upper ? low : high, OTHER);
          const double2 pair = upper ? make_double2(other, high) : make_double2(low, other);
          *reinterpret_cast<double2*>(line + x * 8) = combined<PLAIN>(factors, pair, before[x]);
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
            before[half - begin][x][e] = read && i < arguments.rows && j < arguments.cols
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
              c[i * arguments.row_step + j * arguments.col_step] =
                  PLAIN ? sum : factors.combine(sum, before[half - begin][x][e]);
            }
          }
        }
      }
    }
  }
}

// Calls `function` for each sum of a thread: row and column of its fragment, and its index (0 to 3) in the fragment.
template <u32 HIGH, u32 WIDE, typename Function>
__device__ __forceinline__ void for_each(const Function& function) {
#pragma unroll
  for (u32 r = 0; r < HIGH; r++) {
#pragma unroll
    for (u32 x = 0; x < WIDE; x++) {
#pragma unroll
      for (u32 e = 0; e < 4; e++) {
        function(r, x, e);
      }
    }
  }
}

// A tile of C or, if K is cut into parts, of the partial sums of one part.
struct DoubleTile {
  u32 panels;  // 0: no tile is left
  u32 row;     // row and column of its first element in C
  u32 col;
  u32 batch;
  u64 c;  // offset in c, in elements, of the product that the tile belongs to, or of one part's partial sums
};

// State that the teams share with their extra warps.
template <u32 STAGES>
struct DoubleState {
  // Tiles in use at once: one per stage, the next panel's, one that a team still stores, and one announced ahead.
  static constexpr u32 TILES = STAGES < 6 ? 8 : 16;
  static_assert(STAGES + 3 <= TILES, "none is told over one that is stored");
  u64 full[STAGES];  // barriers: the stage's panels have arrived
  u64 free[STAGES];  // barriers, TOGETHER: both teams have read the stage
  DoubleTile tiles[TILES];
};

// Count of tiles of all products and parts.
__device__ __forceinline__ u32 double_tiles(const DoubleArguments& arguments) {
  return static_cast<u32>(arguments.batches) * static_cast<u32>(arguments.parts) *
         static_cast<u32>(arguments.row_tiles) * static_cast<u32>(arguments.col_tiles);
}

// Writes tile `number` to `to` (no tile if `number` >= `count`), and returns its first panel.
template <typename Shape>
__device__ __forceinline__ u32 tell_tile(const DoubleArguments& arguments, u32 number, u32 count, DoubleTile& to) {
  const u32 panels = static_cast<u32>(arguments.panels);
  const u32 part_panels = static_cast<u32>(arguments.part_panels);
  DoubleTile tile = {};
  u32 panel = 0;
  if (number < count) {
    const DoublePlace place =
        double_place(number, static_cast<u32>(arguments.parts), static_cast<u32>(arguments.row_tiles),
                     static_cast<u32>(arguments.col_tiles));
    panel = place.part * part_panels;
    tile.panels = panels - panel < part_panels ? panels - panel : part_panels;
    tile.row = place.row * Shape::ROWS;
    tile.col = place.col * Shape::COLS;
    tile.batch = place.batch;
    tile.c = place.batch * arguments.c_step + place.part * arguments.part_step;
  }
  to = tile;
  return panel;
}

template <typename Shape>
__device__ __forceinline__ void copy_stage(const DoubleArguments& arguments, const DoubleTile& tile, u32 panel,
                                           char* shared, u32 stage, u64* full) {
  const int left_batch = static_cast<int>(tile.batch * static_cast<u32>(arguments.left_step));
  const int right_batch = static_cast<int>(tile.batch * static_cast<u32>(arguments.right_step));
  const int p = static_cast<int>(panel * Shape::PANEL);
  barrier_expect(full, Shape::STAGE_BYTES);
  char* const left = shared + stage * Shape::STAGE_BYTES;
  copy_panel<Shape::ACROSS_LEFT, Shape::ROWS>(left, &arguments.left, static_cast<int>(tile.row), p, left_batch, full);
#pragma unroll
  for (u32 team = 0; team < Shape::SHARING; team++) {
    copy_panel<Shape::ACROSS_RIGHT, Shape::TEAM_COLS>(left + Shape::LEFT_BYTES + team * Shape::RIGHT_BYTES,
                                                      &arguments.right,
                                                      static_cast<int>(tile.col + team * Shape::TEAM_COLS), p,
                                                      right_batch, full);
  }
}

// TOGETHER: one thread copies the panels in the order of the sums. It announces each tile before it copies the previous
// tile's panels: a warp that waits for a panel then knows the next tile.
template <typename Shape>
__device__ __forceinline__ void copy_together(const DoubleArguments& arguments, char* shared,
                                            DoubleState<Shape::STAGES>* state) {
  constexpr u32 STAGES = Shape::STAGES;
  constexpr u32 TILES = DoubleState<STAGES>::TILES;
  const u32 count = double_tiles(arguments);
  u32 entry = 0;
  u32 copied = 0;
  Ring<STAGES> ring;
  u32 panel = tell_tile<Shape>(arguments, blockIdx.x, count, state->tiles[0]);
  for (u32 number = blockIdx.x; number < count; number += gridDim.x) {
    const DoubleTile tile = state->tiles[entry];
    entry = entry + 1 == TILES ? 0 : entry + 1;
    const u32 next_panel = tell_tile<Shape>(arguments, number + gridDim.x, count, state->tiles[entry]);
    for (const u32 end = panel + tile.panels; panel < end; panel++) {
      if (copied < STAGES) {
        copied++;
      } else {
        barrier_wait(&state->free[ring.stage], ring.parity ^ 1);
      }
      copy_stage<Shape>(arguments, tile, panel, shared, ring.stage, &state->full[ring.stage]);
      ring.next();
    }
    panel = next_panel;
  }
}

// TOGETHER: an extra warp meets its team before the first panel, and then once per panel, when the team has read the
// panel and the next one has arrived.
template <typename Shape>
__device__ __forceinline__ void wait_for_panels(DoubleState<Shape::STAGES>* state, u32 team, u32 lane) {
  constexpr u32 STAGES = Shape::STAGES;
  constexpr u32 TILES = DoubleState<STAGES>::TILES;
  Ring<STAGES> next;
  barrier_wait(&state->full[0], 0);
  next.next();
  team_sync<Shape>(1 + team);
  u32 entry = 0;
  u32 stage = 0;
  u32 left = state->tiles[0].panels;
  while (left > 0) {
    if (--left == 0) {
      entry = entry + 1 == TILES ? 0 : entry + 1;
      left = state->tiles[entry].panels;
    }
    if (left > 0) {
      barrier_wait(&state->full[next.stage], next.parity);
      next.next();
    }
    team_sync<Shape>(1 + team);
    if (lane == 0) {
      barrier_arrive(&state->free[stage]);
    }
    stage = stage + 1 == STAGES ? 0 : stage + 1;
  }
}

// Alone: one extra warp copies the panels of a team, waits for them and meets the team in the same way.
template <typename Shape>
__device__ __forceinline__ void copy_alone(const DoubleArguments& arguments, char* shared,
                                           DoubleState<Shape::STAGES>* state, u32 team, u32 lane) {
  constexpr u32 STAGES = Shape::STAGES;
  constexpr u32 TILES = DoubleState<STAGES>::TILES;
  const u32 count = double_tiles(arguments);
  u32 number = team * gridDim.x + blockIdx.x;
  u32 entry = ~0u;
  u32 panel = 0;
  u32 end = 0;
  bool more = true;
  Ring<STAGES> waited;
  u32 copied = 0;
  for (u32 turn = 0;; turn++) {
    // All stages are free in turn 0; none becomes free in turn 1, then one in each turn.
    for (u32 free = turn == 0 ? STAGES : turn == 1 ? 0 : 1; free > 0 && more; free--) {
      if (panel == end) {
        DoubleTile tile;
        panel = tell_tile<Shape>(arguments, number, count, tile);
        end = panel + tile.panels;
        more = tile.panels > 0;
        number += Shape::TEAMS * gridDim.x;
        entry = entry + 1 == TILES ? 0 : entry + 1;
        if (lane == 0) {
          state->tiles[entry] = tile;
        }
        __syncwarp();
      }
      if (more) {
        if (lane == 0) {
          const u32 stage = copied % STAGES;
          copy_stage<Shape>(arguments, state->tiles[entry], panel, shared, stage, &state->full[stage]);
        }
        __syncwarp();
        panel++;
        copied++;
      }
    }
    if (turn < copied) {
      barrier_wait(&state->full[waited.stage], waited.parity);
      waited.next();
    }
    team_sync<Shape>(1 + team);
    if (turn == copied) {
      break;
    }
  }
}

template <typename Shape>
__device__ __forceinline__ void sum_double(const DoubleArguments& arguments, char* shared,
                                           const DoubleState<Shape::STAGES>* state, u32 team, u32 thread) {
  constexpr u32 STAGES = Shape::STAGES;
  constexpr u32 HIGH = Shape::WARP_ROWS / 16;
  constexpr u32 WIDE = Shape::WARP_COLS / 8;
  constexpr u32 AHEAD = 2;  // rows of fragments: how far reads of left run ahead
  const u32 warp = thread / 32;
  const u32 lane = thread % 32;
  const u32 in_row = warp / (Shape::TEAM_COLS / Shape::WARP_COLS) * Shape::WARP_ROWS;
  const u32 in_col = warp % (Shape::TEAM_COLS / Shape::WARP_COLS) * Shape::WARP_COLS;
  const u32 second = Shape::TOGETHER ? team : 0;
  const u32 panels_at = shared_address(shared);
  const DoublePlaces<Shape> places(panels_at + in_row * 128,
                                   panels_at + Shape::LEFT_BYTES + second * Shape::RIGHT_BYTES + in_col * 128, lane);
  const u32 zero = static_cast<u32>(reinterpret_cast<u64>(arguments.c)) & 7;
  // Fragments of the panel's two halves: left[half][r], right[half][x]. Fewer than these are live at once.
  double left[2][HIGH][4];
  double right[2][WIDE][2];
  team_sync<Shape>(1 + team);
#pragma unroll
  for (u32 r = 0; r < AHEAD; r++) {
    places.read_left(left[0][r], 0, r, 0);
  }
#pragma unroll
  for (u32 x = 0; x < WIDE; x++) {
    places.read_right(right[0][x], 0, x, 0);
  }
  u32 at = 0;  // byte offset of the current stage
  u32 entry = 0;
  for (;;) {
    u32 left_panels = state->tiles[entry].panels;
    if (left_panels == 0) {
      break;
    }
    double sums[HIGH][WIDE][4];
    double totals[HIGH][WIDE][4];
    for_each<HIGH, WIDE>([&](u32 r, u32 x, u32 e) {
      sums[r][x][e] = 0;
      totals[r][x][e] = 0;
    });
    // In each tile, the second team's first chain is half as long, so that the teams end chains at different times.
    u32 chain = static_cast<u32>(arguments.chunk);
    const bool chained = Shape::TOTALS && chain < left_panels;
    chain = chained ? (team == 1 ? (chain + 1) / 2 : chain) : left_panels;
    for (;;) {
      left_panels -= chain;
      // One basic block: with branches, the compiler makes products wait for each other.
#pragma unroll 1
      for (u32 panels = chain; panels > 0; panels--) {
        const u32 next = at == (STAGES - 1) * Shape::STAGE_BYTES ? 0 : at + Shape::STAGE_BYTES;
        u32 seen = 0;
#pragma unroll
        for (u32 half = 0; half < 2; half++) {
#pragma unroll
          for (u32 r = 0; r < HIGH; r++) {
            const u32 ahead = half * HIGH + r + AHEAD;  // row of fragments to read, counted over both halves
            const bool beyond = ahead >= 2 * HIGH;
#pragma unroll
            for (u32 x = 0; x < WIDE; x++) {
              product_16x8x8(sums[r][x], left[half][r], right[half][x]);
              // A scheduling fence. Without it the compiler moves reads right after the products that use the registers
              // they write, and the reads wait for these products.
              __syncwarp();
              if (x == (HIGH > 2 ? 0 : 1) && ahead == 2 * HIGH) {
#pragma unroll
                for (u32 y = 0; y < HIGH; y++) {
                  see_left<Shape>(seen, left[1][y]);
                }
#pragma unroll
                for (u32 y = 0; y < WIDE; y++) {
                  see_right<Shape>(seen, right[1][y]);
                }
                team_barrier<Shape>(1 + team + (seen & zero));
              }
              // The registers that this read writes were last used two products ago.
              if (x == 1) {
                places.read_left(left[ahead / HIGH % 2][ahead % HIGH], beyond ? next : at, ahead % HIGH,
                                 ahead / HIGH % 2);
              }
              if (x == 2 && r + 2 >= HIGH) {
                const u32 from = half == 1 ? next : at;
#pragma unroll
                for (u32 y = 0; y < WIDE / 2; y++) {
                  const u32 z = y + (r + 2 - HIGH) * (WIDE / 2);
                  places.read_right(right[1 - half][z], from, z, 1 - half);
                }
              }
            }
          }
        }
        at = next;
      }
      if (!Shape::TOTALS || left_panels == 0) {
        break;
      }
      for_each<HIGH, WIDE>([&](u32 r, u32 x, u32 e) {
        totals[r][x][e] += sums[r][x][e];
        sums[r][x][e] = 0;
      });
      chain = static_cast<u32>(arguments.chunk);
      chain = chain < left_panels ? chain : left_panels;
    }
    if (chained) {
      for_each<HIGH, WIDE>([&](u32 r, u32 x, u32 e) { sums[r][x][e] += totals[r][x][e]; });
    }
    const DoubleTile& tile = state->tiles[entry];
    const u64 row = u64{tile.row} + in_row;
    const u64 col = u64{tile.col} + second * Shape::TEAM_COLS + in_col;
    if (arguments.factors.are_plain()) {  // C is not read, and sums are not multiplied
      store_double<Shape, true>(sums, arguments, arguments.c + tile.c, row, col, lane);
    } else {
      store_double<Shape, false>(sums, arguments, arguments.c + tile.c, row, col, lane);
    }
    entry = entry + 1 == DoubleState<STAGES>::TILES ? 0 : entry + 1;
  }
}

template <typename Shape>
__device__ __forceinline__ void multiply_double(const DoubleArguments& arguments) {
  extern __shared__ __align__(1024) char double_shared[];
  using State = DoubleState<Shape::STAGES>;
  static_assert(Shape::STATES * sizeof(State) <= Shape::STATE_BYTES, "the states have room");
  State* const states = reinterpret_cast<State*>(double_shared + Shape::STATES * Shape::PANEL_BYTES);
  if (threadIdx.x == 0) {
    prefetch_map(&arguments.left);
    prefetch_map(&arguments.right);
    for (u32 state = 0; state < Shape::STATES; state++) {
      for (u32 stage = 0; stage < Shape::STAGES; stage++) {
        barrier_init(&states[state].full[stage], 1);
        barrier_init(&states[state].free[stage], Shape::SHARING);
      }
    }
    barrier_init_fence();
  }
  __syncthreads();
  wait_for_launches_before();
  let_next_launch_begin();
  const u32 team = threadIdx.x / Shape::TEAM_THREADS;
  if (team < Shape::TEAMS) {
    registers_up<Shape::SUMMING_REGISTERS>();
    const u32 own = Shape::TOGETHER ? 0 : team;
    sum_double<Shape>(arguments, double_shared + own * Shape::PANEL_BYTES, states + own, team,
                      threadIdx.x % Shape::TEAM_THREADS);
  } else {
    registers_down<Shape::COPYING_REGISTERS>();
    const u32 served = (threadIdx.x - Shape::TEAMS * Shape::TEAM_THREADS) / 32;
    const u32 lane = threadIdx.x % 32;
    if constexpr (Shape::TOGETHER) {
      if (served < Shape::TEAMS) {
        wait_for_panels<Shape>(states, served, lane);
      } else if (served == Shape::TEAMS && lane == 0) {
        copy_together<Shape>(arguments, double_shared, states);
      }
    } else if (served < Shape::TEAMS) {
      copy_alone<Shape>(arguments, double_shared + served * Shape::PANEL_BYTES, states + served, served, lane);
    }
  }
}

}  // namespace tilespark
