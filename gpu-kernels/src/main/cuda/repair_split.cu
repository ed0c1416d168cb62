// Computes in ordinary arithmetic the tiles of a product of float matrices that multiply_split.cu skipped, because
// operands or sums are infinite, NaN, or too small to be split: see tiled.cuh.
//
// Bytes: the flags, once per tile of 64 x 64, and the rows and columns of flagged tiles.
//
// Architectures: sm_90a

#include "tiled.cuh"

namespace tilespark {

// Fields in the order of PackedSteps.addRepair.
struct RepairArguments {
  const u32* flags;  // SplitArguments.bad_tiles
  MultiplyArguments<float> product;
};

}  // namespace tilespark

// repair_split_w<bytes>_<rows>x<cols>x<threads>; rows and cols are half of those of multiply_split's tile
extern "C" __global__ void __launch_bounds__(128)
    repair_split_w4_64x64x128(const __grid_constant__ tilespark::RepairArguments arguments) {
  using Sums = tilespark::FloatSums<64, 64, 8, 4>;
  static_assert(Sums::THREADS == 128, "threads of the name");
  tilespark::multiply_tiles<Sums, true>(arguments.product, arguments.flags);
}
