// Checks and times the double kernels, those of mma.cuh and of skinny products beside cuBLAS, in one process:
//
//   lab_double check           large double products again and again against cuBLAS, all elements, all runs the same
//                              bits; then every kernel on many shapes, all elements, against compensated sums
//   lab_double time [RUNS]     the double cases of issue 8, chunks, mma.cuh, skinny; medians, the ways taking turns
//
// Exits with 1 if a check fails. cuBLAS is loaded at run time ($CUBLAS, or libcublas.so.13 / .12).
//
// Architectures: sm_90a
// Program
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "double.cuh"
#include "mma.cuh"
#include "pack.cuh"
#include "parts.cuh"
#include "skinny.cuh"
#include "pad.cuh"
using namespace tilespark;

#define CHECK(call)                                                                     \
  do {                                                                                  \
    cudaError_t status = (call);                                                        \
    if (status != cudaSuccess) {                                                        \
      printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status)); \
      exit(2);                                                                          \
    }                                                                                   \
  } while (0)

// ---- kernels
#define DOUBLE_ENTRY(NAME, A, B, ...)                                                        \
  extern "C" __global__ void __launch_bounds__((DoubleShape<A, B, __VA_ARGS__>::THREADS), 1) \
      NAME(const __grid_constant__ DoubleArguments arguments) {                              \
    multiply_double<DoubleShape<A, B, __VA_ARGS__>>(arguments);                              \
  }
