// Product of matrices of half, bfloat16 or tf32 on the tensor cores of sm_90a, with sums in float:
//
//   c[i, j] = sum over p of a(i, p) * b(p, j)  (+ c[i, j])        0 <= i < m, 0 <= j < n, 0 <= p < k
//
// Both operands lie with K along their rows (pack.cuh makes them so where they do not).
//
// Threads to elements: as in split.cuh, with tiles of 128 x COLS; each of two warpgroups sums 64 x COLS
// in the tensor cores' own order, which is the same each time.
//
// Shared memory: STAGES stages of 128 and of COLS rows of 128 bytes along K, swizzled by 128 bytes.
#pragma once

#include "split.cuh"

namespace tilespark {

// Fields in the order of the host's launch.
struct TensorArguments {
  CUtensorMap a;  // op(A): (m, k), boxes of 128 rows and 128 bytes
  CUtensorMap b;  // op(B): (n, k), boxes of COLS / CLUSTER rows and 128 bytes
  float* c;
  u64 m;
  u64 n;
  u64 lead_c;
  u64 panels;  // of K
  u64 row_tiles;
  u64 col_tiles;
  u64 accumulate;
  u64 batches;
  u64 a_step;  // rows of a from one product to the next
  u64 b_step;
  u64 c_step;  // elements
};

template <typename Kind_, u32 COLS_, u32 STAGES_, u32 CLUSTER_>
struct TensorShape {
  using Kind = Kind_;
  static constexpr u32 STAGES = STAGES_;
  static constexpr u32 CLUSTER = CLUSTER_;
  static constexpr u32 ROWS = 128;
  static constexpr u32 COLS = COLS_;
  static constexpr u32 WARPGROUPS = 2;
  static constexpr u32 THREADS = 128 * (1 + WARPGROUPS);
  static constexpr u32 A_BYTES = ROWS * 128;
  static constexpr u32 B_BYTES = COLS * 128;
  static constexpr u32 STAGE_BYTES = A_BYTES + B_BYTES;
  static constexpr u32 SHARED_BYTES = STAGES * STAGE_BYTES + 1024;
  // Elements of K in 128 bytes.
  static constexpr u32 PANEL = sizeof(typename Kind::Type) == 4 ? 32 : 64;
};

template <typename Kind>
__device__ __forceinline__ void product_of(Kind kind, float (&c)[128], u64 a, u64 b, bool add) {
  product_64x256(kind, c, a, b, add);
}
template <typename Kind>
__device__ __forceinline__ void product_of(Kind kind, float (&c)[64], u64 a, u64 b, bool add) {
  product_64x128(kind, c, a, b, add);
}

template <typename Shape>
__device__ __forceinline__ void multiply_tensor(const TensorArguments& arguments) {
  constexpr u32 STAGES = Shape::STAGES;
  constexpr u32 CLUSTER = Shape::CLUSTER;
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
      constexpr u32 SHARE = Shape::COLS / CLUSTER;
      constexpr u32 SHARE_BYTES = Shape::B_BYTES / CLUSTER;
      constexpr unsigned short ALL = (1 << CLUSTER) - 1;
      Ring<STAGES> ring;
      for (u64 number = first; number < tiles; number += step) {
        const TilePlace place = tile_place(number, groups, arguments.col_tiles);
        const int row = static_cast<int>(place.batch * arguments.a_step + (place.row * CLUSTER + rank) * Shape::ROWS);
        const int col = static_cast<int>(place.batch * arguments.b_step + place.col * Shape::COLS + rank * SHARE);
        for (u64 panel = 0; panel < arguments.panels; panel++) {
          char* const a = shared + ring.stage * Shape::STAGE_BYTES;
          char* const b = a + Shape::A_BYTES + rank * SHARE_BYTES;
          const int p = static_cast<int>(panel * Shape::PANEL);
          barrier_wait(&empty[ring.stage], ring.parity ^ 1);
          barrier_expect(&full[ring.stage], Shape::STAGE_BYTES);
          copy_box(a, &arguments.a, p, row, &full[ring.stage]);
          if (CLUSTER == 1) {
            copy_box(b, &arguments.b, p, col, &full[ring.stage]);
          } else {
            copy_box_to_all(b, &arguments.b, p, col, &full[ring.stage], ALL);
          }
          ring.next();
        }
      }
    }
  } else {
    // multiply
    registers_up<232>();
    const u32 group = threadIdx.x / 128 - 1;
    const u32 lane = threadIdx.x % 32;
    const u32 in_row = (threadIdx.x / 32 - 4) * 16 + lane / 4;  // and 8 below
    Ring<STAGES> ring;
    for (u64 number = first; number < tiles; number += step) {
      const TilePlace place = tile_place(number, groups, arguments.col_tiles);
      const u64 row_tile = place.row * CLUSTER + rank;
      float sums[Shape::COLS / 2];
      u32 before = 0;
      for (u64 panel = 0; panel < arguments.panels; panel++) {
        barrier_wait(&full[ring.stage], ring.parity);
        const char* const a = shared + ring.stage * Shape::STAGE_BYTES;
        const u64 a_panel = panel_descriptor(a + group * 64 * 128);
        const u64 b_panel = panel_descriptor(a + Shape::A_BYTES);
        products_fence();
#pragma unroll
        for (u32 s = 0; s < 4; s++) {
          product_of(typename Shape::Kind(), sums, a_panel + s * 2, b_panel + s * 2, panel > 0 || s > 0);
        }
        products_commit();
        // The stage before is read no more once all but the newest products are done.
        products_wait<1>();
        if (panel > 0) {
          release<CLUSTER>(&empty[before], lane);
        }
        before = ring.stage;
        ring.next();
      }
      products_wait<0>();
      release<CLUSTER>(&empty[before], lane);
      if (row_tile < arguments.row_tiles) {
        store_sums<Shape::COLS / 8>(sums, arguments.c + place.batch * arguments.c_step, row_tile * Shape::ROWS + in_row,
                                    place.col * Shape::COLS, arguments.m, arguments.n, arguments.lead_c,
                                    arguments.accumulate != 0);
      }
    }
  }
  if (CLUSTER > 1) {
    __syncwarp();
    cluster_synchronise();  // none leaves while another copies to it or arrives at its barriers
  }
}

}  // namespace tilespark
