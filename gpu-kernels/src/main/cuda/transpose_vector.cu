// Batched two-dimensional transpose with 16-byte accesses to global and shared memory:
//
//   out[o][j * out_row_stride + i] = in[o][i * in_row_stride + j]    0 <= i < rows, 0 <= j < cols
//
// where o runs over up to four outer axes with separate strides for input and output. Both pointers are multiples of 16
// bytes, and all strides, rows and cols are multiples of V = 16 / width elements.
//
// Threads to elements: one thread block per tile of TILE_ROWS x TILE_COLS, or several tiles in turn if there are more
// tiles than thread blocks. A tile is made of squares of V x V elements. A thread loads a square as V vectors, all in
// flight before the first is used, transposes it in registers (words are renamed, bytes and halves permuted), and
// writes it to shared memory as V vectors along i. On store, neighbouring threads have neighbouring vectors of an
// output row.
//
//        j ->                      registers            shared            i ->
//      +----+----+                                                      +----+----+
//   i  | V vectors of V  ->  V vectors along i  ->  [j][i / V ^ ...]  ->  j | vectors
//      +----+----+                                                      +----+----+
//
// Bytes: each element is read once and written once; 2 * rows * cols * width for each o.
//
// Shared memory: TILE_ROWS * TILE_COLS elements, as vectors [j][i / V]. The hardware serves 16-byte accesses by quarter
// warps, so eight neighbouring threads must meet the eight groups of four banks. They differ in i / V when they read,
// and in j / V when they write; hence vector i / V of row j is at i / V ^ j / V % 8. No padding is needed.
//
// Source: the tile of M. Harris, "An Efficient Matrix Transpose in CUDA C/C++" (2013), and the swizzle of Lei Mao,
// "CuTe Matrix Transpose" (2024), for 16-byte vectors; the squares in registers are ours.

#include "index.cuh"

namespace tilespark {

template <int BYTES, int TILE_ROWS, int TILE_COLS, int THREADS, bool EXACT>
struct VectorTile {
  static constexpr int V = 16 / BYTES;
  static constexpr int SQUARE_ROWS = TILE_ROWS / V;
  static constexpr int SQUARE_COLS = TILE_COLS / V;
  static constexpr int ITEMS = SQUARE_ROWS * SQUARE_COLS / THREADS;
  static_assert(SQUARE_ROWS % 8 == 0 && SQUARE_COLS % 8 == 0, "a quarter warp stays in a row");
  static_assert(ITEMS * THREADS == SQUARE_ROWS * SQUARE_COLS, "every thread moves as many squares");

  static __device__ __forceinline__ void load(uint4 (&held)[V], const uint4* in, u64 stride) {
#pragma unroll
    for (int k = 0; k < V; k++) {
      held[k] = *in;
      in += stride;
    }
  }

  // Moves one tile, whose first vector is at `in` and, transposed, at `out`; strides are in vectors. An edge tile has
  // only rows_left x cols_left squares.
  static __device__ __forceinline__ void move(const uint4* __restrict__ in, uint4* __restrict__ out,
                                              uint4* shared, u64 in_row_stride, u64 out_row_stride,
                                              int rows_left, int cols_left) {
    // load
    uint4 held[ITEMS][V];
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
      const int square = static_cast<int>(threadIdx.x) + item * THREADS;
      const int r = square / SQUARE_COLS;
      const int c = square % SQUARE_COLS;
      if (EXACT || (r < rows_left && c < cols_left)) {
        load(held[item], in + static_cast<u32>(r * V) * in_row_stride + c, in_row_stride);
      }
    }
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
      const int square = static_cast<int>(threadIdx.x) + item * THREADS;
      const int r = square / SQUARE_COLS;
      const int c = square % SQUARE_COLS;
      if (EXACT || (r < rows_left && c < cols_left)) {
        transpose_square<BYTES>(held[item]);
#pragma unroll
        for (int k = 0; k < V; k++) {
          shared[(c * V + k) * SQUARE_ROWS + (r ^ (c % 8))] = held[item][k];
        }
      }
    }

    // synchronise
    __syncthreads();

