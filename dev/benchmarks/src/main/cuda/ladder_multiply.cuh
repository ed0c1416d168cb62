// Optimisation steps ("rungs") that the literature on matrix products describes:
//
//   c[i, j] = sum over p of a[i, p] * b[p, j]        0 <= i < m, 0 <= j < n, 0 <= p < k
//
// Matrices are dense, row-major and aligned to 16 bytes; m and n are multiples of the tile, k of 32. There are no
// bounds checks: the host rejects other extents (MultiplyRung).
//
// Threads to elements: a thread block computes one tile of C, neighbouring thread blocks neighbours in a row of tiles.
//
//   NAIVE      a thread computes one element from global memory
//   SHARED     a thread computes one element from panels of A and B, 32 x 32 each, in shared memory
//   REGISTERS  a thread computes 8 x 8 elements of a 128 x 128 tile, in groups of VECTOR x VECTOR at distances of
//              STRIDE, from panels of 8 steps of K
//   PREFETCH   the next panels are loaded to registers during the products, then stored to the other of two buffers
//   STAGES     cp.async copies the next three panels of each operand (double: two) ahead, past the registers
//
// Bytes: A is read once per column of tiles, B once per row of tiles; NAIVE reads A n times and B m times, mostly from
// the caches.
//
// Shared memory: a panel of A is stored transposed, as (step, row), a panel of B as (step, col). For float, lines of A
// are padded by a vector; for double, three padded stages would exceed 48 KiB, so element (p, row) is at row ^ p *
// VECTOR of its line. So copies down a column and reads along a line are free of bank conflicts.
//
// Accuracy: an element is one chain of k fused multiply-adds, unlike in our own kernels (tiled.cuh).
//
// Source: the rungs are from the Triton-C tutorial on matrix multiplication; tiles and the pipeline of stages are from
// CUTLASS's documentation, "Efficient GEMM in CUDA".

#pragma once

#include "index.cuh"

namespace tilespark {

// Fields in the order of MultiplyRung.plan.
struct LadderMultiplyArguments {
  const void* a;
  const void* b;
  void* c;
  u64 k;
  u64 n;
  u64 col_tiles;
};

// k is a multiple of this; MultiplyRung.DEPTH in Java.
constexpr u32 DEPTH = 32;

enum class MultiplyRung { NAIVE, SHARED, REGISTERS, PREFETCH, STAGES };

__device__ __forceinline__ float fused(float a, float b, float c) { return fmaf(a, b, c); }
__device__ __forceinline__ double fused(double a, double b, double c) { return fma(a, b, c); }

// Starts a copy of 4, 8 or 16 bytes to shared memory; before sm_80 the copy is synchronous.
template <typename T>
__device__ __forceinline__ void begin_copy(T* to, const T* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const u32 target = static_cast<u32>(__cvta_generic_to_shared(to));
  if constexpr (sizeof(T) == 16) {  // bypasses L1
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(target), "l"(from) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(target), "l"(from), "n"(sizeof(T))
                 : "memory");
  }
#else
  *to = *from;
#endif
}

// Commits this thread's new copies as a group, which may be empty.
__device__ __forceinline__ void end_group() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until at most `LEFT` of this thread's groups are pending.
template <u32 LEFT>
__device__ __forceinline__ void wait_groups() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
#endif
}

// A thread computes one element.
template <typename T, MultiplyRung RUNG, u32 ROWS, u32 COLS>
struct OneElement {
  static constexpr u32 THREADS = ROWS * COLS;
  static constexpr bool STAGED = RUNG == MultiplyRung::SHARED;
  static_assert(!STAGED || (ROWS == DEPTH && COLS == DEPTH), "a thread copies one element of each panel");

  static __device__ __forceinline__ void run(const LadderMultiplyArguments& arguments) {
    // locate
    const u64 k = arguments.k;
    const u64 n = arguments.n;
    u64 col_tile = blockIdx.x;
    const u64 row_tile = divide(col_tile, arguments.col_tiles);
    const u32 i = threadIdx.x / COLS;
    const u32 j = threadIdx.x % COLS;
    const T* const a = static_cast<const T*>(arguments.a) + (row_tile * ROWS + i) * k;
    const T* const b = static_cast<const T*>(arguments.b) + col_tile * COLS + j;
    T sum = 0;

    if constexpr (STAGED) {
      __shared__ T panel_a[ROWS][DEPTH];
      __shared__ T panel_b[DEPTH][COLS];
      for (u64 first = 0; first < k; first += DEPTH) {
        panel_a[i][j] = a[first + j];
        panel_b[i][j] = b[(first + i) * n];
        __syncthreads();
#pragma unroll
        for (u32 p = 0; p < DEPTH; p++) {
          sum = fused(panel_a[i][p], panel_b[p][j], sum);
        }
        __syncthreads();
      }
    } else {
      for (u64 p = 0; p < k; p++) {
        sum = fused(a[p], b[p * n], sum);
      }
    }

    // store
    static_cast<T*>(arguments.c)[(row_tile * ROWS + i) * n + col_tile * COLS + j] = sum;
  }
};