#define DOUBLE_ENTRIES(NAME, ...)                                    \
  DOUBLE_ENTRY(multiply_double_tt_##NAME, true, false, __VA_ARGS__)  \
  DOUBLE_ENTRY(multiply_double_nt_##NAME, false, false, __VA_ARGS__) \
  DOUBLE_ENTRY(multiply_double_tn_##NAME, true, true, __VA_ARGS__)
// name, ROWS, COLS, WARP_ROWS, WARP_COLS, STAGES, TOTALS
#define DOUBLES(DO)                       \
  DO(64x128, 64, 128, 32, 32, 8, true)    \
  DO(128x64_chain, 128, 64, 64, 32, 4, false)
DOUBLES(DOUBLE_ENTRIES)
#define PHASED_ENTRIES(NAME, ...)                                   \
  DOUBLE_ENTRY(multiply_double_tt_##NAME, true, false, __VA_ARGS__) \
  DOUBLE_ENTRY(multiply_double_tn_##NAME, true, true, __VA_ARGS__)
#define PHASED_DOUBLES(DO)                           \
  DO(64x128_phased, 64, 128, 32, 32, 8, true, true)  \
  DO(128x64_phased_chain, 128, 64, 64, 32, 4, false, true)
PHASED_DOUBLES(PHASED_ENTRIES)

struct DoubleKernel {
  const char* name;
  u32 rows, cols, team_cols, threads, shared;
  bool chains, phased;
  void (*kernel[3])(DoubleArguments);  // tt, nt, tn; none
};
#define DOUBLE_KERNEL(NAME, ...)                                   \
  {#NAME,                                                                        \
   DoubleShape<true, false, __VA_ARGS__>::ROWS,                                  \
   DoubleShape<true, false, __VA_ARGS__>::COLS,                                  \
   DoubleShape<true, false, __VA_ARGS__>::TEAM_COLS,                             \
   DoubleShape<true, false, __VA_ARGS__>::THREADS,                               \
   DoubleShape<true, true, __VA_ARGS__>::SHARED_BYTES, /* the most */            \
   DoubleShape<true, false, __VA_ARGS__>::TOTALS,                                \
   DoubleShape<true, false, __VA_ARGS__>::PHASED,
#define WHOLE_KERNEL(NAME, ...)    \
  DOUBLE_KERNEL(NAME, __VA_ARGS__) \
  {multiply_double_tt_##NAME, multiply_double_nt_##NAME, multiply_double_tn_##NAME}},
#define PHASED_KERNEL(NAME, ...)   \
  DOUBLE_KERNEL(NAME, __VA_ARGS__) \
  {multiply_double_tt_##NAME, nullptr, multiply_double_tn_##NAME}},
static const DoubleKernel DOUBLES_ALL[] = {DOUBLES(WHOLE_KERNEL) PHASED_DOUBLES(PHASED_KERNEL)};

__global__ void __launch_bounds__(PAD_THREADS) pad_double_8(const __grid_constant__ PadArguments arguments) {
  pad_double(arguments);
}
template <typename T>
__global__ void __launch_bounds__(SUM_THREADS) sum_parts_of(const __grid_constant__ SumArguments<T> arguments) {
  sum_parts<T>(arguments);
}
template <typename T, u32 COUNT>
__global__ void __launch_bounds__(SKINNY_THREADS) skinny_along_of(const __grid_constant__ SkinnyArguments<T> arguments) {
  skinny_along<T, COUNT>(arguments);
}
template <typename T, u32 COUNT>
__global__ void __launch_bounds__(SKINNY_THREADS) skinny_across_of(const __grid_constant__ SkinnyArguments<T> arguments) {
  skinny_across<T, COUNT>(arguments);
}
template <typename T, u32 DEPTH>
__global__ void __launch_bounds__(SKINNY_THREADS) skinny_depth_of(const __grid_constant__ DepthArguments<T> arguments) {
  skinny_depth<T, DEPTH>(arguments);
}

template <typename Form>
__global__ void __launch_bounds__(PACK_THREADS) pack_of(const __grid_constant__ PackArguments arguments) {
  pack<Form, Form>(arguments);
}
// The shapes of multiply_mma.cu.
template <typename Kind>
using MmaLarge = MmaShape<Kind, 128, 128, 64, 32, 128, 3, true>;
template <typename Kind>
using MmaSmall = MmaShape<Kind, 64, 64, 32, 32, 128, 3, true>;
template <typename Shape>
__global__ void __launch_bounds__(Shape::THREADS, 1) multiply_mma_of(const __grid_constant__ MmaArguments arguments) {
  multiply_mma<Shape>(arguments);
}

// ---- cuBLAS
typedef void* Handle;
static Handle handle;
static int (*gemm_batched)(Handle, int, int, int, int, int, const void*, const void*, int, int, long long, const void*,
                           int, int, long long, const void*, void*, int, int, long long, int, int, int);
static int (*sgemv)(Handle, int, int, int, const float*, const float*, int, const float*, int, const float*, float*, int);
static int (*dgemv)(Handle, int, int, int, const double*, const double*, int, const double*, int, const double*, double*,
                    int);
enum { R32F = 0, R64F = 1, C32F = 68, C64F = 70 };

static void load_cublas() {
  const char* names[] = {getenv("CUBLAS"), "libcublas.so.13", "libcublas.so.12", "libcublas.so"};
  void* library = nullptr;
  for (const char* name : names) {
    if (name && !library) library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
  }
  if (!library) {
    printf("no cuBLAS: %s\n", dlerror());
    return;
  }
  auto create = (int (*)(Handle*))dlsym(library, "cublasCreate_v2");
  gemm_batched = (decltype(gemm_batched))dlsym(library, "cublasGemmStridedBatchedEx");
  sgemv = (decltype(sgemv))dlsym(library, "cublasSgemv_v2");
  dgemv = (decltype(dgemv))dlsym(library, "cublasDgemv_v2");
  if (create(&handle) != 0) {
    printf("cublasCreate failed\n");
    handle = nullptr;
  }
}

struct Problem {
  u64 m, k, n;
  bool ta, tb;
  u64 lead_a, lead_b, lead_c;
  bool add = false;
  u64 batches = 1;  // one behind the other
  u64 rows_a() const { return ta ? k : m; }
  u64 rows_b() const { return tb ? n : k; }
  u64 cols_a() const { return ta ? m : k; }
  u64 cols_b() const { return tb ? k : n; }
  u64 a_step() const { return rows_a() * lead_a; }
  u64 b_step() const { return rows_b() * lead_b; }
  u64 c_step() const { return m * lead_c; }
};

// Factors of problems with `add`; products by these are exact.
constexpr double ALPHA = -2, BETA = 0.5;
template <typename T>
static Factors<T> factors(const Problem& q) {
  return q.add ? Factors<T>{T(ALPHA), T(BETA)} : Factors<T>{1, 0};
}

// True if $LAB_MOST, where set, forbids a check of so many products: sanitizers take hundreds of times as long.
static bool too_long(const Problem& q) {
  const char* most = getenv("LAB_MOST");
  return most != nullptr && q.batches * q.m * q.k * q.n > strtoull(most, nullptr, 10);
}
static Problem problem(u64 m, u64 k, u64 n, bool ta, bool tb, u64 extra = 0, u64 batches = 1) {
  return {m, k, n, ta, tb, (ta ? m : k) + extra, (tb ? k : n) + extra, n + extra, false, batches};
}

// Row-major C = op(A) op(B) is column-major C^T = op(B)^T op(A)^T.
template <typename T>
static void cublas(const Problem& q, const T* a, const T* b, T* c) {
  const Factors<T> f = factors<T>(q);
  const int type = sizeof(T) == 8 ? R64F : R32F;
  const int said = gemm_batched(handle, q.tb, q.ta, q.n, q.m, q.k, &f.alpha, b, type, q.lead_b, q.b_step(), a, type, q.lead_a,
                                q.a_step(), &f.beta, c, type, q.lead_c, q.c_step(), q.batches,
                                sizeof(T) == 8 ? C64F : C32F, -1);
  if (said != 0) printf("cublasGemmStridedBatchedEx says %d\n", said);
}

// ---- memory
// One allocation, given out and taken back like a stack: cudaMalloc and cudaFree are slow.
static char* arena;
static size_t arena_used, arena_bytes = 12ull << 30;
template <typename T>
struct Device {
  T* p = nullptr;
  size_t count = 0;
  size_t before;
  explicit Device(size_t n) : count(n), before(arena_used) {
    if (!arena) CHECK(cudaMalloc(&arena, arena_bytes));
    p = reinterpret_cast<T*>(arena + arena_used);
    arena_used += (n * sizeof(T) + 1023) / 1024 * 1024 + 1024;
    if (arena_used > arena_bytes) {
      printf("the arena is too small\n");
      exit(2);
    }
  }
  ~Device() { arena_used = before; }
  Device(const Device&) = delete;
};
__device__ __forceinline__ u64 mixed(u64 x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}
// kind 0: -1..1; 1: 0..1; 2: badly scaled, 2^-20..2^20; 3: all the same
__device__ __forceinline__ double number(u64 i, u64 seed, int kind) {
  const u64 bits = mixed((kind == 3 ? 0 : i) + seed * 0x123456789abcdefull);
  double v = (double)(bits >> 11) * 0x1p-53;
  if (kind == 0 || kind == 2) v = 2 * v - 1;
  if (kind == 2) v *= exp2((double)(int)(mixed(bits) % 41) - 20);
  return v;
}
template <typename T>
__global__ void fill(T* to, u64 count, u64 seed, int kind) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x) {
    to[i] = (T)number(i, seed, kind);
  }
}
template <typename T>
static void random(Device<T>& d, u64 seed, int kind) {
  fill<<<1024, 256>>>(d.p, d.count, seed, kind);
  CHECK(cudaGetLastError());
}

template <typename T>
__global__ void fill_inside(T* to, u64 batches, u64 rows, u64 cols, u64 lead, u64 step, u64 seed, int kind) {
  for (u64 e = blockIdx.x * (u64)blockDim.x + threadIdx.x; e < batches * rows * cols; e += (u64)gridDim.x * blockDim.x) {
    to[e / (rows * cols) * step + e / cols % rows * lead + e % cols] = (T)number(e, seed, kind);
  }
}

static int processors;
using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*,
                            const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                            CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
static Encode encode;
static u64 up(u64 x, u64 to) { return (x + to - 1) / to * to; }
static u64 tiles(u64 x, u64 of) { return (x + of - 1) / of; }

// An operand as stored: (batches, rows, cols), rows `lead` apart, matrices `step` apart.
struct Stored {
  const double* p;
  u64 rows, cols, lead, step;
  bool across;  // K goes down the columns
  u64 columns() const { return up(cols, across ? 16 : 2); }  // that must lie there
  bool ready(u64 batches, bool phased) const {
    return (batches == 1 || step % 2 == 0) &&
           (phased && across ? true : (uintptr_t)p % 16 == 0 && lead % 2 == 0 && (!across || cols % 16 == 0));
  }
};
// The map of an operand or, of a phased kernel, of the even (0) or odd rows of one stored across, as double.cuh says.
static CUtensorMap map_of(const Stored& x, u64 batches, u32 tile, bool phased, u32 phase, u64* shifts) {
  CUtensorMap map;
  const double* first = x.p;
  const bool phases = phased && x.across;
  const u64 step = std::max<u64>(up(x.step, 2), 2);
  u64 shift = 0;
  if (phases) {
    first += phase * x.lead;
    shift = (uintptr_t)first % 16 / 8;
    first -= shift;
    *shifts |= shift << phase;
  }
  cuuint64_t along_extents[] = {x.cols, x.rows, 1, batches}, across_extents[] = {16, x.rows, tiles(x.cols, 16), batches},
             phase_extents[] = {x.cols + shift, (x.rows + 1 - phase) / 2, batches};
  cuuint64_t along_strides[] = {x.lead * 8, x.lead * 8, step * 8}, across_strides[] = {x.lead * 8, 128, step * 8},
             phase_strides[] = {2 * x.lead * 8, step * 8};
  cuuint32_t along_box[] = {16, tile, 1, 1}, across_box[] = {16, 16, tile / 16, 1}, phase_box[] = {tile + 2, 8, 1};
  cuuint32_t steps[] = {1, 1, 1, 1};
  CUresult status = encode(
      &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT64, phases ? 3 : 4, const_cast<double*>(first),
      phases ? phase_extents : x.across ? across_extents : along_extents,
      phases ? phase_strides : x.across ? across_strides : along_strides,
      phases ? phase_box : x.across ? across_box : along_box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      phases ? CU_TENSOR_MAP_SWIZZLE_NONE : CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS) {
    printf("cuTensorMapEncodeTiled says %d for %llu x %llu, lead %llu\n", status, x.rows, x.cols, x.lead);
    exit(2);
  }
  return map;
}

// Launches while the launch before may still run, as the project does.
template <typename Arguments>
static void launch_early(void (*function)(Arguments), u32 blocks, u32 threads, u32 shared, Arguments& arguments) {
  cudaLaunchAttribute early[1];
  early[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early[0].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks, config.blockDim = threads, config.dynamicSmemBytes = shared;
  config.attrs = early, config.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&config, function, arguments));
}

struct Doubles {
  Device<double> a, b, scratch;
  explicit Doubles(const Problem& q, u64 parts = 1)
      : a(q.batches * q.rows_a() * up(q.cols_a(), 16)),
        b(q.batches * q.rows_b() * up(q.cols_b(), 16)),
        scratch(parts > 1 ? q.batches * parts * q.m * q.n : 0) {}
  static void pad(Stored& x, u64 batches, double* to) {
    PadArguments s{x.p, to, x.rows, x.cols, x.lead, x.columns(), batches, x.step};
    const dim3 grid((u32)std::min<u64>(tiles(x.cols, PAD_THREADS), 1024),
                    (u32)std::min<u64>(tiles(batches * x.rows, 4), 65535));
    pad_double_8<<<grid, PAD_THREADS>>>(s);
    x.p = to, x.lead = s.to_lead, x.step = x.rows * s.to_lead;
  }
  void run(const Problem& q, const double* pa, const double* pb, double* pc, const DoubleKernel& kernel, u64 chunk,
           u64 parts = 1) {
    Stored left{pa, q.rows_a(), q.cols_a(), q.lead_a, q.a_step(), q.ta};
    Stored right{pb, q.rows_b(), q.cols_b(), q.lead_b, q.b_step(), !q.tb};
    if (!left.ready(q.batches, kernel.phased)) pad(left, q.batches, a.p);
    if (!right.ready(q.batches, kernel.phased)) pad(right, q.batches, b.p);
    DoubleArguments s;
    const bool exchanged = !left.across && right.across;
    if (exchanged) std::swap(left, right);
    auto function = kernel.kernel[left.across ? (right.across ? 2 : 0) : 1];
    s.left_shifts = s.right_shifts = 0;
    for (u32 i = 0; i < 2; i++) {
      s.left[i] = map_of(left, q.batches, kernel.rows, kernel.phased, i, &s.left_shifts);
      s.right[i] = map_of(right, q.batches, kernel.team_cols, kernel.phased, i, &s.right_shifts);
    }
    s.rows = exchanged ? q.n : q.m, s.cols = exchanged ? q.m : q.n;
    s.panels = tiles(q.k, 16), s.chunk = std::max<u64>(chunk, 1);
    s.part_panels = tiles(s.panels, parts), s.parts = tiles(s.panels, s.part_panels);
    s.row_tiles = tiles(s.rows, kernel.rows), s.col_tiles = tiles(s.cols, kernel.cols);
    s.batches = q.batches;
    s.left_step = s.right_step = 1;
    const u64 plane = q.m * q.n;
    if (s.parts > 1) {
      s.c = scratch.p, s.row_step = exchanged ? 1 : q.n, s.col_step = exchanged ? q.n : 1, s.factors = {1, 0};
      s.part_step = plane, s.c_step = s.parts * plane;
    } else {
      s.c = pc, s.row_step = exchanged ? 1 : q.lead_c, s.col_step = exchanged ? q.lead_c : 1, s.factors = factors<double>(q);
      s.part_step = 0, s.c_step = q.c_step();
    }
    CHECK(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, kernel.shared));
    const u64 all = q.batches * s.parts * s.row_tiles * s.col_tiles;
    launch_early(function, (u32)std::min<u64>(all, processors), kernel.threads, kernel.shared, s);
    if (s.parts > 1) {
      SumArguments<double> t{scratch.p, pc, q.m, q.n, q.lead_c, 1, s.parts, factors<double>(q), q.batches, q.c_step()};
      sum_parts_of<double><<<(u32)std::min<u64>(tiles(q.batches * plane, SUM_THREADS), processors * 16), SUM_THREADS>>>(t);
      CHECK(cudaGetLastError());
    }
  }
};

// The kernels of mma.cuh, with the packing.
template <typename Form>
struct Mma {
  using Type = typename Form::Type;
  static constexpr u64 STEP = 128 / sizeof(Type);
  u64 padded_k, a_step, b_step;
  Device<Type> a, b;
  explicit Mma(const Problem& q)
      : padded_k(up(q.k, STEP)), a_step(up(q.m, 64)), b_step(up(q.n, 64)), a(q.batches * a_step * padded_k),
        b(q.batches * b_step * padded_k) {}
  void pack(const Problem& q, const float* pa, const float* pb) {
    PackArguments x{pa, a.p, pb, b.p, {q.m, q.k, q.lead_a, q.ta, a_step, padded_k, q.batches, q.a_step()},
                    {q.n, q.k, q.lead_b, !q.tb, b_step, padded_k, q.batches, q.b_step()}};
    pack_of<Form><<<processors * 8, PACK_THREADS>>>(x);
    CHECK(cudaGetLastError());
  }
  template <typename Shape>
  void run(const Problem& q, float* c) {
    const u64 row_tiles = tiles(q.m, Shape::ROWS), col_tiles = tiles(q.n, Shape::COLS), panels = padded_k / STEP;
    MmaArguments s{a.p, b.p, c, q.m, q.n, q.lead_c, q.batches * a_step, q.batches * b_step, panels, panels, row_tiles, col_tiles,
                   factors<float>(q), q.batches, a_step, b_step, q.c_step(), 0};
    auto kernel = multiply_mma_of<Shape>;
    int fit;
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::SHARED_BYTES));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, Shape::THREADS, Shape::SHARED_BYTES));
    kernel<<<(u32)std::min<u64>(q.batches * row_tiles * col_tiles, (u64)processors * fit), Shape::THREADS, Shape::SHARED_BYTES>>>(s);
    CHECK(cudaGetLastError());
  }
};

