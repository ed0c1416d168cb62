#include "../../gpu-kernels/src/main/cuda/tensor.cuh"
using namespace tilespark;
#define PACK_ENTRY(NAME, FORM) \
  extern "C" __global__ void __launch_bounds__(PACK_THREADS) NAME(const __grid_constant__ PackArguments arguments) { pack<FORM>(arguments); }
PACK_ENTRY(pack_raw, PackRaw)
PACK_ENTRY(pack_tf32, PackTf32)
PACK_ENTRY(pack_half, PackHalf)
PACK_ENTRY(pack_bfloat16, PackBfloat16)
PACK_ENTRY(pack_split, PackSplit)

#define SPLIT_ENTRY(STAGES, CLUSTER) \
  extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(384, 1) \
  multiply_split_##STAGES##_##CLUSTER(const __grid_constant__ SplitArguments arguments) { multiply_split<SplitShape<STAGES, CLUSTER>>(arguments); }
SPLIT_ENTRY(4, 1)
SPLIT_ENTRY(4, 2)

#define TENSOR_ENTRY(NAME, KIND, COLS, STAGES, CLUSTER) \
  extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(384, 1) \
  multiply_##NAME##_##COLS##_##STAGES##_##CLUSTER(const __grid_constant__ TensorArguments arguments) { multiply_tensor<TensorShape<KIND, COLS, STAGES, CLUSTER>>(arguments); }
#define TENSOR_ENTRIES(NAME, KIND) \
  TENSOR_ENTRY(NAME, KIND, 256, 4, 1) \
  TENSOR_ENTRY(NAME, KIND, 256, 4, 2) \
  TENSOR_ENTRY(NAME, KIND, 128, 6, 1) \
  TENSOR_ENTRY(NAME, KIND, 128, 6, 2)
TENSOR_ENTRIES(half, Half)
TENSOR_ENTRIES(bfloat16, Bfloat16)
TENSOR_ENTRIES(tf32, Tf32)
