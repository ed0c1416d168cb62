// Copies boxes between the planes of blocks (real and imaginary parts in separate arrays) and one array on the device:
//
//   put:   array[at(i)] = (re[i], im[i])          take:   (re[i], im[i]) = array[at(i)] * factor
//
// where i runs over the elements of a dense, row-major box, and at(i) is the offset of the element in a larger array.
// An array of real values has no im. A launch moves several pieces. A piece is a range of i, so that its copy to or
// from the host is contiguous.
//
// Threads to elements: a unit is VEC elements of a piece, 16 bytes of the array, or one element if the piece does not
// allow 16-byte accesses. Units are numbered over all pieces; neighbouring threads take neighbouring units, and each
// thread takes ITEMS units at distances of THREADS.
//
// Bytes: each element is read once and written once.
//
// Shared memory: none.
//
// Source: nothing borrowed.

#include "index.cuh"

namespace tilespark {

// One piece. Fields in the order of FourierBoxes.launch.
struct Piece {
  u64 first_unit;  // units of earlier pieces
  u64 start;       // the piece's first element, counted in its box
  u64 count;       // elements of the piece
  u64 vector;      // 1: units of VEC elements; 0: single elements
  u64 run;         // elements of the box that are contiguous in the array
  u64 rows;        // runs per step of the outermost axis
  u64 row_stride;  // in elements of the array, like slice_stride
  u64 slice_stride;
  u64 base;  // offset of the box's first element in the array
  u64 re;    // bytes from the planes' pointer to the piece's first real part
  u64 im;
};

constexpr int MAX_PIECES = 128;  // FourierBoxes.MOST_PIECES in Java; the struct stays below 16 KiB

struct BoxArguments {
  const void* in;
  void* out;
  u64 units;  // units of all pieces
  u64 count;  // count of pieces
  u64 scaled;  // take: 0 if the factor is 1, so that bits stay unchanged
  double factor;
  Piece piece[MAX_PIECES];
};

// Units in flight per thread; FourierBoxes.UNITS_PER_THREAD in Java.
constexpr int ITEMS = 4;

// N values that are read and written together.
template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
  T value[N];
};

