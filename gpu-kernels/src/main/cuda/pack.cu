// Copies operands into the layouts that multiply_split.cu, multiply_tensor.cu, multiply_mma.cu and multiply_double.cu
// read. pack.cuh describes all kernels but pack_rows.
//
// pack_rows copies rows to rows that begin at multiples of 16 bytes:
//
//   to[row, col] = from[row, col]     0 <= row < rows, 0 <= col < cols; 0 for cols <= col < to_lead
//
// for one matrix, or for several, which it stacks.
//
// Threads to elements: a thread block copies pieces of 1024 columns of a row, neighbouring threads neighbouring
// elements.
//
// Bytes: reads and writes the operand once. Shared memory: none.
//
// Architectures: sm_80 sm_86 sm_87 sm_89 sm_90a compute_80

#include "pack.cuh"

namespace tilespark {

// Fields in the order of DoubleSteps.readable.
struct PackRowsArguments {
  const double* from;
  double* to;
  u64 rows;
  u64 cols;
  u64 from_lead;
  u64 to_lead;  // even, at least cols
  u64 batches;
  u64 from_step;  // elements from one matrix to the next
};

template <u32 THREADS>
__device__ __forceinline__ void pack_rows(const PackRowsArguments& arguments) {
  constexpr u64 PIECE = 1024;
  const u64 pieces = (arguments.to_lead + PIECE - 1) / PIECE;
  const u64 each = arguments.rows * pieces;
  const u64 all = arguments.batches * each;
  for (u64 number = blockIdx.x; number < all; number += gridDim.x) {
    const u64 batch = number / each;
    const u64 in_batch = number - batch * each;
    const u64 row = in_batch / pieces;
    const u64 first = (in_batch - row * pieces) * PIECE + threadIdx.x;
    const double* const from = arguments.from + batch * arguments.from_step + row * arguments.from_lead;
    double* const to = arguments.to + (batch * arguments.rows + row) * arguments.to_lead;
#pragma unroll
    for (u32 i = 0; i < PIECE; i += THREADS) {
      const u64 col = first + i;
      if (col < arguments.to_lead) {
        to[col] = col < arguments.cols ? from[col] : 0;
      }
    }
  }
}

}  // namespace tilespark

// pack_<form>_w<bytes per value written>_<threads>; the split forms copy A as it is.
#define PACK(NAME, FORM_A, FORM_B)                                                    \
  extern "C" __global__ void                                                          \
  __launch_bounds__(tilespark::PACK_THREADS, tilespark::PACK_BLOCKS)                  \
      NAME(const __grid_constant__ tilespark::PackArguments arguments) {              \
    static_assert(tilespark::PACK_THREADS == 256, "threads of the name");             \
    tilespark::pack<tilespark::FORM_A, tilespark::FORM_B>(arguments);                 \
  }

PACK(pack_tf32_w4_256, PackTf32, PackTf32)
PACK(pack_float16_w2_256, PackHalf, PackHalf)
PACK(pack_bfloat16_w2_256, PackBfloat16, PackBfloat16)
PACK(pack_split_w2_256, PackRaw, PackSplit)
PACK(pack_split_mixed_w2_256, PackRaw, PackSplitMixed)

extern "C" __global__ void __launch_bounds__(256)
    pack_rows_w8_256(const __grid_constant__ tilespark::PackRowsArguments arguments) {
  tilespark::pack_rows<256>(arguments);
}