// A thread computes 8 x 8 elements.
template <typename T, MultiplyRung RUNG>
struct ManyElements {
  static constexpr u32 TILE = 128;
  static constexpr u32 SHARE = 8;
  static constexpr u32 THREADS = TILE / SHARE * (TILE / SHARE);
  static constexpr u32 STEP = 8;
  static constexpr u32 VECTOR = 16 / sizeof(T);
  static constexpr u32 GROUPS = SHARE / VECTOR;
  static constexpr u32 STRIDE = TILE / GROUPS;  // between a thread's groups
  static constexpr u32 COPIES = STEP * TILE / VECTOR / THREADS;
  // Threads that copy one line of a panel. STAGES copies A by elements, the other rungs by vectors.
  static constexpr u32 LINE_A = RUNG == MultiplyRung::STAGES ? STEP : STEP / VECTOR;
  static constexpr u32 LINE_B = TILE / VECTOR;
  static constexpr bool SWIZZLED = sizeof(T) == 8;
  static constexpr u32 PITCH_A = SWIZZLED ? TILE : TILE + VECTOR;
  static constexpr u32 PANEL_A = STEP * PITCH_A;
  static constexpr u32 PANEL_B = STEP * TILE;
  // As many stages as fit 48 KiB; for float, two thread blocks fit a multiprocessor.
  static constexpr u32 STAGES = RUNG == MultiplyRung::REGISTERS  ? 1
                                : RUNG == MultiplyRung::PREFETCH ? 2
                                : sizeof(T) == 4                 ? 4
                                                                 : 3;
  static_assert(DEPTH % STEP == 0 && DEPTH / STEP >= STAGES, "k has as many steps as there are stages");
  static_assert(!SWIZZLED || STRIDE >= STEP * VECTOR, "groups are swizzled alike");

  struct alignas(16) Vector {
    T element[VECTOR];
  };

  const T* a;  // this thread's first element of the next panel of A
  const T* b;
  u64 k;
  u64 n;
  u32 row;  // row and column of this thread's first sum, in the tile
  u32 col;
  Vector sums[SHARE][GROUPS];

  // Offset of element (p, row) in a panel of A; vectors stay contiguous.
  static __device__ __forceinline__ u32 place(u32 p, u32 row) {
    return p * PITCH_A + (SWIZZLED ? row ^ p * VECTOR : row);
  }

  static __device__ __forceinline__ Vector& vector(T* at) { return *reinterpret_cast<Vector*>(at); }
  static __device__ __forceinline__ const Vector& vector(const T* at) {
    return *reinterpret_cast<const Vector*>(at);
  }

  // This thread's part of a panel of A and of a panel of B.
  struct Held {
    Vector a[COPIES];
    Vector b[COPIES];
  };

  __device__ __forceinline__ u32 steps() const { return static_cast<u32>(k / STEP); }

  __device__ __forceinline__ void advance() {
    a += STEP;
    b += STEP * n;
  }

  // Loads the next panels from global memory to registers.
  __device__ __forceinline__ void load(Held& held) {
#pragma unroll
    for (u32 copy = 0; copy < COPIES; copy++) {
      held.a[copy] = vector(a + copy * (THREADS / LINE_A) * k);
      held.b[copy] = vector(b + copy * (THREADS / LINE_B) * n);
    }
    advance();
  }

  // Stores panels from registers to shared memory.
  static __device__ __forceinline__ void put(const Held& held, T* panel_a, T* panel_b) {
#pragma unroll
    for (u32 copy = 0; copy < COPIES; copy++) {
      const u32 t = threadIdx.x + copy * THREADS;
      vector(panel_b + t * VECTOR) = held.b[copy];
#pragma unroll
      for (u32 e = 0; e < VECTOR; e++) {
        panel_a[place(t % LINE_A * VECTOR + e, t / LINE_A)] = held.a[copy].element[e];
      }
    }
  }

  // Starts copies from global to shared memory. A is transposed on the way, so its elements are copied one by one.
  __device__ __forceinline__ void begin_copies(T* panel_a, T* panel_b) {
#pragma unroll
    for (u32 copy = 0; copy < COPIES; copy++) {
      const u32 t = threadIdx.x + copy * THREADS;
      begin_copy(&vector(panel_b + t * VECTOR), &vector(b + copy * (THREADS / LINE_B) * n));
    }
#pragma unroll
    for (u32 copy = 0; copy < COPIES * VECTOR; copy++) {
      const u32 t = threadIdx.x + copy * THREADS;
      begin_copy(panel_a + place(t % LINE_A, t / LINE_A), a + copy * (THREADS / LINE_A) * k);
    }
    advance();
  }

