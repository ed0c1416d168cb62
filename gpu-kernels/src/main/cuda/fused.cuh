// Product of float matrices on the tensor cores of sm_90a, rounded to half, bfloat16 or tf32 between global memory and
// the tensor cores, with sums in float:
//
//   c[i, j] = alpha * sum over p of round(a(i, p)) * round(b(p, j)) + beta * c[i, j]
//                                                              0 <= i < m, 0 <= j < n, 0 <= p < k
//
// An operand is stored along K (K is the contiguous axis) or across (K is the strided axis). Rows begin at multiples of
// 16 bytes.
//
// Threads to elements: a thread block has one warpgroup that converts and WARPGROUPS that multiply. It computes tiles
// of 128 x COLS of C, one after the other, each multiplying warpgroup 128 / WARPGROUPS x COLS. If WARPGROUPS is 1, two
// thread blocks share a multiprocessor: while one writes C, the other reads. Sums equal those of tensor.cuh for the
// same rounded values, bit for bit.
//
// Conversion: each of the four converting warps has SLOTS slots in shared memory, which the copy engine fills. The warp
// rounds a slot into units of a stage (32 rows of 128 bytes, in wgmma's layout) and has the slot refilled.
//
// 16-bit kinds: a unit is two boxes of 32 x 32 floats side by side, swizzled by 128 bytes, rounded to nearest even. If
// the operand is stored across, K runs down the unit's rows too. A warp has one slot for its unit of A and one for all
// its units of B, each filled by one copy: at the power limit's clock, instructions other than conversions cost more
// than bytes in flight. There it is also about 2 % faster if waiting threads sleep, B is copied first and L2 fetches
// 128 bytes at a time. Where two thread blocks share a multiprocessor, shared memory is too small for this, and a slot
// is one box.
//
// tf32: the copy engine rounds, and a unit is the transpose of a box. An operand stored along K needs no transpose and
// is copied directly into the stages.
//
// Bytes: each operand is read once per row or column of tiles, mostly from L2; C is written.
//
// Shared memory: STAGES stages as in tensor.cuh; the slots, 4 KiB per box; barriers.
//
// Launch: at most as many thread blocks as the device holds, and the fewest that need no more waves of tiles: in a wave
// on only some multiprocessors, memory bandwidth is unused.
#pragma once

#include "tensor.cuh"

