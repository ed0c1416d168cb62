// Checks and times the kernels of this directory beside cuBLAS, in one process:
//
//   lab check [WHAT]         every kernel on many small shapes, against sums in double
//   lab time [RUNS [WHAT]]   the cases of issues 8 and 9; medians, the ways taking turns
//   lab fused [RUNS]         kernels that convert on the way: checked against packing, then timed beside it and cuBLAS
//   lab pack [RUNS]          packing beside device copies, the copy engine's rounding to tf32, and batches in pieces
//
// WHAT: letters of f (float), t (tensor: half, bfloat16, tf32); all without it.
//
// Double is lab_double.cu's.
//
// Exits with 1 if a check fails. cuBLAS is loaded at run time ($CUBLAS, or libcublas.so.13 / .12).
//
// Architectures: sm_90a
// Program
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "lab_kernels.cuh"

#define CHECK(call)                                                                        \
  do {                                                                                     \
    cudaError_t status = (call);                                                           \
    if (status != cudaSuccess) {                                                           \
      printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status));    \
      exit(2);                                                                             \
    }                                                                                      \
  } while (0)

using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                            const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                            CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
static Encode encode;
static int processors;

// ---- cuBLAS
typedef void* Handle;
static Handle handle;
static int (*gemm_batched)(Handle, int, int, int, int, int, const void*, const void*, int, int, long long,
                           const void*, int, int, long long, const void*, void*, int, int, long long, int, int,
                           int);
static int (*gemm_ex)(Handle, int, int, int, int, int, const void*, const void*, int, int, const void*, int,
                      int, const void*, void*, int, int, int, int);
enum { R32F = 0, R64F = 1, R16F = 2, R16BF = 14 };
enum { C32F = 68, C64F = 70, C32F_16F = 74, C32F_TF32 = 77 };

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
  gemm_ex = (decltype(gemm_ex))dlsym(library, "cublasGemmEx");
  gemm_batched = (decltype(gemm_batched))dlsym(library, "cublasGemmStridedBatchedEx");
  if (create(&handle) != 0) {
    printf("cublasCreate failed\n");
    handle = nullptr;
  }
}

// Row-major C = op(A) op(B) is column-major C^T = op(B)^T op(A)^T.
static u64 cublas_batches = 1;

static void cublas(long m, long k, long n, bool ta, bool tb, const void* a, int lead_a, const void* b, int lead_b,
                   void* c, int lead_c, int in, int out, int compute) {
  const float one = 1, zero = 0;
  const double one_d = 1, zero_d = 0;
  const bool dbl = compute == C64F;
  const void* first = dbl ? (const void*)&one_d : &one;
  const void* last = dbl ? (const void*)&zero_d : &zero;
  if (cublas_batches > 1) {
    int said = gemm_batched(handle, tb, ta, n, m, k, first, b, in, lead_b, (long long)(tb ? n : k) * lead_b, a, in, lead_a,
                            (long long)(ta ? k : m) * lead_a, last, c, out, lead_c, (long long)m * lead_c, cublas_batches,
                            compute, -1);
    if (said != 0) printf("cublasGemmStridedBatchedEx says %d\n", said);
    return;
  }
  int status = gemm_ex(handle, tb, ta, n, m, k, dbl ? (const void*)&one_d : &one, b, in, lead_b, a, in, lead_a,
                       dbl ? (const void*)&zero_d : &zero, c, out, lead_c, compute, -1);
  if (status != 0) printf("cublasGemmEx says %d\n", status);
}

// ---- memory
template <typename T>
struct Device {
  T* p = nullptr;
  size_t count = 0;
  explicit Device(size_t n) : count(n) { CHECK(cudaMalloc(&p, std::max<size_t>(n, 1) * sizeof(T))); }
  ~Device() { cudaFree(p); }
  Device(const Device&) = delete;
};

__device__ __forceinline__ u64 mixed(u64 x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}
// Kinds of inputs: 0: -1..1; 1: 0..1; 2: each scaled by 2^-20..2^20; 3: rows and columns scaled so; 4: steps
// of K cancel in pairs but for 2^-12, a(i, p) = -a(i, p - 1) (1 + ..), b(p, j) = b(p - 1, j), p odd; 5: the
// second half of K cancels the first so.
constexpr int KINDS = 6;
template <typename T>
__global__ void fill(T* to, u64 rows, u64 cols, u64 k, bool along, bool negative, u64 seed, int kind) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < rows * cols; i += (u64)gridDim.x * blockDim.x) {
    const u64 row = i / cols, col = i % cols;
    const u64 p = (along ? col : row) % k;
    const bool twin = (kind == 4 && p % 2 == 1) || (kind == 5 && p >= (k + 1) / 2);
    const u64 of = !twin ? i : i - (along ? 1 : cols) * (kind == 4 ? 1 : (k + 1) / 2);
    const u64 bits = mixed(of + seed * 0x123456789abcdefull);
    double v = (double)(bits >> 11) * 0x1p-53;
    if (kind != 1) v = 2 * v - 1;
    if (kind == 2) v *= exp2((double)(int)(mixed(bits) % 41) - 20);
    if (kind == 3) v *= exp2((double)(int)(mixed(row + seed) % 41) - 20) * exp2((double)(int)(mixed(~col + seed) % 41) - 20);
    if (twin && negative) v *= -(1 + 0x1p-12 * ((double)(mixed(i + seed) >> 11) * 0x1p-53));
    to[i] = (T)v;
  }
}
// Elements one behind the other, rows of `cols`; K along the rows or not; `negative`: the one whose twins are.
template <typename T>
static void random(Device<T>& d, u64 cols, u64 k, bool along, bool negative, u64 seed, int kind) {
  fill<<<1024, 256>>>(d.p, d.count / cols, cols, k, along, negative, seed, kind);
  CHECK(cudaGetLastError());
}

