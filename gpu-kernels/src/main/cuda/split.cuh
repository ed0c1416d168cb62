// Product of float matrices at float accuracy on the tensor cores of sm_90a:
//
//   c[i, j] = alpha * sum over p of a(i, p) * b(p, j) + beta * c[i, j]     0 <= i < m, 0 <= j < n, 0 <= p < k
//
// Each value is split exactly into three bfloat16 parts, value = a0 + a1 + a2, each at most 2^-8 of the previous one.
// Of the nine products of parts, a1 b2, a2 b1 and a2 b2 are omitted, 2^-24 |a||b| at most. A is read as stored, along K
// or across (K strided), and split in registers; pack.cuh splits B into three planes with K along the rows.
//
// Accuracy: the tensor cores round sums towards zero, so they sum only one panel of K, the small products first. These
// sums are added in ordinary registers, rounded to nearest, and the next sum in the tensor cores starts from the
// rounding error.
//
// Products of parts below 2^-149 are lost: 7 K 2^-149 at most in all. That is less than other errors where |a b| >=
// 2^-122 (docs/decisions/split-precision-range.md).
//
// Nonzero values below 2^-100, infinities and NaN are outside the split's range (small values of B come as NaN), and
// where sums are infinite or NaN, ordinary arithmetic may give others. Half tiles of 64 x 128 with any of these are
// skipped and marked in bad_tiles; repair_split.cu computes them.
//
// Threads to elements: a thread block has one warpgroup that starts copies and two that multiply. It computes tiles of
// 128 x 128 of C, one after the other, each multiplying warpgroup 64 x 128. During the products of a panel, the next
// panel of A is split.
//
// Shared memory: STAGES stages of (128, 32) float of A, rows of 128 bytes swizzled by 128 bytes, and of (128, 32)
// bfloat16 of each part of B, rows of 64 bytes swizzled by 64 bytes.
//
// Source: the split is from Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores while surpassing
// the FP32 theoretical peak performance", 2022; three bfloat16 parts from Henry, Tang and Heinecke, "Leveraging the
// bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations", 2019; the sums from Kahan, "Further
// remarks on reducing truncation errors", 1965; warp specialisation from NVIDIA's CUTLASS documentation, "Efficient
// GEMM in CUDA".
#pragma once

#include "factors.cuh"
#include "pack.cuh"

namespace tilespark {

// Fields in the order of PackedSteps.addMultiply.
struct SplitArguments {
  CUtensorMap a;  // op(A): (m, k) float, boxes of 128 x 32, swizzled by 128 bytes; if across: (k, m), boxes of 32 x 32
  CUtensorMap b;  // parts of op(B): (3 plane_rows, padded k) bfloat16, boxes of 128 x 32, swizzled by 64 bytes
  float* c;
  u32* bad_tiles;  // (batches, row_tiles, col_tiles): 0x1 if the upper half tile was skipped, 0x10000 the lower
  u64 m;
  u64 n;
  u64 lead_c;
  u64 panels;  // panels in K
  u64 row_tiles;
  u64 col_tiles;
  u64 plane_rows;  // rows of b in one part
  Factors<float> factors;
  u64 batches;  // independent products, or parts of one along K
  u64 a_step;   // rows of a, as stored, from one product to the next
  u64 b_step;   // 0: all products share b
  u64 c_step;   // elements
  u64 k_step;   // steps of K from one part to the next, whole panels; 0 for independent products
};

// A position in a ring of stages, and the parity of its barriers' phase.
template <u32 STAGES>
struct Ring {
  u32 stage = 0;
  u32 parity = 0;

