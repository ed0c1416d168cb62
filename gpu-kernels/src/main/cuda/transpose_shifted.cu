// Batched two-dimensional transpose for rows that begin at any address:
//
//   out[o][j * out_row_stride + i] = in[o][i * in_row_stride + j]    0 <= i < rows, 0 <= j < cols
//
// where o runs over up to four outer axes with separate strides for input and output. Elements need to be aligned only
// to their own width; stores are nevertheless aligned vectors of 16 bytes.
//
// Threads to elements: one thread block per tile, or several tiles in turn. A tile has COLS input columns, and ROWS
// elements of each output row j, up to a multiple of SHIFT bytes of memory: if output row j begins m(j) elements past a
// multiple, tile t has i from t * ROWS - m(j) on. So a tile reads ROWS + SHIFT / width input rows, and no two tiles
// share a 32-byte sector of the output.
//
//   output row 0   |....m|=======|=======|===    | multiples of SHIFT bytes
//   output row 1   |.m|==|=======|=======|=      a tile is the part between two bars, for COLS rows
//
// A warp loads 32 neighbouring words of a row. A word is U = 4 / width elements, or one element from width 4 on;
// unaligned words of narrow elements are shifted together from two aligned words. A thread holds words of U rows,
// transposes the U x U elements in registers, and writes them to shared memory as words along i. On store, a thread
// reads the words that an aligned output vector overlaps and shifts them into place.
//
// Bytes: each element is written once and read 1 + SHIFT / width / ROWS times, the second time from the L2 cache. Up to
// three bytes before and after a row are read, never past a multiple of four: buffers begin and end at multiples of
// four.
//
// Shared memory: (ROWS + SHIFT / width) * COLS elements, as words [j][i / U], with a word of padding after every U
// rows, so that threads that write neighbouring words of an input row have an odd stride.
//
// Source: ours.

#include "index.cuh"

namespace tilespark {

template <int BYTES, int ROWS, int COLS, int THREADS, int SHIFT = 32>
struct ShiftedTile {
  using T = typename Element<BYTES>::type;
  using Word = typename Element<(BYTES < 4 ? 4 : BYTES)>::type;
  static constexpr int U = BYTES < 4 ? 4 / BYTES : 1;  // elements in a word
  static constexpr int V = 16 / BYTES;                 // elements in an output vector
  static constexpr int WORDS = V / U;                  // words in an output vector
  static constexpr int PERIOD = SHIFT / BYTES;         // m(j) is less than this
  static constexpr int STAGED = ROWS + PERIOD;
  static constexpr int PITCH = STAGED / U;
  static constexpr int WORD_COLS = COLS / U;
  static constexpr int ROW_STEP = THREADS / WORD_COLS * U;
  static constexpr int LOADS = STAGED / ROW_STEP;
  static constexpr int VECTORS = ROWS / V;  // vectors of an output row
  static constexpr int COL_STEP = THREADS / VECTORS;
  static constexpr int STORES = COLS / COL_STEP;
  static_assert(WORD_COLS % 32 == 0 && THREADS % WORD_COLS == 0, "a warp loads from one row");
  static_assert(THREADS % VECTORS == 0, "a thread keeps its place in the row");
  static_assert(LOADS * ROW_STEP == STAGED && STORES * COL_STEP == COLS, "no thread is idle");
  static_assert(U * PITCH % 2 == 0, "an odd distance between words");

  // Offset of output row j in shared memory, in words.
  static __device__ __forceinline__ int row_at(int j) { return j * PITCH + j / U; }

  // Loads the word at `from`, of which the first `count` elements exist. It reads one or two aligned words, those that
  // hold these elements.
  template <bool FULL>
  static __device__ __forceinline__ Word load_word(const char* from, int count) {
    if constexpr (U == 1) {
      Word word = {};
      if (FULL || count > 0) {
        word = *reinterpret_cast<const Word*>(from);
      }
      return word;
    } else {
      const int skew = static_cast<int>(reinterpret_cast<u64>(from) & 3);
      const u32* const aligned = reinterpret_cast<const u32*>(from - skew);
      const u32 low = FULL || count > 0 ? aligned[0] : 0;
      const u32 high = FULL ? (skew == 0 ? 0 : aligned[1])
                            : (skew + count * BYTES > 4 ? aligned[1] : 0);
      return __funnelshift_r(low, high, static_cast<u32>(skew) * 8);
    }
  }

  // Turns words of U rows into words of U columns.
  static __device__ __forceinline__ void transpose_words(Word (&words)[U]) {
    if constexpr (U == 4) {
      transpose_bytes(words[0], words[1], words[2], words[3]);
    } else if constexpr (U == 2) {
      const u32 low = __byte_perm(words[0], words[1], 0x5410);
      words[1] = __byte_perm(words[0], words[1], 0x7632);
      words[0] = low;
    }
  }