namespace tilespark {

// Fields in the order of FusedSteps.addMultiply.
struct FusedArguments {
  // The operand as stored: (products, 1, rows, columns) in boxes of (1, 1, 32, 32). With a_blocks or b_blocks, where
  // slots hold whole units and 32 divides the columns: (products, columns / 32, rows, 32) in boxes of (1, 2, 32, 32).
  // Boxes of B are B_AT_ONCE times as high.
  CUtensorMap a;
  CUtensorMap b;
  float* c;
  u64 m;
  u64 n;
  u64 lead_c;
  u64 panels;  // panels in K, at least one
  u64 row_tiles;
  u64 col_tiles;
  Factors<float> factors;
  u64 batches;  // independent products, or parts of one along K
  u64 a_step;   // 1: each product has its own A; 0: all share one
  u64 b_step;
  u64 c_step;  // in elements
  u64 k_step;  // steps of K from one part to the next, whole panels; 0 for independent products
  u64 a_blocks;
  u64 b_blocks;
};

template <typename Kind_, u32 COLS_, u32 STAGES_, u32 SLOTS_, bool A_ACROSS_, bool B_ACROSS_, u32 WARPGROUPS_ = 2>
struct FusedShape {
  using Kind = Kind_;
  static constexpr u32 STAGES = STAGES_;
  static constexpr u32 SLOTS = SLOTS_;
  static_assert(STAGES > 1, "a stage is free once the next one is read");
  static constexpr u32 ROWS = 128;
  static constexpr u32 COLS = COLS_;
  static constexpr u32 WARPGROUPS = WARPGROUPS_;
  static constexpr u32 THREADS = 128 * (1 + WARPGROUPS);
  static constexpr u32 REGISTERS = WARPGROUPS == 1 ? 168 : 208;  // registers of a multiplying thread
  // wgmma products of 64 rows, for each warpgroup.
  static constexpr u32 PRODUCTS = ROWS / WARPGROUPS / 64;
  static constexpr bool NARROW = sizeof(typename Kind::Type) == 2;
  static constexpr bool A_ACROSS = A_ACROSS_;
  static constexpr bool B_ACROSS = B_ACROSS_;
  static constexpr bool A_CONVERTED = NARROW || A_ACROSS;
  static constexpr bool B_CONVERTED = NARROW || B_ACROSS;
  // Units of a warp in a stage.
  static constexpr u32 A_UNITS = ROWS / 128;
  static constexpr u32 B_UNITS = COLS / 128;
  static constexpr u32 CONVERTED = (A_CONVERTED ? A_UNITS : 0) + (B_CONVERTED ? B_UNITS : 0);
  static_assert(CONVERTED > 0, "what lies along is tensor.cuh's");
  static constexpr u32 COPIED = A_UNITS + B_UNITS - CONVERTED;
  static constexpr u32 UNIT_BYTES = 32 * 128;
  static constexpr u32 UNIT_BOXES = NARROW ? 2 : 1;
  static constexpr u32 BOXES = WARPGROUPS == 1 ? 1 : UNIT_BOXES;  // boxes of a unit in one copy
  // AT_ONCE: a slot holds all units of an operand that a warp converts.
  static constexpr bool AT_ONCE = NARROW && WARPGROUPS > 1;
  static constexpr u32 B_AT_ONCE = AT_ONCE ? B_UNITS : 1;  // units of B in a slot
  // An item is what fills a slot once. Items of a stage: those of A come first, but AT_ONCE that of B, so that the
  // larger copy begins sooner.
  static constexpr u32 A_ITEMS = A_CONVERTED ? A_UNITS * UNIT_BOXES / BOXES : 0;
  static constexpr u32 B_ITEMS = B_CONVERTED ? B_UNITS / B_AT_ONCE * UNIT_BOXES / BOXES : 0;
  static constexpr u32 ITEMS = A_ITEMS + B_ITEMS;
  static __device__ constexpr bool is_of_a(u32 item) { return AT_ONCE ? item == 1 : ITEMS - item > B_ITEMS; }
  // The item's first box, among the warp's boxes of the operand.
  static __device__ constexpr u32 first_box(u32 item) {
    return AT_ONCE ? 0 : (is_of_a(item) ? item : item - A_ITEMS) * BOXES;
  }
  static constexpr u32 SLOT_BYTES = BOXES * UNIT_BYTES;  // of A; a slot of B is B_AT_ONCE times as large
  static_assert(!AT_ONCE || (SLOTS == 2 && A_ITEMS == 1 && B_ITEMS == 1), "a slot of B, a slot of A");
  static constexpr u32 SLOTS_BYTES = (SLOTS + B_AT_ONCE - 1) * SLOT_BYTES;  // all slots of a warp
  static constexpr u32 A_BYTES = ROWS * 128;
  static constexpr u32 STAGE_BYTES = A_BYTES + COLS * 128;
  static constexpr u32 BARRIER_BYTES = 1024;
  static_assert((2 * STAGES + 4 * SLOTS) * sizeof(u64) <= BARRIER_BYTES, "there is room for all");
  static constexpr u32 SHARED_BYTES = STAGES * STAGE_BYTES + 4 * SLOTS_BYTES + BARRIER_BYTES;
  // With two thread blocks, shared memory has no room to stage unaligned rows of C.
  static constexpr bool STAGED = WARPGROUPS > 1;
  // Steps of K in a stage.
  static constexpr u32 PANEL = NARROW ? 64 : 32;
};

// Orders this thread's writes to shared memory before the tensor cores' reads.
__device__ __forceinline__ void shared_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ __forceinline__ float4 load_quad(u32 from) {
  float4 v;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(from));
  return v;
}
__device__ __forceinline__ void store_quad(u32 to, u32 x, u32 y, u32 z, u32 w) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}

__device__ __forceinline__ u32 rounded_pair(Half, float x, float y) { return RoundedFloat16::pair(x, y); }
__device__ __forceinline__ u32 rounded_pair(Bfloat16, float x, float y) { return RoundedBfloat16::pair(x, y); }