    // store
#pragma unroll
    for (int item = 0; item < ITEMS * V; item++) {
      const int vector = static_cast<int>(threadIdx.x) + item * THREADS;
      const int j = vector / SQUARE_ROWS;
      const int r = vector % SQUARE_ROWS;
      if (EXACT || (r < rows_left && j < cols_left * V)) {
        out[static_cast<u32>(j) * out_row_stride + r] = shared[j * SQUARE_ROWS + (r ^ (j / V % 8))];
      }
    }
  }

  // Moves tile number `tile` of `arguments`, with base pointers `in` and `out`.
  static __device__ __forceinline__ void move_tile(const TileArguments& arguments, const uint4* in,
                                                   uint4* out, uint4* shared, u64 tile) {
    // locate
    const TilePlace place = locate_tile(arguments, tile);
    const u64 i = place.row_tile * TILE_ROWS;
    const u64 j = place.col_tile * TILE_COLS;
    const uint4* const from = in + (place.at.in + i * arguments.in_row_stride + j) / V;
    uint4* const to = out + (place.at.out + j * arguments.out_row_stride + i) / V;
    const u64 rows_left = (arguments.rows - i) / V;
    const u64 cols_left = (arguments.cols - j) / V;
    move(from, to, shared, arguments.in_row_stride / V, arguments.out_row_stride / V,
         rows_left < SQUARE_ROWS ? static_cast<int>(rows_left) : SQUARE_ROWS,
         cols_left < SQUARE_COLS ? static_cast<int>(cols_left) : SQUARE_COLS);
  }

  static __device__ __forceinline__ void run(const TileArguments& arguments) {
    __shared__ uint4 shared[TILE_COLS * SQUARE_ROWS];  // (TILE_COLS, SQUARE_ROWS), row-major
    for (u64 tile = blockIdx.x; tile < arguments.tiles; tile += gridDim.x) {
      move_tile(arguments, static_cast<const uint4*>(arguments.in),
                static_cast<uint4*>(arguments.out), shared, tile);
      // The next tile overwrites shared memory. All threads take the same branch.
      if (tile + gridDim.x < arguments.tiles) {
        __syncthreads();
      }
    }
  }

  static __device__ __forceinline__ void run_mixed(const MixedArguments& arguments) {
    __shared__ uint4 shared[TILE_COLS * SQUARE_ROWS];  // (TILE_COLS, SQUARE_ROWS), row-major
    const uint4* const in = static_cast<const uint4*>(arguments.in);
    uint4* const out = static_cast<uint4*>(arguments.out);
    for (u64 tile = blockIdx.x; tile < arguments.tiles; tile += gridDim.x) {
      const MixedPart& part = arguments.part[locate_part(arguments, tile)];
      move_tile(part.tiles, in + reinterpret_cast<u64>(part.tiles.in) / 16,
                out + reinterpret_cast<u64>(part.tiles.out) / 16, shared, tile - part.first_tile);
      if (tile + gridDim.x < arguments.tiles) {
        __syncthreads();
      }
    }
  }
};

}  // namespace tilespark

// transpose_vector[_exact]_w<width>_<tile rows>x<tile columns>x<threads>
#define TRANSPOSE_VECTOR(BYTES, ROWS, COLS, THREADS)                                        \
  extern "C" __global__ void __launch_bounds__(THREADS)                                     \
      transpose_vector_w##BYTES##_##ROWS##x##COLS##x##THREADS(                              \
          const __grid_constant__ tilespark::TileArguments arguments) {                   \
    tilespark::VectorTile<BYTES, ROWS, COLS, THREADS, false>::run(arguments);               \
  }                                                                                         \
  extern "C" __global__ void __launch_bounds__(THREADS)                                     \
      transpose_vector_exact_w##BYTES##_##ROWS##x##COLS##x##THREADS(                        \
          const __grid_constant__ tilespark::TileArguments arguments) {                   \
    tilespark::VectorTile<BYTES, ROWS, COLS, THREADS, true>::run(arguments);                \
  }

// transpose_vector_mixed_w<width>_<tile rows>x<tile columns>x<threads>, for matrices of several sizes
#define TRANSPOSE_VECTOR_MIXED(BYTES, ROWS, COLS, THREADS)                               \
  extern "C" __global__ void __launch_bounds__(THREADS)                                  \
      transpose_vector_mixed_w##BYTES##_##ROWS##x##COLS##x##THREADS(                     \
          const __grid_constant__ tilespark::MixedArguments arguments) {                 \
    tilespark::VectorTile<BYTES, ROWS, COLS, THREADS, false>::run_mixed(arguments);      \
  }

// The planner takes the first shape of a width if several cover a problem equally well; the tuner finds cases where
// another one is faster (docs/decisions/transposes-that-lost.md).
TRANSPOSE_VECTOR(1, 128, 256, 128)
TRANSPOSE_VECTOR(1, 256, 128, 128)
TRANSPOSE_VECTOR(1, 128, 128, 64)
TRANSPOSE_VECTOR(2, 64, 128, 128)
TRANSPOSE_VECTOR(2, 128, 64, 128)
TRANSPOSE_VECTOR(2, 128, 128, 256)
TRANSPOSE_VECTOR(2, 64, 64, 64)
TRANSPOSE_VECTOR(4, 64, 64, 256)
TRANSPOSE_VECTOR(4, 64, 64, 128)
TRANSPOSE_VECTOR(4, 64, 32, 128)
TRANSPOSE_VECTOR(4, 32, 64, 128)
TRANSPOSE_VECTOR(4, 64, 32, 64)
TRANSPOSE_VECTOR(4, 32, 32, 64)
TRANSPOSE_VECTOR(8, 64, 32, 256)
TRANSPOSE_VECTOR(8, 32, 64, 256)
TRANSPOSE_VECTOR(8, 32, 32, 128)
TRANSPOSE_VECTOR(8, 64, 16, 128)
TRANSPOSE_VECTOR(8, 16, 32, 64)
TRANSPOSE_VECTOR(16, 32, 32, 256)
TRANSPOSE_VECTOR(16, 16, 16, 128)

TRANSPOSE_VECTOR_MIXED(1, 128, 128, 64)
TRANSPOSE_VECTOR_MIXED(2, 64, 64, 64)
TRANSPOSE_VECTOR_MIXED(4, 64, 64, 256)
TRANSPOSE_VECTOR_MIXED(8, 32, 32, 128)
TRANSPOSE_VECTOR_MIXED(16, 16, 16, 128)
