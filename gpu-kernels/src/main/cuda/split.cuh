// Product of float matrices at float accuracy on the tensor cores of sm_90a:
//
//   c[i, j] = sum over p of a(i, p) * b(p, j)  (+ c[i, j])        0 <= i < m, 0 <= j < n, 0 <= p < k
//
// Each value is cut into two parts of 11 bits, value = upper + lower (1 + 2^-11); of the four products
// of parts, lower * lower is left out. A is read as it is (K along its rows) and cut in registers; B
// comes cut (pack.cuh), as two planes with K along the rows.
//
// Accuracy: what is left out, and the rounding of the lower parts, come to 2^-21 |a||b| at most. The
// tensor cores round sums towards zero, so they sum no more than PANEL steps of K, of which PANEL / 8
// additions are of full size; these sums are added in ordinary registers, rounded to nearest.
//
// Values that have no such parts (infinities, NaN, beyond 2^127 or below 2^-100): the tile is left
// alone, and bad_tiles says so. The kernel that will make it is not written yet.
//
// Threads to elements: a thread block is a warpgroup that starts copies and WARPGROUPS that multiply; it
// makes tiles of 128 x 128 of C, one after the other, each warpgroup 64 x 128. The thread blocks of a
// cluster make tiles one below the other; each copies its own share of B to all of them.
//
// Shared memory: STAGES stages of (128, 32) of A and of both parts of B, rows of 128 bytes, swizzled by
// 128 bytes by the copy engine as wgmma wants it.
//
// Source: the split is Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores while
// surpassing the FP32 theoretical peak performance", 2022; the roles of the warps are those of NVIDIA's
// CUTLASS documentation, "Efficient GEMM in CUDA", warp specialisation.
#pragma once

#include "pack.cuh"

