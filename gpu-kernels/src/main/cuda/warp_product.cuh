// Warp products on the tensor cores of sm_80 and later, with fragments in registers.
//
// Source: NVIDIA, "PTX ISA" 9.0, section 9.7.14 (mma).
#pragma once

namespace tilespark {

using u32 = unsigned int;

// Element types: c (16 x 8 per warp) += a (16 x 32 bytes) * b (32 bytes x 8).
#define TILESPARK_MMA(KIND, TYPE, SHAPE)                                                                   \
  struct KIND {                                                                                            \
    static __device__ __forceinline__ void product(float* c, const u32 (&a)[4], u32 b0, u32 b1) {          \
      asm("mma.sync.aligned." SHAPE ".row.col.f32." TYPE "." TYPE                                          \
          ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                                     \
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                 \
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                                 \
    }                                                                                                      \
  };
TILESPARK_MMA(MmaHalf, "f16", "m16n8k16")
TILESPARK_MMA(MmaBfloat16, "bf16", "m16n8k16")
TILESPARK_MMA(MmaTf32, "tf32", "m16n8k8")
#undef TILESPARK_MMA

}  // namespace tilespark
