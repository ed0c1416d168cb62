// The factors alpha and beta of a product:
//
//   c = alpha * product + beta * c
//
// Every kernel rounds alpha times a sum of products once, and the sum of both terms once, so that kernels with equal
// sums produce equal C. With beta = 0, C is not read: its old contents are overwritten, whatever they are.
#pragma once

namespace tilespark {

// Each factor takes a 64-bit word, as the host writes structs (MultiplyProblem.Factors).
template <typename T>
struct Factors {
  alignas(8) T alpha;
  alignas(8) T beta;

  // True if C is just the sums: alpha = 1 and beta = 0.
  __device__ __forceinline__ bool are_plain() const { return alpha == 1 && beta == 0; }

  __device__ __forceinline__ bool reads_c() const { return beta != 0; }

  // An element of C from its sum and its old value `before`, which is used only if beta is not 0.
  __device__ __forceinline__ T combine(T sum, T before) const {
    const T product = alpha * sum;
    return reads_c() ? fma(beta, before, product) : product;
  }

  __device__ __forceinline__ void store(T* to, T sum) const { *to = combine(sum, reads_c() ? *to : T(0)); }
};
static_assert(sizeof(Factors<float>) == 16 && sizeof(Factors<double>) == 16, "two words");

// Stores two neighbouring sums. `plain` is factors.are_plain(), which the caller evaluates once. Plain sums are stored
// directly, because changing the tensor cores' accumulators would cost the kernels registers. (Separate code for plain
// and other factors took 2 % longer.)
__device__ __forceinline__ void store_pair(const Factors<float>& factors, bool plain, float2* to, float2 sums) {
  if (!plain) {
    const float2 before = factors.reads_c() ? *to : make_float2(0, 0);
    sums = make_float2(factors.combine(sums.x, before.x), factors.combine(sums.y, before.y));
  }
  *to = sums;
}

__device__ __forceinline__ void store_quad(const Factors<float>& factors, bool plain, float4* to, float4 sums) {
  if (!plain) {
    const float4 before = factors.reads_c() ? *to : make_float4(0, 0, 0, 0);
    sums = make_float4(factors.combine(sums.x, before.x), factors.combine(sums.y, before.y),
                       factors.combine(sums.z, before.z), factors.combine(sums.w, before.w));
  }
  *to = sums;
}

// PLAIN: alpha = 1 and beta = 0 are known at compile time.
template <bool PLAIN>
__device__ __forceinline__ double2 combined(const Factors<double>& factors, double2 sums, double2 before) {
  return PLAIN ? sums : make_double2(factors.combine(sums.x, before.x), factors.combine(sums.y, before.y));
}

}  // namespace tilespark
