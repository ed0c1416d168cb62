// Index arithmetic and argument structs shared by all kernels that move data.
//
// Offsets into global memory are 64-bit, indices inside a tile 32-bit. Each struct is written by the
// Java side as consecutive 64-bit words (KernelLaunch), so it holds nothing but 64-bit fields.
#pragma once

namespace tilespark {

using i64 = long long;
using u32 = unsigned int;
using u64 = unsigned long long;

// Outer axes of a move; TransposeStrategy.MAX_OUTER on the Java side.
constexpr int MAX_OUTER = 4;

// One outer axis: its extent, and the elements between neighbours on both sides.
struct Axis {
  u64 extent;
  u64 in_stride;
  u64 out_stride;
};

// Where a batch of two-dimensional pieces lies, in elements.
struct Offsets {
  u64 in;
  u64 out;
};

// The element of a width as one register-sized value; only its bits matter.
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

// The 64-bit case of divide(): a hundred instructions that almost no index needs, kept out of line.
__device__ __noinline__ static u64 divide_wide(u64 n, u64 d) { return n / d; }

// n / d, leaving n % d in n. A 32-bit division costs a quarter of a 64-bit one, and almost all
// indices fit.
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

// The offsets of step `index` of the outer axes, the last of which moves fastest.
__device__ __forceinline__ Offsets locate_outer(const Axis (&outer)[MAX_OUTER], u64 index) {
  Offsets at = {0, 0};
#pragma unroll
  for (int axis = MAX_OUTER - 1; axis >= 0; axis--) {
    const u64 extent = outer[axis].extent;
    if (extent > 1) {
      u64 step = index;
      index = divide(step, extent);
      at.in += step * outer[axis].in_stride;
      at.out += step * outer[axis].out_stride;
    }
  }
  return at;
}

}  // namespace tilespark
