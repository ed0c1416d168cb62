// Instructions that sm_90a adds, one function each: barriers that count bytes (mbarrier), the bulk tensor copy engine
// (cp.async.bulk.tensor), and products of a warpgroup (wgmma).
//
// Source: NVIDIA, "PTX ISA" 9.0, sections 9.7.13 (mbarrier), 9.7.9 (bulk copies) and 9.7.16 (wgmma).
#pragma once

#include <cuda.h>
#include <stdint.h>

namespace tilespark {

using u32 = unsigned int;
using u64 = unsigned long long;

__device__ __forceinline__ u32 shared_address(const void* p) {
  return static_cast<u32>(__cvta_generic_to_shared(p));
}

// Barriers. A phase ends after `arrivals` arrivals, when all expected bytes have been copied too.
__device__ __forceinline__ void barrier_init(u64* barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals));
}

// Makes initialised barriers visible to the copy engine and to the other thread blocks of the cluster.
__device__ __forceinline__ void barrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void barrier_wait(u64* barrier, u32 parity) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@p bra done;\n"
      "bra again;\n"
      "done:\n"
      "}\n" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}

// Like barrier_wait, for long waits. Both may suspend the thread until the phase ends: barrier_wait for a time that the
// hardware chooses, this function for up to 10 ms.
__device__ __forceinline__ void barrier_wait_asleep(u64* barrier, u32 parity) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1, %2;\n"
      "@p bra done;\n"
      "bra again;\n"
      "done:\n"
      "}\n" ::"r"(shared_address(barrier)),
      "r"(parity), "r"(10'000'000)
      : "memory");
}

// Arrives, and adds `bytes` to the bytes that this phase expects.
__device__ __forceinline__ void barrier_expect(u64* barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(bytes)
               : "memory");
}

__device__ __forceinline__ void barrier_arrive(u64* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

// Copies the box of the tensor that begins at (x, y) to shared memory; the barrier counts its bytes.
__device__ __forceinline__ void copy_box(void* to, const CUtensorMap* map, int x, int y, u64* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4}], [%2];" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y)
      : "memory");
}

// For a tensor of three axes.
__device__ __forceinline__ void copy_box(void* to, const CUtensorMap* map, int x, int y, int z, u64* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y), "r"(z)
      : "memory");
}

// For a tensor of four axes.
__device__ __forceinline__ void copy_box(void* to, const CUtensorMap* map, int x, int y, int z, int w, u64* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y), "r"(z), "r"(w)
      : "memory");
}

__device__ __forceinline__ void prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

template <u32 COUNT>
__device__ __forceinline__ void registers_up() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}

template <u32 COUNT>
__device__ __forceinline__ void registers_down() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}

// Describes a panel in shared memory to wgmma: rows of 128 bytes along K, swizzled by 128 bytes (the copy engine's
// CU_TENSOR_MAP_SWIZZLE_128B), 8 rows to 1024 bytes. To advance along K within a row, add bytes / 16.
__device__ __forceinline__ u64 panel_descriptor(const void* panel) {
  constexpr u64 EIGHT_ROWS = 1024 >> 4;
  constexpr u64 SWIZZLE_128 = 1;
  return static_cast<u64>((shared_address(panel) & 0x3ffff) >> 4) | (u64{1} << 16) |
         (EIGHT_ROWS << 32) | (SWIZZLE_128 << 62);
}

// Like panel_descriptor, for rows of 64 bytes, swizzled by 64 bytes, 8 rows to 512 bytes.
__device__ __forceinline__ u64 narrow_panel_descriptor(const void* panel) {
  constexpr u64 EIGHT_ROWS = 512 >> 4;
  constexpr u64 SWIZZLE_64 = 2;
  return static_cast<u64>((shared_address(panel) & 0x3ffff) >> 4) | (u64{1} << 16) |
         (EIGHT_ROWS << 32) | (SWIZZLE_64 << 62);
}

// Describes panels of 16-bit elements in shared memory that are stored across (K strided): a panel has 64 rows of 128
// bytes, swizzled by 128 bytes; each row is a step of K with 64 rows of op(A) or columns of op(B). The next panel has
// the next 64 rows or columns. To advance 16 steps of K, add 2048 / 16.
__device__ __forceinline__ u64 across_descriptor(const void* panel) {
  constexpr u64 EIGHT_STEPS = 1024 >> 4;
  constexpr u64 NEXT_PANEL = 64 * 128 >> 4;
  constexpr u64 SWIZZLE_128 = 1;
  return static_cast<u64>((shared_address(panel) & 0x3ffff) >> 4) | (NEXT_PANEL << 16) |
         (EIGHT_STEPS << 32) | (SWIZZLE_128 << 62);
}

__device__ __forceinline__ void products_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void products_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int PENDING>
__device__ __forceinline__ void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

// Waits until earlier launches have ended and their writes are visible. The host may launch a kernel that calls this
// before they end; until then the kernel must not touch memory that they read or write.
__device__ __forceinline__ void wait_for_launches_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
// Lets the next launch begin, up to its own wait, once all thread blocks have called this or ended.
__device__ __forceinline__ void let_next_launch_begin() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// Tells the compiler that `value` changes here: later reads of it do not move up.
__device__ __forceinline__ void pin(float& value) { asm volatile("" : "+f"(value)::"memory"); }