  __device__ __forceinline__ void next() {
    if (++stage == STAGES) {
      stage = 0;
      parity ^= 1;
    }
  }
};

// Signals that this warp has read the stage.
__device__ __forceinline__ void release(u64* empty, u32 lane) {
  __syncwarp();
  if (lane == 0) {
    barrier_arrive(empty);
  }
}

// Orders tiles of C so that neighbours share rows of A and columns of B: GROUP rows of tiles at a time, column by
// column.
struct TilePlace {
  u32 batch;
  u32 row;
  u32 col;
};
__device__ __forceinline__ TilePlace tile_place(u64 number, u64 rows, u64 cols) {
  constexpr u32 GROUP = 8;
  // Fewer than 2^32 tiles: more would be 2^46 elements of C.
  const u32 in_all = static_cast<u32>(number);
  const u32 each = static_cast<u32>(rows * cols);
  const u32 batch = in_all / each;
  const u32 in_batch = in_all - batch * each;
  const u32 of_group = GROUP * static_cast<u32>(cols);
  const u32 group = in_batch / of_group;
  const u32 in_group = in_batch - group * of_group;
  const u32 high = min(static_cast<u32>(rows) - group * GROUP, GROUP);
  const u32 col = in_group / high;
  return {batch, group * GROUP + in_group - col * high, col};
}

// Waits for the 128 threads of the barrier; true if `mine` was true for any.
__device__ __forceinline__ bool any_of_warpgroup(u32 barrier, bool mine) {
  u32 any;
  asm volatile(
      "{\n.reg .pred p, q;\n"
      "setp.ne.u32 q, %2, 0;\n"
      "barrier.cta.red.or.pred p, %1, 128, q;\n"
      "selp.u32 %0, 1, 0, p;\n}\n"
      : "=r"(any)
      : "r"(barrier), "r"(static_cast<u32>(mine))
      : "memory");
  return any != 0;
}

// Stores a thread's sums, in wgmma's accumulator layout, to C with its factors: rows `row` and row + 8, columns 2 (lane
// % 4) and the next in each of GROUPS groups of 8 columns from `col` on. With QUADS and an aligned C, neighbouring
// lanes exchange halves of two groups, so that each stores 16 bytes of one; this takes more registers. If C is not
// aligned, sums go through `staged`, shared memory of the warp, so that it stores 32 neighbours of a row; if `staged`
// is null, known at compile time, each thread stores its own sums.
constexpr u32 STORE_PITCH = 40;  // rows of sums that are written together have no bank conflicts
constexpr u32 STORE_FLOATS = 16 * STORE_PITCH;

template <u32 GROUPS, bool QUADS>
__device__ __forceinline__ void store_sums(const float (&sums)[4 * GROUPS], float* c, u64 row, u64 col, u64 m,
                                           u64 n, u64 lead, const Factors<float>& factors, float* staged) {
  constexpr u32 WIDTH = QUADS ? 4 : 2;
  const bool plain = factors.are_plain();
  const bool aligned =
      col + GROUPS * 8 <= n && lead % WIDTH == 0 && reinterpret_cast<u64>(c) % (WIDTH * 4) == 0;
  const u32 quarter = threadIdx.x % 4;
  if (QUADS && aligned) {
    const bool odd = quarter % 2 != 0;
    float* const first = c + row * lead + col + quarter / 2 * 4 + (odd ? 8 : 0);
#pragma unroll
    for (u32 half = 0; half < 2; half++) {
      float* const line = first + half * 8 * lead;
      const bool inside = row + half * 8 < m;
#pragma unroll
      for (u32 group = 0; group < GROUPS; group += 2) {
        const u32 left = group * 4 + half * 2;
        const u32 right = left + 4;
        const float x = __shfl_xor_sync(~0u, odd ? sums[left] : sums[right], 1);
        const float y = __shfl_xor_sync(~0u, odd ? sums[left + 1] : sums[right + 1], 1);
        const float4 quad = odd ? make_float4(x, y, sums[right], sums[right + 1])
                                : make_float4(sums[left], sums[left + 1], x, y);
        if (inside) {
          store_quad(factors, plain, reinterpret_cast<float4*>(line + group * 8), quad);
        }
      }
    }
    return;
  }
  if (!QUADS && aligned) {
#pragma unroll
    for (u32 half = 0; half < 2; half++) {
      if (row + half * 8 >= m) {
        continue;
      }
      float* const line = c + (row + half * 8) * lead + col + quarter * 2;
#pragma unroll
      for (u32 group = 0; group < GROUPS; group++) {
        const u32 first = group * 4 + half * 2;
        store_pair(factors, plain, reinterpret_cast<float2*>(line + group * 8),
                   make_float2(sums[first], sums[first + 1]));
      }
    }
    return;
  }
  if (staged == nullptr) {
#pragma unroll
    for (u32 half = 0; half < 2; half++) {
      const u64 first = col + quarter * 2;
      float* const line = c + (row + half * 8) * lead + first;
#pragma unroll
      for (u32 group = 0; group < GROUPS; group++) {
#pragma unroll
        for (u32 e = 0; e < 2; e++) {
          if (row + half * 8 < m && first + group * 8 + e < n) {
            const float sum = sums[group * 4 + half * 2 + e];
            factors.store(line + group * 8 + e, sum);
          }
        }
      }
    }
    return;
  }
  constexpr u32 AT_ONCE = 4;
  const u32 lane = threadIdx.x % 32;
  const u64 first_row = row - lane / 4;
#pragma unroll
  for (u32 group = 0; group < GROUPS; group += 4) {
#pragma unroll
    for (u32 i = 0; i < 8; i++) {
      const u32 place = (i % 2 * 8 + lane / 4) * STORE_PITCH + i / 2 * 8 + quarter * 2;
      const u32 from = (group + i / 2) * 4 + i % 2 * 2;
      *reinterpret_cast<float2*>(staged + place) = make_float2(sums[from], sums[from + 1]);
    }
    __syncwarp();
    const u64 at = col + group * 8 + lane;
    float* const to = c + first_row * lead + at;
    for (u32 r = 0; r < 16 && at < n; r += AT_ONCE) {
      float values[AT_ONCE];
#pragma unroll
      for (u32 i = 0; i < AT_ONCE; i++) {
        values[i] = staged[(r + i) * STORE_PITCH + lane];
        if (!plain) {
          const bool read = factors.reads_c() && first_row + r + i < m;
          values[i] = factors.combine(values[i], read ? to[(r + i) * lead] : 0);
        }
      }
#pragma unroll
      for (u32 i = 0; i < AT_ONCE; i++) {
        if (first_row + r + i < m) {
          to[(r + i) * lead] = values[i];
        }
      }
    }
    __syncwarp();
  }
}

template <u32 STAGES_, bool A_ACROSS_>
struct SplitShape {
  static constexpr u32 STAGES = STAGES_;
  static constexpr bool A_ACROSS = A_ACROSS_;
  static constexpr u32 TILE = 128;
  static constexpr u32 PANEL = 32;
  static constexpr u32 WARPGROUPS = 2;
  static constexpr u32 THREADS = 128 * (1 + WARPGROUPS);
  static constexpr u32 A_BYTES = TILE * PANEL * 4;
  static constexpr u32 B_BYTES = TILE * PANEL * 2;  // bytes of one part
  static constexpr u32 STAGE_BYTES = A_BYTES + 3 * B_BYTES;
  // Dynamic shared memory begins anywhere; panels begin at multiples of 1024.
  static constexpr u32 SHARED_BYTES = STAGES * STAGE_BYTES + 1024;
};

// sum += part; part = the rounding error of that addition.
__device__ __forceinline__ void add_part(float& sum, float& part) {
  pin(part);
  // In place: new registers for all sums would be too many.
  float added = sum + part;
  added -= sum;
  sum += added;
  part -= added;
}

// A thread's fragments of a panel of A, for wgmma: [part][16 steps of K][register].
using SplitParts = u32[3][2][4];

// Offset of a thread's first values in a panel, in bytes. Along K, a thread reads two of the eight 16-byte chunks of a
// row; the copy engine put chunk i at i ^ row % 8. Across, its two rows of op(A) are in one of four boxes, which have a
// row of 128 bytes for each step of K.
template <bool ACROSS>
__device__ __forceinline__ u32 panel_place(u32 warp, u32 lane) {
  const u32 row = lane / 4;
  const u32 quarter = lane % 4;
  return !ACROSS ? (warp * 16 + row) * 128 + ((quarter * 2) ^ row) * 16
                 : warp / 2 * 4096 + quarter * 256 + ((warp % 2 * 4 + row / 4) ^ (quarter * 2)) * 16 + row % 4 * 4;
}

// Splits a thread's values of a panel, which begin at address `from`.
template <bool ACROSS>
__device__ __forceinline__ void cut_panel(u32 from, SplitParts& parts, u32& least) {
#pragma unroll
  for (u32 s = 0; s < 2; s++) {
#pragma unroll
    for (u32 r = 0; r < 2; r++) {
      float v[4];
      if (!ACROSS) {
        asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
                     : "r"((from ^ (s * 16)) + r * 1024));
      } else {
#pragma unroll
        for (u32 e = 0; e < 4; e++) {
          asm volatile("ld.shared.f32 %0, [%1];"
                       : "=f"(v[e])
                       : "r"((from ^ (r * 32 + e % 2 * 16)) + (s * 16 + e / 2 * 8 + e % 2) * 128));
        }
      }
      least = min(min(least, min(size_rank(v[0]), size_rank(v[1]))), min(size_rank(v[2]), size_rank(v[3])));
      cut(v[0], v[1], parts[0][s][r], parts[1][s][r], parts[2][s][r]);
      cut(v[2], v[3], parts[0][s][r + 2], parts[1][s][r + 2], parts[2][s][r + 2]);
    }
  }
}