template <typename T>
struct Skinny {
  Device<T> scratch;
  Skinny() : scratch(1 << 25) {}
  template <u32 COUNT>
  static void launch(bool across, dim3 grid, const SkinnyArguments<T>& s) {
    if (across) {
      skinny_across_of<T, COUNT><<<grid, SKINNY_THREADS>>>(s);
    } else {
      skinny_along_of<T, COUNT><<<grid, SKINNY_THREADS>>>(s);
    }
  }
  void run(const Problem& q, const T* a, const T* b, T* c) {
    if (q.k <= 16 && q.m > 16 && q.n > 16) {
      DepthArguments<T> s{a, b, c, q.m, q.k, q.n, q.ta ? 1 : q.lead_a, q.ta ? q.lead_a : 1, q.tb ? 1 : q.lead_b,
                          q.tb ? q.lead_b : 1, q.lead_c, tiles(q.m, DEPTH_ROWS), tiles(q.n, DEPTH_COLS), factors<T>(q)};
      const u32 grid = (u32)(s.row_tiles * s.col_tiles);
      if (q.k <= 4) {
        skinny_depth_of<T, 4><<<grid, SKINNY_THREADS>>>(s);
      } else {
        skinny_depth_of<T, 16><<<grid, SKINNY_THREADS>>>(s);
      }
      CHECK(cudaGetLastError());
      return;
    }
    SkinnyArguments<T> s;
    s.k = q.k, s.factors = factors<T>(q);
    bool across;
    if (q.n <= 16 && (q.n <= q.m || q.m > 16)) {
      s.big = a, s.small = b, s.lead = q.lead_a, across = q.ta, s.extent = q.m, s.count = q.n;
      s.small_k = q.tb ? 1 : q.lead_b, s.small_j = q.tb ? q.lead_b : 1, s.c_x = q.lead_c, s.c_j = 1;
    } else {
      s.big = b, s.small = a, s.lead = q.lead_b, across = !q.tb, s.extent = q.n, s.count = q.m;
      s.small_k = q.ta ? q.lead_a : 1, s.small_j = q.ta ? 1 : q.lead_a, s.c_x = 1, s.c_j = q.lead_c;
    }
    // As SkinnySteps cuts K.
    s.pieces = tiles(s.extent, across ? SKINNY_ACROSS : SKINNY_ALONG);
    const u64 root = (u64)std::ceil(std::sqrt((double)q.k));
    const u64 busy = std::max(tiles(q.k, tiles(1024, s.pieces)), root);
    s.part_k = up(across ? busy : std::min(busy, 32 * root), SKINNY_CHUNK);
    const u64 parts = tiles(q.k, s.part_k);
    s.chain = std::max<u64>(16, up((u64)std::ceil(std::sqrt((double)std::min(q.k, s.part_k))), SKINNY_AHEAD));
    s.parts = parts;
    s.c = parts > 1 ? scratch.p : c;
    s.part_step = s.extent * s.count;
    const u64 c_x = s.c_x, c_j = s.c_j;
    if (parts > 1) s.c_x = s.count, s.c_j = 1, s.factors = {1, 0};
    const dim3 grid((u32)(s.pieces * parts));
    if (s.count <= 1) {
      launch<1>(across, grid, s);
    } else if (s.count <= 4) {
      launch<4>(across, grid, s);
    } else if (s.count <= 8) {
      launch<8>(across, grid, s);
    } else {
      launch<16>(across, grid, s);
    }
    CHECK(cudaGetLastError());
    if (parts > 1) {
      SumArguments<T> t{scratch.p, c, s.extent, s.count, c_x, c_j, parts, factors<T>(q), 1, 0};
      sum_parts_of<T><<<(u32)std::min<u64>(tiles(s.extent * s.count, SUM_THREADS), processors * 16), SUM_THREADS>>>(t);
      CHECK(cudaGetLastError());
    }
  }
};

