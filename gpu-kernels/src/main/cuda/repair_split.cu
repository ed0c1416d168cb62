// Computes in ordinary arithmetic the tiles of a product of float matrices that multiply_split.cu skipped, because
// operands or sums there are infinite, NaN, or too small to be split: tiled.cuh says how.
//
// Bytes: the flags, once for each tile of 64 x 64, and the rows and columns of the tiles that are flagged.
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

// repair_split_w<bytes>_<half of the rows and of the columns of multiply_split's tile>x<threads>
extern "C" __global__ void __launch_bounds__(128)
    repair_split_w4_64x64x128(const __grid_constant__ tilespark::RepairArguments arguments) {
  using Sums = tilespark::FloatSums<64, 64, 8, 4>;
  static_assert(Sums::THREADS == 128, "threads of the name");
  tilespark::multiply_tiles<Sums, true>(arguments.product, arguments.flags);
}