// The piece that holds a unit: the last one that begins at or before the unit.
__device__ __forceinline__ const Piece& locate_piece(const BoxArguments& arguments, u64 unit) {
  u32 low = 0;
  u32 high = static_cast<u32>(arguments.count);
  while (high - low > 1) {
    const u32 middle = (low + high) / 2;
    if (arguments.piece[middle].first_unit <= unit) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return arguments.piece[low];
}

// The location of a unit's elements.
struct Place {
  u64 at;     // offset in the array, in elements
  u64 re;     // offset in the planes, in bytes
  u64 im;
  u32 count;  // elements of the unit; 0: no unit
  bool vector;
};

template <int VEC, int BYTES>
__device__ __forceinline__ Place locate_unit(const BoxArguments& arguments, u64 unit) {
  const Piece& piece = locate_piece(arguments, unit);
  const u64 width = piece.vector ? VEC : 1;
  const u64 element = (unit - piece.first_unit) * width;
  const u64 left = piece.count - element;
  Place place;
  place.count = static_cast<u32>(left < width ? left : width);
  place.vector = piece.vector && left >= width;
  u64 r = piece.start + element;
  u64 row = r >= piece.run ? divide(r, piece.run) : 0;
  const u64 slice = row >= piece.rows ? divide(row, piece.rows) : 0;
  place.at = piece.base + slice * piece.slice_stride + row * piece.row_stride + r;
  place.re = piece.re + element * BYTES;
  place.im = piece.im + element * BYTES;
  return place;
}

template <typename T, bool COMPLEX, bool PUT, int THREADS>
__device__ __forceinline__ void move_boxes(const BoxArguments& arguments) {
  constexpr int PARTS = COMPLEX ? 2 : 1;
  constexpr int BYTES = static_cast<int>(sizeof(T));
  constexpr int VEC = 16 / (BYTES * PARTS);
  constexpr u64 CHUNK = static_cast<u64>(THREADS) * ITEMS;
  using Planar = Pack<T, VEC>;
  using Joined = Pack<T, VEC * PARTS>;
  using Single = Pack<T, PARTS>;

  for (u64 start = blockIdx.x * CHUNK; start < arguments.units; start += gridDim.x * CHUNK) {
    Joined held[ITEMS];
    Place place[ITEMS];

    // locate, load
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
      const u64 unit = start + static_cast<u32>(item) * static_cast<u32>(THREADS) + threadIdx.x;
      place[item].count = 0;
      if (unit < arguments.units) {
        place[item] = locate_unit<VEC, BYTES>(arguments, unit);
        const Place& p = place[item];
        if constexpr (PUT) {
          const char* const planes = static_cast<const char*>(arguments.in);
          if (p.vector) {
            const Planar re = *reinterpret_cast<const Planar*>(planes + p.re);
            Planar im = {};
            if constexpr (COMPLEX) {
              im = *reinterpret_cast<const Planar*>(planes + p.im);
            }
#pragma unroll
            for (int n = 0; n < VEC; n++) {
              held[item].value[n * PARTS] = re.value[n];
              if constexpr (COMPLEX) {
                held[item].value[n * PARTS + 1] = im.value[n];
              }
            }
          } else {
#pragma unroll
            for (int n = 0; n < VEC; n++) {
              if (n < p.count) {
                held[item].value[n * PARTS] = reinterpret_cast<const T*>(planes + p.re)[n];
                if constexpr (COMPLEX) {
                  held[item].value[n * PARTS + 1] = reinterpret_cast<const T*>(planes + p.im)[n];
                }
              }
            }
          }
        } else {
          const Single* const array = static_cast<const Single*>(arguments.in) + p.at;
          if (p.vector) {
            held[item] = *reinterpret_cast<const Joined*>(array);
          } else {
#pragma unroll
            for (int n = 0; n < VEC; n++) {
              if (n < p.count) {
                const Single one = array[n];
#pragma unroll
                for (int part = 0; part < PARTS; part++) {
                  held[item].value[n * PARTS + part] = one.value[part];
                }
              }
            }
          }
        }
      }
    }

    // store
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
      const Place& p = place[item];
      if (p.count > 0) {
        if constexpr (PUT) {
          Single* const array = static_cast<Single*>(arguments.out) + p.at;
          if (p.vector) {
            *reinterpret_cast<Joined*>(array) = held[item];
          } else {
#pragma unroll
            for (int n = 0; n < VEC; n++) {
              if (n < p.count) {
                Single one;
#pragma unroll
                for (int part = 0; part < PARTS; part++) {
                  one.value[part] = held[item].value[n * PARTS + part];
                }
                array[n] = one;
              }
            }
          }
        } else {
          char* const planes = static_cast<char*>(arguments.out);
          if (arguments.scaled) {
#pragma unroll
            for (int n = 0; n < VEC * PARTS; n++) {
              if (n < p.count * PARTS) {
                held[item].value[n] =
                    static_cast<T>(static_cast<double>(held[item].value[n]) * arguments.factor);
              }
            }
          }
          if (p.vector) {
            Planar re;
            Planar im;
#pragma unroll
            for (int n = 0; n < VEC; n++) {
              re.value[n] = held[item].value[n * PARTS];
              im.value[n] = held[item].value[n * PARTS + PARTS - 1];
            }
            *reinterpret_cast<Planar*>(planes + p.re) = re;
            if constexpr (COMPLEX) {
              *reinterpret_cast<Planar*>(planes + p.im) = im;
            }
          } else {
#pragma unroll
            for (int n = 0; n < VEC; n++) {
              if (n < p.count) {
                reinterpret_cast<T*>(planes + p.re)[n] = held[item].value[n * PARTS];
                if constexpr (COMPLEX) {
                  reinterpret_cast<T*>(planes + p.im)[n] = held[item].value[n * PARTS + 1];
                }
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace tilespark

// Kernel names: fourier_<put or take>_<complex or real>_w<bytes of a real or imaginary part>_<threads>
#define MOVE_BOXES(NAME, T, COMPLEX, PUT, BYTES, THREADS)                                \
  extern "C" __global__ void __launch_bounds__(THREADS)                                  \
      fourier_##NAME##_w##BYTES##_##THREADS(                                             \
          const __grid_constant__ tilespark::BoxArguments arguments) {                   \
    tilespark::move_boxes<T, COMPLEX, PUT, THREADS>(arguments);                          \
  }

MOVE_BOXES(put_complex, float, true, true, 4, 256)
MOVE_BOXES(put_complex, double, true, true, 8, 256)
MOVE_BOXES(put_real, float, false, true, 4, 256)
MOVE_BOXES(put_real, double, false, true, 8, 256)
MOVE_BOXES(take_complex, float, true, false, 4, 256)
MOVE_BOXES(take_complex, double, true, false, 8, 256)
MOVE_BOXES(take_real, float, false, false, 4, 256)
MOVE_BOXES(take_real, double, false, false, 8, 256)