// ---- judging
// The nearest value of what mma.cuh's kinds are given: 0 float itself, 1 half, 2 bfloat16, 3 tf32.
__device__ double rounded(double v, int round) {
  if (round == 1) return __half2float(__float2half_rn((float)v));
  if (round == 2) return __bfloat162float(__float2bfloat16_rn((float)v));
  if (round == 3) {
    const u32 bits = __float_as_uint((float)v);
    return __uint_as_float((bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u);
  }
  return v;
}
// worst[0] = max |c - c*| / (|a||b|), as bits of a double; c* by compensated sums, by ALPHA and BETA if there is `before`.
template <typename T>
__global__ void judge(const T* a, const T* b, const T* c, const T* before, Problem q, u64 row_step, u64 col_step, u64* worst,
                      u64* where, int round) {
  const u64 cols = (q.n + col_step - 1) / col_step;
  const u64 all = (q.m + row_step - 1) / row_step * cols;
  for (u64 e = blockIdx.x * (u64)blockDim.x + threadIdx.x; e < all; e += (u64)gridDim.x * blockDim.x) {
    const u64 i = e / cols * row_step;
    const u64 j = e % cols * col_step;
    double sum = before ? BETA * before[i * q.lead_c + j] : 0, low = 0, size = fabs(sum);
    for (u64 p = 0; p < q.k; p++) {
      const double x = (before ? ALPHA : 1) * rounded(q.ta ? a[p * q.lead_a + i] : a[i * q.lead_a + p], round);
      const double y = rounded(q.tb ? b[j * q.lead_b + p] : b[p * q.lead_b + j], round);
      const double product = x * y;
      const double lost = fma(x, y, -product);
      const double next = sum + product;
      const double z = next - sum;
      low += (sum - (next - z)) + (product - z) + lost;
      sum = next;
      size += fabs(product);
    }
    const double error = fabs(((double)c[i * q.lead_c + j] - sum) - low);
    const double ratio = size > 0 ? error / size : (error > 0 ? 1e30 : 0);
    const u64 bits = __double_as_longlong(ratio != ratio ? 1e30 : ratio);
    if (bits > atomicMax(worst, bits)) *where = i * q.n + j;
  }
}
// Counts the elements of c that differ from `other` by more than `bar` (bar < 0: in any bit), and says where the first is.
template <typename T>
__global__ void differ(const T* c, const T* other, u64 m, u64 n, u64 lead, double bar, u64* count, u64* first) {
  for (u64 e = blockIdx.x * (u64)blockDim.x + threadIdx.x; e < m * n; e += (u64)gridDim.x * blockDim.x) {
    const u64 at = e / n * lead + e % n;
    bool same = fabs((double)c[at] - (double)other[at]) <= bar;
    if (bar < 0) {
      same = true;
      for (u32 i = 0; i < sizeof(T); i++) same = same && ((const char*)(c + at))[i] == ((const char*)(other + at))[i];
    }
    if (!same) {
      atomicAdd(count, 1ull);
      atomicMin(first, e);
    }
  }
}
// Elements between the rows must be as they were.
template <typename T>
__global__ void gaps(const T* c, u64 rows, u64 cols, u64 lead, u64* count) {
  for (u64 e = blockIdx.x * (u64)blockDim.x + threadIdx.x; e < rows * (lead - cols); e += (u64)gridDim.x * blockDim.x) {
    const unsigned char* bytes = (const unsigned char*)(c + e / (lead - cols) * lead + cols + e % (lead - cols));
    for (u32 i = 0; i < sizeof(T); i++) {
      if (bytes[i] != 0xff) atomicAdd(count, 1ull);
    }
  }
}
static double seconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  static const double start = now.tv_sec + now.tv_nsec * 1e-9;
  return now.tv_sec + now.tv_nsec * 1e-9 - start;
}
static int failures = 0;
static Device<u64>* verdict;
template <typename T>
static double error_of(const Problem& q, const T* a, const T* b, const T* c, u64* where = nullptr, const T* before = nullptr,
                       bool all = false, int round = 0) {
  CHECK(cudaMemset(verdict->p, 0, 16));
  const u64 row_step = all ? 1 : std::max<u64>(1, q.m / 128) | 1, col_step = all ? 1 : std::max<u64>(1, q.n / 128) | 1;
  const u64 looks = all ? q.batches : std::min<u64>(q.batches, 5);
  for (u64 i = 0; i < looks; i++) {
    const u64 batch = looks == 1 ? 0 : i * (q.batches - 1) / (looks - 1);
    judge<<<processors * 4, 256>>>(a + batch * q.a_step(), b + batch * q.b_step(), c + batch * q.c_step(),
                                   before ? before + batch * q.c_step() : before, q, row_step, col_step, verdict->p,
                                   verdict->p + 1, round);
  }
  u64 back[2];
  CHECK(cudaMemcpy(back, verdict->p, 16, cudaMemcpyDeviceToHost));
  double worst;
  memcpy(&worst, &back[0], 8);
  if (where) *where = back[1];
  return worst;
}
template <typename T>
static double bar_of(const Problem& q) {
  const double terms = q.k + q.add;
  // Up to 256 doubles may be one chain, which errs by up to a quarter of a unit for each.
  return sizeof(T) == 8 ? 0x1p-53 * std::max(2 * std::sqrt(terms), std::min(terms, 256.0) / 4) : 0x1p-24 * 2 * std::sqrt(terms);
}
// One chain of n additions errs by n units in the last place at most; by one more where C is read.
static double chain_bar(const Problem& q, u64 chunk) {
  const double steps = 16.0 * std::max<u64>(chunk, 1);
  return std::max(bar_of<double>(q), 0x1p-53 * (std::min(steps, (double)q.k) + std::ceil(q.k / steps) + q.add));
}
template <typename T>
static void expect(const char* way, const Problem& q, const T* a, const T* b, const T* c, const T* before, double bar = 0,
                   int round = 0) {
  u64 where;
  if (bar == 0) bar = bar_of<T>(q);
  const double worst = error_of(q, a, b, c, &where, before, true, round);
  u64 wrong = 0;
  if (q.lead_c > q.n) {
    CHECK(cudaMemset(verdict->p, 0, 8));
    gaps<<<64, 256>>>(c, q.batches * q.m, q.n, q.lead_c, verdict->p);
    CHECK(cudaMemcpy(&wrong, verdict->p, 8, cudaMemcpyDeviceToHost));
  }
  if (worst > bar || wrong) {
    failures++;
    printf("WRONG %-28s %llux%llux%llu %s%s batches %llu lead %llu %llu %llu add %d: %.3g of %.3g at (%llu, %llu), %llu bytes between rows\n", way, q.m,
           q.k, q.n, q.ta ? "T" : "N", q.tb ? "T" : "N", q.batches, q.lead_a, q.lead_b, q.lead_c, q.add, worst, bar, where / q.n,
           where % q.n, wrong);
    fflush(stdout);
  }
}
// C before: 0xff (NaN), or numbers with 0xff between the rows.
template <typename T>
static void reset(Device<T>& c, const Device<T>* before) {
  if (before) {
    CHECK(cudaMemcpy(c.p, before->p, c.count * sizeof(T), cudaMemcpyDeviceToDevice));
  } else {
    CHECK(cudaMemset(c.p, 0xff, c.count * sizeof(T)));
  }
}
template <typename T>
__global__ void fill_rows(T* to, u64 rows, u64 cols, u64 lead) {
  for (u64 e = blockIdx.x * (u64)blockDim.x + threadIdx.x; e < rows * cols; e += (u64)gridDim.x * blockDim.x) {
    to[e / cols * lead + e % cols] = (T)((double)(mixed(e) >> 11) * 0x1p-52 - 1);
  }
}

