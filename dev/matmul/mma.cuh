// Product of matrices of half, bfloat16 or tf32, or of float cut into three bfloat16 parts, on the tensor
// cores of sm_80 and later, with sums in float:
//
//   c[i, j] = sum over p of a(i, p) * b(p, j)  (+ c[i, j])        0 <= i < m, 0 <= j < n, 0 <= p < k
//
// Both operands lie with K along their rows, as pack.cuh leaves them: rows of whole panels of 128 bytes.
//
// Terms: float = upper + middle + lower, of 8 bits each, in three planes of either operand. Of the nine
// products of parts the six of at least 2^-16 of the whole are summed, the smallest first, as one product
// after the other along K. Kinds of one plane have one term.
//
// Accuracy: the tensor cores cut sums off; where PROMOTED, sums of one panel (64 of K) are added in ordinary
// registers, rounded to nearest.
//
// Threads to elements: 8 warps make a tile of 128 x 128, each 64 x 32, with products of 16 x 8 x 32 bytes.
// Thread t + 4 g of a warp holds of c rows g and g + 8, columns 2 t and the next.
//
// Shared memory: STAGES stages of (128, 128 bytes) of both operands; the 16 bytes number x of row r lie at
// x ^ (r % 8), so that neither the copies nor ldmatrix go against their banks twice. Three stages fit the
// 99 KiB of sm_86 and sm_89.
//
// Launch: MMA_THREADS threads, SHARED_BYTES, any grid of at most as many thread blocks as fit at once.
//
// Source: NVIDIA, "PTX ISA" 9.0, sections 9.7.9 (cp.async) and 9.7.14 (mma, ldmatrix); the split into
// bfloat16 parts is Henry, Tang and Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype For
// Higher-Precision Computations", 2019.
#pragma once

#include "../../gpu-kernels/src/main/cuda/pack.cuh"

namespace tilespark {

// Fields in the order of the host's launch.
struct MmaArguments {
  const void* a;  // (planes, a_rows, panels * 128 bytes)
  const void* b;
  float* c;
  u64 m;
  u64 n;
  u64 lead_c;
  u64 a_rows;  // of a plane, all batches
  u64 b_rows;
  u64 panels;  // of K
  u64 row_tiles;
  u64 col_tiles;
  u64 accumulate;
  u64 batches;
  u64 a_step;  // rows of a from one product to the next, at least m
  u64 b_step;
  u64 c_step;  // elements
};

constexpr u32 MMA_THREADS = 256;
constexpr u32 MMA_TILE = 128;

// Kinds: how one product of 16 x 8 x 32 bytes is called, and the planes of each term.
struct MmaHalf {
  static constexpr u32 TERMS = 1;
  static __device__ __forceinline__ void product(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
};
struct MmaBfloat16 {
  static constexpr u32 TERMS = 1;
  static __device__ __forceinline__ void product(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
};
struct MmaTf32 {
  static constexpr u32 TERMS = 1;
  static __device__ __forceinline__ void product(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
};
struct MmaSplit : MmaBfloat16 {
  static constexpr u32 TERMS = 6;
};

// Planes of a term of TERMS = 6: (2, 0) (0, 2) (1, 1) (1, 0) (0, 1) (0, 0), two bits each, the first lowest.
constexpr u32 TERM_A = 2u | 0u << 2 | 1u << 4 | 1u << 6 | 0u << 8 | 0u << 10;
constexpr u32 TERM_B = 0u | 2u << 2 | 1u << 4 | 0u << 6 | 1u << 8 | 0u << 10;

template <typename Kind_, u32 STAGES_>
struct MmaShape {
  using Kind = Kind_;
  static constexpr u32 STAGES = STAGES_;
  static constexpr bool PROMOTED = Kind::TERMS > 1;
  static constexpr u32 STAGE_BYTES = 2 * MMA_TILE * 128;
  static constexpr u32 SHARED_BYTES = STAGES * STAGE_BYTES;
};

__device__ __forceinline__ void copy_16(u32 to, const void* from, bool inside) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(inside ? 16 : 0) : "memory");
}
__device__ __forceinline__ void copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <u32 PENDING>
__device__ __forceinline__ void copies_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}
// Four matrices of 8 rows of 16 bytes; lane l gives the address of row l % 8 of matrix l / 8.
__device__ __forceinline__ void read_matrices(u32 (&values)[4], u32 at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
               : "r"(at)
               : "memory");
}