template <typename Shape>
__device__ __forceinline__ void multiply_split(const SplitArguments& arguments) {
  constexpr u32 STAGES = Shape::STAGES;
  constexpr u32 TILE = Shape::TILE;
  constexpr u32 PANEL = Shape::PANEL;
  constexpr u32 STEPS = PANEL / 16;
  extern __shared__ char dynamic[];
  char* const shared = dynamic + (1024 - shared_address(dynamic) % 1024) % 1024;
  __shared__ u64 full[STAGES];
  __shared__ u64 empty[STAGES];
  __shared__ __align__(16) float staged[Shape::WARPGROUPS * 4][STORE_FLOATS];  // for the multiplying warps

  if (threadIdx.x == 0) {
    for (u32 stage = 0; stage < STAGES; stage++) {
      barrier_init(&full[stage], 1);
      barrier_init(&empty[stage], Shape::WARPGROUPS * 4);
    }
    barrier_init_fence();
  }
  __syncthreads();

  const u32 tiles = static_cast<u32>(arguments.batches * arguments.row_tiles * arguments.col_tiles);

  if (threadIdx.x < 128) {
    // copy
    registers_down<24>();
    if (threadIdx.x == 0) {
      prefetch_map(&arguments.a);
      prefetch_map(&arguments.b);
      const int plane = static_cast<int>(arguments.plane_rows);
      Ring<STAGES> ring;
      for (u32 number = blockIdx.x; number < tiles; number += gridDim.x) {
        const TilePlace place = tile_place(number, arguments.row_tiles, arguments.col_tiles);
        const int row = static_cast<int>(place.row * TILE);
        const int a_first = static_cast<int>(place.batch * arguments.a_step);
        const int col = static_cast<int>(place.batch * arguments.b_step + place.col * TILE);
        const int first_p = static_cast<int>(place.batch * arguments.k_step);
        for (u32 panel = 0; panel < static_cast<u32>(arguments.panels); panel++) {
          char* const a = shared + ring.stage * Shape::STAGE_BYTES;
          char* const b = a + Shape::A_BYTES;
          u64* const done = &full[ring.stage];
          const int p = first_p + static_cast<int>(panel * PANEL);
          barrier_wait(&empty[ring.stage], ring.parity ^ 1);
          barrier_expect(done, Shape::STAGE_BYTES);
          if (Shape::A_ACROSS) {
#pragma unroll
            for (u32 i = 0; i < TILE; i += 32) {
              copy_box(a + i * 128, &arguments.a, row + static_cast<int>(i), a_first + p, done);
            }
          } else {
            copy_box(a, &arguments.a, p, a_first + row, done);
          }
          copy_box(b, &arguments.b, p, col, done);
          copy_box(b + Shape::B_BYTES, &arguments.b, p, col + plane, done);
          copy_box(b + 2 * Shape::B_BYTES, &arguments.b, p, col + 2 * plane, done);
          ring.next();
        }
      }
    }
  } else {
    // multiply
    registers_up<240>();
    const u32 group = threadIdx.x / 128 - 1;
    const u32 warp = threadIdx.x / 32 - 4;
    const u32 lane = threadIdx.x % 32;
    const u32 in_row = warp * 16 + lane / 4;  // and the row 8 below
    const u32 at = shared_address(shared) + panel_place<Shape::A_ACROSS>(warp, lane);
    const u32 panels = static_cast<u32>(arguments.panels);
    Ring<STAGES> ring;  // the panel that is split next
    for (u32 number = blockIdx.x; number < tiles; number += gridDim.x) {
      float part[64];
      float total[64];
#pragma unroll
      for (u32 i = 0; i < 64; i++) {
        part[i] = 0;
        total[i] = 0;
      }
      u32 least = ~0u;
      SplitParts now, next;
      u32 stage = ring.stage;  // the panel in the tensor cores
      barrier_wait(&full[stage], ring.parity);
      cut_panel<Shape::A_ACROSS>(at + stage * Shape::STAGE_BYTES, now, least);
      ring.next();

      // Multiplies a panel and, if `more`, splits the next one.
      auto advance = [&](bool more) {
        const u64 b = narrow_panel_descriptor(shared + stage * Shape::STAGE_BYTES + Shape::A_BYTES);
        constexpr u64 PART = Shape::B_BYTES / 16;
        const u32 old = stage;
        products_fence();
        // Small products first: adding them to larger sums would round more often.
#pragma unroll
        for (u32 s = 0; s < STEPS; s++) {
          product_64x128x16_bfloat16(part, now[0][s], b + 2 * PART + s * 2, true);
          product_64x128x16_bfloat16(part, now[2][s], b + s * 2, true);
          product_64x128x16_bfloat16(part, now[1][s], b + PART + s * 2, true);
        }
#pragma unroll
        for (u32 s = 0; s < STEPS; s++) {
          product_64x128x16_bfloat16(part, now[0][s], b + PART + s * 2, true);
          product_64x128x16_bfloat16(part, now[1][s], b + s * 2, true);
        }
#pragma unroll
        for (u32 s = 0; s < STEPS; s++) {
          product_64x128x16_bfloat16(part, now[0][s], b + s * 2, true);
        }
        products_commit();
        if (more) {
          stage = ring.stage;
          barrier_wait(&full[stage], ring.parity);
          cut_panel<Shape::A_ACROSS>(at + stage * Shape::STAGE_BYTES, next, least);
          ring.next();
        }
        products_wait<0>();
#pragma unroll
        for (u32 i = 0; i < 64; i++) {
          add_part(total[i], part[i]);
        }
        release(&empty[old], lane);
      };
      for (u32 left = panels; left > 0; left--) {
        advance(left > 1);
#pragma unroll
        for (u32 i = 0; i < 24; i++) {
          now[i / 8][i / 4 % 2][i % 4] = next[i / 8][i / 4 % 2][i % 4];
        }
      }
      float zero = 0;  // NaN if any sum is infinite or NaN
#pragma unroll
      for (u32 i = 0; i < 64; i++) {
        zero = fmaf(total[i], 0.0f, zero);
      }

      // store
      const TilePlace place = tile_place(number, arguments.row_tiles, arguments.col_tiles);
      const u64 tile = (place.batch * arguments.row_tiles + place.row) * arguments.col_tiles + place.col;
      const bool mine = least < LEAST_RANK || zero != 0;
      const bool bad = any_of_warpgroup(group + 1, mine);
      if (threadIdx.x % 128 == 0) {
        reinterpret_cast<unsigned short*>(arguments.bad_tiles)[tile * 2 + group] = bad;
      }
      if (!bad) {
        store_sums<16, false>(total, arguments.c + place.batch * arguments.c_step, u64{place.row} * TILE + in_row,
                              u64{place.col} * TILE, arguments.m, arguments.n, arguments.lead_c,
                              arguments.factors, staged[threadIdx.x / 32 - 4]);
      }
    }
  }
}

}  // namespace tilespark
