// An interpreter of elementwise programs, to be measured beside kernels that are written for one program; nobody else
// runs it:
//
//   out[i] = code(in[i])
//
// Threads to elements: a thread takes LANES neighbouring elements (16 bytes) and then those a grid further on. All
// threads run the same instruction at the same time, so that the switch does not diverge.
//
// Bytes: each element is read once and written once; the code lies in the arguments.
//
// Shared memory: a slot of LANES numbers for each value that is alive, in each thread.
//
// Source: nothing borrowed.

#include "index.cuh"

namespace tilespark {

// InterpreterRung.Operation
enum Operation : u32 { LOAD, CONSTANT, ADD, SUBTRACT, MULTIPLY, DIVIDE, MINIMUM, MAXIMUM };

constexpr int MAX_CODE = 32;  // InterpreterRung.MOST_CODE
constexpr int SLOTS = 4;      // InterpreterRung.SLOTS

struct InterpreterArguments {
  const void* in;
  void* out;
  u64 elements;
  u64 count;           // of instructions; the last one's result is stored
  u64 code[MAX_CODE];  // operation, result, left and right, a byte each; of CONSTANT the left is its number
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