template <typename Shape>
__device__ __forceinline__ void multiply_mma(const MmaArguments& arguments) {
  using Kind = typename Shape::Kind;
  constexpr u32 STAGES = Shape::STAGES;
  constexpr u32 HIGH = 4;
  constexpr u32 WIDE = 4;
  extern __shared__ __align__(128) char shared[];
  const u32 base = shared_address(shared);
  const u32 warp = threadIdx.x / 32;
  const u32 lane = threadIdx.x % 32;
  const u32 in_row = warp / 4 * 64;
  const u32 in_col = warp % 4 * 32;
  const u32 row_tiles = static_cast<u32>(arguments.row_tiles);
  const u32 col_tiles = static_cast<u32>(arguments.col_tiles);
  const u32 panels = static_cast<u32>(arguments.panels);
  const u32 steps = Kind::TERMS * panels;
  const u64 line = arguments.panels * 128;  // bytes of a row
  // Copies: 8 threads to a row, 32 rows at a time.
  const u32 to_row = threadIdx.x / 8;
  const u32 to_chunk = threadIdx.x % 8;
  const u32 to_place = to_row * 128 + (to_chunk ^ to_row % 8) * 16;
  // Reads of a: matrices of rows 0-7 and 8-15, of 16 bytes each, then the next 16 bytes; of b: both 16
  // bytes of columns 0-7, then of 8-15.
  const u32 a_row = in_row + lane % 16;
  const u32 b_row = in_col + lane % 8 + lane / 16 * 8;
  const u32 a_chunk = lane / 16;
  const u32 b_chunk = lane / 8 % 2;

  const u32 tiles = static_cast<u32>(arguments.batches) * row_tiles * col_tiles;
  for (u32 number = blockIdx.x; number < tiles; number += gridDim.x) {
    constexpr u32 GROUP = 8;
    const u32 batch = number / (row_tiles * col_tiles);
    const u32 in_batch = number - batch * (row_tiles * col_tiles);
    const u32 group = in_batch / (GROUP * col_tiles);
    const u32 in_group = in_batch - group * (GROUP * col_tiles);
    const u32 high = row_tiles - group * GROUP < GROUP ? row_tiles - group * GROUP : GROUP;
    const u64 row = u64{group * GROUP + in_group % high} * MMA_TILE;
    const u64 col = u64{in_group / high} * MMA_TILE;
    const u64 a_first = batch * arguments.a_step + row + to_row;
    const u64 b_first = batch * arguments.b_step + col + to_row;

    const auto copy = [&](u32 step, u32 stage) {
      if (step < steps) {
        const u32 term = step / panels;
        const u64 along = (step - term * panels) * u64{128} + to_chunk * 16;
        const u32 plane_a = Kind::TERMS == 1 ? 0 : TERM_A >> (2 * term) & 3;
        const u32 plane_b = Kind::TERMS == 1 ? 0 : TERM_B >> (2 * term) & 3;
        const char* const a = static_cast<const char*>(arguments.a) + plane_a * arguments.a_rows * line + along;
        const char* const b = static_cast<const char*>(arguments.b) + plane_b * arguments.b_rows * line + along;
        const u32 to = base + stage * Shape::STAGE_BYTES + to_place;
#pragma unroll
        for (u32 i = 0; i < MMA_TILE; i += 32) {
          const bool a_inside = a_first + i < arguments.a_rows;
          const bool b_inside = b_first + i < arguments.b_rows;
          copy_16(to + i * 128, a + (a_inside ? a_first + i : 0) * line, a_inside);
          copy_16(to + (MMA_TILE + i) * 128, b + (b_inside ? b_first + i : 0) * line, b_inside);
        }
      }
      copies_commit();
    };

    float sums[HIGH][WIDE][4] = {};
    float totals[HIGH][WIDE][4] = {};  // unused, and so removed, if not PROMOTED
#pragma unroll
    for (u32 ahead = 0; ahead < STAGES - 1; ahead++) {
      copy(ahead, ahead);
    }
    u32 stage = 0;
    for (u32 step = 0; step < steps; step++) {
      copies_wait<STAGES - 2>();
      __syncthreads();  // all see this stage; and none reads the one that is filled next
      copy(step + STAGES - 1, stage == 0 ? STAGES - 1 : stage - 1);
      const u32 a = base + stage * Shape::STAGE_BYTES;
      const u32 b = a + MMA_TILE * 128;
#pragma unroll
      for (u32 s = 0; s < 4; s++) {
        u32 right[WIDE / 2][4];
#pragma unroll
        for (u32 x = 0; x < WIDE / 2; x++) {
          read_matrices(right[x], b + (b_row + x * 16) * 128 + ((2 * s + b_chunk) ^ b_row % 8) * 16);
        }
#pragma unroll
        for (u32 r = 0; r < HIGH; r++) {
          u32 left[4];
          read_matrices(left, a + (a_row + r * 16) * 128 + ((2 * s + a_chunk) ^ a_row % 8) * 16);
#pragma unroll
          for (u32 x = 0; x < WIDE; x++) {
            Kind::product(sums[r][x], left, right[x / 2][x % 2 * 2], right[x / 2][x % 2 * 2 + 1]);
          }
        }
      }
      if (Shape::PROMOTED) {
#pragma unroll
        for (u32 r = 0; r < HIGH; r++) {
#pragma unroll
          for (u32 x = 0; x < WIDE; x++) {
#pragma unroll
            for (u32 e = 0; e < 4; e++) {
              totals[r][x][e] += sums[r][x][e];
              sums[r][x][e] = 0;
            }
          }
        }
      }
      stage = stage + 1 == STAGES ? 0 : stage + 1;
    }
    copies_wait<0>();
    __syncthreads();

    // store
#pragma unroll
    for (u32 r = 0; r < HIGH; r++) {
#pragma unroll
      for (u32 half = 0; half < 2; half++) {
        const u64 i = row + in_row + r * 16 + half * 8 + lane / 4;
        if (i < arguments.m) {
          float* const to = arguments.c + batch * arguments.c_step + i * arguments.lead_c;
#pragma unroll
          for (u32 x = 0; x < WIDE; x++) {
#pragma unroll
            for (u32 e = 0; e < 2; e++) {
              const u64 j = col + in_col + x * 8 + lane % 4 * 2 + e;
              if (j < arguments.n) {
                const float sum = Shape::PROMOTED ? totals[r][x][half * 2 + e] : sums[r][x][half * 2 + e];
                to[j] = arguments.accumulate ? to[j] + sum : sum;
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace tilespark
