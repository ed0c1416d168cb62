// Permutation of axes, some of them short, through boxes staged in shared memory:
//
//   out[sum of d[k] * out_stride[k]] = in[sum of d[k] * in_stride[k]]
//
// A box spans enough of the innermost axes of both sides that both its input and its output consist of long runs, even
// if the innermost axes have only a few elements. Input runs are copied to shared memory unchanged; output runs are
// gathered there:
//
//   input runs of (y, z)          shared memory               output runs of x
//   x0 |z z z|z z z|z z z|        one row for each x          z0, y0 |x x x|
//   x1 |z z z|z z z|z z z|   ->   at its own skew        ->   z0, y1 |x x x|
//   x2 |z z z|z z z|z z z|                                    ...
//
// Threads to elements: one thread block per box, or several boxes in turn. A group of 2^lanes_bits neighbouring threads
// moves a run, neighbouring threads neighbouring words. A word is 4 bytes, or one element if that is wider. Words are
// aligned on both sides: an input run has the same offset to a word in shared memory as in global memory, and partial
// words at the ends of an output run are stored element by element.
//
// Bytes: each element is read once and written once; 2 * elements * width. Up to three bytes before and after a run are
// read, never past a multiple of four bytes: buffers begin and end at multiples of four.
//
// Shared memory, dynamic, in this order: the box (stage_bytes); the places of input runs and of output runs (16 bytes
// each); the offsets in the box of the elements of an output run (2 bytes each, a table for each offset that an output
// run can have to a word). The planner chooses the box's strides in shared memory: congruent to those of the input
// modulo a word, and odd in words, so that a gather along one of them meets different banks.
//
// Source: the packed kernels of A.-P. Hynninen and D. Lyakh, "cuTT: A High-Performance Tensor Transpose Library for
// CUDA Compatible GPUs" (2017), section 3, have boxes over the innermost axes of both sides; tables, words and skews
// are ours.

#include "index.cuh"

namespace tilespark {

// Maximum count of axes that number the runs of a side, or the elements of a run.
constexpr int MAX_BOX_AXES = 4;

// One axis of a box, in the input or the output.
struct BoxAxis {
  u64 extent;         // extent in the box; the upper half holds ceil(2^32 / extent)
  u64 stride;         // bytes between neighbours in global memory
  u64 shared_stride;  // bytes between neighbours in shared memory
  u64 cut;            // 1 or 2: the box spans a part of this axis, cut[0] or cut[1]; 0: all of it
};

// An axis of which a box spans only a part.
struct BoxCut {
  u64 boxes;       // ceil(extent / box_extent)
  u64 extent;      // extent of the whole axis
  u64 box_extent;
  u64 in_stride;   // bytes between boxes
  u64 out_stride;
};

// Fields in the order of PackedBox.words.
struct PackedArguments {
  const void* in;
  void* out;
  u64 boxes;           // boxes of both cuts and all outer axes
  u64 stage_bytes;
  u64 in_runs;         // input runs of a box
  u64 in_run;          // elements of a whole input run
  u64 in_run_cut;      // 1 or 2: cut[0] or cut[1] shortens the input runs of edge boxes; 0: none
  u64 in_lanes_bits;
  u64 out_runs;
  u64 out_run;
  u64 out_run_cut;
  u64 out_lanes_bits;
  BoxAxis in_axes[MAX_BOX_AXES];       // axes that number the input runs, the fastest first
  BoxAxis out_axes[MAX_BOX_AXES];      // axes that number the output runs
  BoxAxis element_axes[MAX_BOX_AXES];  // axes inside an output run
  BoxCut cut[2];                       // neighbouring boxes differ in cut[1]
  Axis outer[MAX_OUTER];
};

// The place of a run.
struct __align__(16) Run {
  u64 address;           // multiple of SECTOR at or before the run's first byte
  u32 shared;            // offset in shared memory that corresponds to `address`
  unsigned short begin;  // bytes from `address` to the run's first byte
  unsigned short end;    // bytes from `address` to the run's end; 0 for a run past the edge
};

// Groups access memory from multiples of SECTOR bytes on; else each access of a warp would touch one more sector.
constexpr u32 SECTOR = 32;

template <int BYTES, int THREADS>
struct Packed {
  using T = typename Element<BYTES>::type;
  using Word = typename Element<(BYTES < 4 ? 4 : BYTES)>::type;
  static constexpr u32 WORD = sizeof(Word);
  static constexpr u32 U = WORD / BYTES;  // elements in a word