// Matrices of numbers among NaN, the first at `shift` doubles beyond a multiple of 16 bytes.
struct Among {
  static constexpr u64 BEFORE = 64;
  Device<double> all;
  double* p;
  Among(u64 batches, u64 rows, u64 cols, u64 lead, u64 step, u64 shift, u64 seed, int kind)
      : all(batches * step + 2 * BEFORE), p(all.p + BEFORE + shift) {
    CHECK(cudaMemset(all.p, 0xff, all.count * 8));
    fill_inside<<<256, 256>>>(p, batches, rows, cols, lead, step, seed, kind);
    CHECK(cudaGetLastError());
  }
};

static u64 seed = 1;
// MultiplyStrategy.Tensor.chain, or another factor of sqrt(K): panels
static u64 chain_of(u64 k, double factor = 6) {
  return std::max<u64>(256, (u64)(factor * std::sqrt((double)k))) / 16;
}
static void check_double(Problem q, int kind) {
  if (too_long(q)) return;
  seed++;
  const u64 odd = seed * 0x9e3779b97f4a7c15ull >> 61;  // which of the three begin at 8 bytes beyond 16
  const Among a(q.batches, q.rows_a(), q.cols_a(), q.lead_a, q.a_step(), odd % 2, seed, kind);
  const Among b(q.batches, q.rows_b(), q.cols_b(), q.lead_b, q.b_step(), odd / 2 % 2, seed + 1000, kind);
  Device<double> all_c(q.batches * q.c_step() + 1), all_before(all_c.count);
  double* const c = all_c.p + odd / 4;
  double* const before = all_before.p + odd / 4;
  CHECK(cudaMemset(all_before.p, 0xff, all_before.count * 8));
  fill_rows<<<256, 256>>>(before, q.batches * q.m, q.n, q.lead_c);
  Doubles way(q, 3);
  const u64 project_chunk = chain_of(q.k);
  for (const DoubleKernel& kernel : DOUBLES_ALL) {
    if (kernel.phased && (q.k < 2 || (!q.ta && q.tb))) continue;
    for (int t = 0; t < 3; t++) {  // one chain; with factors chunks, and three parts
      q.add = t >= 1;
      const u64 chunk = t == 1 && kernel.chains ? 3 : 1 << 20;
      reset(all_c, q.add ? &all_before : nullptr);
      way.run(q, a.p, b.p, c, kernel, chunk, t == 2 ? 3 : 1);
      CHECK(cudaDeviceSynchronize());
      expect((std::string(kernel.name) + (t == 1 ? " chunks, added" : t == 2 ? " parts, added" : "")).c_str(), q, a.p, b.p, c,
             q.add ? before : nullptr, chain_bar(q, chunk));
    }
    // In the project's chains the project's bar holds.
    for (int t = 0; t < 2 && kernel.chains; t++) {
      q.add = t == 1;
      reset(all_c, q.add ? &all_before : nullptr);
      way.run(q, a.p, b.p, c, kernel, project_chunk);
      CHECK(cudaDeviceSynchronize());
      expect((std::string(kernel.name) + (t == 1 ? " project, added" : " project")).c_str(), q, a.p, b.p, c,
             q.add ? before : nullptr);
    }
  }
}
template <typename T>
static void check_skinny(Problem q, int kind, Skinny<T>& way) {
  if (too_long(q)) return;
  seed++;
  Device<T> a(q.a_step()), b(q.b_step()), c(q.c_step()), before(c.count);
  random(a, seed, kind), random(b, seed + 1000, kind);
  q.add = seed % 3 == 0;
  CHECK(cudaMemset(before.p, 0xff, before.count * sizeof(T)));
  fill_rows<<<256, 256>>>(before.p, q.m, q.n, q.lead_c);
  reset(c, q.add ? &before : nullptr);
  way.run(q, a.p, b.p, c.p);
  CHECK(cudaDeviceSynchronize());
  expect(sizeof(T) == 4 ? "skinny float" : "skinny double", q, a.p, b.p, c.p, q.add ? before.p : nullptr);
}