// Rounds COUNT boxes, at distances of `step` bytes, into the halves of a 16-bit unit from half `box` on. Chunk j (16
// bytes) of row r is at j ^ r % 8, in the unit and in the boxes. Eight neighbouring threads take eight rows, so that
// they meet all banks. While one box is read, the previous one is written.
template <u32 COUNT, typename Kind>
__device__ __forceinline__ void convert_boxes(Kind kind, u32 from, u32 step, u32 to, u32 box, u32 lane) {
  const u32 row = lane % 8;
  const u32 quarter = lane / 8;
  from += row * 128 + ((quarter * 2) ^ row) * 16;
  to += row * 128 + (quarter ^ row) * 16;
  uint4 rounded[4];
#pragma unroll
  for (u32 b = 0; b <= COUNT; b++) {
    float4 values[8];
    if (b < COUNT) {
#pragma unroll
      for (u32 i = 0; i < 8; i++) {
        values[i] = load_quad((from ^ (i % 2 * 16)) + i / 2 * 1024 + b * step);
      }
    }
    if (b > 0) {
#pragma unroll
      for (u32 i = 0; i < 4; i++) {
        store_quad((to ^ ((box + b - 1) * 64)) + i * 1024, rounded[i].x, rounded[i].y, rounded[i].z, rounded[i].w);
      }
    }
    if (b < COUNT) {
#pragma unroll
      for (u32 i = 0; i < 4; i++) {
        const float4 x = values[2 * i];
        const float4 y = values[2 * i + 1];
        rounded[i] = make_uint4(rounded_pair(kind, x.x, x.y), rounded_pair(kind, x.z, x.w),
                                rounded_pair(kind, y.x, y.y), rounded_pair(kind, y.z, y.w));
      }
    }
  }
}
// Transposes a box. A warp reads rows of 32 values and writes 16 bytes of each of 32 rows.
template <u32 COUNT>
__device__ __forceinline__ void convert_boxes(Tf32, u32 from, u32, u32 to, u32, u32 lane) {
  from += lane * 4;
  to += lane * 128 + lane % 8 * 16;
#pragma unroll
  for (u32 half = 0; half < 2; half++) {
    u32 values[16];
#pragma unroll
    for (u32 i = 0; i < 16; i++) {
      asm volatile("ld.shared.b32 %0, [%1];"
                   : "=r"(values[i])
                   : "r"((from ^ (i % 8 * 16)) + (half * 16 + i) * 128));
    }
#pragma unroll
    for (u32 i = 0; i < 16; i += 4) {
      store_quad(to ^ ((half * 4 + i / 4) * 16), values[i], values[i + 1], values[i + 2], values[i + 3]);
    }
  }
}

// Sleeping threads use less power; at the power limit this raises the clock. Measured only for AT_ONCE shapes.
template <typename Shape>
__device__ __forceinline__ void wait_for(u64* barrier, u32 parity) {
  if (Shape::AT_ONCE) {
    barrier_wait_asleep(barrier, parity);
  } else {
    barrier_wait(barrier, parity);
  }
}

// A position in the work of a thread block: a panel of a tile.
struct FusedPlace {
  u32 number;
  u32 panel;
  TilePlace tile;
};

