// Times the variants of one kernel that dev/benchmarks/grid compiled, and checks some of each one's elements:
//
//   grid DIR KERNEL SECONDS PATTERN     KERNEL: tiled, mma or tensor
//
// Exits with 1 if a variant's product is wrong, or a launch fails.
//
// Architectures: sm_90a
// Program
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "mma.cuh"
#include "tensor.cuh"
// One Factors for both headers.
namespace tilespark_tiled {
using tilespark::Factors;
}
// Both have a TilePlace.
#define tilespark tilespark_tiled
#include "tiled.cuh"
#undef tilespark
using namespace tilespark;
using Arguments = tilespark_tiled::MultiplyArguments<float>;
constexpr Factors<float> OVERWRITE = {1, 0};

#define CHECK(call)                                                                     \
  do {                                                                                  \
    cudaError_t status = (call);                                                        \
    if (status != cudaSuccess) {                                                        \
      printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status)); \
      exit(1);                                                                          \
    }                                                                                   \
  } while (0)
#define DRIVER(call)                                                          \
  do {                                                                        \
    CUresult status = (call);                                                 \
    if (status != CUDA_SUCCESS) {                                             \
      printf("%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, (int)status); \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

static decltype(&cuModuleLoad) module_load;
static decltype(&cuModuleUnload) module_unload;
static decltype(&cuModuleGetFunction) module_function;
static decltype(&cuFuncSetAttribute) set_attribute;
static decltype(&cuOccupancyMaxActiveBlocksPerMultiprocessor) occupancy;
static decltype(&cuLaunchKernel) launch_kernel;
static decltype(&cuTensorMapEncodeTiled) encode;

template <typename Function>
static void find(const char* name, Function& function) {
  cudaDriverEntryPointQueryResult found;
  CHECK(cudaGetDriverEntryPointByVersion(name, (void**)&function, 12000, cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess) {
    printf("the driver has no %s\n", name);
    exit(1);
  }
}

// A line of variants.txt.
struct Variant {
  std::string name, kernel, kind;
  u64 rows, cols, steps;
  u32 threads, shared;
  int registers;
  bool shipped() const {
    return name == "tiled_128x128x16_8x8" || name == "tiled_64x64x16_8x4" || name == "tiled_32x32x16_4x4" ||
           name == "mma_half_128x128x64_64x32_panel" || name == "mma_half_64x64x64_32x32_panel" ||
           name == "mma_tf32_128x128x32_64x32_panel" || name == "mma_tf32_64x64x32_32x32_panel" || kernel == "tensor";
  }
};

static std::vector<Variant> variants(const std::string& dir, const std::string& kernel, const std::string& pattern) {
  std::vector<Variant> all;
  std::ifstream in(dir + "/variants.txt");
  const std::regex wanted(pattern);
  for (std::string line; std::getline(in, line);) {
    Variant v;
    std::string blocks, registers, spilt, status;
    std::istringstream words(line);
    words >> v.name >> v.kernel >> v.kind >> v.rows >> v.cols >> v.steps >> v.threads >> v.shared >> blocks >> registers >>
        spilt >> status;
    if (status != "ok" || v.kernel != kernel) continue;
    v.registers = atoi(registers.c_str());
    // What ships comes first: others are told beside it.
    if (v.shipped() || std::regex_search(v.name, wanted)) all.insert(v.shipped() ? all.begin() : all.end(), v);
  }
  return all;
}

static u64 up(u64 x, u64 to) { return (x + to - 1) / to * to; }
static u64 tiles(u64 x, u64 of) { return (x + of - 1) / of; }
static int processors;

struct Problem {
  u64 m, k, n;
  bool ta, tb;
};

__device__ __forceinline__ float any(u64 x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return static_cast<float>(static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-52 - 1);
}
// (rows, lead), zero from row `extent` and column `k` on. half: values of 16 bits; tf32: cut to it.
__global__ void fill(void* to, u64 rows, u64 lead, u64 extent, u64 k, u64 seed, bool half, bool tf32) {
  for (u64 i = blockIdx.x * u64{256} + threadIdx.x; i < rows * lead; i += gridDim.x * u64{256}) {
    const float value = i / lead < extent && i % lead < k ? any(i + (seed << 40)) : 0;
    if (half) {
      static_cast<__half*>(to)[i] = __float2half_rn(value);
    } else {
      static_cast<float*>(to)[i] = tf32 ? __uint_as_float(__float_as_uint(value) & 0xffffe000u) : value;
    }
  }
}
// The greatest |c - c*| / (|a||b|) of 4096 elements, as the bits of a float.
__global__ void judge(const void* a, const void* b, const float* c, Problem q, u64 lead_a, u64 lead_b, bool half, u32* worst) {
  const u64 number = blockIdx.x * u64{256} + threadIdx.x;
  const u64 i = number * 2654435761u % q.m;
  const u64 j = number * 40503u / 7 % q.n;
  const auto get = [&](const void* from, u64 at) {
    return half ? static_cast<double>(__half2float(static_cast<const __half*>(from)[at])) : static_cast<double>(static_cast<const float*>(from)[at]);
  };
  double sum = 0;
  double size = 0;
  for (u64 p = 0; p < q.k; p++) {
    const double product = get(a, q.ta ? p * lead_a + i : i * lead_a + p) * get(b, q.tb ? j * lead_b + p : p * lead_b + j);
    sum += product;
    size += fabs(product);
  }
  const double error = fabs(c[i * q.n + j] - sum) / size;
  atomicMax(worst, __float_as_uint(error == error ? static_cast<float>(error) : INFINITY));
}

static CUtensorMap map_of(bool half, void* base, u64 cols, u64 rows, u32 box_rows) {
  CUtensorMap map;
  const u64 width = half ? 2 : 4;
  cuuint64_t extents[] = {cols, rows};
  cuuint64_t strides[] = {cols * width};
  cuuint32_t box[] = {static_cast<u32>(128 / width), box_rows};
  cuuint32_t steps[] = {1, 1};
  DRIVER(encode(&map, half ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, base, extents, strides, box,
                steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  return map;
}

// Operands of one problem: as stored for tiled, else packed as pack.cuh does.
struct Operands {
  Problem q;
  bool packed, half;
  u64 rows_a, rows_b, lead_a, lead_b;
  void* a;
  void* b;
  float* c;
  u32* worst;
  Operands(const Problem& q, const std::string& kernel, const std::string& kind)
      : q(q), packed(kernel != "tiled"), half(kind == "half") {
    const u64 panel = half ? 64 : 32;
    rows_a = packed ? up(q.m, 64) : q.ta ? q.k : q.m;
    rows_b = packed ? up(q.n, 64) : q.tb ? q.n : q.k;
    lead_a = packed ? up(q.k, panel) : q.ta ? q.m : q.k;
    lead_b = packed ? up(q.k, panel) : q.tb ? q.k : q.n;
    const u64 width = half ? 2 : 4;
    CHECK(cudaMalloc(&a, rows_a * lead_a * width));
    CHECK(cudaMalloc(&b, rows_b * lead_b * width));
    CHECK(cudaMalloc(&c, q.m * q.n * 4));
    CHECK(cudaMalloc(&worst, 4));
    fill<<<1024, 256>>>(a, rows_a, lead_a, packed ? q.m : rows_a, packed ? q.k : lead_a, 1, half, packed);
    fill<<<1024, 256>>>(b, rows_b, lead_b, packed ? q.n : rows_b, packed ? q.k : lead_b, 2, half, packed);
    CHECK(cudaDeviceSynchronize());
  }
  ~Operands() {
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
    cudaFree(worst);
  }
  Operands(const Operands&) = delete;
  float error() {
    Problem judged = q;
    if (packed) judged.ta = false, judged.tb = true;
    CHECK(cudaMemset(worst, 0, 4));
    judge<<<16, 256>>>(a, b, c, judged, lead_a, lead_b, half, worst);
    float found;
    CHECK(cudaMemcpy(&found, worst, 4, cudaMemcpyDeviceToHost));
    return found;
  }
};

static void launch(CUfunction function, u64 blocks, const Variant& v, void* arguments) {
  void* all[] = {arguments};
  DRIVER(launch_kernel(function, static_cast<u32>(blocks), 1, 1, v.threads, 1, 1, v.shared, nullptr, all, nullptr));
}

static void run(CUfunction function, const Variant& v, Operands& o, int fit) {
  const Problem& q = o.q;
  const u64 row_tiles = tiles(q.m, v.rows), col_tiles = tiles(q.n, v.cols);
  const u64 resident = std::min<u64>(row_tiles * col_tiles, static_cast<u64>(processors) * fit);
  if (v.kernel == "tiled") {
    const u64 chunk = up(static_cast<u64>(std::ceil(std::sqrt(static_cast<double>(q.k)))), v.steps);
    const float* const a = static_cast<const float*>(o.a);
    const float* const b = static_cast<const float*>(o.b);
    Arguments s{a, b, o.c, q.m, q.k, q.n, o.lead_a, o.lead_b, q.n, q.ta, q.tb, OVERWRITE, chunk, row_tiles, col_tiles, 1, 0, 0, 0, q.k};
    launch(function, row_tiles * col_tiles, v, &s);
    return;
  }
  const u64 panels = o.lead_a * (o.half ? 2 : 4) / 128;
  if (v.kernel == "mma") {
    MmaArguments s{o.a, o.b, o.c, q.m, q.n, q.n, o.rows_a, o.rows_b, panels, panels, row_tiles, col_tiles, OVERWRITE, 1, 0, 0, 0, 0};
    launch(function, resident, v, &s);
    return;
  }
  TensorArguments s{};
  s.a = map_of(o.half, o.a, o.lead_a, o.rows_a, static_cast<u32>(v.rows));
  s.b = map_of(o.half, o.b, o.lead_b, o.rows_b, static_cast<u32>(v.cols));
  s.c = o.c, s.m = q.m, s.n = q.n, s.lead_c = q.n, s.panels = panels, s.row_tiles = row_tiles, s.col_tiles = col_tiles;
  s.factors = OVERWRITE, s.batches = 1;
  launch(function, resident, v, &s);
}

struct Result {
  Variant v;
  double millis;
};

int main(int count, char** words) {
  if (count != 5) {
    printf("usage: grid DIR KERNEL SECONDS PATTERN\n");
    return 2;
  }
  const std::string dir = words[1], kernel = words[2];
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(atol(words[3]));
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  CHECK(cudaFree(nullptr));
  processors = properties.multiProcessorCount;
  find("cuModuleLoad", module_load);
  find("cuModuleUnload", module_unload);
  find("cuModuleGetFunction", module_function);
  find("cuFuncSetAttribute", set_attribute);
  find("cuOccupancyMaxActiveBlocksPerMultiprocessor", occupancy);
  find("cuLaunchKernel", launch_kernel);
  find("cuTensorMapEncodeTiled", encode);
  cudaEvent_t before, after;
  CHECK(cudaEventCreate(&before));
  CHECK(cudaEventCreate(&after));
  const std::vector<Variant> all = variants(dir, kernel, words[4]);
  std::vector<Problem> problems = {{4096, 4096, 4096, false, false}, {1024, 1024, 1024, false, false}, {4095, 4099, 4097, false, false}};
  problems.insert(problems.begin() + 1, kernel == "tiled" ? Problem{4096, 4096, 4096, true, true} : Problem{8192, 8192, 8192, false, false});
  printf("%s, %s: %zu variants\n", properties.name, kernel.c_str(), all.size());
  bool wrong = false;
  for (const Problem& q : problems) {
    for (const std::string kind : {"float", "half", "tf32"}) {
      std::vector<Variant> mine;
      std::copy_if(all.begin(), all.end(), std::back_inserter(mine), [&](const Variant& v) { return v.kind == kind; });
      if (mine.empty()) continue;
      Operands operands(q, kernel, kind);
      const double operations = 2.0 * q.m * q.k * q.n;
      double shipped = 0;
      std::vector<Result> results;
      size_t done = 0;
      for (const Variant& v : mine) {
        if (std::chrono::steady_clock::now() > until) break;
        CUmodule module;
        CUfunction function;
        int fit = 0;
        DRIVER(module_load(&module, (dir + "/" + v.name + ".fatbin").c_str()));
        DRIVER(module_function(&function, module, "variant"));
        DRIVER(set_attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(v.shared)));
        DRIVER(occupancy(&fit, function, static_cast<int>(v.threads), v.shared));
        done++;
        if (fit == 0) {
          printf("%-44s does not fit a multiprocessor\n", v.name.c_str());
          DRIVER(module_unload(module));
          continue;
        }
        CHECK(cudaMemset(operands.c, 0xff, q.m * q.n * 4));
        run(function, v, operands, fit);
        CHECK(cudaDeviceSynchronize());
        const float error = operands.error();
        std::vector<float> millis;
        const int repeats = static_cast<int>(std::max(1.0, std::min(20.0, 2e10 / operations)));
        for (int r = 0; r < 5; r++) {
          CHECK(cudaEventRecord(before));
          for (int i = 0; i < repeats; i++) run(function, v, operands, fit);
          CHECK(cudaEventRecord(after));
          CHECK(cudaEventSynchronize(after));
          float one;
          CHECK(cudaEventElapsedTime(&one, before, after));
          millis.push_back(one / repeats);
        }
        DRIVER(module_unload(module));
        std::sort(millis.begin(), millis.end());
        const double median = millis[2];
        if (v.shipped() && (shipped == 0 || median < shipped)) shipped = median;
        // Chains in tensor cores are cut off at every product.
        const bool bad = !(error <= (kernel == "tiled" ? 0x1p-20 : 0x1p-23 * (8 + q.k / 8.0)));
        wrong = wrong || bad;
        printf("%s %llux%llux%llu %s%s  %-44s %9.4f ms %7.1f TFLOP/s  %5.2f of shipped  spread %.2f  error %.2g%s  %d registers, %d blocks%s\n",
               kind.c_str(), q.m, q.k, q.n, q.ta ? "T" : "N", q.tb ? "T" : "N", v.name.c_str(), median, operations / median / 1e9,
               shipped > 0 ? shipped / median : 0, millis.back() / millis[0], error, bad ? " WRONG" : "", v.registers, fit,
               v.shipped() ? ", ships" : "");
        fflush(stdout);
        if (!bad) results.push_back({v, median});
      }
      std::stable_sort(results.begin(), results.end(), [](const Result& x, const Result& y) { return x.millis < y.millis; });
      printf("fastest:");
      for (size_t i = 0; i < results.size() && i < 5; i++) {
        printf(" %s %.2f%s", results[i].v.name.c_str(), shipped / results[i].millis, i + 1 < results.size() && i < 4 ? "," : "");
      }
      printf("\n");
      if (done < mine.size()) printf("the time is over: %zu variants were not timed\n", mine.size() - done);
    }
  }
  return wrong ? 1 : 0;
}