  // Offsets in shared memory of a word's elements.
  struct __align__(2 * U) Places {
    unsigned short at[U];
  };

  // Extents of the two cut axes in this box.
  struct Left {
    u32 cut[2];
  };

  // Offsets of a run or element from the first one.
  struct Step {
    u64 address;
    u32 shared;
    bool inside;
  };

  static __device__ __forceinline__ Step locate_step(const BoxAxis (&axes)[MAX_BOX_AXES], u32 index,
                                                     Left left) {
    Step to = {0, 0, true};
#pragma unroll
    for (int k = 0; k < MAX_BOX_AXES; k++) {
      const u64 extent = axes[k].extent;
      const u32 next = __umulhi(index, static_cast<u32>(extent >> 32));
      const u32 step = index - next * static_cast<u32>(extent);
      index = next;
      to.address += step * axes[k].stride;
      to.shared += step * static_cast<u32>(axes[k].shared_stride);
      if ((axes[k].cut == 1 && step >= left.cut[0]) || (axes[k].cut == 2 && step >= left.cut[1])) {
        to.inside = false;
      }
    }
    return to;
  }

  static __device__ __forceinline__ Run locate_run(const BoxAxis (&axes)[MAX_BOX_AXES], u32 index,
                                                   Left left, u64 address, u32 shared, u32 length) {
    const Step to = locate_step(axes, index, left);
    address += to.address;
    const u32 begin = static_cast<u32>(address) % SECTOR;
    return {address - begin, shared + to.shared + SECTOR - begin,
            static_cast<unsigned short>(begin),
            static_cast<unsigned short>(to.inside ? begin + length * BYTES : 0)};
  }

  // Elements inside the array, of a run of `whole` elements.
  static __device__ __forceinline__ u32 shorten(u64 whole, u64 by, const BoxCut (&cut)[2], Left left) {
    const u32 length = static_cast<u32>(whole);
    return by == 0   ? length
           : by == 1 ? length / static_cast<u32>(cut[0].box_extent) * left.cut[0]
                     : length / static_cast<u32>(cut[1].box_extent) * left.cut[1];
  }

  static __device__ __forceinline__ u32 inside(const BoxCut& cut, u64 box) {
    const u64 left = cut.extent - box * cut.box_extent;
    return static_cast<u32>(left < cut.box_extent ? left : cut.box_extent);
  }

  // Moves an aligned word from global to shared memory; from sm_80 on, asynchronously and not through a register.
  static __device__ __forceinline__ void stage_word(char* to, u64 from) {
#if __CUDA_ARCH__ >= 800
    const u32 shared = static_cast<u32>(__cvta_generic_to_shared(to));
    if constexpr (WORD == 16) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from) : "memory");
    } else {
      asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(WORD)
                   : "memory");
    }
#else
    *reinterpret_cast<Word*>(to) = *reinterpret_cast<const Word*>(from);