template <typename Kind, typename Form>
static void check_mma(const char* name, const Problem& q, Device<float>& a, Device<float>& b, Device<float>& c, int round, double bar) {
  if (too_long(q)) return;
  Mma<Form> way(q);
  way.pack(q, a.p, b.p);
  reset<float>(c, nullptr);
  way.template run<MmaLarge<Kind>>(q, c.p);
  CHECK(cudaDeviceSynchronize());
  expect<float>(name, q, a.p, b.p, c.p, nullptr, bar, round);
  reset<float>(c, nullptr);
  way.template run<MmaSmall<Kind>>(q, c.p);
  CHECK(cudaDeviceSynchronize());
  expect<float>((std::string(name) + " 64x64").c_str(), q, a.p, b.p, c.p, nullptr, bar, round);
}
static void check_mmas() {
  const u64 shapes[][3] = {{128, 64, 128}, {1, 1, 1}, {7, 5, 3}, {129, 33, 127}, {300, 1000, 200}, {511, 77, 513}, {257, 4096, 65}, {1000, 515, 1100}};
  for (const auto& s : shapes) {
    for (int t = 0; t < 8; t++) {
      const Problem q = problem(s[0], s[1], s[2], t & 2, t & 1, t % 3, t < 4 ? 1 : 3);
      seed++;
      Device<float> a(q.batches * q.a_step()), b(q.batches * q.b_step()), c(q.batches * q.c_step());
      random(a, seed, t % 2), random(b, seed + 1000, t % 2);
      // A panel is cut off up to 8 times, and there is one sum to a panel.
      const double summed = 0x1p-23 * (8 + q.k / 64.0);
      check_mma<MmaHalf, PackHalf>("mma half", q, a, b, c, 1, summed);
      check_mma<MmaBfloat16, PackBfloat16>("mma bfloat16", q, a, b, c, 2, summed);
      check_mma<MmaTf32, PackTf32>("mma tf32", q, a, b, c, 3, summed);
    }
  }
  printf("checked mma, %d failures so far, %.1f s\n", failures, seconds());
  fflush(stdout);
}

static void print_difference(const char* way, const Problem& q, const char* what, u64 count, u64 first) {
  printf("WRONG %-20s %llux%llux%llu %s%s: %llu elements %s, the first at (%llu, %llu)\n", way, q.m, q.k, q.n, q.ta ? "T" : "N",
         q.tb ? "T" : "N", count, what, first / q.n, first % q.n);
}
static u64 differing(const Problem& q, const double* c, const double* other, double bar, u64* first) {
  const u64 start[2] = {0, ~0ull};
  CHECK(cudaMemcpy(verdict->p, start, 16, cudaMemcpyHostToDevice));
  differ<<<processors * 8, 256>>>(c, other, q.m, q.n, q.lead_c, bar, verdict->p, verdict->p + 1);
  u64 back[2];
  CHECK(cudaMemcpy(back, verdict->p, 16, cudaMemcpyDeviceToHost));
  *first = back[1];
  return back[0];
}
// Large products, where stages, tiles and thread blocks meet in many orders: all elements against cuBLAS, and each run
// the same bits as the first.
static void check_large(const Problem& q, int times, const std::function<void(double*)>& run, const char* name, const double* reference) {
  if (too_long(q)) return;
  Device<double> first(q.c_step()), c(q.c_step());
  CHECK(cudaMemset(first.p, 0xff, first.count * 8));
  u64 place;
  for (int i = 0; i < times; i++) {
    double* const to = i == 0 ? first.p : c.p;
    if (i > 0) CHECK(cudaMemset(c.p, 0xff, c.count * 8));
    run(to);
    CHECK(cudaDeviceSynchronize());
    u64 count = differing(q, to, reference, 0x1p-50 * std::sqrt((double)q.k) * q.k / 4, &place);
    if (count) failures++, print_difference(name, q, "differ from cuBLAS's", count, place);
    if (i > 0 && (count = differing(q, c.p, first.p, -1, &place))) failures++, print_difference(name, q, "differ from the first run's", count, place);
  }
}
static void check_larges() {
  const u64 large[][3] = {{4095, 4099, 4097}, {4096, 4096, 4096}, {5000, 515, 3000}};
  for (const auto& s : large) {
    for (int t = 0; t < 4 && handle; t++) {
      const Problem q = problem(s[0], s[1], s[2], t & 2, t & 1);
      if (too_long(q)) continue;
      Device<double> a(q.a_step()), b(q.b_step()), c(q.c_step());
      random(a, 5, 0), random(b, 6, 0);
      cublas(q, a.p, b.p, c.p);
      Doubles way(q);
      for (const DoubleKernel& kernel : DOUBLES_ALL) {
        if (kernel.phased && t == 1) continue;
        check_large(q, 4, [&](double* to) { way.run(q, a.p, b.p, to, kernel, t % 2 ? 12 : 20); }, kernel.name, c.p);
      }
    }
    printf("checked %llu x %llu x %llu again and again, %d failures so far, %.1f s\n", s[0], s[1], s[2], failures, seconds());
    fflush(stdout);
  }
}
static void check_doubles() {
  const u64 shapes[][3] = {{128, 32, 128}, {128, 64, 128},  {256, 256, 256}, {1, 1, 1},      {7, 5, 3},        {129, 33, 127},
                           {300, 1000, 200}, {511, 77, 513}, {1, 1000, 1},  {1000, 3, 1000}, {257, 4096, 65}, {640, 640, 640},
                           {2049, 100, 31}, {33, 100, 3001}, {1536, 528, 2304}};
  for (const auto& s : shapes) {
    for (int t = 0; t < 4; t++) {
      for (u64 extra : {1, 0, 4}) {
        if (extra != 1 && s[0] * s[1] * s[2] > 1000000000) continue;
        check_double(problem(s[0], s[1], s[2], t & 2, t & 1, extra), (t + extra) % 4);
      }
    }
    if (s[0] * s[1] * s[2] < 40000000) {
      for (int t = 0; t < 4; t++) check_double(problem(s[0], s[1], s[2], t & 2, t & 1, t, 5), t % 2);
    }
    printf("checked %llu x %llu x %llu, %d failures so far, %.1f s\n", s[0], s[1], s[2], failures, seconds());
    fflush(stdout);
    if (failures > 60) return;
  }
}
static void check_skinnies() {
  Skinny<float> floats;
  Skinny<double> doubles;
  {
    const u64 extents[] = {17, 33, 300, 4097}, depths[] = {1, 7, 256, 700, 20000}, counts[] = {1, 2, 3, 8, 11, 16};
    int turn = 0;
    for (u64 x : extents) for (u64 k : depths) for (u64 n : counts) for (int t = 0; t < 4; t++) {
      const u64 extra = turn++ % 3;
      check_skinny(problem(x, k, n, t & 2, t & 1, extra), turn % 2, floats);
      check_skinny(problem(n, k, x, t & 2, t & 1, extra), turn % 2, doubles);
      check_skinny(problem(x, k, n, t & 2, t & 1, extra), turn % 3, doubles);
      check_skinny(problem(n, k, x, t & 2, t & 1, extra), turn % 2, floats);
      if (k < 1000) {
        check_skinny(problem(x, n, k, t & 2, t & 1, extra), turn % 2, floats);
        check_skinny(problem(x, n, k, t & 2, t & 1, extra), turn % 2, doubles);
      }
    }
    for (int t = 0; t < 4; t++) {
      check_skinny(problem(40, 1000003, 3, t & 2, t & 1), 1, floats);
      check_skinny(problem(1, 1000003, 1, t & 2, t & 1), 3, floats);
      check_skinny(problem(5, 1000003, 700, t & 2, t & 1), 0, floats);
      check_skinny(problem(40, 1000003, 3, t & 2, t & 1), 3, doubles);
    }
    printf("checked skinny, %d failures so far, %.1f s\n", failures, seconds());
    fflush(stdout);
  }
}

