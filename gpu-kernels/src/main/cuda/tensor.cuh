// Product of matrices of half, bfloat16 or tf32 on the tensor cores of sm_90a, with sums in float:
//
//   c[i, j] = alpha * sum over p of a(i, p) * b(p, j) + beta * c[i, j]     0 <= i < m, 0 <= j < n, 0 <= p < k
//
// Operands have K along their rows; pack.cuh converts others.
//
// Threads to elements: as in split.cuh, with tiles of ROWS x COLS; each of two warpgroups sums half the rows, 64 x COLS
// at a time. The order of the sums is the tensor cores' own and always the same.
//
// Shared memory: STAGES stages of ROWS and of COLS rows of 128 bytes along K, swizzled by 128 bytes.
#pragma once

#include "split.cuh"

namespace tilespark {

// Fields in the order of PackedSteps.addMultiply.
struct TensorArguments {
  CUtensorMap a;  // op(A): (m, k), boxes of ROWS rows and 128 bytes
  CUtensorMap b;  // op(B): (n, k), boxes of COLS rows and 128 bytes
  float* c;
  u64 m;
  u64 n;
  u64 lead_c;
  u64 panels;  // panels in K
  u64 row_tiles;
  u64 col_tiles;
  Factors<float> factors;
  u64 batches;  // independent products, or parts of one along K
  u64 a_step;   // rows of a from one product to the next
  u64 b_step;
  u64 c_step;  // elements of c
  u64 k_step;  // steps of K from one part to the next, whole panels; 0 for independent products
};

template <typename Kind_, u32 ROWS_, u32 COLS_, u32 STAGES_>
struct TensorShape {
  using Kind = Kind_;
  static constexpr u32 STAGES = STAGES_;
  static constexpr u32 ROWS = ROWS_;
  static constexpr u32 COLS = COLS_;
  static constexpr u32 WARPGROUPS = 2;
  static constexpr u32 THREADS = 128 * (1 + WARPGROUPS);
  // wgmma products of 64 rows, for each warpgroup.
  static constexpr u32 PRODUCTS = ROWS / WARPGROUPS / 64;
  static constexpr u32 A_BYTES = ROWS * 128;
  static constexpr u32 B_BYTES = COLS * 128;
  static constexpr u32 STAGE_BYTES = A_BYTES + B_BYTES;
  static constexpr u32 SHARED_BYTES = STAGES * STAGE_BYTES + 1024;
  // Elements of K in 128 bytes.
  static constexpr u32 PANEL = sizeof(typename Kind::Type) == 4 ? 32 : 64;
};

template <typename Shape>
__device__ __forceinline__ void multiply_tensor(const TensorArguments& arguments) {
  constexpr u32 STAGES = Shape::STAGES;
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
  if (Shape::COLS < 128) {
    // Small products end soon, so the launch and this prologue overlap with the packing kernel before.
    wait_for_launches_before();
    let_next_launch_begin();
  }

  const u64 tiles = arguments.batches * arguments.row_tiles * arguments.col_tiles;

  if (threadIdx.x < 128) {
    // copy
    registers_down<40>();
    if (threadIdx.x == 0) {
      prefetch_map(&arguments.a);
      prefetch_map(&arguments.b);
      Ring<STAGES> ring;
      for (u64 number = blockIdx.x; number < tiles; number += gridDim.x) {
        const TilePlace place = tile_place(number, arguments.row_tiles, arguments.col_tiles);
        const int row = static_cast<int>(place.row * Shape::ROWS);
        const int col = static_cast<int>(place.col * Shape::COLS);
        const int a_first = static_cast<int>(place.batch * arguments.a_step);
        const int b_first = static_cast<int>(place.batch * arguments.b_step);
        const int first_p = static_cast<int>(place.batch * arguments.k_step);
        for (u32 panel = 0; panel < static_cast<u32>(arguments.panels); panel++) {
          char* const a = shared + ring.stage * Shape::STAGE_BYTES;
          char* const b = a + Shape::A_BYTES;
          u64* const done = &full[ring.stage];
          const int p = first_p + static_cast<int>(panel * Shape::PANEL);
          barrier_wait(&empty[ring.stage], ring.parity ^ 1);
          barrier_expect(done, Shape::STAGE_BYTES);
          copy_box(a, &arguments.a, p, a_first + row, done);
          copy_box(b, &arguments.b, p, b_first + col, done);
          ring.next();
        }
      }
    }
  } else {
    // multiply
    registers_up<232>();
    constexpr u64 STEP = 32 / 16;  // descriptor step for 32 bytes along K
    const u32 group = threadIdx.x / 128 - 1;
    const u32 lane = threadIdx.x % 32;
    const u32 in_row = group * (Shape::ROWS / 2) + threadIdx.x / 32 % 4 * 16 + lane / 4;  // and the row 8 below
    Ring<STAGES> ring;
    for (u64 number = blockIdx.x; number < tiles; number += gridDim.x) {
      const TilePlace place = tile_place(number, arguments.row_tiles, arguments.col_tiles);
      float sums[Shape::PRODUCTS][Shape::COLS / 2];
      u32 before = 0;
      for (u32 panel = 0; panel < static_cast<u32>(arguments.panels); panel++) {
        barrier_wait(&full[ring.stage], ring.parity);
        const char* const a = shared + ring.stage * Shape::STAGE_BYTES + group * (Shape::ROWS / 2) * 128;
        const char* const b = shared + ring.stage * Shape::STAGE_BYTES + Shape::A_BYTES;
        const u64 a_panel = panel_descriptor(a);
        const u64 b_panel = panel_descriptor(b);
        products_fence();
#pragma unroll
        for (u32 s = 0; s < 4; s++) {
#pragma unroll
          for (u32 i = 0; i < Shape::PRODUCTS; i++) {
            product<0, 0>(typename Shape::Kind(), sums[i], a_panel + i * (64 * 128 / 16) + s * STEP,
                          b_panel + s * STEP, panel > 0 || s > 0);
          }
        }
        products_commit();
        // The previous stage is no longer read once all but the newest products are done.
        products_wait<1>();
        if (panel > 0) {
          release(&empty[before], lane);
        }
        before = ring.stage;
        ring.next();
      }
      products_wait<0>();
      release(&empty[before], lane);
#pragma unroll
      for (u32 i = 0; i < Shape::PRODUCTS; i++) {
        store_sums<Shape::COLS / 8, true>(sums[i], arguments.c + place.batch * arguments.c_step,
                                          u64{place.row} * Shape::ROWS + i * 64 + in_row, u64{place.col} * Shape::COLS,
                                          arguments.m, arguments.n, arguments.lead_c, arguments.factors,
                                          staged[threadIdx.x / 32 - 4]);
      }
    }
  }
}

}  // namespace tilespark