#endif
  }

  static __device__ __forceinline__ void wait_staged() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
    __syncthreads();
  }

  static __device__ __forceinline__ void run(const PackedArguments& arguments) {
    extern __shared__ __align__(16) char stage[];
    const u32 in_runs = static_cast<u32>(arguments.in_runs);
    const u32 out_runs = static_cast<u32>(arguments.out_runs);
    const u32 out_run = static_cast<u32>(arguments.out_run);
    const u32 words = (out_run + U - 1 + U - 1) / U;  // words that an output run touches at most
    Run* const sources = reinterpret_cast<Run*>(stage + arguments.stage_bytes);
    Run* const targets = sources + in_runs;
    Places* const places = reinterpret_cast<Places*>(targets + out_runs);  // (U, words)

    for (u64 box = blockIdx.x; box < arguments.boxes; box += gridDim.x) {
      // locate
      u64 second = box;
      u64 first = divide(second, arguments.cut[1].boxes);
      const u64 step = divide(first, arguments.cut[0].boxes);
      const Offsets at = locate_outer(arguments.outer, step);
      const u64 in = reinterpret_cast<u64>(arguments.in) + at.in * BYTES +
                     first * arguments.cut[0].in_stride + second * arguments.cut[1].in_stride;
      const u64 out = reinterpret_cast<u64>(arguments.out) + at.out * BYTES +
                      first * arguments.cut[0].out_stride + second * arguments.cut[1].out_stride;
      const u32 skew = static_cast<u32>(in) % WORD;
      const Left left = {{inside(arguments.cut[0], first), inside(arguments.cut[1], second)}};
      const u32 in_length = shorten(arguments.in_run, arguments.in_run_cut, arguments.cut, left);
      const u32 out_length = shorten(arguments.out_run, arguments.out_run_cut, arguments.cut, left);
      for (u32 r = threadIdx.x; r < in_runs; r += THREADS) {
        sources[r] = locate_run(arguments.in_axes, r, left, in, skew, in_length);
      }
      for (u32 r = threadIdx.x; r < out_runs; r += THREADS) {
        targets[r] = locate_run(arguments.out_axes, r, left, out, skew, out_length);
        // For output runs, `shared` is the place of the run's first element in the box.
        targets[r].shared += targets[r].begin;
      }
      for (u32 e = threadIdx.x; e < out_run; e += THREADS) {
        const u32 place = locate_step(arguments.element_axes, e, left).shared;
#pragma unroll
        for (u32 lead = 0; lead < U; lead++) {
          places[lead * words + (e + lead) / U].at[(e + lead) % U] =
              static_cast<unsigned short>(place);
        }
      }
      __syncthreads();

      // load
      {
        const u32 bits = static_cast<u32>(arguments.in_lanes_bits);
        const u32 lane = threadIdx.x & ((1u << bits) - 1);
        for (u32 r = threadIdx.x >> bits; r < in_runs; r += THREADS >> bits) {
          const Run run = sources[r];
#pragma unroll 4
          for (u32 b = lane * WORD; b < run.end; b += WORD << bits) {
            if (b + WORD > run.begin) {
              stage_word(stage + run.shared + b, run.address + b);
            }
          }
        }
      }

      // synchronise
      wait_staged();

      // store
      {
        const u32 bits = static_cast<u32>(arguments.out_lanes_bits);
        const u32 lane = threadIdx.x & ((1u << bits) - 1);
        for (u32 r = threadIdx.x >> bits; r < out_runs; r += THREADS >> bits) {
          const Run run = targets[r];
          store_run(run, stage + run.shared, places, words, lane, bits);
        }
      }

      // The next box overwrites shared memory. All threads take the same branch.
      if (box + gridDim.x < arguments.boxes) {
        __syncthreads();
      }
    }
  }

  // Gathers an output run; its first element is at `from` in shared memory.
  static __device__ __forceinline__ void store_run(const Run& run, const char* from,
                                                   const Places* places, u32 words, u32 lane,
                                                   u32 bits) {
    const u32 lead = run.begin % WORD / BYTES;  // elements of the first word before the run
    const u32 first = lead * words - run.begin / WORD;  // modulo 2^32, like first + q below
#pragma unroll 4
    for (u32 q = lane; q * WORD < run.end; q += 1u << bits) {
      const u32 b = q * WORD;
      if (b + WORD <= run.begin) {
        continue;
      }
      const Places place = places[first + q];
      char* const to = reinterpret_cast<char*>(run.address + b);
      if constexpr (U == 1) {
        *reinterpret_cast<Word*>(to) = *reinterpret_cast<const Word*>(from + place.at[0]);
      } else if (b >= run.begin && b + WORD <= run.end) {
        u32 word = 0;
#pragma unroll
        for (u32 k = 0; k < U; k++) {
          word |= static_cast<u32>(*reinterpret_cast<const T*>(from + place.at[k]))
                  << (k * BYTES * 8);
        }
        *reinterpret_cast<u32*>(to) = word;
      } else {
#pragma unroll
        for (u32 k = 0; k < U; k++) {
          if (b + k * BYTES >= run.begin && b + k * BYTES < run.end) {
            *reinterpret_cast<T*>(to + k * BYTES) =
                *reinterpret_cast<const T*>(from + place.at[k]);
          }
        }
      }
    }
  }
};

}  // namespace tilespark

// permute_packed_w<width>_<threads>
#define PERMUTE_PACKED(BYTES, THREADS)                                     \
  extern "C" __global__ void __launch_bounds__(THREADS)                    \
      permute_packed_w##BYTES##_##THREADS(                                 \
          const __grid_constant__ tilespark::PackedArguments arguments) {  \
    tilespark::Packed<BYTES, THREADS>::run(arguments);                     \
  }

PERMUTE_PACKED(1, 256)
PERMUTE_PACKED(2, 256)
PERMUTE_PACKED(4, 256)
PERMUTE_PACKED(8, 256)
PERMUTE_PACKED(16, 256)
