// An interpreter of elementwise programs. Benchmarks compare it with kernels that are compiled for one program; nothing
// else runs it:
//
//   out[i] = code(in[i])
//
// Threads to elements: a thread takes LANES neighbouring elements (16 bytes), then strides by the grid. All threads
// execute the same instruction at the same time, so the switch does not diverge.
//
// Bytes: each element is read once and written once; the code is part of the kernel arguments.
//
// Shared memory: each thread has SLOTS slots of LANES numbers; a slot holds one live value.
//
// Source: nothing borrowed.

#include "index.cuh"

namespace tilespark {

// In the order of InterpreterRung.Operation (Java), which has fewer operations.
enum Operation : u32 { LOAD, CONSTANT, ADD, SUBTRACT, MULTIPLY, DIVIDE, MINIMUM, MAXIMUM };

constexpr int MAX_CODE = 32;  // InterpreterRung.MOST_CODE in Java
constexpr int SLOTS = 4;      // InterpreterRung.SLOTS in Java

struct InterpreterArguments {
  const void* in;
  void* out;
  u64 elements;
  u64 count;           // count of instructions; the output is the result of the last one
  u64 code[MAX_CODE];  // a byte each: operation, slots of result, left, right; CONSTANT: left is the constant's index
  double constants[SLOTS];
};

template <typename T, int N>
struct alignas(sizeof(T) * N) Lanes {
  T value[N];
};

template <typename T>
__device__ __forceinline__ T compute(u32 operation, T x, T y) {
  switch (operation) {
    case ADD:
      return x + y;
    case SUBTRACT:
      return x - y;
    case MULTIPLY:
      return x * y;
    case DIVIDE:
      return x / y;
    case MINIMUM:
      return x < y ? x : y;
    default:
      return x > y ? x : y;
  }
}

template <typename T, int LANES, int THREADS>
__device__ __forceinline__ void interpret(const InterpreterArguments& arguments) {
  using Group = Lanes<T, LANES>;
  __shared__ Group slots[SLOTS][THREADS];
  const u64 grid = static_cast<u64>(gridDim.x) * THREADS * LANES;
  const int me = static_cast<int>(threadIdx.x);

  for (u64 first = (static_cast<u64>(blockIdx.x) * THREADS + threadIdx.x) * LANES;
       first < arguments.elements; first += grid) {
    const T* const from = static_cast<const T*>(arguments.in) + first;
    T* const to = static_cast<T*>(arguments.out) + first;
    const bool whole = first + LANES <= arguments.elements;
    u32 result = 0;
    for (u64 i = 0; i < arguments.count; i++) {
      const u32 word = static_cast<u32>(arguments.code[i]);
      const u32 operation = word & 0xff;
      result = (word >> 8) & 0xff;
      const u32 left = (word >> 16) & 0xff;
      const u32 right = word >> 24;
      Group group;
      if (operation == LOAD) {
        if (whole) {
          group = *reinterpret_cast<const Group*>(from);
        } else {
#pragma unroll
          for (int n = 0; n < LANES; n++) {
            group.value[n] = first + n < arguments.elements ? from[n] : T(0);
          }
        }
      } else if (operation == CONSTANT) {
#pragma unroll
        for (int n = 0; n < LANES; n++) {
          group.value[n] = static_cast<T>(arguments.constants[left]);
        }
      } else {
        const Group x = slots[left][me];
        const Group y = slots[right][me];
#pragma unroll
        for (int n = 0; n < LANES; n++) {
          group.value[n] = compute(operation, x.value[n], y.value[n]);
        }
      }
      slots[result][me] = group;
    }
    const Group group = slots[result][me];
    if (whole) {
      *reinterpret_cast<Group*>(to) = group;
    } else {
#pragma unroll
      for (int n = 0; n < LANES; n++) {
        if (first + n < arguments.elements) {
          to[n] = group.value[n];
        }
      }
    }
  }
}

}  // namespace tilespark

#define INTERPRETER(T, BYTES, LANES, THREADS)                                          \
  extern "C" __global__ void __launch_bounds__(THREADS)                                \
      interpreter_w##BYTES##_1x##LANES##x##THREADS(                                    \
          const __grid_constant__ tilespark::InterpreterArguments arguments) {         \
    tilespark::interpret<T, LANES, THREADS>(arguments);                                \
  }

INTERPRETER(float, 4, 4, 256)
INTERPRETER(double, 8, 2, 256)
