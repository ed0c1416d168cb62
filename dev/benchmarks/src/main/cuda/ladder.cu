// Optimisation steps ("rungs") that the literature on the two-dimensional transpose describes. Benchmarks compare them
// with our kernels; the planner chooses none of them:
//
//   out[o][j * out_row_stride + i] = in[o][i * in_row_stride + j]    0 <= i < rows, 0 <= j < cols
//
// Threads to elements: a thread block of 32 x 8 threads moves a tile of 32 x 64 elements (32 x 32 for slices), each
// thread one element at a time. NAIVE_READ: a warp reads along an input row and writes down an output column.
// NAIVE_WRITE: a warp reads down a column and writes along a row. The other rungs go through shared memory and are
// coalesced on both sides.
//
// Bytes: each element is read once and written once; the naive rungs access one 32-byte sector for every element of
// their strided side.
//
// Shared memory: one tile. CONFLICTING_READ: [i][j], column reads hit one bank. CONFLICTING_WRITE: [j][i], column
// writes hit one bank. PADDED: [i][j] with one extra element per row. SWIZZLED: [i][j ^ i].
//
// Slices: the three-dimensional transpose (x, y, z) -> (z, y, x) is one launch with a two-dimensional transpose for
// each y. The ny slices are indexed as k1 x k2, which wastes few thread blocks: the grid is (k2 * Gz, k1 * Gx),
// numbered along one axis, and y = s2 * k2 + s1. Thread blocks with y >= ny return at once.
//
// Source: rungs, tile and threads are from Lei Mao, "CuTe Matrix Transpose" (2024); slices and their indexing are from
// Lung-Sheng Chien, "Matrix transpose" (2-D and 3-D).

#include "index.cuh"

namespace tilespark {

enum class Rung { NAIVE_READ, NAIVE_WRITE, CONFLICTING_READ, CONFLICTING_WRITE, PADDED, SWIZZLED };

template <int BYTES, Rung RUNG, int TILE_ROWS, int TILE_COLS>
struct Ladder {
  using T = typename Element<BYTES>::type;
  static constexpr int LANES = 32;
  static constexpr int LINES = 8;
  static constexpr bool STAGED = RUNG != Rung::NAIVE_READ && RUNG != Rung::NAIVE_WRITE;

  // Offset of element (i, j) of the tile in shared memory, in elements.
  static __device__ __forceinline__ int place(int i, int j) {
    return RUNG == Rung::CONFLICTING_WRITE ? j * TILE_ROWS + i
           : RUNG == Rung::PADDED          ? i * (TILE_COLS + 1) + j
           : RUNG == Rung::SWIZZLED        ? i * TILE_COLS + (j ^ i)
                                           : i * TILE_COLS + j;
  }

  static __device__ __forceinline__ void move(const T* __restrict__ in, T* __restrict__ out,
                                              u64 first_row, u64 first_col,
                                              const TileArguments& arguments) {
    __shared__ T shared[STAGED ? TILE_ROWS * (TILE_COLS + 1) : 1];
    const int lane = static_cast<int>(threadIdx.x) % LANES;
    const int line = static_cast<int>(threadIdx.x) / LANES;
    const u64 rows_left = arguments.rows - first_row;
    const u64 cols_left = arguments.cols - first_col;
    in += first_row * arguments.in_row_stride + first_col;
    out += first_col * arguments.out_row_stride + first_row;

    // load, by rows of the input
    if constexpr (RUNG != Rung::NAIVE_WRITE) {
#pragma unroll
      for (int i = line; i < TILE_ROWS; i += LINES) {
#pragma unroll
        for (int j = lane; j < TILE_COLS; j += LANES) {
          if (i < rows_left && j < cols_left) {
            T& to = STAGED ? shared[place(i, j)] : out[j * arguments.out_row_stride + i];
            to = in[i * arguments.in_row_stride + j];
          }
        }
      }
    }

    // synchronise
    if constexpr (STAGED) {
      __syncthreads();
    }

    // store, by rows of the output
    if constexpr (RUNG != Rung::NAIVE_READ) {
#pragma unroll
      for (int j = line; j < TILE_COLS; j += LINES) {
#pragma unroll
        for (int i = lane; i < TILE_ROWS; i += LANES) {
          if (i < rows_left && j < cols_left) {
            const T& from = STAGED ? shared[place(i, j)] : in[i * arguments.in_row_stride + j];
            out[j * arguments.out_row_stride + i] = from;
          }
        }
      }
    }
  }

  static __device__ __forceinline__ void run(const TileArguments& arguments) {
    const TilePlace place = locate_tile(arguments, blockIdx.x);
    move(static_cast<const T*>(arguments.in) + place.at.in,
         static_cast<T*>(arguments.out) + place.at.out, place.row_tile * TILE_ROWS,
         place.col_tile * TILE_COLS, arguments);
  }

  // Like run(), but cols_first holds k2, and y is the only outer axis.
  static __device__ __forceinline__ void run_slices(const TileArguments& arguments) {
    const Axis y = arguments.outer[MAX_OUTER - 1];
    const u64 k2 = arguments.cols_first;
    u64 across = blockIdx.x;
    u64 down = divide(across, k2 * arguments.col_tiles);
    const u64 s1 = divide(across, arguments.col_tiles);
    const u64 s2 = divide(down, arguments.row_tiles);
    const u64 slice = s2 * k2 + s1;
    if (slice < y.extent) {
      move(static_cast<const T*>(arguments.in) + slice * y.in_stride,
           static_cast<T*>(arguments.out) + slice * y.out_stride, down * TILE_ROWS,
           across * TILE_COLS, arguments);
    }
  }
};

}  // namespace tilespark

// ladder_<rung>_w<width>_<tile rows>x<tile columns>x<threads>
#define LADDER(NAME, RUNG, BYTES)                                                          \
  extern "C" __global__ void __launch_bounds__(256) ladder_##NAME##_w##BYTES##_32x64x256( \
      const __grid_constant__ tilespark::TileArguments arguments) {                       \
    tilespark::Ladder<BYTES, tilespark::Rung::RUNG, 32, 64>::run(arguments);              \
  }
#define LADDER_WIDTH(BYTES)                                                               \
  LADDER(naive_read, NAIVE_READ, BYTES)                                                   \
  LADDER(naive_write, NAIVE_WRITE, BYTES)                                                 \
  LADDER(conflicting_read, CONFLICTING_READ, BYTES)                                       \
  LADDER(conflicting_write, CONFLICTING_WRITE, BYTES)                                     \
  LADDER(padded, PADDED, BYTES)                                                           \
  LADDER(swizzled, SWIZZLED, BYTES)                                                       \
  extern "C" __global__ void __launch_bounds__(256) ladder_slices_w##BYTES##_32x32x256(   \
      const __grid_constant__ tilespark::TileArguments arguments) {                       \
    tilespark::Ladder<BYTES, tilespark::Rung::PADDED, 32, 32>::run_slices(arguments);     \
  }

LADDER_WIDTH(4)
LADDER_WIDTH(8)