#define TILESPARK_D8(d, i)                                                               \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define TILESPARK_D32(d, i) \
  TILESPARK_D8(d, i), TILESPARK_D8(d, i + 8), TILESPARK_D8(d, i + 16), TILESPARK_D8(d, i + 24)
#define TILESPARK_ALL32(d) TILESPARK_D32(d, 0)
#define TILESPARK_D64(d) TILESPARK_D32(d, 0), TILESPARK_D32(d, 32)
#define TILESPARK_D128(d) \
  TILESPARK_D32(d, 0), TILESPARK_D32(d, 32), TILESPARK_D32(d, 64), TILESPARK_D32(d, 96)
#define TILESPARK_TEN(a) \
  "%" #a "0,%" #a "1,%" #a "2,%" #a "3,%" #a "4,%" #a "5,%" #a "6,%" #a "7,%" #a "8,%" #a "9,"
#define TILESPARK_N32 \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9," TILESPARK_TEN(1) TILESPARK_TEN(2) "%30,%31}"
#define TILESPARK_N64                                                                              \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9," TILESPARK_TEN(1) TILESPARK_TEN(2) TILESPARK_TEN(3)              \
      TILESPARK_TEN(4) TILESPARK_TEN(5) "%60,%61,%62,%63}"
#define TILESPARK_N128                                                                             \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9," TILESPARK_TEN(1) TILESPARK_TEN(2) TILESPARK_TEN(3)              \
      TILESPARK_TEN(4) TILESPARK_TEN(5) TILESPARK_TEN(6) TILESPARK_TEN(7) TILESPARK_TEN(8)          \
          TILESPARK_TEN(9) TILESPARK_TEN(10) TILESPARK_TEN(11) "%120,%121,%122,%123,%124,%125,%126,%127}"

// c = a * b, + c if `add`. c is 64 x 128 per warpgroup, a is 64 x 16 bfloat16 in registers, b is a descriptor. A thread
// of warp w holds rows 16 w + lane / 4 (registers 0, 2) and 8 below (1, 3) of a, at columns 2 (lane % 4) and the next
// (0, 1) and 8 further (2, 3). It holds the same rows of c; c[4 g ..] is at columns 8 g + 2 (lane % 4) and the next.
__device__ __forceinline__ void product_64x128x16_bfloat16(float (&c)[64], const u32 (&a)[4], u64 b, bool add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " TILESPARK_N64
      ", {%64,%65,%66,%67}, %68, p, 1, 1, 0;\n}\n"
      : TILESPARK_D64(c)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)));
}

// Element types of products whose operands are both in shared memory; sums are float.
struct Half {
  using Type = unsigned short;
};
struct Bfloat16 {
  using Type = unsigned short;
};
struct Tf32 {
  using Type = float;
};

// A_ACROSS, B_ACROSS: 1 if K is the strided axis of the operand (16-bit types only).
#define TILESPARK_PRODUCT(KIND, STEPS, NAME, SIZE, SUMS, LIST, ALL, A, B, ADD, ACROSS_WORDS, ...)          \
  template <int A_ACROSS, int B_ACROSS>                                                               \
  __device__ __forceinline__ void product(KIND, float (&c)[SUMS], u64 a, u64 b, bool add) {           \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " ADD ", 0;\n"                                      \
                 "wgmma.mma_async.sync.aligned.m64n" #SIZE "k" #STEPS ".f32." NAME "." NAME           \
                 " " LIST ", " A ", " B ", p, 1, 1" ACROSS_WORDS ";\n}\n"                            \
                 : ALL(c)                                                                             \
                 : "l"(a), "l"(b), "r"(static_cast<int>(add)) __VA_ARGS__);                           \
  }
#define TILESPARK_PRODUCTS(KIND, STEPS, NAME, WORDS256, WORDS128, WORDS64, ...)                            \
  TILESPARK_PRODUCT(KIND, STEPS, NAME, 256, 128, TILESPARK_N128, TILESPARK_D128, "%128", "%129", "%130", WORDS256, __VA_ARGS__) \
  TILESPARK_PRODUCT(KIND, STEPS, NAME, 128, 64, TILESPARK_N64, TILESPARK_D64, "%64", "%65", "%66", WORDS128, __VA_ARGS__) \
  TILESPARK_PRODUCT(KIND, STEPS, NAME, 64, 32, TILESPARK_N32, TILESPARK_ALL32, "%32", "%33", "%34", WORDS64, __VA_ARGS__)
#define TILESPARK_ACROSS , "n"(A_ACROSS), "n"(B_ACROSS)
TILESPARK_PRODUCTS(Half, 16, "f16", ", %131, %132", ", %67, %68", ", %35, %36", TILESPARK_ACROSS)
TILESPARK_PRODUCTS(Bfloat16, 16, "bf16", ", %131, %132", ", %67, %68", ", %35, %36", TILESPARK_ACROSS)
TILESPARK_PRODUCTS(Tf32, 8, "tf32", "", "", "")

}  // namespace tilespark