  template <bool FULL>
  static __device__ __forceinline__ void move(const char* __restrict__ in, char* __restrict__ out,
                                              Word* shared, i64 first_row, u64 first_col,
                                              const TileArguments& arguments) {
    const u64 in_pitch = arguments.in_row_stride * BYTES;
    const u64 out_pitch = arguments.out_row_stride * BYTES;
    // The range of staged rows that exist.
    const int least = first_row >= PERIOD ? 0 : PERIOD - static_cast<int>(first_row);
    const i64 rows_left = static_cast<i64>(arguments.rows) - first_row + PERIOD;
    const int most = rows_left < STAGED ? static_cast<int>(rows_left) : STAGED;

    // load
    {
      const int c = static_cast<int>(threadIdx.x) % WORD_COLS;
      const int r0 = static_cast<int>(threadIdx.x) / WORD_COLS * U;
      const i64 i0 = first_row - PERIOD + r0;
      const u64 j = first_col + static_cast<u32>(c * U);
      const int count = j >= arguments.cols       ? 0
                        : arguments.cols - j >= U ? U
                                                  : static_cast<int>(arguments.cols - j);
      const char* from = in + i0 * static_cast<i64>(in_pitch) + static_cast<i64>(j * BYTES);
      Word held[LOADS][U];
#pragma unroll
      for (int item = 0; item < LOADS; item++) {
#pragma unroll
        for (int k = 0; k < U; k++) {
          const int r = r0 + item * ROW_STEP + k;
          held[item][k] = load_word<FULL>(from, FULL || (r >= least && r < most) ? count : 0);
          from += in_pitch;
        }
        from += (ROW_STEP - U) * in_pitch;
      }
#pragma unroll
      for (int item = 0; item < LOADS; item++) {
        transpose_words(held[item]);
#pragma unroll
        for (int k = 0; k < U; k++) {
          shared[row_at(c * U + k) + (r0 + item * ROW_STEP) / U] = held[item][k];
        }
      }
    }

    // synchronise
    __syncthreads();

    // store
    {
      const int p = static_cast<int>(threadIdx.x) % VECTORS;
      const int j0 = static_cast<int>(threadIdx.x) / VECTORS;
      char* row = out + (first_col + static_cast<u32>(j0)) * out_pitch;
#pragma unroll
      for (int item = 0; item < STORES; item++) {
        const int j = j0 + item * COL_STEP;
        const int m = static_cast<int>(reinterpret_cast<u64>(row) & (SHIFT - 1)) / BYTES;
        const int r = PERIOD - m + p * V;  // the staged row of the vector's first element
        if (FULL || (first_col + static_cast<u32>(j) < arguments.cols && r + V > least && r < most)) {
          const Word* const from = shared + row_at(j) + r / U;
          Word words[WORDS];
#pragma unroll
          for (int n = 0; n < WORDS; n++) {
            words[n] = from[n];
          }
          if constexpr (U > 1) {
            const u32 bits = static_cast<u32>(r % U) * BYTES * 8;
            const u32 beyond = from[WORDS];
#pragma unroll
            for (int n = 0; n < WORDS; n++) {
              words[n] = __funnelshift_r(words[n], n + 1 < WORDS ? words[n + 1] : beyond, bits);
            }
          }
          char* const to = row + (first_row - m + p * V) * BYTES;
          if (FULL || (r >= least && r + V <= most)) {
            store_vector(to, words);
          } else {
#pragma unroll
            for (int e = 0; e < V; e++) {
              if (r + e >= least && r + e < most) {
                store_element(to + e * BYTES, words[e / U], e % U);
              }
            }
          }
        }
        row += COL_STEP * out_pitch;
      }
    }
  }

  static __device__ __forceinline__ void store_vector(char* to, const Word (&words)[WORDS]) {
    if constexpr (BYTES == 8) {
      *reinterpret_cast<uint4*>(to) = make_uint4(words[0].x, words[0].y, words[1].x, words[1].y);
    } else {
      *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
    }
  }

  // Stores element e of a word.
  static __device__ __forceinline__ void store_element(char* to, Word word, int e) {
    if constexpr (U == 1) {
      *reinterpret_cast<T*>(to) = word;
    } else {
      *reinterpret_cast<T*>(to) = static_cast<T>(word >> (e * BYTES * 8));
    }
  }

  // (COLS, PITCH) words, the padding, and one word that the last funnel shift reads and drops
  static constexpr int SHARED_WORDS = COLS * PITCH + COLS / U + 1;

