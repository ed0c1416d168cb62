// Batched two-dimensional transpose through a tile in shared memory:
//
//   out[o][j * out_row_stride + i] = in[o][i * in_row_stride + j]    0 <= i < rows, 0 <= j < cols
//
// where o runs over up to four outer axes with strides of their own on both sides.
//
// Threads to elements: one thread block per tile of TILE_ROWS x TILE_COLS, or several tiles in turn
// where there are more tiles than thread blocks. On load, neighbouring threads hold neighbouring j;
// on store, neighbouring i; so both sides touch whole 32-byte sectors. Each thread moves
// TILE_ROWS * TILE_COLS / THREADS elements, all loads in flight before the first store.
//
//          j ->                         i ->
//       +--------+                   +--------+
//   i   | t0 t1 ..   -> shared ->  j | t0 t1 ..
//       +--------+   [i][j + pad]    +--------+
//
// Bytes: each element is read once and written once; 2 * rows * cols * width for each o.
//
// Shared memory: TILE_ROWS * (TILE_COLS + PAD) elements. With the pad, a row is an odd count of
// 4-byte banks (widths 1, 2, 4), or of 8- or 16-byte bank groups (widths 8 and 16, which the hardware
// serves by half and quarter warps), so a column read on store meets every bank once.
//
// Source: the padded tile of M. Harris, "An Efficient Matrix Transpose in CUDA C/C++" (2013); the
// batch over strided outer axes is ours.

#include "index.cuh"

namespace tilespark {

// Fields in the order of TransposeStrategy.Tiled.launch.
struct TiledArguments {
  const void* in;
  void* out;
  u64 rows;
  u64 cols;
  u64 in_row_stride;
  u64 out_row_stride;
  u64 tiles;      // row_tiles * col_tiles * product of outer extents
  u64 row_tiles;  // ceil(rows / TILE_ROWS)
  u64 col_tiles;  // ceil(cols / TILE_COLS)
  Axis outer[MAX_OUTER];
};

template <int BYTES, int TILE_ROWS, int TILE_COLS, int THREADS>
struct Tile {
  using T = typename Element<BYTES>::type;
  static constexpr int PAD = BYTES < 4 ? 4 / BYTES : 1;
  static constexpr int PITCH = TILE_COLS + PAD;
  static constexpr int ITEMS = TILE_ROWS * TILE_COLS / THREADS;
  // Rows that all threads together load, or columns that they store, in one step.
  static constexpr int LOAD_STEP = THREADS / TILE_COLS;
  static constexpr int STORE_STEP = THREADS / TILE_ROWS;
  static_assert(TILE_ROWS * TILE_COLS % THREADS == 0, "every thread moves as many elements");
  static_assert(THREADS % TILE_COLS == 0 && THREADS % TILE_ROWS == 0, "whole rows in one step");

  // Moves one tile whose first element is at `in` and, transposed, at `out`. A full tile (EDGE false)
  // needs no guards; of an edge tile only rows_left x cols_left exist.
  template <bool EDGE>
  static __device__ __forceinline__ void move(const T* __restrict__ in, T* __restrict__ out,
                                              T (&shared)[TILE_ROWS * PITCH], u64 in_row_stride,
                                              u64 out_row_stride, int rows_left, int cols_left) {
    // load
    {
      const int j = threadIdx.x % TILE_COLS;
      const int i0 = threadIdx.x / TILE_COLS;
      T held[ITEMS];
#pragma unroll
      for (int item = 0; item < ITEMS; item++) {
        const int i = i0 + item * LOAD_STEP;
        if (!EDGE || (i < rows_left && j < cols_left)) {
          held[item] = in[i * in_row_stride + j];
        }
      }
#pragma unroll
      for (int item = 0; item < ITEMS; item++) {
        const int i = i0 + item * LOAD_STEP;
        if (!EDGE || (i < rows_left && j < cols_left)) {
          shared[i * PITCH + j] = held[item];
        }
      }
    }

    // synchronise
    __syncthreads();

    // store
    {
      const int i = threadIdx.x % TILE_ROWS;
      const int j0 = threadIdx.x / TILE_ROWS;
#pragma unroll
      for (int item = 0; item < ITEMS; item++) {
        const int j = j0 + item * STORE_STEP;
        if (!EDGE || (i < rows_left && j < cols_left)) {
          out[j * out_row_stride + i] = shared[i * PITCH + j];
        }
      }
    }
  }

  static __device__ __forceinline__ void run(const TiledArguments& arguments) {
    __shared__ T shared[TILE_ROWS * PITCH];  // (TILE_ROWS, TILE_COLS), row-major, padded to PITCH
    const T* const in = static_cast<const T*>(arguments.in);
    T* const out = static_cast<T*>(arguments.out);

    for (u64 tile = blockIdx.x; tile < arguments.tiles; tile += gridDim.x) {
      // locate
      u64 col_tile = tile;
      const u64 row_of_tiles = divide(col_tile, arguments.col_tiles);
      u64 row_tile = row_of_tiles;
      const u64 step = divide(row_tile, arguments.row_tiles);
      const Offsets at = locate_outer(arguments.outer, step);
      const u64 i = row_tile * TILE_ROWS;
      const u64 j = col_tile * TILE_COLS;
      const T* const from = in + at.in + i * arguments.in_row_stride + j;
      T* const to = out + at.out + j * arguments.out_row_stride + i;
      const u64 rows_left = arguments.rows - i;
      const u64 cols_left = arguments.cols - j;

      if (rows_left >= TILE_ROWS && cols_left >= TILE_COLS) {
        move<false>(from, to, shared, arguments.in_row_stride, arguments.out_row_stride, TILE_ROWS,
                    TILE_COLS);
      } else {
        move<true>(from, to, shared, arguments.in_row_stride, arguments.out_row_stride,
                   rows_left < TILE_ROWS ? static_cast<int>(rows_left) : TILE_ROWS,
                   cols_left < TILE_COLS ? static_cast<int>(cols_left) : TILE_COLS);
      }

      // The next tile overwrites the shared one. All threads take the same branch.
      if (tile + gridDim.x < arguments.tiles) {
        __syncthreads();
      }
    }
  }
};

}  // namespace tilespark

// transpose_tiled_w<width>_<tile rows>x<tile columns>x<threads>
#define TRANSPOSE_TILED(BYTES, ROWS, COLS, THREADS)                                          \
  extern "C" __global__ void __launch_bounds__(THREADS)                                      \
      transpose_tiled_w##BYTES##_##ROWS##x##COLS##x##THREADS(                                \
          const __grid_constant__ tilespark::TiledArguments arguments) {                     \
    tilespark::Tile<BYTES, ROWS, COLS, THREADS>::run(arguments);                             \
  }

TRANSPOSE_TILED(1, 64, 64, 256)
TRANSPOSE_TILED(2, 64, 64, 256)
TRANSPOSE_TILED(4, 64, 64, 256)
TRANSPOSE_TILED(8, 32, 32, 256)
TRANSPOSE_TILED(16, 32, 32, 256)
