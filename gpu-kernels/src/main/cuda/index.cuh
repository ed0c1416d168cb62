// Index arithmetic and argument structs shared by all kernels that move data.
//
// Offsets into global memory are 64-bit, indices inside a tile 32-bit. The Java side writes each struct as consecutive
// 64-bit words (KernelLaunch), so structs have only 64-bit fields.
#pragma once

namespace tilespark {

using i64 = long long;
using u32 = unsigned int;
using u64 = unsigned long long;

// The largest number of outer axes that a move may have; TransposeStrategy.MAX_OUTER in Java.
constexpr int MAX_OUTER = 4;

// An outer axis: its extent, and its strides in input and output, in elements.
struct Axis {
  u64 extent;
  u64 in_stride;
  u64 out_stride;
};

// Offsets of one matrix of a batch in input and output, in elements.
struct Offsets {
  u64 in;
  u64 out;
};

// A register-sized type for elements of BYTES bytes; only its bits matter.
template <int BYTES>
struct Element;
template <>
struct Element<1> {
  using type = unsigned char;
};
template <>
struct Element<2> {
  using type = unsigned short;
};
template <>
struct Element<4> {
  using type = unsigned int;
};
template <>
struct Element<8> {
  using type = uint2;
};
template <>
struct Element<16> {
  using type = uint4;
};

// Transposes the 4 x 4 bytes of four words: byte n of a, b, c, d becomes word n.
__device__ __forceinline__ void transpose_bytes(u32& a, u32& b, u32& c, u32& d) {
  const u32 ab_low = __byte_perm(a, b, 0x5140);
  const u32 ab_high = __byte_perm(a, b, 0x7362);
  const u32 cd_low = __byte_perm(c, d, 0x5140);
  const u32 cd_high = __byte_perm(c, d, 0x7362);
  a = __byte_perm(ab_low, cd_low, 0x5410);
  b = __byte_perm(ab_low, cd_low, 0x7632);
  c = __byte_perm(ab_high, cd_high, 0x5410);
  d = __byte_perm(ab_high, cd_high, 0x7632);
}

// Word n of a vector; n is a constant once loops are unrolled.
__device__ __forceinline__ u32& word(uint4& vector, int n) {
  return n == 0 ? vector.x : n == 1 ? vector.y : n == 2 ? vector.z : vector.w;
}

__device__ __forceinline__ void swap(u32& a, u32& b) {
  const u32 held = a;
  a = b;
  b = held;
}

// Transposes a square of elements in registers: 16 / BYTES vectors of 16 / BYTES elements each.
template <int BYTES>
__device__ __forceinline__ void transpose_square(uint4 (&square)[16 / BYTES]) {
  if constexpr (BYTES == 8) {
    swap(square[0].z, square[1].x);
    swap(square[0].w, square[1].y);
  } else if constexpr (BYTES < 8) {
    // First swap words as in the transpose of a matrix of 4 x 4 pieces, each PIECE words high; then transpose the
    // elements inside each piece.
    constexpr int PIECE = 4 / BYTES;
#pragma unroll
    for (int r = 0; r < 4; r++) {
#pragma unroll
      for (int c = 0; c < 4; c++) {
        if (c > r) {
#pragma unroll
          for (int k = 0; k < PIECE; k++) {
            swap(word(square[r * PIECE + k], c), word(square[c * PIECE + k], r));
          }
        }
      }
    }
    if constexpr (BYTES < 4) {
#pragma unroll
      for (int r = 0; r < 4; r++) {
#pragma unroll
        for (int c = 0; c < 4; c++) {
          if constexpr (BYTES == 1) {
            transpose_bytes(word(square[r * 4], c), word(square[r * 4 + 1], c),
                            word(square[r * 4 + 2], c), word(square[r * 4 + 3], c));
          } else {
            u32& top = word(square[r * 2], c);
            u32& bottom = word(square[r * 2 + 1], c);
            const u32 low = __byte_perm(top, bottom, 0x5410);
            bottom = __byte_perm(top, bottom, 0x7632);
            top = low;
          }
        }
      }
    }
  }
}

// The 64-bit case of divide(): a hundred instructions that almost no index needs, kept out of line.
__device__ __noinline__ static u64 divide_wide(u64 n, u64 d) { return n / d; }

// Returns n / d and leaves n % d in n. A 32-bit division costs a quarter of a 64-bit one, and almost all indices fit 32
// bits.
__device__ __forceinline__ u64 divide(u64& n, u64 d) {
  u64 quotient;
  if (((n | d) >> 32) == 0) {
    const u32 n32 = static_cast<u32>(n);
    const u32 d32 = static_cast<u32>(d);
    const u32 q32 = n32 / d32;
    quotient = q32;
    n = n32 - q32 * d32;
  } else {
    quotient = divide_wide(n, d);
    n -= quotient * d;
  }
  return quotient;
}

// Offsets of step `index` of the outer axes; the last axis moves fastest. The outermost axis needs no division, because
// the remaining index is below its extent.
__device__ __forceinline__ Offsets locate_outer(const Axis (&outer)[MAX_OUTER], u64 index) {
  Offsets at = {0, 0};
#pragma unroll
  for (int axis = MAX_OUTER - 1; axis >= 0; axis--) {
    const u64 extent = outer[axis].extent;
    if (extent > 1) {
      u64 step = index;
      index = index >= extent ? divide(step, extent) : 0;
      at.in += step * outer[axis].in_stride;
      at.out += step * outer[axis].out_stride;
    }
  }
  return at;
}

// Arguments of the tile kernels: a batch of two-dimensional transposes in tiles. Fields in the order of
// MatrixBatch.tileWords.
struct TileArguments {
  const void* in;
  void* out;
  u64 rows;
  u64 cols;
  u64 in_row_stride;
  u64 out_row_stride;
  u64 tiles;       // row_tiles * col_tiles * product of outer extents
  u64 row_tiles;
  u64 col_tiles;
  u64 cols_first;  // 1: neighbouring thread blocks take neighbouring column tiles; 0: row tiles
  Axis outer[MAX_OUTER];
};

// A part of a mixed launch, which transposes matrices of several sizes. Fields in the order of MixedLaunch.launch.
struct MixedPart {
  u64 first_tile;  // tiles of earlier parts
  TileArguments tiles;  // in and out are byte offsets from MixedArguments.in and out
};

constexpr int MAX_PARTS = 88;  // MixedLaunch.MAX_PARTS in Java; the struct stays below 16 KiB

struct MixedArguments {
  const void* in;
  void* out;
  u64 tiles;  // tiles of all parts
  u64 count;  // count of parts
  MixedPart part[MAX_PARTS];
};

// The part that holds a tile: the last one that begins at or before the tile.
__device__ __forceinline__ u32 locate_part(const MixedArguments& arguments, u64 tile) {
  u32 low = 0;
  u32 high = static_cast<u32>(arguments.count);
  while (high - low > 1) {
    const u32 middle = (low + high) / 2;
    if (arguments.part[middle].first_tile <= tile) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// The location of a tile.
struct TilePlace {
  u64 row_tile;
  u64 col_tile;
  Offsets at;  // offsets of the tile's matrix
};

__device__ __forceinline__ TilePlace locate_tile(const TileArguments& arguments, u64 tile) {
  TilePlace place;
  u64 slow;
  u64 step;
  if (arguments.cols_first) {
    slow = divide(tile, arguments.col_tiles);
    place.col_tile = tile;
    step = divide(slow, arguments.row_tiles);
    place.row_tile = slow;
  } else {
    slow = divide(tile, arguments.row_tiles);
    place.row_tile = tile;
    step = divide(slow, arguments.col_tiles);
    place.col_tile = slow;
  }
  place.at = locate_outer(arguments.outer, step);
  return place;
}

}  // namespace tilespark