// ---- timing
struct Way {
  std::string name;
  std::function<void()> run;
  std::vector<float> millis;
  double error = -1;
};
static int runs = 7;
// `bytes`: also GB/s.
static void race(const std::string& title, double operations, std::vector<Way>& ways, double bytes = 0) {
  cudaEvent_t before, after;
  CHECK(cudaEventCreate(&before));
  CHECK(cudaEventCreate(&after));
  for (Way& way : ways) {
    way.run();
    CHECK(cudaDeviceSynchronize());
  }
  for (int r = 0; r < runs; r++) {
    for (Way& way : ways) {
      const int repeats = bytes > 0 ? 10 : (int)std::max(1.0, std::min(50.0, 2e11 / operations));
      CHECK(cudaEventRecord(before));
      for (int i = 0; i < repeats; i++) way.run();
      CHECK(cudaEventRecord(after));
      CHECK(cudaEventSynchronize(after));
      float millis;
      CHECK(cudaEventElapsedTime(&millis, before, after));
      way.millis.push_back(millis / repeats);
    }
  }
  double base = 0;
  for (Way& way : ways) {
    std::sort(way.millis.begin(), way.millis.end());
    const double median = way.millis[way.millis.size() / 2];
    if (base == 0) base = median;
    printf("%-32s %-22s %9.4f ms %7.2f TFLOP/s", title.c_str(), way.name.c_str(), median, operations / median / 1e9);
    if (bytes > 0) printf(" %6.0f GB/s", bytes / median / 1e6);
    printf("  %5.2f of cuBLAS  spread %.2f", base / median, way.millis.back() / way.millis[0]);
    if (way.error >= 0) printf("  error %.3g", way.error);
    printf("\n");
  }
  printf("%.1f s\n", seconds());
  fflush(stdout);
}
static std::string title_of(const char* type, const Problem& q) {
  char text[100];
  snprintf(text, sizeof text, "%s %llux%llux%llu %s%s", type, q.m, q.k, q.n, q.ta ? "T" : "N", q.tb ? "T" : "N");
  return text;
}
static const DoubleKernel& named(const char* name) {
  for (const DoubleKernel& kernel : DOUBLES_ALL)
    if (!strcmp(kernel.name, name)) return kernel;
  printf("no kernel %s\n", name);
  exit(2);
}
struct Choice {
  const char* name;
  double factor;  // of sqrt(K), steps of a chain; 0 all of K
  u64 parts;
};
static void time_double(const Problem& q, std::vector<Choice> choices) {
  Device<double> a(q.batches * q.a_step()), b(q.batches * q.b_step()), c(q.batches * q.c_step());
  random(a, 5, 0), random(b, 6, 0);
  u64 parts = 1;
  for (const Choice& choice : choices) parts = std::max(parts, choice.parts);
  Doubles doubles(q, parts);
  std::vector<Way> ways;
  if (handle) ways.push_back({"cuBLAS", [&] { cublas(q, a.p, b.p, c.p); }, {}, -1});
  for (const Choice& choice : choices) {
    const DoubleKernel& kernel = named(choice.name);
    std::string name = choice.name;
    const u64 chunk = choice.factor == 0 ? 1 << 20 : chain_of(q.k, choice.factor);
    if (choice.factor) name += " chains " + std::to_string(chunk * 16);
    if (choice.parts > 1) name += " parts " + std::to_string(choice.parts);
    const u64 cut = choice.parts;
    ways.push_back({name, [&, chunk, cut] { doubles.run(q, a.p, b.p, c.p, kernel, chunk, cut); }, {}, -1});
  }
  for (Way& way : ways) {
    CHECK(cudaMemset(c.p, 0xff, c.count * 8));
    way.run();
    way.error = error_of(q, a.p, b.p, c.p);
  }
  race(title_of("double", q), 2.0 * q.batches * q.m * q.k * q.n, ways);
}
template <typename T>
static void time_skinny(const Problem& q, Skinny<T>& skinny) {
  Device<T> a(q.a_step()), b(q.b_step()), c(q.c_step());
  random(a, 5, 0), random(b, 6, 0);
  std::vector<Way> ways;
  if (handle) ways.push_back({"cuBLAS", [&] { cublas(q, a.p, b.p, c.p); }, {}, -1});
  if (handle && q.n == 1) {
    // Row-major A is column-major A^T.
    const int rows = (int)q.cols_a(), cols = (int)q.rows_a();
    ways.push_back({"cuBLAS gemv", [&, rows, cols] {
      const T one = 1, zero = 0;
      if constexpr (sizeof(T) == 8) dgemv(handle, !q.ta, rows, cols, &one, a.p, q.lead_a, b.p, q.tb ? 1 : q.lead_b, &zero, c.p, q.lead_c);
      else sgemv(handle, !q.ta, rows, cols, &one, a.p, q.lead_a, b.p, q.tb ? 1 : q.lead_b, &zero, c.p, q.lead_c);
    }, {}, -1});
  }
  ways.push_back({"skinny", [&] { skinny.run(q, a.p, b.p, c.p); }, {}, -1});
  for (Way& way : ways) {
    CHECK(cudaMemset(c.p, 0xff, c.count * sizeof(T)));
    way.run();
    way.error = error_of(q, a.p, b.p, c.p);
  }
  race(title_of(sizeof(T) == 8 ? "double" : "float", q), 2.0 * q.m * q.k * q.n, ways,
       (double)sizeof(T) * (q.m * q.k + q.k * q.n + q.m * q.n));
}
template <typename Shape, typename Form>
static void add_mma(const char* name, const Problem& q, Mma<Form>& way, Device<float>& a, Device<float>& b, Device<float>& c,
                    int round, std::vector<Way>& ways) {
  ways.push_back({name, [&] { way.template run<Shape>(q, c.p); }, {}, -1});
  way.pack(q, a.p, b.p);
  CHECK(cudaMemset(c.p, 0xff, c.count * 4));
  way.template run<Shape>(q, c.p);
  ways.back().error = error_of<float>(q, a.p, b.p, c.p, nullptr, nullptr, false, round);
}
static void time_mma(const Problem& q) {
  Device<float> a(q.a_step()), b(q.b_step()), c(q.c_step());
  random(a, 5, 0), random(b, 6, 0);
  std::vector<Way> ways;
  if (handle) {
    ways.push_back({"cuBLAS float", [&] { cublas(q, a.p, b.p, c.p); }, {}, -1});
    ways[0].run();
    ways[0].error = error_of(q, a.p, b.p, c.p);
  }
  Mma<PackHalf> half(q);
  Mma<PackBfloat16> bfloat16(q);
  Mma<PackTf32> tf32(q);
  add_mma<MmaLarge<MmaHalf>>("mma half, packed", q, half, a, b, c, 1, ways);
  add_mma<MmaSmall<MmaHalf>>("mma half 64x64, packed", q, half, a, b, c, 1, ways);
  add_mma<MmaLarge<MmaBfloat16>>("mma bfloat16, packed", q, bfloat16, a, b, c, 2, ways);
  add_mma<MmaLarge<MmaTf32>>("mma tf32, packed", q, tf32, a, b, c, 3, ways);
  add_mma<MmaSmall<MmaTf32>>("mma tf32 64x64, packed", q, tf32, a, b, c, 3, ways);
  race(title_of("float", q), 2.0 * q.m * q.k * q.n, ways);
}
static void time_copies() {
  const u64 count = 1ull << 27;
  Device<double> from(count), to(count);
  random(from, 1, 0);
  std::vector<Way> ways;
  ways.push_back({"device copy", [&] { cudaMemcpyAsync(to.p, from.p, count * 8, cudaMemcpyDeviceToDevice); }, {}, -1});
  race("copy 1 GiB", 1, ways, 2.0 * count * 8);
}
// What chains of several lengths cost in accuracy: the worst of several inputs, in units of the bar.
static void show_chains() {
  for (u64 k : {64, 256, 1024, 4096, 16384, 131072}) {
    for (int kind = 0; kind < 4; kind++) {
      const Problem q = problem(256, k, 256, true, true);
      if (too_long(q)) continue;
      Device<double> a(q.a_step()), b(q.b_step()), c(q.c_step());
      Doubles way(q);
      double worst[2] = {};
      for (u64 i = 0; i < (kind == 3 ? 40 : 3); i++) {
        random(a, 50 + i, kind), random(b, 60 + 7 * i, kind);
        way.run(q, a.p, b.p, c.p, named("64x128"), chain_of(k));
        worst[0] = std::max(worst[0], error_of(q, a.p, b.p, c.p));
        way.run(q, a.p, b.p, c.p, named("128x64_chain"), 1);
        worst[1] = std::max(worst[1], error_of(q, a.p, b.p, c.p));
      }
      const double root = 0x1p-52 * std::sqrt((double)k);
      printf("chains, K = %6llu, %-8s of 2 u sqrt(K): %.3f, one chain %.3f\n", k,
             kind == 0 ? "random" : kind == 1 ? "positive" : kind == 2 ? "scaled" : "equal", worst[0] / root, worst[1] / root);
      failures += worst[0] > bar_of<double>(q);
    }
  }
  printf("%.1f s\n", seconds());
  fflush(stdout);
}

