#include "fused.cuh"
#include "bad.cuh"
using namespace tilespark;
#define PACK_ENTRY(NAME, FORM_A, FORM_B)                                  \
  extern "C" __global__ void __launch_bounds__(PACK_THREADS, PACK_BLOCKS) \
  NAME(const __grid_constant__ PackArguments arguments) { pack<FORM_A, FORM_B>(arguments); }
PACK_ENTRY(pack_tf32, PackTf32, PackTf32)
PACK_ENTRY(pack_half, PackHalf, PackHalf)
PACK_ENTRY(pack_bfloat16, PackBfloat16, PackBfloat16)
PACK_ENTRY(pack_split, PackRaw, PackSplit)
PACK_ENTRY(pack_split_mixed, PackRaw, PackSplitMixed)

// along: K along the rows of A; across: along its columns.
#define SPLIT_ENTRY(NAME, ...) \
  extern "C" __global__ void __launch_bounds__(384, 1) \
  multiply_split_along_##NAME(const __grid_constant__ SplitArguments arguments) { multiply_split<SplitShape<__VA_ARGS__, false>>(arguments); } \
  extern "C" __global__ void __launch_bounds__(384, 1) \
  multiply_split_across_##NAME(const __grid_constant__ SplitArguments arguments) { multiply_split<SplitShape<__VA_ARGS__, true>>(arguments); }
SPLIT_ENTRY(16_kept, 5, 16, true)
SPLIT_ENTRY(32_kept, 5, 32, true)
SPLIT_ENTRY(32, 5, 32, false)
extern "C" __global__ void __launch_bounds__(BAD_THREADS) multiply_bad_tiles(const __grid_constant__ BadArguments arguments) { multiply_bad(arguments); }

// NAME_nt: both along K; A across: t first; B across: n last.
#define TENSOR_ENTRY(NAME, KIND, COLS, STAGES, ...) \
  extern "C" __global__ void __launch_bounds__(384, 1) \
  NAME##_##COLS(const __grid_constant__ TensorArguments arguments) { multiply_tensor<TensorShape<KIND, COLS, STAGES, __VA_ARGS__>>(arguments); }
#define TENSOR_ENTRIES(NAME, KIND, ...) \
  TENSOR_ENTRY(NAME, KIND, 256, 4, __VA_ARGS__) \
  TENSOR_ENTRY(NAME, KIND, 128, 6, __VA_ARGS__)
TENSOR_ENTRIES(multiply_half_nt, Half, false, false)
TENSOR_ENTRIES(multiply_half_nn, Half, false, true)
TENSOR_ENTRIES(multiply_half_tt, Half, true, false)
TENSOR_ENTRIES(multiply_half_tn, Half, true, true)
TENSOR_ENTRIES(multiply_bfloat16_nt, Bfloat16, false, false)
TENSOR_ENTRIES(multiply_bfloat16_nn, Bfloat16, false, true)
TENSOR_ENTRIES(multiply_bfloat16_tt, Bfloat16, true, false)
TENSOR_ENTRIES(multiply_bfloat16_tn, Bfloat16, true, true)
TENSOR_ENTRIES(multiply_tf32_nt, Tf32, false, false)
TENSOR_ENTRY(multiply_half_nt, Half, 64, 8, false, false)
TENSOR_ENTRY(multiply_bfloat16_nt, Bfloat16, 64, 8, false, false)
TENSOR_ENTRY(multiply_tf32_nt, Tf32, 64, 8, false, false)
extern "C" __global__ void __launch_bounds__(384, 1)
multiply_tf32_high(const __grid_constant__ TensorArguments arguments) { multiply_tensor<TensorShape<Tf32, 128, 4, false, false, 256>>(arguments); }


// Of float operands, converted on the way. COLS, STAGES, SLOTS, WARPGROUPS.
#define FUSED_ENTRY(NAME, KIND, A, B, COLS, STAGES, SLOTS, WARPGROUPS) \
  extern "C" __global__ void __launch_bounds__(128 * (1 + WARPGROUPS), 3 - WARPGROUPS) \
  NAME(const __grid_constant__ FusedArguments arguments) { multiply_fused<FusedShape<KIND, COLS, STAGES, SLOTS, A, B, WARPGROUPS>>(arguments); }
#define FUSED(DO) \
  DO(fused_half_nn, Half, false, true, 256, 2, 2, 2) \
  DO(fused_half_nt, Half, false, false, 256, 2, 2, 2) \
  DO(fused_half_tn, Half, true, true, 256, 2, 2, 2) \
  DO(fused_half_tt, Half, true, false, 256, 2, 2, 2) \
  DO(fused_half_nn_128, Half, false, true, 128, 2, 3, 1) \
  DO(fused_half_nt_128, Half, false, false, 128, 2, 3, 1) \
  DO(fused_half_tn_128, Half, true, true, 128, 2, 3, 1) \
  DO(fused_half_tt_128, Half, true, false, 128, 2, 3, 1) \
  DO(fused_bfloat16_nn, Bfloat16, false, true, 256, 2, 2, 2) \
  DO(fused_bfloat16_nn_128, Bfloat16, false, true, 128, 2, 3, 1) \
  DO(fused_tf32_nn, Tf32, false, true, 256, 3, 3, 2) \
  DO(fused_tf32_tn, Tf32, true, true, 256, 2, 6, 2) \
  DO(fused_tf32_tt, Tf32, true, false, 256, 3, 3, 2)
FUSED(FUSED_ENTRY)