  __device__ __forceinline__ void multiply(const T* panel_a, const T* panel_b) {
#pragma unroll
    for (u32 p = 0; p < STEP; p++) {
      Vector left[GROUPS];
      Vector right[GROUPS];
#pragma unroll
      for (u32 group = 0; group < GROUPS; group++) {
        left[group] = vector(panel_a + place(p, row) + group * STRIDE);
        right[group] = vector(panel_b + p * TILE + col + group * STRIDE);
      }
#pragma unroll
      for (u32 r = 0; r < SHARE; r++) {
#pragma unroll
        for (u32 c = 0; c < SHARE; c++) {
          T& sum = sums[r][c / VECTOR].element[c % VECTOR];
          sum = fused(left[r / VECTOR].element[r % VECTOR], right[c / VECTOR].element[c % VECTOR], sum);
        }
      }
    }
  }

  __device__ __forceinline__ void store(T* to) const {
#pragma unroll
    for (u32 r = 0; r < SHARE; r++) {
      T* const line = to + (row + r / VECTOR * STRIDE + r % VECTOR) * n + col;
#pragma unroll
      for (u32 group = 0; group < GROUPS; group++) {
        vector(line + group * STRIDE) = sums[r][group];
      }
    }
  }

  // Loads panels, then multiplies them.
  __device__ __forceinline__ void multiply_registers(T* panel_a, T* panel_b) {
    for (u32 step = steps(); step > 0; step--) {
      Held held;
      load(held);
      put(held, panel_a, panel_b);
      __syncthreads();
      multiply(panel_a, panel_b);
      __syncthreads();
    }
  }

  // Loads the next panels to registers, multiplies the current ones, then stores the next ones.
  __device__ __forceinline__ void multiply_prefetch(T* panels_a, T* panels_b) {
    Held held;
    load(held);
    put(held, panels_a, panels_b);
    __syncthreads();
    u32 stage = 0;
    for (u32 step = steps() - 1; step > 0; step--) {
      load(held);
      multiply(panels_a + stage * PANEL_A, panels_b + stage * PANEL_B);
      stage ^= 1;
      put(held, panels_a + stage * PANEL_A, panels_b + stage * PANEL_B);
      __syncthreads();
    }
    multiply(panels_a + stage * PANEL_A, panels_b + stage * PANEL_B);
  }

  // Each step commits one group of copies; the last groups are empty, so that the wait count is constant.
  __device__ __forceinline__ void multiply_stages(T* panels_a, T* panels_b) {
#pragma unroll
    for (u32 stage = 0; stage + 1 < STAGES; stage++) {
      begin_copies(panels_a + stage * PANEL_A, panels_b + stage * PANEL_B);
      end_group();
    }
    u32 stage = 0;
    u32 next = STAGES - 1;
    for (u32 step = steps(); step > 0; step--) {
      // synchronise: this step's panels have arrived, and no thread reads the previous step's panels any more
      wait_groups<STAGES == 1 ? 0 : STAGES - 2>();
      __syncthreads();
      if (step >= STAGES) {
        begin_copies(panels_a + next * PANEL_A, panels_b + next * PANEL_B);
      }
      end_group();
      multiply(panels_a + stage * PANEL_A, panels_b + stage * PANEL_B);
      stage = stage + 1 == STAGES ? 0 : stage + 1;
      next = next + 1 == STAGES ? 0 : next + 1;
    }
  }

  static __device__ __forceinline__ void run(const LadderMultiplyArguments& arguments) {
    __shared__ __align__(16) T panels_a[STAGES * PANEL_A];
    __shared__ __align__(16) T panels_b[STAGES * PANEL_B];

    // locate; a warp is 4 x 8 threads, so that each of its reads of A and of B is one access
    u64 col_tile = blockIdx.x;
    const u64 row_tile = divide(col_tile, arguments.col_tiles);
    const u32 warp = threadIdx.x / 32;
    const u32 lane = threadIdx.x % 32;
    ManyElements share;
    share.k = arguments.k;
    share.n = arguments.n;
    share.a = static_cast<const T*>(arguments.a) + (row_tile * TILE + threadIdx.x / LINE_A) * share.k +
              threadIdx.x % LINE_A * (STEP / LINE_A);
    share.b = static_cast<const T*>(arguments.b) + threadIdx.x / LINE_B * share.n + col_tile * TILE +
              threadIdx.x % LINE_B * VECTOR;
    share.row = (warp / 2 * 4 + lane / 8) * VECTOR;
    share.col = (warp % 2 * 8 + lane % 8) * VECTOR;
#pragma unroll
    for (u32 r = 0; r < SHARE; r++) {
#pragma unroll
      for (u32 c = 0; c < SHARE; c++) {
        share.sums[r][c / VECTOR].element[c % VECTOR] = 0;
      }
    }

    if constexpr (RUNG == MultiplyRung::REGISTERS) {
      share.multiply_registers(panels_a, panels_b);
    } else if constexpr (RUNG == MultiplyRung::PREFETCH) {
      share.multiply_prefetch(panels_a, panels_b);
    } else {
      share.multiply_stages(panels_a, panels_b);
    }

    share.store(static_cast<T*>(arguments.c) + row_tile * TILE * share.n + col_tile * TILE);
  }
};

}  // namespace tilespark