template <typename Shape>
__device__ __forceinline__ void multiply_fused(const FusedArguments& arguments) {
  constexpr u32 STAGES = Shape::STAGES;
  constexpr u32 SLOTS = Shape::SLOTS;
  extern __shared__ __align__(1024) char shared[];
  char* const slots = shared + STAGES * Shape::STAGE_BYTES;
  u64* const full = reinterpret_cast<u64*>(slots + 4 * Shape::SLOTS_BYTES);
  u64* const empty = full + STAGES;
  u64* const filled = empty + STAGES;  // (4 warps, SLOTS)

  if (threadIdx.x == 0) {
    for (u32 stage = 0; stage < STAGES; stage++) {
      barrier_init(&full[stage], Shape::COPIED > 0 ? 8 : 4);
      barrier_init(&empty[stage], Shape::WARPGROUPS * 4);
    }
    for (u32 slot = 0; slot < 4 * SLOTS; slot++) {
      barrier_init(&filled[slot], 1);
    }
    barrier_init_fence();
  }
  __syncthreads();

  const u32 row_tiles = static_cast<u32>(arguments.row_tiles);
  const u32 col_tiles = static_cast<u32>(arguments.col_tiles);
  const u32 tiles = static_cast<u32>(arguments.batches) * row_tiles * col_tiles;
  const u32 panels = static_cast<u32>(arguments.panels);
  const u32 warp = threadIdx.x / 32;
  const u32 lane = threadIdx.x % 32;

  if (threadIdx.x < 128) {
    // copy and convert
    registers_down<88>();
    char* const mine = slots + warp * Shape::SLOTS_BYTES;

    // Starts the copy of this warp's units of an operand from unit i on, `boxes` boxes of each from box `box` on.
    const auto copy = [&](const FusedPlace& at, bool of_a, u32 i, u32 box, u32 boxes, char* to, u64* done) {
      const CUtensorMap* const map = of_a ? &arguments.a : &arguments.b;
      const u32 first = of_a ? at.tile.row * Shape::ROWS : at.tile.col * Shape::COLS;
      const u32 p = at.tile.batch * static_cast<u32>(arguments.k_step) + at.panel * Shape::PANEL;
      const u32 batch = at.tile.batch * static_cast<u32>(of_a ? arguments.a_step : arguments.b_step);
      const u32 down = (warp * (of_a ? Shape::A_UNITS : Shape::B_UNITS) + i) * 32;
      u32 row = first + down;
      u32 col = p + box * 32;
      if (of_a ? Shape::A_ACROSS : Shape::B_ACROSS) {
        row = Shape::NARROW ? p + down % 64 : p;
        col = Shape::NARROW ? first + down / 64 * 64 + box * 32 : first + down;
      }
      if (boxes == 2 && (of_a ? arguments.a_blocks : arguments.b_blocks) != 0) {
        copy_box(to, map, 0, row, col / 32, batch, done);
      } else {
#pragma unroll
        for (u32 b = 0; b < boxes; b++) {
          copy_box(to + b * (of_a ? 1 : Shape::B_AT_ONCE) * Shape::UNIT_BYTES, map, col + b * 32, row, 0, batch, done);
        }
      }
    };
    const auto advance = [&](FusedPlace& at) {
      if (++at.panel == panels) {
        at.panel = 0;
        at.number += gridDim.x;
        at.tile = tile_place(at.number, row_tiles, col_tiles);
      }
    };
    // Fills a slot with an item; `item` is a constant once loops are unrolled.
    const auto fill = [&](const FusedPlace& at, u32 item, u32 slot) {
      if (at.number < tiles && lane == 0) {
        const bool of_a = Shape::is_of_a(item);
        const u32 box = Shape::first_box(item);
        u64* const done = &filled[warp * SLOTS + slot];
        barrier_expect(done, (of_a ? 1 : Shape::B_AT_ONCE) * Shape::SLOT_BYTES);
        copy(at, of_a, box / Shape::UNIT_BOXES, box % Shape::UNIT_BOXES, Shape::BOXES,
             mine + slot * Shape::B_AT_ONCE * Shape::SLOT_BYTES, done);
      }
    };

    if (lane == 0) {
      prefetch_map(&arguments.a);
      prefetch_map(&arguments.b);
    }
    FusedPlace at = {blockIdx.x, 0, tile_place(blockIdx.x, row_tiles, col_tiles)};
    FusedPlace ahead = at;  // SLOTS / ITEMS panels after `at`
#pragma unroll
    for (u32 slot = 0; slot < SLOTS; slot++) {
      fill(ahead, slot % Shape::ITEMS, slot);
      if (slot % Shape::ITEMS + 1 == Shape::ITEMS) {
        advance(ahead);
      }
    }
    FusedPlace beyond = ahead;  // one panel after `ahead`
    advance(beyond);

    Ring<STAGES> ring;
    Ring<SLOTS> next;
    while (at.number < tiles) {
      char* const stage = shared + ring.stage * Shape::STAGE_BYTES;
      wait_for<Shape>(&empty[ring.stage], ring.parity ^ 1);
      if (Shape::COPIED > 0 && lane == 0) {
        barrier_expect(&full[ring.stage], Shape::COPIED * Shape::UNIT_BYTES);
        if (!Shape::A_CONVERTED) {
#pragma unroll
          for (u32 i = 0; i < Shape::A_UNITS; i++) {
            copy(at, true, i, 0, 1, stage + (warp * Shape::A_UNITS + i) * Shape::UNIT_BYTES, &full[ring.stage]);
          }
        }
        if (!Shape::B_CONVERTED) {
#pragma unroll
          for (u32 i = 0; i < Shape::B_UNITS; i++) {
            copy(at, false, i, 0, 1, stage + Shape::A_BYTES + (warp * Shape::B_UNITS + i) * Shape::UNIT_BYTES,
                 &full[ring.stage]);
          }
        }
      }
      __syncwarp();
#pragma unroll
      for (u32 item = 0; item < Shape::ITEMS; item++) {
        const bool of_a = Shape::is_of_a(item);
        const u32 box = Shape::first_box(item);
        const u32 units = of_a ? 1 : Shape::B_AT_ONCE;
        const u32 unit = of_a ? warp * Shape::A_UNITS : warp * Shape::B_UNITS;
        const u32 to = shared_address(stage + (of_a ? 0 : Shape::A_BYTES) +
                                      (unit + box / Shape::UNIT_BOXES) * Shape::UNIT_BYTES);
        wait_for<Shape>(&filled[warp * SLOTS + next.stage], next.parity);
        const u32 from = shared_address(mine + next.stage * Shape::B_AT_ONCE * Shape::SLOT_BYTES);
#pragma unroll
        for (u32 i = 0; i < units; i++) {
          convert_boxes<Shape::BOXES>(typename Shape::Kind(), from + i * Shape::UNIT_BYTES, units * Shape::UNIT_BYTES,
                                      to + i * Shape::UNIT_BYTES, box % Shape::UNIT_BOXES, lane);
        }
        const bool last = item + 1 == Shape::ITEMS;
        if (last) {
          shared_fence();
        }
        __syncwarp();
        if (last && lane == 0) {
          barrier_arrive(&full[ring.stage]);
        }
        // Refill the slot with the item that comes SLOTS items later.
        constexpr u32 PANELS = SLOTS / Shape::ITEMS;
        fill((item + SLOTS) / Shape::ITEMS == PANELS ? ahead : beyond, (item + SLOTS) % Shape::ITEMS, next.stage);
        next.next();
      }
      ring.next();
      advance(at);
      ahead = beyond;
      advance(beyond);
    }
    __syncwarp();
  } else {
    // multiply
    registers_up<Shape::REGISTERS>();
    // Descriptor step between products along K, in 16 bytes: 16 rows where K runs down the rows, else 32 bytes.
    constexpr bool A_DOWN = Shape::NARROW && Shape::A_ACROSS;
    constexpr bool B_DOWN = Shape::NARROW && Shape::B_ACROSS;
    constexpr u64 A_STEP = A_DOWN ? 2048 / 16 : 32 / 16;
    constexpr u64 B_STEP = B_DOWN ? 2048 / 16 : 32 / 16;
    const u32 group = threadIdx.x / 128 - 1;
    const u32 in_row = group * (Shape::ROWS / Shape::WARPGROUPS) + warp % 4 * 16 + lane / 4;  // and the row 8 below
    Ring<STAGES> ring;
    for (u32 number = blockIdx.x; number < tiles; number += gridDim.x) {
      const TilePlace place = tile_place(number, row_tiles, col_tiles);
      float sums[Shape::PRODUCTS][Shape::COLS / 2];
      u32 before = 0;
      u32 panel = 0;
      do {
        // Hides `panel` from the compiler, which would split the loop; then the tensor cores wait for each product.
        asm volatile("" : "+r"(panel));
        wait_for<Shape>(&full[ring.stage], ring.parity);
        const char* const a = shared + ring.stage * Shape::STAGE_BYTES + group * (Shape::ROWS / Shape::WARPGROUPS) * 128;
        const char* const b = shared + ring.stage * Shape::STAGE_BYTES + Shape::A_BYTES;
        const u64 a_panel = A_DOWN ? across_descriptor(a) : panel_descriptor(a);
        const u64 b_panel = B_DOWN ? across_descriptor(b) : panel_descriptor(b);
        products_fence();
#pragma unroll
        for (u32 s = 0; s < 4; s++) {
#pragma unroll
          for (u32 i = 0; i < Shape::PRODUCTS; i++) {
            product<A_DOWN, B_DOWN>(typename Shape::Kind(), sums[i], a_panel + i * (64 * 128 / 16) + s * A_STEP,
                                    b_panel + s * B_STEP, panel > 0 || s > 0);
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
      } while (++panel < panels);
      products_wait<0>();
      release(&empty[before], lane);

      float* staged = nullptr;
      if constexpr (Shape::STAGED) {
        __shared__ __align__(16) float all_staged[Shape::WARPGROUPS * 4][STORE_FLOATS];
        staged = all_staged[warp - 4];
      }
#pragma unroll
      for (u32 i = 0; i < Shape::PRODUCTS; i++) {
        store_sums<Shape::COLS / 8, true>(sums[i], arguments.c + place.batch * arguments.c_step,
                                          u64{place.row} * Shape::ROWS + i * 64 + in_row, u64{place.col} * Shape::COLS,
                                          arguments.m, arguments.n, arguments.lead_c, arguments.factors,
                                          staged);
      }
    }
  }
}

}  // namespace tilespark
