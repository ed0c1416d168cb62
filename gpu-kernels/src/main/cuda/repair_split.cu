// Makes the tiles of a product of float matrices that multiply_split.cu left alone because an operand
// holds infinities, NaN, or values without exact parts, in ordinary arithmetic: tiled.cuh says how.
//
// Bytes: a flag for each tile, and both operands' rows and columns of the tiles that are flagged.
//
// Architectures: sm_90a

#include "tiled.cuh"

namespace tilespark {

// Fields in the order of TensorSteps.repair.
struct RepairArguments {
  const u32* flags;  // by tile of C
  MultiplyArguments product;
};

}  // namespace tilespark

// repair_split_w<bytes>_<tile of multiply_split>x<threads>
extern "C" __global__ void __launch_bounds__(256)
    repair_split_w4_128x128x256(const __grid_constant__ tilespark::RepairArguments arguments) {
  using Sums = tilespark::FloatSums<128, 128, 8, 8>;
  static_assert(Sums::THREADS == 256, "threads of the name");
  tilespark::multiply_tiles<Sums, true>(arguments.product, arguments.flags);
}
