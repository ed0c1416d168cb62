// What becomes of each element by itself, several steps in one pass:
//
//   out[i, j, k] = finish(step_n(... step_1(in[i, j, k])))
//
// A step subtracts x[i] + y[j] + z[k], multiplies by x[i] * y[j] * z[k], makes zero where
// x[i] + y[j] + z[k] > limit, or multiplies by a constant; x, y and z are vectors in device memory,
// in double precision, as is all that is computed. The end keeps what it is, takes re re + im im or
// re of a complex number, or makes a complex number of a real one.
//
// Threads to elements: a thread takes COLS neighbouring elements of a row and then those a grid
// further on; neighbouring threads take neighbouring elements.
//
// Bytes: each element is read once and written once; vectors stay in the caches.
//
// Shared memory: none.
//
// Source: nothing borrowed.

#include "index.cuh"

namespace tilespark {

enum StepKind : u64 { SUBTRACT = 0, SCALE = 1, KEEP_UP_TO = 2, FACTOR = 3 };

// One step. Fields in the order of PointwiseProgram.words.
struct PointwiseStep {
  u64 kind;
  u64 re[3];  // where the vectors of the axes begin, in doubles
  u64 im[3];  // those for the imaginary parts; SUBTRACT of complex numbers alone
  double constant;
};

constexpr int MAX_STEPS = 16;  // PointwiseProgram.MOST_STEPS

struct PointwiseArguments {
  const void* in;
  const double* vectors;
  void* out;
  u64 rows;      // along the second axis
  u64 cols;      // along the last axis
  u64 elements;  // of the array
  u64 steps;
  u64 power;  // complex to real: 1 for the square of the absolute value, 0 for the real part
  PointwiseStep step[MAX_STEPS];
};

template <typename T, int N>
struct alignas(sizeof(T) * N) Values {
  T value[N];
};

template <typename T, bool COMPLEX_IN, bool COMPLEX_OUT, int COLS, int THREADS>
__device__ __forceinline__ void pointwise(const PointwiseArguments& arguments) {
  constexpr int PARTS_IN = COMPLEX_IN ? 2 : 1;
  constexpr int PARTS_OUT = COMPLEX_OUT ? 2 : 1;
  using In = Values<T, COLS * PARTS_IN>;
  using Out = Values<T, COLS * PARTS_OUT>;
  const double* const __restrict__ vectors = arguments.vectors;
  const u64 grid = static_cast<u64>(gridDim.x) * THREADS * COLS;

  for (u64 first = (static_cast<u64>(blockIdx.x) * THREADS + threadIdx.x) * COLS;
       first < arguments.elements; first += grid) {
    // load; in may be out
    const T* const source = static_cast<const T*>(arguments.in) + first * PARTS_IN;
    const In in = *reinterpret_cast<const In*>(source);
    double re[COLS];
    double im[COLS];
#pragma unroll
    for (int n = 0; n < COLS; n++) {
      re[n] = static_cast<double>(in.value[n * PARTS_IN]);
      im[n] = COMPLEX_IN ? static_cast<double>(in.value[n * PARTS_IN + PARTS_IN - 1]) : 0.0;
    }

    // locate
    u64 k = first;
    u64 j = divide(k, arguments.cols);
    const u64 i = j >= arguments.rows ? divide(j, arguments.rows) : 0;

    // compute
    for (u64 s = 0; s < arguments.steps; s++) {
      const PointwiseStep& step = arguments.step[s];
      if (step.kind == FACTOR) {
#pragma unroll
        for (int n = 0; n < COLS; n++) {
          re[n] *= step.constant;
          im[n] *= step.constant;
        }
        continue;
      }
      const double x = vectors[step.re[0] + i];
      const double y = vectors[step.re[1] + j];
      const double* const z = vectors + step.re[2] + k;
      if (step.kind == SCALE) {
        const double row = x * y;
#pragma unroll
        for (int n = 0; n < COLS; n++) {
          const double factor = row * z[n];
          re[n] *= factor;
          im[n] *= factor;
        }
      } else if (step.kind == KEEP_UP_TO) {
        const double row = x + y;
#pragma unroll
        for (int n = 0; n < COLS; n++) {
          if (row + z[n] > step.constant) {
            re[n] = 0.0;
            im[n] = 0.0;
          }
        }
      } else {
        const double row = x + y;
#pragma unroll
        for (int n = 0; n < COLS; n++) {
          re[n] -= row + z[n];
        }
        if constexpr (COMPLEX_IN) {
          const double other = vectors[step.im[0] + i] + vectors[step.im[1] + j];
          const double* const w = vectors + step.im[2] + k;
#pragma unroll
          for (int n = 0; n < COLS; n++) {
            im[n] -= other + w[n];
          }
        }
      }
    }

    // store
    Out out;
#pragma unroll
    for (int n = 0; n < COLS; n++) {
      if constexpr (COMPLEX_IN && !COMPLEX_OUT) {
        if (arguments.power) {
          re[n] = re[n] * re[n] + im[n] * im[n];
        }
      }
      out.value[n * PARTS_OUT] = static_cast<T>(re[n]);
      if constexpr (COMPLEX_OUT) {
        out.value[n * PARTS_OUT + 1] = static_cast<T>(im[n]);
      }
    }
    T* const target = static_cast<T*>(arguments.out) + first * PARTS_OUT;
    *reinterpret_cast<Out*>(target) = out;
  }
}

}  // namespace tilespark

// fourier_pointwise_<from>_<to>_w<width of a part>_1x<elements of a thread>x<threads>
// Six thread blocks fit a multiprocessor; for eight, the compiler would spill.
#define POINTWISE(NAME, T, IN, OUT, BYTES, COLS, THREADS)                                \
  extern "C" __global__ void __launch_bounds__(THREADS, 6)                               \
      fourier_pointwise_##NAME##_w##BYTES##_1x##COLS##x##THREADS(                        \
          const __grid_constant__ tilespark::PointwiseArguments arguments) {             \
    tilespark::pointwise<T, IN, OUT, COLS, THREADS>(arguments);                          \
  }

POINTWISE(complex_complex, float, true, true, 4, 2, 256)
POINTWISE(complex_complex, float, true, true, 4, 1, 256)
POINTWISE(complex_complex, double, true, true, 8, 1, 256)
POINTWISE(real_real, float, false, false, 4, 4, 256)
POINTWISE(real_real, float, false, false, 4, 1, 256)
POINTWISE(real_real, double, false, false, 8, 2, 256)
POINTWISE(real_real, double, false, false, 8, 1, 256)
POINTWISE(complex_real, float, true, false, 4, 2, 256)
POINTWISE(complex_real, float, true, false, 4, 1, 256)
POINTWISE(complex_real, double, true, false, 8, 1, 256)
POINTWISE(real_complex, float, false, true, 4, 2, 256)
POINTWISE(real_complex, float, false, true, 4, 1, 256)
POINTWISE(real_complex, double, false, true, 8, 1, 256)