// worst[0] = max |c - c*| / (|a||b|), as bits of a double; c* in double (compensated for double inputs).
// `round` says to what the inputs are rounded first: 0 not, 1 half, 2 bfloat16, 3 tf32.
__device__ double rounded(double v, int round) {
  if (round == 1) return __half2float(__float2half_rn((float)v));
  if (round == 2) return __bfloat162float(__float2bfloat16_rn((float)v));
  if (round == 3) {
    u32 bits = __float_as_uint((float)v);
    return __uint_as_float((bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u);
  }
  return v;
}
template <typename T>
__global__ void judge(const T* a, const T* b, const T* c, u64 m, u64 k, u64 n, u64 lead_a, u64 lead_b, u64 lead_c,
                      bool ta, bool tb, int round, u64 row_step, u64 col_step, u64* worst, u64* where) {
  const u64 cols = (n + col_step - 1) / col_step;
  const u64 all = (m + row_step - 1) / row_step * cols;
  for (u64 e = blockIdx.x * (u64)blockDim.x + threadIdx.x; e < all; e += (u64)gridDim.x * blockDim.x) {
    const u64 i = e / cols * row_step;
    const u64 j = e % cols * col_step;
    double sum = 0, low = 0, size = 0;
    for (u64 p = 0; p < k; p++) {
      const double x = rounded(ta ? a[p * lead_a + i] : a[i * lead_a + p], round);
      const double y = rounded(tb ? b[j * lead_b + p] : b[p * lead_b + j], round);
      const double product = x * y;
      const double lost = fma(x, y, -product);
      const double next = sum + product;
      const double z = next - sum;
      low += (sum - (next - z)) + (product - z) + lost;
      sum = next;
      size += fabs(product);
    }
    const double error = fabs(((double)c[i * lead_c + j] - sum) - low);
    const double ratio = size > 0 ? error / size : (error > 0 ? 1e30 : 0);
    const u64 bits = __double_as_longlong(ratio != ratio ? 1e30 : ratio);
    if (bits > atomicMax(worst, bits)) *where = i * n + j;
  }
}

// ---- launching ours
static CUtensorMap map_of(CUtensorMapDataType type, int width, const void* base, u64 cols, u64 rows, u64 lead,
                          u32 box_cols, u32 box_rows,
                          CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B) {
  CUtensorMap map;
  cuuint64_t extents[] = {cols, rows};
  cuuint64_t strides[] = {lead * width};
  cuuint32_t box[] = {box_cols, box_rows};
  cuuint32_t steps[] = {1, 1};
  CUresult status = encode(&map, type, 2, const_cast<void*>(base), extents, strides, box, steps,
                           CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                           CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS) {
    printf("cuTensorMapEncodeTiled says %d for %llu x %llu, lead %llu, base %p\n", status, rows, cols, lead, base);
    exit(2);
  }
  return map;
}
static u64 up(u64 x, u64 to) { return (x + to - 1) / to * to; }
static u64 tiles(u64 x, u64 of) { return (x + of - 1) / of; }
static bool even16(const void* p, u64 lead, int width) { return (uintptr_t)p % 16 == 0 && lead * width % 16 == 0; }

template <typename Kernel>
static void allow(Kernel kernel, int bytes) {
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

struct Problem {
  u64 m, k, n;
  bool ta, tb;
  u64 lead_a, lead_b, lead_c;
  bool add;
  u64 batches = 1;  // one behind the other
  u64 rows_a() const { return ta ? k : m; }
  u64 rows_b() const { return tb ? n : k; }
};
// Factors of problems with `add`.
constexpr float ALPHA = -2, BETA = 0.5f;
static Factors<float> factors(const Problem& q) { return q.add ? Factors<float>{ALPHA, BETA} : Factors<float>{1, 0}; }

// True if $LAB_MOST, where set, forbids a check of so many products: sanitizers take hundreds of times as long.
static bool too_long(const Problem& q) {
  const char* most = getenv("LAB_MOST");
  return most != nullptr && q.batches * q.m * q.k * q.n > strtoull(most, nullptr, 10);
}

static u32 grid_of(u64 groups, u32 cluster, u32 per = 1) {
  const u64 most = (u64)processors * per / cluster;
  return (u32)(std::min<u64>(groups, most) * cluster);
}
using Packer = void (*)(PackArguments);
struct Packed {
  const float* from = nullptr;
  void* to = nullptr;
  PackOperand of{};
};
static Packed packed(const float* from, void* to, u64 extent, u64 k, u64 lead, bool across, u64 padded_extent, u64 padded_k,
                     u64 batches) {
  return {from, to, {extent, k, lead, across, padded_extent, padded_k, batches, (across ? k : extent) * lead}};
}
static u64 pieces_of(const PackOperand& of) {
  return of.across ? of.batches * (of.padded_extent / PACK) * tiles(of.padded_k, PACK)
                   : tiles(of.batches * of.padded_extent * of.padded_k / 4, PACK_PIECE);
}
static void pack_with(Packer packer, const Packed& a, const Packed& b = {}) {
  const u64 pieces = pieces_of(a.of) + pieces_of(b.of);
  if (pieces == 0) return;
  packer<<<(u32)pieces, PACK_THREADS>>>({a.from, a.to, b.from, b.to, a.of, b.of});
  CHECK(cudaGetLastError());
}

// Float at float accuracy.
struct Split {
  Device<float> a;
  Device<unsigned short> b;
  Device<u32> flags;
  u64 plane, padded_k;
  u64 padded_m;
  explicit Split(const Problem& q)
      : a(q.batches * up(q.m, 64) * up(q.k, 32)),
        b(q.batches * 3 * up(q.n, 128) * up(q.k, 32)),
        flags(q.batches * tiles(q.m, 128) * tiles(q.n, 128)),
        plane(q.batches * up(q.n, 128)),
        padded_k(up(q.k, 32)),
        padded_m(up(q.m, 64)) {}
  // B, and an A whose rows do not begin evenly; across: as the kernel for such an A reads B.
  void pack_b(const Problem& q, const float* pa, const float* pb, bool across) {
    pack_with(across ? pack_split : pack_split_mixed,
              even16(pa, q.lead_a, 4) ? Packed{} : packed(pa, a.p, q.m, q.k, q.lead_a, q.ta, padded_m, padded_k, q.batches),
              packed(pb, b.p, q.n, q.k, q.lead_b, !q.tb, plane / q.batches, padded_k, q.batches));
  }
  // For no more products than it was made for.
  void resize(const Problem& q) { plane = q.batches * up(q.n, 128); }
  void mend(const Problem& q, const float* pa, const float* pb, float* pc) {
    BadArguments s{pa, pb, pc, flags.p, q.m, q.n, q.k, q.lead_a, q.lead_b, q.lead_c,
                   q.ta, !q.tb, tiles(q.m, 128), tiles(q.n, 128), factors(q), q.batches, q.rows_a() * q.lead_a,
                   q.rows_b() * q.lead_b, q.m * q.lead_c};
    multiply_bad_tiles<<<processors * 2, BAD_THREADS>>>(s);
    CHECK(cudaGetLastError());
  }
  template <typename Shape>
  void run(const Problem& q, const float* pa, const float* pb, float* pc, void (*along)(SplitArguments),
           void (*over)(SplitArguments)) {
    const u64 col_tiles = tiles(q.n, 128), row_tiles = tiles(q.m, 128);
    const bool across = q.ta && even16(pa, q.lead_a, 4);
    auto kernel = across ? over : along;
    pack_b(q, pa, pb, across);
    const float* from = pa;
    u64 lead = q.lead_a;
    if (!even16(pa, q.lead_a, 4)) {
      from = a.p;
      lead = padded_k;
    }
    SplitArguments s;
    s.a_step = from == pa ? q.rows_a() : padded_m, s.b_step = plane / q.batches, s.c_step = q.m * q.lead_c, s.batches = q.batches;
    s.k_step = 0;
    s.a = map_of(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, from, across ? q.m : from == pa ? q.k : padded_k,
                 q.batches * s.a_step, lead, 32, across ? 32 : 128);
    s.b = map_of(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, b.p, padded_k, 3 * plane, padded_k, 32, 128, CU_TENSOR_MAP_SWIZZLE_64B);
    s.c = pc;
    s.bad_tiles = flags.p;
    s.m = q.m, s.n = q.n, s.lead_c = q.lead_c;
    s.panels = padded_k / 32;
    s.row_tiles = row_tiles, s.col_tiles = col_tiles, s.plane_rows = plane, s.factors = factors(q);
    allow(kernel, Shape::SHARED_BYTES);
    kernel<<<grid_of(q.batches * row_tiles * col_tiles, 1), 384, Shape::SHARED_BYTES>>>(s);
    CHECK(cudaGetLastError());
    mend(q, pa, pb, pc);
  }
};

// Half, bfloat16 and tf32.
struct TensorKernel {
  const char* name;
  u32 cols, shared;
  bool a_across, b_across;
  void (*kernel)(TensorArguments);
  u32 rows = 128;
};
template <typename Kind>
struct Tensor {
  using Type = typename Kind::Type;
  static constexpr u64 STEP = sizeof(Type) == 4 ? 32 : 64;
  u64 padded_k;
  Device<Type> a, b;
  CUtensorMapDataType type;
  explicit Tensor(const Problem& q, CUtensorMapDataType type)
      : padded_k(up(q.k, STEP)), a(q.batches * up(q.m, 64) * padded_k), b(q.batches * up(q.n, 64) * padded_k), type(type) {}
  // Both operands, or those that are given.
  void pack_both(const Problem& q, const float* pa, const float* pb, Packer packer) {
    pack_with(packer, pa ? packed(pa, a.p, q.m, q.k, q.lead_a, q.ta, up(q.m, 64), padded_k, q.batches) : Packed{},
              pb ? packed(pb, b.p, q.n, q.k, q.lead_b, !q.tb, up(q.n, 64), padded_k, q.batches) : Packed{});
  }
  // Of the packed operands, or of `da` and `db` as they are stored.
  void run(const Problem& q, float* pc, const TensorKernel& kernel, const Type* da = nullptr, const Type* db = nullptr) {
    TensorArguments s;
    s.a_step = da ? q.rows_a() : up(q.m, 64), s.b_step = db ? q.rows_b() : up(q.n, 64), s.c_step = q.m * q.lead_c, s.batches = q.batches;
    s.k_step = 0;
    s.a = map_of(type, sizeof(Type), da ? da : a.p, !da ? padded_k : q.ta ? q.m : q.k, q.batches * s.a_step,
                 da ? q.lead_a : padded_k, STEP, kernel.a_across ? 64 : kernel.rows);
    s.b = map_of(type, sizeof(Type), db ? db : b.p, !db ? padded_k : q.tb ? q.k : q.n, q.batches * s.b_step,
                 db ? q.lead_b : padded_k, STEP, kernel.b_across ? 64 : kernel.cols);
    s.c = pc;
    s.m = q.m, s.n = q.n, s.lead_c = q.lead_c;
    s.panels = padded_k / STEP;
    s.row_tiles = tiles(q.m, kernel.rows), s.col_tiles = tiles(q.n, kernel.cols), s.factors = factors(q);
    allow(kernel.kernel, kernel.shared);
    kernel.kernel<<<grid_of(q.batches * s.row_tiles * s.col_tiles, 1), 384, kernel.shared>>>(s);
    CHECK(cudaGetLastError());
  }
};
#define TENSOR_KERNELS(NAME, OP, KIND, A, B)                                                                  \
  {#NAME " " #OP " 256", 256, TensorShape<KIND, 256, 4>::SHARED_BYTES, A, B, multiply_##NAME##_##OP##_256},   \
      {#NAME " " #OP " 128", 128, TensorShape<KIND, 128, 6>::SHARED_BYTES, A, B, multiply_##NAME##_##OP##_128}
// Two of each way to store the operands, in the order nn, nt, tn, tt.
static const std::vector<TensorKernel> HALVES = {
    TENSOR_KERNELS(half, nn, Half, false, true), TENSOR_KERNELS(half, nt, Half, false, false),
    TENSOR_KERNELS(half, tn, Half, true, true), TENSOR_KERNELS(half, tt, Half, true, false)};
static const std::vector<TensorKernel> BFLOATS = {
    TENSOR_KERNELS(bfloat16, nn, Bfloat16, false, true), TENSOR_KERNELS(bfloat16, nt, Bfloat16, false, false),
    TENSOR_KERNELS(bfloat16, tn, Bfloat16, true, true), TENSOR_KERNELS(bfloat16, tt, Bfloat16, true, false)};
static const std::vector<TensorKernel> TF32S = {TENSOR_KERNELS(tf32, nt, Tf32, false, false)};
// Half, bfloat16, tf32.
#define SMALL_KERNEL(NAME, KIND) {#NAME " nt 64", 64, TensorShape<KIND, 64, 8>::SHARED_BYTES, false, false, multiply_##NAME##_nt_64}
static const std::vector<TensorKernel> SMALL = {SMALL_KERNEL(half, Half), SMALL_KERNEL(bfloat16, Bfloat16), SMALL_KERNEL(tf32, Tf32)};
static const TensorKernel HIGH = {"tf32 nt 256x128", 128, TensorShape<Tf32, 128, 4, false, false, 256>::SHARED_BYTES, false, false, multiply_tf32_high, 256};

// ---- judging
static int failures = 0;
static Device<u64>* verdict;
template <typename T>
static double error_of(const Problem& q, const T* a, const T* b, const T* c, int round, u64* where = nullptr) {
  CHECK(cudaMemset(verdict->p, 0, 16));
  const u64 row_step = std::max<u64>(1, q.m / 512), col_step = std::max<u64>(1, q.n / 512);
  for (u64 i = 0; i < std::min<u64>(q.batches, 5); i++) {
    const u64 batch = i * (q.batches - 1) / std::max<u64>(1, std::min<u64>(q.batches, 5) - 1);
    judge<<<processors * 4, 256>>>(a + batch * q.rows_a() * q.lead_a, b + batch * q.rows_b() * q.lead_b,
                                   c + batch * q.m * q.lead_c, q.m, q.k, q.n, q.lead_a, q.lead_b, q.lead_c, q.ta, q.tb, round,
                                   row_step | 1, col_step | 1, verdict->p, verdict->p + 1);
  }
  u64 back[2];
  CHECK(cudaMemcpy(back, verdict->p, 16, cudaMemcpyDeviceToHost));
  double worst;
  memcpy(&worst, &back[0], 8);
  if (where) *where = back[1];
  return worst;
}
template <typename T>
static void expect(const char* way, const Problem& q, const T* a, const T* b, const T* c, int round, double bar) {
  u64 where;
  const double worst = error_of(q, a, b, c, round, &where);
  const bool good = worst <= bar;
  if (!good) failures++;
  if (!good || getenv("VERBOSE"))
    printf("%s %-24s %llux%llux%llu %s%s lead %llu %llu %llu: %.3g of %.3g at (%llu, %llu)\n", good ? "ok  " : "WRONG", way,
           q.m, q.k, q.n, q.ta ? "T" : "N", q.tb ? "T" : "N", q.lead_a, q.lead_b, q.lead_c, worst, bar, where / q.n,
           where % q.n);
}

static Problem problem(u64 m, u64 k, u64 n, bool ta, bool tb, u64 extra = 0, u64 batches = 1) {
  return {m, k, n, ta, tb, (ta ? m : k) + extra, (tb ? k : n) + extra, n + extra, false, batches};
}

#define SPLIT_PAIR(NAME) multiply_split_along_##NAME, multiply_split_across_##NAME
#define SPLITS(DO) DO(16_kept) DO(32_kept) DO(32)
// All take the same shared memory.
using SplitLaunch = SplitShape<5, 16, true, false>;

static std::string what = "ftd";
static bool wanted(char letter) { return what.find(letter) != std::string::npos; }

template <typename Kind>
static void check_tensor(const char* name, const Problem& q, Device<float>& a, Device<float>& b, Device<float>& c,
                         Packer packer, CUtensorMapDataType type, int round, const std::vector<TensorKernel>& kernels) {
  using Type = typename Kind::Type;
  Tensor<Kind> way(q, type);
  way.pack_both(q, a.p, b.p, packer);
  for (const TensorKernel& kernel : kernels) {
    if (kernel.a_across || kernel.b_across) continue;
    CHECK(cudaMemset(c.p, 0xff, c.count * 4));
    way.run(q, c.p, kernel);
    CHECK(cudaDeviceSynchronize());
    expect(kernel.name, q, a.p, b.p, c.p, round, 0x1p-23 * (q.k / 8 + 8));
  }
  (void)name;
  if (sizeof(Type) == 4) {
    // What lies along K evenly, as it is stored, rounded by the copy engine.
    const bool da = !q.ta && even16(a.p, q.lead_a, 4), db = q.tb && even16(b.p, q.lead_b, 4);
    if (!da && !db) return;
    for (const TensorKernel& kernel : kernels) {
      CHECK(cudaMemset(c.p, 0xff, c.count * 4));
      way.run(q, c.p, kernel, da ? (const Type*)a.p : nullptr, db ? (const Type*)b.p : nullptr);
      CHECK(cudaDeviceSynchronize());
      expect((std::string(kernel.name) + " mapped").c_str(), q, a.p, b.p, c.p, round, 0x1p-23 * (q.k / 8 + 8));
    }
    return;
  }
  // As they are stored, where that can be.
  if (sizeof(typename Kind::Type) == 4 || q.lead_a % 8 != 0 || q.lead_b % 8 != 0) return;
  const int t = (q.ta ? 2 : 0) + (q.tb ? 1 : 0);
  if (q.batches > 1 && t != 1 && q.k % 64 != 0) return;
  Device<typename Kind::Type> da(up(a.count / q.lead_a, 64) * q.lead_a), db(up(b.count / q.lead_b, 64) * q.lead_b);
  const auto rounded_as_stored = [&](const Device<float>& from, Type* to, u64 lead) {
    return packed(from.p, to, from.count / lead, lead, lead, false, up(from.count / lead, 64), lead, 1);
  };
  pack_with(packer, rounded_as_stored(a, da.p, q.lead_a), rounded_as_stored(b, db.p, q.lead_b));
  for (int i = 0; i < 2; i++) {
    const TensorKernel& kernel = kernels[2 * t + i];
    CHECK(cudaMemset(c.p, 0xff, c.count * 4));
    way.run(q, c.p, kernel, da.p, db.p);
    CHECK(cudaDeviceSynchronize());
    expect((std::string(kernel.name) + " direct").c_str(), q, a.p, b.p, c.p, round, 0x1p-23 * (q.k / 8 + 8));
  }
}

static void check_split(const Problem& q, int kind, Device<float>& a, Device<float>& b, Device<float>& c, bool tell) {
  // Sums that are not kept are meant for short K.
  double bar = 0x1p-21, theirs = -1;
  if (handle && q.k >= 512) {
    cublas_batches = q.batches;
    cublas(q.m, q.k, q.n, q.ta, q.tb, a.p, q.lead_a, b.p, q.lead_b, c.p, q.lead_c, R32F, R32F, C32F);
    cublas_batches = 1;
    CHECK(cudaDeviceSynchronize());
    theirs = error_of(q, a.p, b.p, c.p, 0);
    // Of few elements the greatest error is luck.
    if (q.m * q.n >= 10000) bar = theirs;
  }
  if (tell) printf("kind %d %llux%llux%llu %s%s: SGEMM %.3g", kind, q.m, q.k, q.n, q.ta ? "T" : "N", q.tb ? "T" : "N", theirs);
  Split way(q);
#define DO(NAME)                                                                                       \
  {                                                                                                                     \
    CHECK(cudaMemset(c.p, 0xff, c.count * 4));                                                                          \
    way.run<SplitLaunch>(q, a.p, b.p, c.p, SPLIT_PAIR(NAME));         \
    CHECK(cudaDeviceSynchronize());                                                                                     \
    if (tell) printf("  " #NAME " %.3g", error_of(q, a.p, b.p, c.p, 0));                                   \
    else expect(("split " #NAME " kind " + std::to_string(kind)).c_str(), q, a.p, b.p, c.p, 0, std::string(#NAME) == "32" && q.k >= 512 ? 0x1p-19 : bar); \
  }
  SPLITS(DO)
#undef DO
  if (tell) printf("\n");
}

static void check_one(const Problem& q, int kind) {
  if (too_long(q)) return;
  static u64 seed = 1;
  seed++;
  const u64 rows_a = q.batches * q.rows_a(), rows_b = q.batches * q.rows_b();
  if (wanted('f') || wanted('t')) {
    Device<float> a(rows_a * q.lead_a), b(rows_b * q.lead_b), c(q.batches * q.m * q.lead_c);
    random(a, q.lead_a, q.k, !q.ta, true, seed, kind), random(b, q.lead_b, q.k, q.tb, false, seed + 1000, kind);
    if (wanted('f')) check_split(q, kind, a, b, c, false);
    if (wanted('t')) {
      if (kind != 2 && kind != 3) {
        check_tensor<Half>("half", q, a, b, c, pack_half, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 1, HALVES);
      }
      check_tensor<Bfloat16>("bfloat16", q, a, b, c, pack_bfloat16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, BFLOATS);
      check_tensor<Tf32>("tf32", q, a, b, c, pack_tf32, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, 3, TF32S);
    }
  }
}

// Infinities, NaN, denormals and overflow: the same elements must be of the same class as those of plain
// sums, and the finite ones near them. `add` checks factors too.
__global__ void judge_special(const float* a, const float* b, const float* before, const float* c, Problem q, u64* wrong) {
  const u64 all = q.batches * q.m * q.n;
  for (u64 e = blockIdx.x * (u64)blockDim.x + threadIdx.x; e < all; e += (u64)gridDim.x * blockDim.x) {
    const u64 batch = e / (q.m * q.n), i = e / q.n % q.m, j = e % q.n;
    const u64 rows_a = q.ta ? q.k : q.m, rows_b = q.tb ? q.n : q.k;
    const float* const x = a + batch * rows_a * q.lead_a;
    const float* const y = b + batch * rows_b * q.lead_b;
    float sum = 0;
    double exact = 0, size = 0;
    for (u64 p = 0; p < q.k; p++) {
      const float u = q.ta ? x[p * q.lead_a + i] : x[i * q.lead_a + p];
      const float v = q.tb ? y[j * q.lead_b + p] : y[p * q.lead_b + j];
      sum = fmaf(u, v, sum);
      exact += (double)u * v;
      size += fabs((double)u * v);
    }
    const u64 at = (batch * q.m + i) * q.lead_c + j;
    float want = sum;
    if (q.add) {
      const double kept = (double)BETA * before[at];
      want = fmaf(BETA, before[at], ALPHA * sum), exact = ALPHA * exact + kept, size = fabs(ALPHA) * size + fabs(kept);
    }
    const float got = c[at];
    const bool same = isfinite(want) ? fabs((double)got - exact) <= 0x1p-18 * size + 0x1p-149 * q.k
                                     : (isnan(want) ? isnan(got) : got == want);
    if (!same) {
      atomicAdd(wrong, 1);
      if (atomicAdd(wrong + 1, 1) < 3) printf("  at (%llu %llu %llu): %g for %g (%g)\n", batch, i, j, got, want, exact);
    }
  }
}

static void check_special() {
  const float inf = INFINITY;
  struct { const char* name; float scale_a, scale_b; float values[3]; } cases[] = {
      {"infinity", 1, 1, {inf, -inf, inf}},       {"NaN", 1, 1, {NAN, NAN, NAN}},
      {"denormal", 1, 1, {1e-40f, -3e-39f, 1e-45f}}, {"all denormal", 0x1p-128f, 1e30f, {1e-40f, 0, -0.0f}},
      {"great", 1, 1, {3.4028234e38f, -3.4e38f, 3.39e38f}}, {"overflow", 0x1p66f, 0x1p66f, {0, 1e30f, 1}},
      {"underflow", 0x1p-70f, 0x1p-70f, {0, 1e-30f, 1e-20f}}, {"tiny and great", 0x1p-110f, 0x1p110f, {0, 1e-30f, 1e-20f}}};
  for (auto& one : cases) {
    for (int t = 0; t < 8; t++) {
      Problem q = problem(300, 200, 270, t & 2, t & 1, t == 3 ? 1 : 4, t < 4 ? 1 : 2);
      q.add = t >= 4;
      if (too_long(q)) continue;
      const u64 rows_a = q.batches * q.rows_a(), rows_b = q.batches * q.rows_b();
      Device<float> a(rows_a * q.lead_a), b(rows_b * q.lead_b), c(q.batches * q.m * q.lead_c), before(c.count);
      std::vector<float> ha(a.count), hb(b.count), hc(c.count);
      srand(t + 1);
      auto any = [] { return rand() / (float)RAND_MAX * 2 - 1; };
      for (float& v : ha) v = any() * one.scale_a;
      for (float& v : hb) v = any() * one.scale_b;
      for (float& v : hc) v = any();
      for (int i = 0; i < 3; i++) ha[(u64)rand() % ha.size()] = one.values[i];
      if (t % 2) hb[(u64)rand() % hb.size()] = one.values[t % 3];
      CHECK(cudaMemcpy(a.p, ha.data(), a.count * 4, cudaMemcpyHostToDevice));
      CHECK(cudaMemcpy(b.p, hb.data(), b.count * 4, cudaMemcpyHostToDevice));
      CHECK(cudaMemcpy(before.p, hc.data(), c.count * 4, cudaMemcpyHostToDevice));
      Split way(q);
#define DO(NAME)                                                                                 \
  {                                                                                                               \
    CHECK(cudaMemcpy(c.p, before.p, c.count * 4, cudaMemcpyDeviceToDevice));                                      \
    way.run<SplitLaunch>(q, a.p, b.p, c.p, SPLIT_PAIR(NAME));   \
    CHECK(cudaMemset(verdict->p, 0, 16));                                                                         \
    judge_special<<<processors, 256>>>(a.p, b.p, before.p, c.p, q, verdict->p);                                   \
    u64 wrong;                                                                                                    \
    CHECK(cudaMemcpy(&wrong, verdict->p, 8, cudaMemcpyDeviceToHost));                                             \
    if (wrong) failures++, printf("WRONG split " #NAME " %s, t %d: %llu elements\n", one.name, t, wrong); \
  }
      SPLITS(DO)
#undef DO
    }
    printf("checked %s, %d failures so far\n", one.name, failures);
  }
}

static void check() {
  if (wanted('f')) {
    check_special();
    for (u64 k : {512, 4096}) {
      for (int kind = 0; kind < KINDS; kind++) {
        const Problem q = problem(1024, k, 1024, false, kind % 2);
        if (too_long(q)) continue;
        Device<float> a(q.m * q.k), b(q.k * q.n), c(q.m * q.n);
        random(a, q.lead_a, q.k, !q.ta, true, 77 + kind, kind), random(b, q.lead_b, q.k, q.tb, false, 777 + kind, kind);
        check_split(q, kind, a, b, c, true);
      }
    }
  }
  const u64 shapes[][3] = {{128, 32, 128},   {128, 64, 128},  {256, 256, 256}, {1, 1, 1},       {7, 5, 3},
                           {129, 33, 127},   {128, 512, 256}, {300, 1000, 200}, {511, 77, 513}, {1, 1000, 1},
                           {1000, 3, 1000},  {257, 4096, 65}, {640, 640, 640},  {2049, 100, 31}, {33, 100, 3001},
                           {1536, 1024, 2304}};
  int kind = 0;
  for (const auto& s : shapes) {
    for (int t = 0; t < 4; t++) {
      for (u64 extra : {0, 1, 4}) {
        check_one(problem(s[0], s[1], s[2], t & 2, t & 1, extra), kind++ % KINDS);
      }
    }
    if (s[1] % 16 == 0) {
      for (int t = 0; t < 4; t++) check_one(problem(s[0], s[1], s[2], t & 2, t & 1, t, 5), kind++ % KINDS);
    }
    printf("checked %llu x %llu x %llu, %d failures so far\n", s[0], s[1], s[2], failures);
    fflush(stdout);
    if (failures > 100) break;
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

static void race(const char* title, const Problem& q, double operations, std::vector<Way>& ways) {
  cudaEvent_t before, after;
  CHECK(cudaEventCreate(&before));
  CHECK(cudaEventCreate(&after));
  for (Way& way : ways) {
    way.run();
    CHECK(cudaDeviceSynchronize());
  }
  for (int r = 0; r < runs; r++) {
    for (Way& way : ways) {
      const int repeats = (int)std::max(1.0, std::min(50.0, 2e11 / operations));
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
    printf("%-34s %-26s %9.4f ms %8.1f TFLOP/s  %5.2f of cuBLAS  spread %.2f", title, way.name.c_str(), median,
           operations / median / 1e9, base / median, way.millis.back() / way.millis[0]);
    if (way.error >= 0) printf("  error %.3g", way.error);
    printf("\n");
  }
  fflush(stdout);
  (void)q;
}

static std::string title_of(const char* type, const Problem& q) {
  char text[100];
  snprintf(text, sizeof text, "%s %llux%llux%llu %s%s", type, q.m, q.k, q.n, q.ta ? "T" : "N", q.tb ? "T" : "N");
  return text;
}

static void time_float(const Problem& q) {
  if (!wanted('f')) return;
  const u64 rows_a = q.batches * q.rows_a(), rows_b = q.batches * q.rows_b();
  Device<float> a(rows_a * q.lead_a), b(rows_b * q.lead_b), c(q.batches * q.m * q.lead_c);
  random(a, q.lead_a, q.k, !q.ta, true, 5, 0), random(b, q.lead_b, q.k, q.tb, false, 6, 0);
  Split split(q);
  std::vector<Way> ways;
  if (handle) {
    ways.push_back({"cuBLAS", [&] { cublas(q.m, q.k, q.n, q.ta, q.tb, a.p, q.lead_a, b.p, q.lead_b, c.p, q.lead_c, R32F, R32F, C32F); }, {}, -1});
  }
#define DO(NAME) \
  ways.push_back({"split " #NAME, [&] { split.run<SplitLaunch>(q, a.p, b.p, c.p, SPLIT_PAIR(NAME)); }, {}, -1});
  SPLITS(DO)
#undef DO
  ways.push_back({"(pack B alone)", [&] { split.pack_b(q, a.p, b.p, q.ta && even16(a.p, q.lead_a, 4)); }, {}, -1});
  ways.push_back({"(look for bad tiles alone)", [&] { split.mend(q, a.p, b.p, c.p); }, {}, -1});
  for (Way& way : ways) {
    way.run();
    if (way.name[0] != '(') way.error = error_of(q, a.p, b.p, c.p, 0);
  }
  race(title_of("float", q).c_str(), q, 2.0 * q.batches * q.m * q.k * q.n, ways);
}

// Packed: the product alone; direct: of operands of the kind as they are stored; from float: with packing.
template <typename Kind>
static void time_tensor(const char* name, const Problem& q, Packer packer, CUtensorMapDataType type, int in,
                        int compute, const std::vector<TensorKernel>& kernels) {
  if (!wanted('t')) return;
  using Type = typename Kind::Type;
  const u64 rows_a = q.batches * q.rows_a(), rows_b = q.batches * q.rows_b();
  Device<float> a(rows_a * q.lead_a), b(rows_b * q.lead_b), c(q.batches * q.m * q.lead_c);
  random(a, q.lead_a, q.k, !q.ta, true, 5, 0), random(b, q.lead_b, q.k, q.tb, false, 6, 0);
  Tensor<Kind> way(q, type);
  way.pack_both(q, a.p, b.p, packer);
  // What cuBLAS is given, and `direct`: the same values as stored, in its type. Any bits do for the time.
  Device<Type> ca(rows_a * q.lead_a), cb(rows_b * q.lead_b);
  const bool narrow = sizeof(Type) == 2;
  CHECK(cudaMemcpy(ca.p, narrow ? (const void*)way.a.p : a.p, std::min(ca.count, way.a.count) * sizeof(Type), cudaMemcpyDeviceToDevice));
  CHECK(cudaMemcpy(cb.p, narrow ? (const void*)way.b.p : b.p, std::min(cb.count, way.b.count) * sizeof(Type), cudaMemcpyDeviceToDevice));
  std::vector<Way> ways;
  if (handle) {
    ways.push_back({"cuBLAS", [&, in, compute] { cublas(q.m, q.k, q.n, q.ta, q.tb, ca.p, q.lead_a, cb.p, q.lead_b, c.p, q.lead_c, in, R32F, compute); }, {}, -1});
  }
  for (const TensorKernel& kernel : kernels) {
    if (kernel.a_across || kernel.b_across) continue;
    ways.push_back({"packed " + std::string(kernel.name), [&] { way.run(q, c.p, kernel); }, {}, -1});
  }
  const int t = (q.ta ? 2 : 0) + (q.tb ? 1 : 0);
  if (narrow && q.lead_a % 8 == 0 && q.lead_b % 8 == 0) {
    for (int i = 0; i < 2; i++) {
      const TensorKernel& kernel = kernels[2 * t + i];
      ways.push_back({"direct " + std::string(kernel.name), [&] { way.run(q, c.p, kernel, ca.p, cb.p); }, {}, -1});
    }
  }
  for (int i = 0; i < 2; i++) {
    const TensorKernel& kernel = kernels[i + (narrow ? 2 : 0)];
    ways.push_back({"from float " + std::string(kernel.name), [&] { way.pack_both(q, a.p, b.p, packer), way.run(q, c.p, kernel); }, {}, -1});
  }
  const bool da = !narrow && !q.ta && even16(a.p, q.lead_a, 4), db = !narrow && q.tb && even16(b.p, q.lead_b, 4);
  for (int i = 0; i < 2 && (da || db); i++) {
    const TensorKernel& kernel = kernels[i];
    ways.push_back({"mapped " + std::string(kernel.name), [&] {
                      way.pack_both(q, da ? nullptr : a.p, db ? nullptr : b.p, packer);
                      way.run(q, c.p, kernel, da ? (const Type*)a.p : nullptr, db ? (const Type*)b.p : nullptr);
                    }, {}, -1});
  }
  ways.push_back({"(pack both alone)", [&] { way.pack_both(q, a.p, b.p, packer); }, {}, -1});
  race(title_of(name, q).c_str(), q, 2.0 * q.batches * q.m * q.k * q.n, ways);
}

// ---- packing
// What pack.cuh writes, one place of a row at a time. form: 0 raw, 1 tf32, 2 half, 3 bfloat16, 4 split, 5 split mixed.
__global__ void pack_plainly(const float* from, void* to, PackOperand of, int form) {
  const u64 plane = of.batches * of.padded_extent * of.padded_k;
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < plane; i += (u64)gridDim.x * blockDim.x) {
    const u64 place = i % of.padded_k, x = i / of.padded_k % of.padded_extent, batch = i / of.padded_k / of.padded_extent;
    const u64 s = place / 16 % 2, h = place / 8 % 2, t = place / 2 % 4, e = place % 2;
    const u64 p = form == 5 ? place / 32 * 32 + 8 * t + 4 * s + 2 * h + e : place;
    const float v = x < of.extent && p < of.k ? from[batch * of.from_step + (of.across ? p * of.lead + x : x * of.lead + p)] : 0;
    if (form == 0) ((float*)to)[i] = v;
    if (form == 1) ((float*)to)[i] = isnan(v) ? __uint_as_float(__float_as_uint(v) | 0x400000u) : isinf(v) ? v : (float)rounded(v, 3);
    if (form == 2) ((__half*)to)[i] = __float2half_rn(v);
    if (form == 3) ((__nv_bfloat16*)to)[i] = __float2bfloat16_rn(v);
    if (form >= 4) {
      float left = v != 0 && fabsf(v) < 0x1p-100f ? NAN : v;
      for (int part = 0; part < 3; part++) {
        const __nv_bfloat16 cut = __float2bfloat16_rn(left);
        ((__nv_bfloat16*)to)[part * plane + i] = cut;
        left -= __bfloat162float(cut);
      }
    }
  }
}
__global__ void spoil(float* values, u64 count, u64 seed) {
  const float specials[] = {INFINITY, -INFINITY, NAN, 0, -0.0f, 1e-40f, -0x1p-101f, 0x1p-100f, 3.4e38f, 65520, 0x1p-25f, 1e-45f};
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x) {
    const u64 bits = mixed(i + seed);
    if (bits % 16 == 0) values[i] = specials[bits / 16 % 12];
    if (bits % 16 == 1) values[i] = __uint_as_float((__float_as_uint(values[i]) & 0xffffe000u) | 0x1000u);  // ties of tf32
  }
}

static void check_packs() {
  const u64 shapes[][3] = {{1, 1, 1}, {64, 32, 1}, {63, 31, 2}, {65, 33, 3}, {128, 256, 2}, {300, 100, 1}, {4, 1000, 5}, {1000, 4, 5},
                           {257, 513, 2}, {31, 70, 7}, {512, 1028, 1}};
  const struct { Packer packer; bool second; int width, planes; } forms[] = {
      {pack_split, false, 4, 1}, {pack_tf32, false, 4, 1}, {pack_half, true, 2, 1}, {pack_bfloat16, false, 2, 1},
      {pack_split, true, 2, 3}, {pack_split_mixed, true, 2, 3}};
  u64 wrong = 0, checked = 0;
  for (const auto& shape : shapes) {
    for (int form = 0; form < 6; form++) {
      for (int which = 0; which < 20; which++) {
        const bool across = which % 2;
        const u64 extra = which / 2 % 5, skew = which / 10 * 3, batches = shape[2];
        const u64 lead = (across ? shape[0] : shape[1]) + extra, each = (across ? shape[1] : shape[0]) * lead;
        const u64 padded_extent = up(shape[0], 64), padded_k = up(shape[1], form == 2 || form == 3 ? 64 : 32);
        const u64 bytes = batches * padded_extent * padded_k * forms[form].width * forms[form].planes;
        Device<float> from(batches * each + skew);
        Device<char> got(bytes + 16), want(bytes + 16);
        random(from, from.count, 1, true, false, which + 7, 0);
        spoil<<<64, 256>>>(from.p, from.count, which);
        CHECK(cudaMemset(got.p, 0xa5, bytes + 16));
        CHECK(cudaMemset(want.p, 0xa5, bytes + 16));
        const Packed one = packed(from.p + skew, got.p, shape[0], shape[1], lead, across, padded_extent, padded_k, batches);
        // Beside one whose form it does not share, or alone.
        Device<char> other(bytes + 16);
        Packed two = one;
        two.to = other.p;
        if (which % 3 == 0) two = {};
        forms[form].second ? pack_with(forms[form].packer, two, one) : pack_with(forms[form].packer, one, form == 1 ? two : Packed{});
        pack_plainly<<<processors, 256>>>(from.p + skew, want.p, one.of, form);
        std::vector<char> have(bytes + 16), should(bytes + 16);
        CHECK(cudaMemcpy(have.data(), got.p, bytes + 16, cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(should.data(), want.p, bytes + 16, cudaMemcpyDeviceToHost));
        checked++;
        if (have != should) {
          u64 at = 0;
          while (have[at] == should[at]) at++;
          if (wrong++ < 10) {
            printf("WRONG pack form %d, %llu of %llux%llu lead %llu across %d skew %llu: byte %llu of %llu is %02x, not %02x\n", form, batches,
                   shape[0], shape[1], lead, across, skew, at, bytes, have[at] & 255, should[at] & 255);
          }
        }
      }
    }
  }
  failures += (int)wrong;
  printf("checked %llu packings, %llu wrong\n", checked, wrong);
  fflush(stdout);
}

struct PackWay {
  const char* name;
  Packer packer;
  int planes, width;
  bool of_b;  // as the second operand
};
static const PackWay PACK_WAYS[] = {{"tf32", pack_tf32, 1, 4, false},
                                    {"float16", pack_half, 1, 2, false},
                                    {"raw", pack_split, 1, 4, false},
                                    {"split", pack_split, 3, 2, true},
                                    {"split mixed", pack_split_mixed, 3, 2, true}};

// Median milliseconds of one of `run(slot)`, slots taking turns so that each finds its operands in memory, not in L2.
static double millis_of(int slots, double bytes, const std::function<void(int)>& run) {
  cudaEvent_t before, after;
  CHECK(cudaEventCreate(&before));
  CHECK(cudaEventCreate(&after));
  const int repeats = std::max(slots, (int)(3e9 / bytes));
  std::vector<float> all;
  for (int r = 0; r <= runs; r++) {
    CHECK(cudaEventRecord(before));
    for (int i = 0; i < repeats; i++) run(i % slots);
    CHECK(cudaEventRecord(after));
    CHECK(cudaEventSynchronize(after));
    float millis;
    CHECK(cudaEventElapsedTime(&millis, before, after));
    if (r > 0) all.push_back(millis / repeats);
  }
  CHECK(cudaEventDestroy(before));
  CHECK(cudaEventDestroy(after));
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

static void time_pack(u64 extent, u64 k, u64 batches, u64 extra) {
  for (bool across : {false, true}) {
    const u64 lead = (across ? extent : k) + extra;
    const u64 each = batches * (across ? k : extent) * lead;
    const u64 out = batches * up(extent, 128) * up(k, 64);
    const int slots = (int)tiles(512ull << 20, each * 4);
    Device<float> from(slots * each);
    Device<unsigned short> to(slots * out * 3);
    random(from, lead, lead, true, false, 9, 0);
    for (const PackWay& way : PACK_WAYS) {
      const u64 padded_k = up(k, way.width == 2 && way.planes == 1 ? 64 : 32);
      const double bytes = 4.0 * batches * extent * k + 1.0 * batches * up(extent, 64) * padded_k * way.planes * way.width;
      const double copied = millis_of(slots, bytes, [&](int slot) {
        CHECK(cudaMemcpyAsync(to.p + slot * out * 3, from.p + slot * each, std::min((u64)bytes / 2, each * 4), cudaMemcpyDeviceToDevice));
      }) * std::max(1.0, bytes / 2 / (each * 4));
      const double packed_in = millis_of(slots, bytes, [&](int slot) {
        const Packed one = packed(from.p + slot * each, to.p + slot * out * 3, extent, k, lead, across, up(extent, 64), padded_k, batches);
        way.of_b ? pack_with(way.packer, {}, one) : pack_with(way.packer, one);
      });
      printf("pack %llu of %llux%llu lead %llu %-6s %-12s %8.4f ms %6.0f GB/s %5.2f of a copy\n", batches, extent, k, lead,
             across ? "across" : "along", way.name, packed_in, bytes / packed_in / 1e6, copied / packed_in);
    }
    fflush(stdout);
  }
}

// Boxes of 32 x 256 through the copy engine.
__global__ void copy_boxes(const __grid_constant__ CUtensorMap map, float* to) {
  __shared__ alignas(1024) float box[256 * 32];
  __shared__ u64 full;
  if (threadIdx.x == 0) {
    barrier_init(&full, 1);
    barrier_init_fence();
    barrier_expect(&full, sizeof box);
    copy_box(box, &map, 0, blockIdx.x * 256, &full);
  }
  __syncthreads();
  barrier_wait(&full, 0);
  for (u32 i = threadIdx.x; i < 256 * 32; i += blockDim.x) to[blockIdx.x * 256 * 32 + i] = box[i];
}

// What the copy engine makes of floats in a map of tf32, beside rounding to nearest even.
static void check_rounding() {
  const u32 rows = 1 << 17;
  std::vector<u32> in(rows * 32), out(rows * 32);
  u64 state = 1;
  for (u32 i = 0; i < in.size(); i++) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    in[i] = (u32)(state >> 32);
    if (i % 4 == 1) in[i] = (in[i] & 0xffffe000u) | 0x1000u;                       // ties
    if (i % 4 == 2) in[i] = (in[i] & 0xffffe000u) | (0x1000u + (in[i] % 3) - 1);   // and beside them
    if (i % 4 == 3 && i % 64 < 32) in[i] &= 0x807fffffu;                           // denormal
    if (i % 4 == 3 && i % 64 >= 32) in[i] |= 0x7f800000u;                          // NaN
    if (i % 1024 == 3) in[i] = 0x7f800000u | (in[i] & 0x80000000u);                // infinite
    if (i % 1024 == 7) in[i] = 0x7f7ff000u + in[i] % 0x1000;                       // rounds to infinity
  }
  Device<u32> from(in.size());
  Device<float> to(in.size());
  CHECK(cudaMemcpy(from.p, in.data(), in.size() * 4, cudaMemcpyHostToDevice));
  const CUtensorMap map = map_of(CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, 4, from.p, 32, rows, 32, 32, 256, CU_TENSOR_MAP_SWIZZLE_NONE);
  copy_boxes<<<rows / 256, 128>>>(map, to.p);
  CHECK(cudaMemcpy(out.data(), to.p, out.size() * 4, cudaMemcpyDeviceToHost));
  const char* kinds[] = {"normal", "tie", "beside a tie", "denormal", "NaN", "infinite", "greatest"};
  u64 counts[7][6] = {};
  for (u32 i = 0; i < in.size(); i++) {
    const u32 bits = in[i], size = bits & 0x7fffffffu;
    const int kind = size > 0x7f800000u ? 4 : size == 0x7f800000u ? 5 : size >= 0x7f7ff000u ? 6 : size < 0x800000u ? 3
                     : (bits & 0x1fffu) == 0x1000u ? 1 : i % 4 == 2 ? 2 : 0;
    const u32 even = size >= 0x7f800000u ? bits : (bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u;
    const u32 away = size >= 0x7f800000u ? bits : (bits + 0x1000u) & 0xffffe000u;
    u64* const count = counts[kind];
    count[0]++;
    count[1] += out[i] == even;
    count[2] += out[i] == away;
    count[3] += out[i] == (bits & 0xffffe000u);
    count[4] += out[i] == bits;
    count[5] += (out[i] & 0x1fffu) != 0;
    if (count[0] <= 2 || (out[i] != even && count[0] - count[1] <= 3)) printf("  %s: %08x gives %08x\n", kinds[kind], bits, out[i]);
  }
  for (int kind = 0; kind < 7; kind++) {
    const u64* const count = counts[kind];
    printf("copied as tf32, %-12s %8llu: to even %llu, away %llu, cut off %llu, unchanged %llu; low bits left in %llu\n", kinds[kind],
           count[0], count[1], count[2], count[3], count[4], count[5]);
  }
}

// A batch, so many products at a time, packing and multiplying by turns.
template <typename Kind>
static void time_pieces(const char* name, const Problem& q, Packer packer, CUtensorMapDataType type, const TensorKernel& kernel) {
  Device<float> a(q.batches * q.rows_a() * q.lead_a), b(q.batches * q.rows_b() * q.lead_b), c(q.batches * q.m * q.lead_c);
  random(a, q.lead_a, q.k, !q.ta, true, 5, 0), random(b, q.lead_b, q.k, q.tb, false, 6, 0);
  std::vector<Way> ways;
  Tensor<Kind> tensor(q, type), given(q, type);
  given.pack_both(q, a.p, b.p, packer);
  const auto &ca = given.a, &cb = given.b;  // any bits do for the time
  if (handle) {
    cublas_batches = q.batches;
    const int in = type == CU_TENSOR_MAP_DATA_TYPE_FLOAT16 ? R16F : R32F;
    ways.push_back({"cuBLAS", [&, in] { cublas(q.m, q.k, q.n, q.ta, q.tb, ca.p, q.lead_a, cb.p, q.lead_b, c.p, q.lead_c, in, R32F, in == R16F ? C32F : C32F_TF32); }, {}, -1});
  }
  for (u64 piece : {33, 66, 99, 132, 264, 1024}) {
    ways.push_back({std::to_string(piece) + " at a time", [&, piece] {
                      Problem some = q;
                      for (u64 first = 0; first < q.batches; first += piece) {
                        some.batches = std::min(piece, q.batches - first);
                        tensor.pack_both(some, a.p + first * q.rows_a() * q.lead_a, b.p + first * q.rows_b() * q.lead_b, packer);
                        tensor.run(some, c.p + first * q.m * q.lead_c, kernel);
                      }
                    }, {}, -1});
  }
  race(title_of(name, q).c_str(), q, 2.0 * q.batches * q.m * q.k * q.n, ways);
  cublas_batches = 1;
}
static void time_pieces_of_float(const Problem& q) {
  Device<float> a(q.batches * q.rows_a() * q.lead_a), b(q.batches * q.rows_b() * q.lead_b), c(q.batches * q.m * q.lead_c);
  random(a, q.lead_a, q.k, !q.ta, true, 5, 0), random(b, q.lead_b, q.k, q.tb, false, 6, 0);
  std::vector<Way> ways;
  if (handle) {
    cublas_batches = q.batches;
    ways.push_back({"cuBLAS", [&] { cublas(q.m, q.k, q.n, q.ta, q.tb, a.p, q.lead_a, b.p, q.lead_b, c.p, q.lead_c, R32F, R32F, C32F); }, {}, -1});
  }
  Split split(q);
  for (u64 piece : {33, 66, 99, 132, 264, 1024}) {
    ways.push_back({std::to_string(piece) + " at a time", [&, piece] {
                      Problem some = q;
                      for (u64 first = 0; first < q.batches; first += piece) {
                        some.batches = std::min(piece, q.batches - first);
                        split.resize(some);
                        split.run<SplitLaunch>(some, a.p + first * q.rows_a() * q.lead_a, b.p + first * q.rows_b() * q.lead_b,
                                               c.p + first * q.m * q.lead_c, SPLIT_PAIR(32_kept));
                      }
                    }, {}, -1});
  }
  race(title_of("float", q).c_str(), q, 2.0 * q.batches * q.m * q.k * q.n, ways);
  cublas_batches = 1;
}

// ---- conversion on the way
struct FusedKernel {
  const char* name;
  u32 cols, shared;
  bool a_across, b_across;
  void (*kernel)(FusedArguments);
  u32 warpgroups;
};
#define FUSED_KERNELS(NAME, KIND, A, B, COLS, STAGES, SLOTS, WARPGROUPS) \
  {#NAME, COLS, FusedShape<KIND, COLS, STAGES, SLOTS, A, B, WARPGROUPS>::SHARED_BYTES, A, B, NAME, WARPGROUPS},
static const std::vector<FusedKernel> FUSED_WAYS = {FUSED(FUSED_KERNELS)};
static std::vector<FusedKernel> fused_of(const char* type, const Problem& q) {
  std::vector<FusedKernel> some;
  for (const FusedKernel& one : FUSED_WAYS) {
    if (strstr(one.name, (std::string("fused_") + type + "_").c_str()) && one.a_across == q.ta && one.b_across == !q.tb) some.push_back(one);
  }
  return some;
}
// All matrices of a batch, boxes of 32 x 32, or, with `high`, two of high x 32 at once where columns are whole boxes.
static CUtensorMap fused_map(bool tf32, const float* base, u64 cols, u64 rows, u64 lead, u64 batches, u32 high, u64& blocks) {
  CUtensorMap map;
  blocks = high != 0 && cols % 32 == 0;
  cuuint64_t extents[] = {blocks ? 32 : cols, rows, blocks ? cols / 32 : 1, batches};
  cuuint64_t strides[] = {lead * 4, blocks ? 128 : lead * 4, rows * lead * 4};
  cuuint32_t box[] = {32, high == 0 ? 32 : high, blocks ? 2u : 1u, 1};
  cuuint32_t steps[] = {1, 1, 1, 1};
  CUresult status = encode(&map, tf32 ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, const_cast<float*>(base),
                           extents, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                           high != 0 ? CU_TENSOR_MAP_L2_PROMOTION_L2_128B : CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS) {
    printf("cuTensorMapEncodeTiled says %d for %llu of %llu x %llu, lead %llu\n", status, batches, rows, cols, lead);
    exit(2);
  }
  return map;
}
static void run_fused(const Problem& q, const float* a, const float* b, float* c, const FusedKernel& kernel) {
  const bool tf32 = strstr(kernel.name, "tf32") != nullptr;
  FusedArguments s;
  const bool at_once = !tf32 && kernel.warpgroups > 1;
  s.a = fused_map(tf32, a, q.ta ? q.m : q.k, q.rows_a(), q.lead_a, q.batches, at_once ? 32 : 0, s.a_blocks);
  s.b = fused_map(tf32, b, q.tb ? q.k : q.n, q.rows_b(), q.lead_b, q.batches, at_once ? 64 : 0, s.b_blocks);
  s.c = c;
  s.m = q.m, s.n = q.n, s.lead_c = q.lead_c;
  s.panels = tiles(q.k, tf32 ? 32 : 64);
  s.row_tiles = tiles(q.m, 128), s.col_tiles = tiles(q.n, kernel.cols), s.factors = factors(q);
  s.batches = q.batches, s.a_step = 1, s.b_step = 1, s.c_step = q.m * q.lead_c, s.k_step = 0;
  const u64 all = s.batches * s.row_tiles * s.col_tiles;
  const u64 rounds = tiles(all, grid_of(all, 1, 3 - kernel.warpgroups));
  kernel.kernel<<<tiles(all, rounds), 128 * (1 + kernel.warpgroups), kernel.shared>>>(s);
  CHECK(cudaGetLastError());
}

__global__ void sprinkle(float* values, u64 count, u64 seed) {
  const float specials[] = {INFINITY, -INFINITY, NAN, 0, -0.0f, 1e-40f, -0x1p-101f, 0x1p-100f, 3.4e38f, 65520, 0x1p-25f, 1e-45f};
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x) {
    const u64 bits = mixed(i + seed);
    if (bits % 4096 == 0) values[i] = specials[bits / 4096 % 12];
    if (bits % 16 == 1) values[i] = __uint_as_float((__float_as_uint(values[i]) & 0xffffe000u) | 0x1000u);  // ties
  }
}
__global__ void set_rows(float* c, u64 rows, u64 cols, u64 lead) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < rows * cols; i += (u64)gridDim.x * blockDim.x) c[i / cols * lead + i % cols] = 0.75f;
}
// Elements that differ in bits; of NaN any is as good.
__global__ void differ(const float* got, const float* want, u64 count, u64* wrong) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x) {
    const float x = got[i], y = want[i];
    const bool untouched = __float_as_uint(y) == ~0u;  // what lies between the rows of C
    const bool same = !untouched && isnan(y) ? isnan(x) && __float_as_uint(x) != ~0u : __float_as_uint(x) == __float_as_uint(y);
    if (!same && atomicAdd(wrong, 1) == 0) wrong[1] = i;
  }
}

template <typename Kind>
static void check_fused(const char* type, const Problem& q, Packer packer, CUtensorMapDataType map, const TensorKernel& packed_kernel, const TensorKernel& small_kernel, int round, bool special) {
  if (too_long(q)) return;
  static u64 seed = 100;
  seed++;
  Device<float> a(q.batches * q.rows_a() * q.lead_a), b(q.batches * q.rows_b() * q.lead_b), c(q.batches * q.m * q.lead_c), want(c.count);
  random(a, q.lead_a, q.k, !q.ta, true, seed, 0), random(b, q.lead_b, q.k, q.tb, false, seed + 1000, 0);
  if (special) {
    sprinkle<<<64, 256>>>(a.p, a.count, seed);
    sprinkle<<<64, 256>>>(b.p, b.count, seed + 7);
  }
  Tensor<Kind> way(q, map);
  const auto clear = [&](Device<float>& to) {
    CHECK(cudaMemset(to.p, 0xff, to.count * 4));
    if (q.add) set_rows<<<64, 256>>>(to.p, q.batches * q.m, q.n, q.lead_c);
  };
  clear(want);
  way.pack_both(q, a.p, b.p, packer);
  way.run(q, want.p, packed_kernel);
  CHECK(cudaDeviceSynchronize());
  if (!special && !q.add) expect(packed_kernel.name, q, a.p, b.p, want.p, round, 0x1p-23 * (q.k / 8 + 8));
  // Packed for tiles of 128 x 64 too.
  std::vector<FusedKernel> all = fused_of(type, q);
  all.push_back({"packed 64", 64, 0, false, false, nullptr, 0});
  if (sizeof(typename Kind::Type) == 4) all.push_back({"packed 256x128", 128, 1, false, false, nullptr, 0});
  for (const FusedKernel& kernel : all) {
    clear(c);
    if (kernel.kernel) {
      run_fused(q, a.p, b.p, c.p, kernel);
    } else {
      way.pack_both(q, a.p, b.p, packer);
      way.run(q, c.p, kernel.shared ? HIGH : small_kernel);
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemset(verdict->p, 0, 16));
    differ<<<processors, 256>>>(c.p, want.p, c.count, verdict->p);
    u64 wrong[2];
    CHECK(cudaMemcpy(wrong, verdict->p, 16, cudaMemcpyDeviceToHost));
    if (wrong[0]) {
      failures++;
      if (failures < 40) {
        float x, y;
        CHECK(cudaMemcpy(&x, c.p + wrong[1], 4, cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(&y, want.p + wrong[1], 4, cudaMemcpyDeviceToHost));
        printf("WRONG %s %llu of %llux%llux%llu %s%s leads %llu %llu %llu add %d special %d: %llu elements, at %llu (%llu, %llu) %g for %g\n", kernel.name,
               q.batches, q.m, q.k, q.n, q.ta ? "T" : "N", q.tb ? "T" : "N", q.lead_a, q.lead_b, q.lead_c, q.add, special, wrong[0], wrong[1],
               wrong[1] / q.lead_c, wrong[1] % q.lead_c, x, y);
      }
    }
  }
}
static void check_fused_all() {
  const u64 shapes[][4] = {{128, 64, 128, 1}, {128, 256, 256, 1}, {256, 256, 256, 300}, {300, 100, 200, 1}, {300, 1000, 200, 3}, {4, 4, 4, 3}, {513, 77, 511, 2},
                           {640, 640, 640, 1}, {1000, 40, 1000, 1}, {2052, 100, 36, 2}, {36, 100, 3004, 1}, {1024, 1024, 1024, 1}, {1536, 1024, 2304, 1}, {257, 4096, 65, 1}};
  u64 checked = 0;
  for (const auto& s : shapes) {
    for (int t = 0; t < 4; t++) {
      Problem q = problem(s[0], s[1], s[2], t & 2, t & 1, 0, s[3]);
      const u64 extra = s[0] == s[1] ? 0 : 4;
      q.lead_a = up(q.lead_a, 4) + extra, q.lead_b = up(q.lead_b, 4) + extra;
      q.lead_c += t;
      for (bool add : {false, true}) {
        for (bool special : {false, true}) {
          q.add = add;
          check_fused<Half>("half", q, pack_half, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, HALVES[3], SMALL[0], 1, special);
          check_fused<Bfloat16>("bfloat16", q, pack_bfloat16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, BFLOATS[3], SMALL[1], 2, special);
          check_fused<Tf32>("tf32", q, pack_tf32, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, TF32S[1], SMALL[2], 3, special);
          checked++;
        }
      }
    }
    if (failures > 60) break;
  }
  printf("checked %llu problems of each kind, %d failures\n", checked, failures);
  fflush(stdout);
}

template <typename Kind>
static void time_fused(const char* type, const Problem& q, Packer packer, CUtensorMapDataType map, int ready, int fast, const std::vector<TensorKernel>& kernels, const TensorKernel& small) {
  Device<float> a(q.batches * q.rows_a() * q.lead_a), b(q.batches * q.rows_b() * q.lead_b), c(q.batches * q.m * q.lead_c);
  random(a, q.lead_a, q.k, !q.ta, true, 5, 0), random(b, q.lead_b, q.k, q.tb, false, 6, 0);
  Tensor<Kind> way(q, map);
  way.pack_both(q, a.p, b.p, packer);
  const bool narrow = sizeof(typename Kind::Type) == 2;
  std::vector<Way> ways;
  cublas_batches = q.batches;
  if (handle) {
    ways.push_back({"cuBLAS from float", [&, fast] { cublas(q.m, q.k, q.n, q.ta, q.tb, a.p, q.lead_a, b.p, q.lead_b, c.p, q.lead_c, R32F, R32F, fast); }, {}, -1});
    // Of batches K along or across is as long; any bits do for the time.
    if (narrow) ways.push_back({"cuBLAS of ready", [&, ready] { cublas(q.m, q.k, q.n, q.ta, q.tb, way.a.p, q.lead_a, way.b.p, q.lead_b, c.p, q.lead_c, ready, R32F, C32F); }, {}, -1});
  }
  const bool even = q.lead_a % 4 == 0 && q.lead_b % 4 == 0;
  const bool da = even && !narrow && !q.ta, db = even && !narrow && q.tb;
  const int first = narrow ? 2 : 0;  // of those that take both along
  std::vector<const TensorKernel*> packing = {&kernels[first], &kernels[first + 1], &small};
  if (!narrow) packing.push_back(&HIGH);
  for (const TensorKernel* kernel : packing) {
    ways.push_back({"packed " + std::string(kernel->name), [&, da, db, kernel] {
                      if (!da || !db) way.pack_both(q, da ? nullptr : a.p, db ? nullptr : b.p, packer);
                      way.run(q, c.p, *kernel, da ? (const typename Kind::Type*)a.p : nullptr, db ? (const typename Kind::Type*)b.p : nullptr);
                    }, {}, -1});
  }
  const std::vector<FusedKernel> fused = even ? fused_of(type, q) : std::vector<FusedKernel>();
  for (const FusedKernel& kernel : fused) ways.push_back({kernel.name, [&] { run_fused(q, a.p, b.p, c.p, kernel); }, {}, -1});
  char title[100];
  snprintf(title, sizeof title, "%s %llu of %llux%llux%llu %s%s", type, q.batches, q.m, q.k, q.n, q.ta ? "T" : "N", q.tb ? "T" : "N");
  race(title, q, 2.0 * q.batches * q.m * q.k * q.n, ways);
  cublas_batches = 1;
}
static void fused() {
  for (const FusedKernel& kernel : FUSED_WAYS) allow(kernel.kernel, kernel.shared);
  check_fused_all();
  if (getenv("LAB_MOST") != nullptr) return;
  const u64 shapes[][2] = {{256, 1024}, {1024, 1}, {2048, 1}, {4096, 1}, {8192, 1}, {512, 1}, {512, 128}, {1024, 32}, {128, 4096}};
  for (const auto& s : shapes) {
    for (int t = 0; t < 4; t++) {
      const Problem q = problem(s[0], s[0], s[0], t & 2, t & 1, 0, s[1]);
      time_fused<Half>("half", q, pack_half, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, R16F, C32F_16F, HALVES, SMALL[0]);
      time_fused<Tf32>("tf32", q, pack_tf32, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, R32F, C32F_TF32, TF32S, SMALL[2]);
    }
  }
  for (int t = 0; t < 4; t++) {
    time_fused<Tf32>("tf32", problem(4095, 4099, 4097, false, t & 1), pack_tf32, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, R32F, C32F_TF32, TF32S, SMALL[2]);
  }
}

int main(int count, char** words) {
  const std::string verb = count > 1 ? words[1] : "check";
  if (count > 2 && verb != "check") runs = atoi(words[2]);
  if (count > 2 && verb == "check") what = words[2];
  if (count > 3) what = words[3];
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  processors = properties.multiProcessorCount;
  cudaDriverEntryPointQueryResult found;
  CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void**)&encode, 12000, cudaEnableDefault, &found));
  load_cublas();
  Device<u64> place(2);
  verdict = &place;
  printf("%s, %d multiprocessors\n", properties.name, processors);
  if (verb == "check") {
    check_packs();
    check();
    printf(failures ? "%d FAILED\n" : "all right\n", failures);
    return failures ? 1 : 0;
  }
  if (verb == "fused") {
    fused();
    printf(failures ? "%d FAILED\n" : "all right\n", failures);
    return failures ? 1 : 0;
  }
  if (verb == "pack") {
    check_rounding();
    time_pack(8192, 8192, 1, 0);
    time_pack(4096, 4096, 1, 0);
    time_pack(4095, 4099, 1, 0);
    time_pack(1024, 1024, 1, 0);
    time_pack(256, 256, 1024, 0);
    time_pieces<Half>("half", problem(256, 256, 256, false, false, 0, 1024), pack_half, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, HALVES[2]);
    time_pieces_of_float(problem(256, 256, 256, false, false, 0, 1024));
    return 0;
  }
  auto half = [](const Problem& q) { time_tensor<Half>("half", q, pack_half, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, R16F, C32F, HALVES); };
  auto bfloat16 = [](const Problem& q) { time_tensor<Bfloat16>("bfloat16", q, pack_bfloat16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, R16BF, C32F, BFLOATS); };
  auto tf32 = [](const Problem& q) { time_tensor<Tf32>("tf32", q, pack_tf32, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, R32F, C32F_TF32, TF32S); };
  const u64 cubes[] = {1024, 4096, 8192};
  for (u64 x : cubes) {
    for (int t = 0; t < 4; t++) {
      if (t != 0 && x == 1024) continue;
      time_float(problem(x, x, x, t & 2, t & 1));
    }
    for (int t = 0; t < 4; t++) {
      if (t != 1 && x == 1024) continue;
      half(problem(x, x, x, t & 2, t & 1));
      if (t < 2) bfloat16(problem(x, x, x, t & 2, t & 1));
      if (t < 2) tf32(problem(x, x, x, t & 2, t & 1));
    }
  }
  for (int t = 0; t < 4; t++) {
    const Problem q = problem(4095, 4099, 4097, t & 2, t & 1);
    time_float(q);
    if (t != 0) continue;
    half(q);
    tf32(q);
  }
  for (int t = 0; t < 4; t++) time_float(problem(16384, 16384, 128, t & 2, t & 1));
  cublas_batches = 1024;
  time_float(problem(256, 256, 256, false, false, 0, 1024));
  half(problem(256, 256, 256, false, false, 0, 1024));
  return 0;
}
