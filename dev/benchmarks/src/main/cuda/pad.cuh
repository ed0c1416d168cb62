// The lab's copy of operands whose rows do not begin evenly; pack_rows of pack.cu is what ships.
#pragma once

#include "hopper.cuh"

namespace tilespark {

// Copies (batches, rows, cols) with gaps to rows of an even number of elements, 16-byte aligned, as the
// copy engine wants them; what lies beyond cols is left alone, for no one reads it.
// Threads to elements: neighbours along cols, four rows a thread, so that four reads are in flight.
struct PadArguments {
  const double* from;
  double* to;
  u64 rows;
  u64 cols;
  u64 lead;
  u64 to_lead;
  u64 batches;
  u64 from_step;  // elements; that of `to` is rows * to_lead
};
constexpr u32 PAD_THREADS = 256;

// Launch: PAD_THREADS threads, grid (x, y) of at most ceil(cols / PAD_THREADS) x ceil(batches * rows / 4).
__device__ __forceinline__ void pad_double(const PadArguments& arguments) {
  const u64 all = arguments.batches * arguments.rows;
  for (u64 row = blockIdx.y * u64{4}; row < all; row += gridDim.y * u64{4}) {
    for (u64 col = blockIdx.x * u64{PAD_THREADS} + threadIdx.x; col < arguments.cols;
         col += u64{gridDim.x} * PAD_THREADS) {
      double values[4];
#pragma unroll
      for (u32 i = 0; i < 4; i++) {
        if (row + i < all) {
          values[i] = arguments.from[(row + i) / arguments.rows * arguments.from_step +
                                     (row + i) % arguments.rows * arguments.lead + col];
        }
      }
#pragma unroll
      for (u32 i = 0; i < 4; i++) {
        if (row + i < all) {
          arguments.to[(row + i) * arguments.to_lead + col] = values[i];
        }
      }
    }
  }
}

}  // namespace tilespark
