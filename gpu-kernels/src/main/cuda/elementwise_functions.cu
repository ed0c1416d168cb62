// Functions: device functions as PTX, which PtxLibrary reads; no kernels
//
// Operations of elementwise programs that take more than one instruction: UnaryFunction and BinaryFunction call them as
// tilespark_NAME_TYPE. The double functions are CUDA's own. The float functions are CUDA's own if these are within 2
// ulp, else they are computed in double precision.
//
// Source: quotient and remainder are defined as numpy's floor_divide and remainder.

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
