// Copy of contiguous runs in another order, for runs that begin at any address:
//
//   out[offset_out(o) + r] = in[offset_in(o) + r]    0 <= r < run
//
// where o runs over up to four outer axes with separate strides for input and output, in elements.
//
// Threads to elements: a group of 2^lanes_bits neighbouring threads moves one segment of a run. Each thread moves ITEMS
// vectors of 16 bytes, aligned in the output; neighbouring threads move neighbouring vectors. A thread reads the two
// aligned input vectors that hold the bytes of an output vector and shifts them into place. Partial vectors at the ends
// of a run are stored element by element. Up to 15 bytes before and after a run are read, but none outside the buffer,
// which begins and ends at multiples of 16 bytes.
//
// Bytes: each element is written once and read once or twice, the second time from the L1 cache.
//
// Shared memory: none.
//
// Source: ours.

#include "index.cuh"

namespace tilespark {

// Fields in the order of TransposeStrategy.ShiftedCopy.launch.
struct ShiftedCopyArguments {
  const void* in;
  void* out;
  u64 segments;          // segments_per_run * product of outer extents
  u64 segments_per_run;  // a segment is ITEMS << lanes_bits vectors
  u64 run;
  u64 lanes_bits;
  Axis outer[MAX_OUTER];
};

// Vectors in flight per thread; TransposeStrategy.UNITS_PER_THREAD in Java.
constexpr int ITEMS = 4;

// The 16 bytes that begin at byte `skew` of low followed by high.
__device__ __forceinline__ uint4 shift_vector(uint4 low, uint4 high, u32 skew) {
  if (skew & 8) {
    low = make_uint4(low.z, low.w, high.x, high.y);
    high.x = high.z;
    high.y = high.w;
  }
  if (skew & 4) {
    low = make_uint4(low.y, low.z, low.w, high.x);
    high.x = high.y;
  }
  const u32 bits = (skew & 3) * 8;
  return make_uint4(__funnelshift_r(low.x, low.y, bits), __funnelshift_r(low.y, low.z, bits),
                    __funnelshift_r(low.z, low.w, bits), __funnelshift_r(low.w, high.x, bits));
}

// More bytes than a warp's segment: an upper bound that lets `left` be an int.
constexpr int SEGMENT_BYTES = 32 * ITEMS * 16 + 16;

// Stores bytes begin (inclusive) to end (exclusive) of a vector, both multiples of BYTES.
template <int BYTES>
__device__ __forceinline__ void store_part(char* to, uint4 vector, int begin, int end) {
  using T = typename Element<BYTES>::type;
#pragma unroll
  for (int b = 0; b < 16; b += BYTES) {
    if (b >= begin && b < end) {
      if constexpr (BYTES == 8) {
        *reinterpret_cast<T*>(to + b) = make_uint2(word(vector, b / 4), word(vector, b / 4 + 1));
      } else {
        *reinterpret_cast<T*>(to + b) = static_cast<T>(word(vector, b / 4) >> (b % 4 * 8));
      }
    }
  }
}

template <int BYTES, int THREADS>
__device__ __forceinline__ void copy_shifted(const ShiftedCopyArguments& arguments) {
  const u32 lanes_bits = static_cast<u32>(arguments.lanes_bits);
  const u64 groups = static_cast<u64>(gridDim.x) * THREADS >> lanes_bits;
  const i64 run_bytes = static_cast<i64>(arguments.run * BYTES);

  for (u64 group = (static_cast<u64>(blockIdx.x) * THREADS + threadIdx.x) >> lanes_bits;
       group < arguments.segments; group += groups) {
    // locate
    u64 segment = group;
    const u64 step = divide(segment, arguments.segments_per_run);
    const Offsets at = locate_outer(arguments.outer, step);
    char* const __restrict__ target = static_cast<char*>(arguments.out) + at.out * BYTES;
    const char* const __restrict__ source =
        static_cast<const char*>(arguments.in) + at.in * BYTES;
    const u32 lead = static_cast<u32>(reinterpret_cast<u64>(target) & 15);
    // Input vectors begin `skew` bytes past a multiple of 16, the same for all vectors of a run.
    const int skew = static_cast<int>((static_cast<u32>(reinterpret_cast<u64>(source)) - lead) & 15);
    // Offset of this thread's first vector in the run, in bytes, and the bytes of the run from there on.
    const u64 place = (segment * ITEMS << lanes_bits) + (threadIdx.x & ((1u << lanes_bits) - 1));
    const i64 first = static_cast<i64>(place * 16) - lead;
    const i64 all_left = run_bytes - first;
    const int left = all_left > SEGMENT_BYTES ? SEGMENT_BYTES : static_cast<int>(all_left);
    const int before = first < 0 ? static_cast<int>(first) : 0;  // minus the bytes of the vector before the run, or 0

    // load: each of the two aligned vectors, if it holds bytes of the run
    uint4 low[ITEMS];
    uint4 high[ITEMS];
    const char* from = source + first - skew;
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
      const int at = item * 16 << lanes_bits;
      const int skipped = item == 0 ? before : 0;
      const uint4* const aligned = reinterpret_cast<const uint4*>(from + at);
      if (at < left && 16 - skew + skipped > 0) {
        low[item] = aligned[0];
      }
      if (skew != 0 && at + 16 - skew < left) {
        high[item] = aligned[1];
      }
    }

    // store
    char* const to = target + first;
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
      const int at = item * 16 << lanes_bits;
      const int skipped = item == 0 ? before : 0;
      if (at < left) {
        uint4 vector = shift_vector(low[item], high[item], static_cast<u32>(skew));
        if (skipped == 0 && at + 16 <= left) {
          *reinterpret_cast<uint4*>(to + at) = vector;
        } else {
          store_part<BYTES>(to + at, vector, -skipped, left - at);
        }
      }
    }
  }
}

}  // namespace tilespark

// copy_shifted_w<width>_<threads>
#define COPY_SHIFTED(BYTES, THREADS)                                           \
  extern "C" __global__ void __launch_bounds__(THREADS)                        \
      copy_shifted_w##BYTES##_##THREADS(                                       \
          const __grid_constant__ tilespark::ShiftedCopyArguments arguments) { \
    tilespark::copy_shifted<BYTES, THREADS>(arguments);                        \
  }

COPY_SHIFTED(1, 256)
COPY_SHIFTED(2, 256)
COPY_SHIFTED(4, 256)
COPY_SHIFTED(8, 256)