namespace tilespark {

// Fields in the order of the host's launch.
struct SplitArguments {
  CUtensorMap a;  // op(A): (m, k), boxes of 128 x 32
  CUtensorMap b;  // both parts of op(B): (2 lower_row, k padded), boxes of 128 / CLUSTER x 32
  float* c;
  u32* bad_tiles;       // batches x row_tiles x col_tiles
  const u32* bad_cols;  // batches x col_tiles
  u64 m;
  u64 n;
  u64 lead_c;
  u64 panels;  // of K
  u64 row_tiles;
  u64 col_tiles;
  u64 lower_row;  // where the lower parts begin in b
  u64 accumulate;
  u64 batches;
  u64 a_step;  // rows of a from one product to the next
  u64 b_step;
  u64 c_step;  // elements
};

// A place in a ring of stages, and the parity of the phase its barriers are in.
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

// This warp reads the stage no more; all thread blocks of the cluster are told, since all copy to it.
template <u32 CLUSTER>
__device__ __forceinline__ void release(u64* empty, u32 lane) {
  __syncwarp();
  if (CLUSTER == 1) {
    if (lane == 0) {
      barrier_arrive(empty);
    }
  } else if (lane < CLUSTER) {
    barrier_arrive_at(empty, lane);
  }
}

// Tiles of C in an order in which neighbours share rows of A and columns of B: GROUP rows of tiles at a
// time, column by column.
struct TilePlace {
  u64 batch;
  u64 row;
  u64 col;
};
__device__ __forceinline__ TilePlace tile_place(u64 number, u64 rows, u64 cols) {
  constexpr u64 GROUP = 8;
  const u64 batch = number / (rows * cols);
  number %= rows * cols;
  const u64 group = number / (GROUP * cols);
  const u64 in_group = number % (GROUP * cols);
  const u64 high = rows - group * GROUP < GROUP ? rows - group * GROUP : GROUP;
  return {batch, group * GROUP + in_group % high, in_group / high};
}

// Waits for all threads of the multiplying warpgroups; true if `mine` was for any.
template <u32 THREADS>
__device__ __forceinline__ bool any_of(bool mine) {
  u32 any;
  asm volatile(
      "{\n.reg .pred p, q;\n"
      "setp.ne.u32 q, %1, 0;\n"
      "barrier.cta.red.or.pred p, 1, %2, q;\n"
      "selp.u32 %0, 1, 0, p;\n}\n"
      : "=r"(any)
      : "r"(static_cast<u32>(mine)), "n"(THREADS)
      : "memory");
  return any != 0;
}

// Writes a thread's sums, as wgmma leaves them, to C or adds them: rows `row` and 8 below, of GROUPS
// groups of 8 columns from `col` on 2 (lane % 4) and the next.
template <u32 GROUPS>
__device__ __forceinline__ void store_sums(const float (&sums)[4 * GROUPS], float* c, u64 row, u64 col, u64 m,
                                           u64 n, u64 lead, bool accumulate) {
  const bool pairs = col + GROUPS * 8 <= n && lead % 2 == 0 && reinterpret_cast<u64>(c) % 8 == 0;
#pragma unroll
  for (u32 half = 0; half < 2; half++) {
    if (row + half * 8 >= m) {
      continue;
    }
    const u64 first = col + threadIdx.x % 4 * 2;
    float* const line = c + (row + half * 8) * lead + first;
    if (pairs) {
#pragma unroll
      for (u32 group = 0; group < GROUPS; group++) {
        float2* const to = reinterpret_cast<float2*>(line + group * 8);
        float2 pair = make_float2(sums[group * 4 + half * 2], sums[group * 4 + half * 2 + 1]);
        if (accumulate) {
          const float2 before = *to;
          pair.x += before.x;
          pair.y += before.y;
        }
        *to = pair;
      }
    } else {
#pragma unroll
      for (u32 group = 0; group < GROUPS; group++) {
#pragma unroll
        for (u32 e = 0; e < 2; e++) {
          if (first + group * 8 + e < n) {
            const float sum = sums[group * 4 + half * 2 + e];
            line[group * 8 + e] = accumulate ? line[group * 8 + e] + sum : sum;
          }
        }
      }
    }
  }
}

template <u32 STAGES_, u32 CLUSTER_>
struct SplitShape {
  static constexpr u32 STAGES = STAGES_;
  static constexpr u32 CLUSTER = CLUSTER_;
  static constexpr u32 TILE = 128;
  static constexpr u32 PANEL = 32;
  static constexpr u32 WARPGROUPS = 2;
  static constexpr u32 THREADS = 128 * (1 + WARPGROUPS);
  static constexpr u32 PANEL_BYTES = TILE * PANEL * 4;
  static constexpr u32 STAGE_BYTES = 3 * PANEL_BYTES;
  // The dynamic part begins anywhere; panels begin at multiples of 1024.
  static constexpr u32 SHARED_BYTES = STAGES * STAGE_BYTES + 1024;
};

template <typename Shape>
__device__ __forceinline__ void multiply_split(const SplitArguments& arguments) {
  constexpr u32 STAGES = Shape::STAGES;
  constexpr u32 CLUSTER = Shape::CLUSTER;
  constexpr u32 TILE = Shape::TILE;
  constexpr u32 PANEL = Shape::PANEL;
  constexpr u32 PANEL_BYTES = Shape::PANEL_BYTES;
  extern __shared__ char dynamic[];
  char* const shared = dynamic + (1024 - shared_address(dynamic) % 1024) % 1024;
  __shared__ u64 full[STAGES];
  __shared__ u64 empty[STAGES];

  const u32 rank = CLUSTER == 1 ? 0 : cluster_rank();
  if (threadIdx.x == 0) {
    for (u32 stage = 0; stage < STAGES; stage++) {
      barrier_init(&full[stage], 1);
      barrier_init(&empty[stage], CLUSTER * Shape::WARPGROUPS * 4);
    }
    barrier_init_fence();
  }
  if (CLUSTER == 1) {
    __syncthreads();
  } else {
    cluster_synchronise();
  }

  const u64 groups = (arguments.row_tiles + CLUSTER - 1) / CLUSTER;
  const u64 tiles = arguments.batches * groups * arguments.col_tiles;
  const u64 first = blockIdx.x / CLUSTER;
  const u64 step = gridDim.x / CLUSTER;

  if (threadIdx.x < 128) {
    // copy
    registers_down<40>();
    if (threadIdx.x == 0) {
      prefetch_map(&arguments.a);
      prefetch_map(&arguments.b);
      constexpr u32 SHARE = TILE / CLUSTER;
      constexpr u32 SHARE_BYTES = PANEL_BYTES / CLUSTER;
      constexpr unsigned short ALL = (1 << CLUSTER) - 1;
      Ring<STAGES> ring;
      for (u64 number = first; number < tiles; number += step) {
        const TilePlace place = tile_place(number, groups, arguments.col_tiles);
        const int row = static_cast<int>(place.batch * arguments.a_step + (place.row * CLUSTER + rank) * TILE);
        const int col = static_cast<int>(place.batch * arguments.b_step + place.col * TILE + rank * SHARE);
        for (u64 panel = 0; panel < arguments.panels; panel++) {
          char* const a = shared + ring.stage * Shape::STAGE_BYTES;
          char* const b = a + PANEL_BYTES + rank * SHARE_BYTES;
          const int p = static_cast<int>(panel * PANEL);
          barrier_wait(&empty[ring.stage], ring.parity ^ 1);
          barrier_expect(&full[ring.stage], Shape::STAGE_BYTES);
          copy_box(a, &arguments.a, p, row, &full[ring.stage]);
          if (CLUSTER == 1) {
            copy_box(b, &arguments.b, p, col, &full[ring.stage]);
            copy_box(b + PANEL_BYTES, &arguments.b, p, col + static_cast<int>(arguments.lower_row),
                     &full[ring.stage]);
          } else {
            copy_box_to_all(b, &arguments.b, p, col, &full[ring.stage], ALL);
            copy_box_to_all(b + PANEL_BYTES, &arguments.b, p,
                            col + static_cast<int>(arguments.lower_row), &full[ring.stage], ALL);
          }
          ring.next();
        }
      }
    }
  } else {
    // multiply
    registers_up<232>();
    const u32 warp = threadIdx.x / 32 - 4;
    const u32 lane = threadIdx.x % 32;
    const u32 in_row = warp * 16 + lane / 4;  // and 8 below
    // Of the first of a row's 16-byte chunks, which the copy engine put at the chunk of row % 8.
    const u32 at = in_row * 128 + (lane / 4) * 16 + lane % 4 * 4;
    Ring<STAGES> ring;
    for (u64 number = first; number < tiles; number += step) {
      const TilePlace place = tile_place(number, groups, arguments.col_tiles);
      const u64 row_tile = place.row * CLUSTER + rank;
      float part[64];
      float total[64];
#pragma unroll
      for (u32 i = 0; i < 64; i++) {
        total[i] = 0;
      }
      u32 most = 0;
      u32 least = ~0u;
      for (u64 panel = 0; panel < arguments.panels; panel++) {
        barrier_wait(&full[ring.stage], ring.parity);
        const char* const a = shared + ring.stage * Shape::STAGE_BYTES;
        u32 upper[PANEL / 8][4];
        u32 lower[PANEL / 8][4];
        const u32 from = shared_address(a) + at;
#pragma unroll
        for (u32 s = 0; s < PANEL / 8; s++) {
#pragma unroll
          for (u32 e = 0; e < 4; e++) {
            const u32 chunk = 2 * s + e / 2;
            float value;
            asm volatile("ld.shared.f32 %0, [%1];"
                         : "=f"(value)
                         : "r"((from ^ (chunk * 16)) + e % 2 * 1024));
            const u32 size = __float_as_uint(value) & 0x7fffffffu;
            most = max(most, size);
            least = min(least, size - 1);
            upper[s][e] = upper_part(value);
            lower[s][e] = lower_part(value, upper[s][e]);
          }
        }
        const u64 b_upper = panel_descriptor(a + PANEL_BYTES);
        const u64 b_lower = panel_descriptor(a + 2 * PANEL_BYTES);
        products_fence();
        // The small ones first: adding them to the others would round more often.
#pragma unroll
        for (u32 s = 0; s < PANEL / 8; s++) {
          product_64x128x8_tf32(part, lower[s], b_upper + s * 2, s > 0);
          product_64x128x8_tf32(part, upper[s], b_lower + s * 2, true);
        }
#pragma unroll
        for (u32 s = 0; s < PANEL / 8; s++) {
          product_64x128x8_tf32(part, upper[s], b_upper + s * 2, true);
        }
        products_commit();
        products_wait<0>();
        release<CLUSTER>(&empty[ring.stage], lane);
        ring.next();
#pragma unroll
        for (u32 i = 0; i < 64; i++) {
          total[i] += part[i];
        }
      }

      // store
      const bool mine = most >= MOST_BITS || least < LEAST_BITS - 1;
      const bool bad = any_of<128 * Shape::WARPGROUPS>(mine) || arguments.bad_cols[place.batch * arguments.col_tiles + place.col] != 0;
      if (row_tile >= arguments.row_tiles) {
        continue;
      }
      if (threadIdx.x == 128) {
        arguments.bad_tiles[(place.batch * arguments.row_tiles + row_tile) * arguments.col_tiles + place.col] = bad;
      }
      if (bad) {
        continue;
      }
      store_sums<16>(total, arguments.c + place.batch * arguments.c_step, row_tile * TILE + in_row, place.col * TILE, arguments.m, arguments.n,
                     arguments.lead_c, arguments.accumulate != 0);
    }
  }
  if (CLUSTER > 1) {
    __syncwarp();
    cluster_synchronise();  // none leaves while another copies to it or arrives at its barriers
  }
}

}  // namespace tilespark