int main(int count, char** words) {
  const std::string verb = count > 1 ? words[1] : "check";
  if (count > 2) runs = atoi(words[2]);
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  processors = properties.multiProcessorCount;
  cudaDriverEntryPointQueryResult found;
  CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void**)&encode, 12000, cudaEnableDefault, &found));
  seconds();
  load_cublas();
  Device<u64> place(2);
  printf("started, %.1f s\n", seconds());
  verdict = &place;
  printf("%s, %d multiprocessors\n", properties.name, processors);
  if (verb == "check") {
    check_larges();
    check_doubles();
    show_chains();
    check_mmas();
    check_skinnies();
    printf(failures ? "%d FAILED\n" : "all right\n", failures);
    return failures ? 1 : 0;
  }
  const u64 cubes[] = {4096, 8192};
  for (u64 x : cubes) {
    for (int t = 0; t < 4; t++) {
      time_double(problem(x, x, x, t & 2, t & 1),
                  {{"128x64_chain", 0, 1}, {"64x128", 6, 1}});
    }
  }
  for (int t = 0; t < 4; t++) {
    time_double(problem(4095, 4099, 4097, t & 2, t & 1), {{"128x64_chain", 0, 1}, {"64x128", 6, 1}});
  }
  for (int t = 0; t < 4; t++) {
    time_double(problem(16384, 128, 16384, t & 2, t & 1), {{"64x128", 6, 1}, {"128x64_chain", 0, 1}});
  }
  for (u64 x : {1024, 1536}) {
    for (int t = 0; t < 4; t++) {
      time_double(problem(x, x, x, t & 2, t & 1), {{"64x128", 6, 1}});
    }
  }
  for (u64 x : {256, 64, 255}) {
    for (int t = 0; t < (x == 255 ? 1 : 4); t++) {
      const u64 batches = x == 256 || x == 255 ? 1024 : 16384;
      time_double(problem(x, x, x, t & 2, t & 1, 0, batches),
                  {{"64x128", 6, 1}, {"128x64_chain", 0, 1}});
    }
  }
  time_copies();
  time_mma(problem(4096, 4096, 4096, false, false));
  time_mma(problem(4095, 4099, 4097, false, false));
  Skinny<float> floats;
  Skinny<double> doubles;
  const u64 thin[][3] = {{16384, 16384, 1}, {16384, 16384, 4}, {16384, 16384, 16}, {16, 16384, 16384}, {1, 16384, 16384},
                         {16384, 16, 16384}, {16384, 1, 16384}, {1000000, 1000, 3}, {3, 1000003, 101}, {16383, 16381, 7}};
  for (const auto& s : thin) {
    for (int t = 0; t < 4; t++) {
      if (s[0] == 1000000 && t != 0 && t != 2) continue;
      if (s[1] == 1000003 && t != 1 && t != 0) continue;
      time_skinny(problem(s[0], s[1], s[2], t & 2, t & 1), floats);
      time_skinny(problem(s[0], s[1], s[2], t & 2, t & 1), doubles);
    }
  }
  return 0;
}