  // Moves tile number `tile` of `arguments`, with base pointers `in` and `out`.
  static __device__ __forceinline__ void move_tile(const TileArguments& arguments, const char* in,
                                                   char* out, Word* shared, u64 tile) {
    // locate
    const TilePlace place = locate_tile(arguments, tile);
    const char* const from = in + place.at.in * BYTES;
    char* const to = out + place.at.out * BYTES;
    const u64 first_row = place.row_tile * ROWS;
    const u64 first_col = place.col_tile * COLS;

    if (first_row >= PERIOD && first_row + ROWS <= arguments.rows &&
        first_col + COLS <= arguments.cols) {
      move<true>(from, to, shared, static_cast<i64>(first_row), first_col, arguments);
    } else {
      move<false>(from, to, shared, static_cast<i64>(first_row), first_col, arguments);
    }
  }

  static __device__ __forceinline__ void run(const TileArguments& arguments) {
    __shared__ Word shared[SHARED_WORDS];
    for (u64 tile = blockIdx.x; tile < arguments.tiles; tile += gridDim.x) {
      move_tile(arguments, static_cast<const char*>(arguments.in),
                static_cast<char*>(arguments.out), shared, tile);
      // The next tile overwrites shared memory. All threads take the same branch.
      if (tile + gridDim.x < arguments.tiles) {
        __syncthreads();
      }
    }
  }

  static __device__ __forceinline__ void run_mixed(const MixedArguments& arguments) {
    __shared__ Word shared[SHARED_WORDS];
    for (u64 tile = blockIdx.x; tile < arguments.tiles; tile += gridDim.x) {
      const MixedPart& part = arguments.part[locate_part(arguments, tile)];
      move_tile(part.tiles,
                static_cast<const char*>(arguments.in) + reinterpret_cast<u64>(part.tiles.in),
                static_cast<char*>(arguments.out) + reinterpret_cast<u64>(part.tiles.out), shared,
                tile - part.first_tile);
      if (tile + gridDim.x < arguments.tiles) {
        __syncthreads();
      }
    }
  }
};

}  // namespace tilespark

// transpose_shifted_w<bytes of an element>_<elements of an output row in a tile>x<input columns in a tile>x<threads>
#define TRANSPOSE_SHIFTED(BYTES, ROWS, COLS, THREADS)                      \
  extern "C" __global__ void __launch_bounds__(THREADS)                    \
      transpose_shifted_w##BYTES##_##ROWS##x##COLS##x##THREADS(            \
          const __grid_constant__ tilespark::TileArguments arguments) { \
    tilespark::ShiftedTile<BYTES, ROWS, COLS, THREADS>::run(arguments);    \
  }

// transpose_shifted_mixed_w<...>_<...>x<...>x<...>, with the same four numbers; for matrices of several sizes
#define TRANSPOSE_SHIFTED_MIXED(BYTES, ROWS, COLS, THREADS)                 \
  extern "C" __global__ void __launch_bounds__(THREADS)                     \
      transpose_shifted_mixed_w##BYTES##_##ROWS##x##COLS##x##THREADS(       \
          const __grid_constant__ tilespark::MixedArguments arguments) {    \
    tilespark::ShiftedTile<BYTES, ROWS, COLS, THREADS>::run_mixed(arguments); \
  }

// The planner takes the first shape of a width; the tuner finds cases where another one is faster.
TRANSPOSE_SHIFTED(1, 128, 128, 128)
TRANSPOSE_SHIFTED(1, 64, 128, 128)
TRANSPOSE_SHIFTED(2, 64, 64, 64)
TRANSPOSE_SHIFTED(2, 32, 64, 64)
TRANSPOSE_SHIFTED(2, 64, 64, 128)
TRANSPOSE_SHIFTED(4, 64, 64, 256)
TRANSPOSE_SHIFTED(4, 32, 128, 256)
TRANSPOSE_SHIFTED(4, 32, 64, 128)
TRANSPOSE_SHIFTED(4, 32, 32, 128)
TRANSPOSE_SHIFTED(4, 128, 64, 512)
TRANSPOSE_SHIFTED(8, 32, 32, 128)
TRANSPOSE_SHIFTED(8, 32, 64, 256)
TRANSPOSE_SHIFTED(8, 32, 128, 512)
TRANSPOSE_SHIFTED(8, 16, 64, 256)

TRANSPOSE_SHIFTED_MIXED(1, 64, 128, 128)
TRANSPOSE_SHIFTED_MIXED(2, 32, 64, 64)
TRANSPOSE_SHIFTED_MIXED(4, 32, 64, 128)
TRANSPOSE_SHIFTED_MIXED(8, 32, 32, 128)
