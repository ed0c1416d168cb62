// Functions: device functions as PTX, which PtxLibrary reads; no kernels
//
// Operations of elementwise programs that take more than one instruction: UnaryFunction and BinaryFunction call them as
// tilespark_NAME_TYPE. The double functions are CUDA's own. The float functions are CUDA's own if these are within 2
// ulp, else they are computed in double precision.
//
// Source: quotient and remainder are defined as numpy's floor_divide and remainder.

#include <math_constants.h>

namespace {

template <typename T>
__device__ __forceinline__ T sign(T x) {
  return x > T(0) ? T(1) : x < T(0) ? T(-1) : x == T(0) ? T(0) : x;
}

// 1 / (1 + e^-x), without overflow for large |x|.
__device__ __forceinline__ double sigmoid(double x) {
  const double e = exp(-fabs(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

template <typename T>
__device__ __forceinline__ T floor_divide_integers(T x, T y) {
  if (y == 0) return 0;
  if (y == -1) return static_cast<T>(0 - static_cast<unsigned long long>(x));
  const T quotient = x / y;
  return quotient - (quotient * y != x && (x < 0) != (y < 0));
}

template <typename T>
__device__ __forceinline__ T remainder_integers(T x, T y) {
  if (y == 0 || y == -1) return 0;
  const T rest = x % y;
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

template <typename T>
__device__ __forceinline__ T floor_divide_floats(T x, T y) {
  if (y == T(0)) return x / y;
  const T rest = fmod(x, y);
  T quotient = (x - rest) / y;
  if (rest != T(0) && (y < T(0)) != (rest < T(0))) quotient -= T(1);
  if (quotient == T(0)) return copysign(T(0), x / y);
  const T whole = floor(quotient);
  return quotient - whole > T(0.5) ? whole + T(1) : whole;
}

template <typename T>
__device__ __forceinline__ T remainder_floats(T x, T y) {
  const T rest = fmod(x, y);
  if (y == T(0)) return rest;
  if (rest == T(0)) return copysign(T(0), y);
  return (y < T(0)) != (rest < T(0)) ? rest + y : rest;
}

// a * b + c, rounded twice as the host does: nvcc would fuse the two.
__device__ __forceinline__ double step(double a, double b, double c) { return __dadd_rn(__dmul_rn(a, b), c); }

template <int N>
__device__ __forceinline__ double polynomial(const double (&coefficients)[N], double x) {
  double sum = coefficients[0];
#pragma unroll
  for (int i = 1; i < N; i++) sum = step(sum, x, coefficients[i]);
  return sum;
}

// The natural logarithm of a normal positive number, with the bits of RandomNumbers.log.
__device__ __forceinline__ double exact_log(double x) {
  const long long bits = __double_as_longlong(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double fraction = __longlong_as_double((bits & 0xFFFFFFFFFFFFFLL) | 0x3FF0000000000000LL);
  if (fraction > 1.4142135623730951) {
    fraction *= 0.5;
    exponent++;
  }
  const double s = __ddiv_rn(fraction - 1.0, fraction + 1.0);
  const double square = __dmul_rn(s, s);
  double sum = 0.0;
#pragma unroll
  for (int k = 12; k >= 0; k--) sum = step(sum, square, 1.0 / (2 * k + 1));
  return __dadd_rn(__dmul_rn(exponent, 0.6931471805599453), __dmul_rn(2.0 * s, sum));
}

// The quantile of the standard normal distribution, with the bits of RandomNumbers.quantile: Wichura, AS 241 (1988), PPND16.
__device__ double normal_quantile(double p) {
  const double center[] = {
      2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
      13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608};
  const double center_divisor[] = {
      5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
      5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1};
  const double tail[] = {
      7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258,
      3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734};
  const double tail_divisor[] = {
      1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459,
      0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1};
  const double far_tail[] = {
      2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386, 0.026532189526576123093,
      0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772};
  const double far_tail_divisor[] = {
      2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4,
      0.0148753612908506148525, 0.13692988092273580531, 0.59983220655588793769, 1};
  const double q = p - 0.5;
  if (fabs(q) <= 0.425) {
    const double x = __dsub_rn(0.180625, __dmul_rn(q, q));
    return __dmul_rn(q, __ddiv_rn(polynomial(center, x), polynomial(center_divisor, x)));
  }
  const double share = q < 0.0 ? p : 1.0 - p;
  if (!(share > 0.0)) return share == 0.0 ? copysign(CUDART_INF, q) : CUDART_NAN;
  const double r = __dsqrt_rn(-exact_log(share));
  const double size = r <= 5.0 ? __ddiv_rn(polynomial(tail, r - 1.6), polynomial(tail_divisor, r - 1.6))
                               : __ddiv_rn(polynomial(far_tail, r - 5.0), polynomial(far_tail_divisor, r - 5.0));
  return q < 0.0 ? -size : size;
}

}  // namespace

#define FUNCTION(NAME, SUFFIX, T, EXPRESSION) \
  extern "C" __device__ T tilespark_##NAME##_##SUFFIX(T x) { return EXPRESSION; }
#define FUNCTION2(NAME, SUFFIX, T, EXPRESSION) \
  extern "C" __device__ T tilespark_##NAME##_##SUFFIX(T x, T y) { return EXPRESSION; }

// Defines NAME for double, and for float as the double result, rounded to float.
#define IN_DOUBLE(NAME, EXPRESSION)                                        \
  FUNCTION(NAME, f64, double, EXPRESSION)                                  \
  extern "C" __device__ float tilespark_##NAME##_f32(float value) {        \
    const double x = value;                                                \
    return static_cast<float>(EXPRESSION);                                 \
  }
#define IN_DOUBLE2(NAME, EXPRESSION)                                       \
  FUNCTION2(NAME, f64, double, EXPRESSION)                                 \
  extern "C" __device__ float tilespark_##NAME##_f32(float one, float two) { \
    const double x = one;                                                  \
    const double y = two;                                                  \
    return static_cast<float>(EXPRESSION);                                 \
  }

// Defines NAME as CUDA's function for float and for double.
#define FLOATS(NAME)                          \
  FUNCTION(NAME, f32, float, NAME##f(x))      \
  FUNCTION(NAME, f64, double, NAME(x))

FLOATS(exp)
FLOATS(expm1)
FLOATS(log)
FLOATS(log1p)
FLOATS(sin)
FLOATS(cos)
FLOATS(tanh)
IN_DOUBLE(tan, tan(x))
IN_DOUBLE(sigmoid, sigmoid(x))
IN_DOUBLE(normal_quantile, normal_quantile(x))
IN_DOUBLE2(pow, pow(x, y))
IN_DOUBLE2(atan2, atan2(x, y))
IN_DOUBLE2(hypot, hypot(x, y))

FUNCTION(sign, s32, int, sign(x))
FUNCTION(sign, s64, long long, sign(x))
FUNCTION(sign, f32, float, sign(x))
FUNCTION(sign, f64, double, sign(x))
FUNCTION2(floor_divide, s32, int, floor_divide_integers(x, y))
FUNCTION2(floor_divide, s64, long long, floor_divide_integers(x, y))
FUNCTION2(floor_divide, f32, float, floor_divide_floats(x, y))
FUNCTION2(floor_divide, f64, double, floor_divide_floats(x, y))
FUNCTION2(remainder, s32, int, remainder_integers(x, y))
FUNCTION2(remainder, s64, long long, remainder_integers(x, y))
FUNCTION2(remainder, f32, float, remainder_floats(x, y))
FUNCTION2(remainder, f64, double, remainder_floats(x, y))
