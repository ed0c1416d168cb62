// Sums the parts of products that were split along K. Part q of a product is a dense (rows, cols) matrix in scratch:
//
//   c[i, j] = alpha * (scratch[0, i, j] + scratch[1, i, j] + ...) + beta * c[i, j]
//
// Parts are added from left to right, so that the same split gives the same bits.
//
// Threads to elements: neighbouring threads take neighbours along cols. Bytes: reads parts * rows * cols, writes rows *
// cols. Launch: SUM_THREADS threads, any grid; scratch holds the parts of one product after those of another.
#pragma once

#include "factors.cuh"
#include "hopper.cuh"

namespace tilespark {

// Fields in the order of TensorSteps.addSum.
template <typename T>
struct SumArguments {
  const T* scratch;  // (batches, parts, rows, cols)
  T* c;
  u64 rows;
  u64 cols;
  u64 row_step;  // elements of c from one row to the next
  u64 col_step;
  u64 parts;
  Factors<T> factors;
  u64 batches;
  u64 c_step;  // elements of c from one product to the next
};

constexpr u32 SUM_THREADS = 256;

template <typename T>
__device__ __forceinline__ void sum_parts(const SumArguments<T>& arguments) {
  const u64 plane = arguments.rows * arguments.cols;
  const u64 all = arguments.batches * plane;
  for (u64 at = blockIdx.x * u64{SUM_THREADS} + threadIdx.x; at < all; at += u64{gridDim.x} * SUM_THREADS) {
    const u64 batch = at / plane;
    const u64 in_plane = at % plane;
    const T* const from = arguments.scratch + batch * arguments.parts * plane + in_plane;
    T sum = from[0];
    for (u64 part = 1; part < arguments.parts; part++) {
      sum += from[part * plane];
    }
    T* const to = arguments.c + batch * arguments.c_step + in_plane / arguments.cols * arguments.row_step +
                  in_plane % arguments.cols * arguments.col_step;
    arguments.factors.store(to, sum);
  }
}

}  // namespace tilespark
