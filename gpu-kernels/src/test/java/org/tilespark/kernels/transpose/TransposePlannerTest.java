package org.tilespark.kernels.transpose;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;
import org.tilespark.kernels.launch.PlanCache;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.layout.Strides;

class TransposePlannerTest {
  private static final DeviceLimits H200 = limits(9, 0);

  private static final KernelIndex INDEX =
      KernelIndex.parse(
          """
          kernel v transpose_vector_w1_128x256x128 sm_90a
          kernel v transpose_vector_exact_w1_128x256x128 sm_90a
          kernel v transpose_vector_w2_64x128x128 sm_90a
          kernel v transpose_vector_exact_w2_64x128x128 sm_90a
          kernel v transpose_vector_w4_64x64x256 sm_90a
          kernel v transpose_vector_exact_w4_64x64x256 sm_90a
          kernel v transpose_vector_w4_64x32x128 sm_90a
          kernel v transpose_vector_exact_w4_64x32x128 sm_90a
          kernel v transpose_vector_w4_32x64x128 sm_90a
          kernel v transpose_vector_exact_w4_32x64x128 sm_90a
          kernel v transpose_vector_w8_64x32x256 sm_90a
          kernel v transpose_vector_exact_w8_64x32x256 sm_90a
          kernel v transpose_vector_w8_32x64x256 sm_90a
          kernel v transpose_vector_exact_w8_32x64x256 sm_90a
          kernel v transpose_vector_w16_32x32x256 sm_90a
          kernel v transpose_vector_exact_w16_32x32x256 sm_90a
          kernel s transpose_shifted_w1_128x128x128 sm_90a
          kernel s transpose_shifted_w2_64x64x64 sm_90a
          kernel s transpose_shifted_w4_64x64x256 sm_90a
          kernel s transpose_shifted_w8_32x32x128 sm_90a
          kernel n split_narrow_w1_128 sm_90a
          kernel n split_narrow_shifted_w1_128 sm_90a
          kernel n merge_narrow_w1_128 sm_90a
          kernel n merge_narrow_shifted_w1_128 sm_90a
          kernel n split_narrow_w2_128 sm_90a
          kernel n split_narrow_shifted_w2_128 sm_90a
          kernel n merge_narrow_w2_128 sm_90a
          kernel n merge_narrow_shifted_w2_128 sm_90a
          kernel n split_narrow_w4_128 sm_90a
          kernel n split_narrow_shifted_w4_128 sm_90a
          kernel n merge_narrow_w4_128 sm_90a
          kernel n merge_narrow_shifted_w4_128 sm_90a
          kernel n split_narrow_w8_128 sm_90a
          kernel n split_narrow_shifted_w8_128 sm_90a
          kernel n merge_narrow_w8_128 sm_90a
          kernel n merge_narrow_shifted_w8_128 sm_90a
          kernel n split_narrow_w16_128 sm_90a
          kernel n merge_narrow_w16_128 sm_90a
          kernel p permute_packed_w1_256 sm_90a
          kernel p permute_packed_w2_256 sm_90a
          kernel p permute_packed_w4_256 sm_90a
          kernel p permute_packed_w8_256 sm_90a
          kernel p permute_packed_w16_256 sm_90a
          kernel d copy_shifted_w1_256 sm_90a
          kernel d copy_shifted_w2_256 sm_90a
          kernel d copy_shifted_w4_256 sm_90a
          kernel d copy_shifted_w8_256 sm_90a
          kernel c copy_strided_w1_256 sm_90a
          kernel c copy_strided_w2_256 sm_90a
          kernel c copy_strided_w4_256 sm_90a
          kernel c copy_strided_w8_256 sm_90a
          kernel c copy_strided_w16_256 sm_90a
          """);

  private static DeviceLimits limits(int major, int minor) {
    return new DeviceLimits(major, minor, 132, 1024, Integer.MAX_VALUE, 49152, 141L << 30);
  }

  @ParameterizedTest(name = "{0} under {1}, width {2}")
  @CsvSource(
      delimiter = '|',
      value = {
        "16384,16384 | 1,0 | 1 | Vector 16384 x 16384 by transpose_vector_exact_w1_128x256x128"
            + " rows-first",
        "16384,16384 | 1,0 | 2 | Vector 16384 x 16384 by transpose_vector_exact_w2_64x128x128"
            + " rows-first",
        "16384,16384 | 1,0 | 4 | Vector 16384 x 16384 by transpose_vector_exact_w4_64x64x256"
            + " rows-first",
        "16384,16384 | 1,0 | 8 | Vector 16384 x 16384 by transpose_vector_exact_w8_64x32x256"
            + " rows-first",
        "16384,16384 | 1,0 | 16 | Vector 16384 x 16384 by transpose_vector_exact_w16_32x32x256"
            + " rows-first",
        "8192,32768 | 1,0 | 4 | Vector 8192 x 32768 by transpose_vector_exact_w4_64x64x256"
            + " rows-first",
        "10007,7919 | 1,0 | 1 | Shifted 10007 x 7919 by transpose_shifted_w1_128x128x128"
            + " rows-first",
        "10007,7919 | 1,0 | 2 | Shifted 10007 x 7919 by transpose_shifted_w2_64x64x64 rows-first",
        "10007,7919 | 1,0 | 4 | Shifted 10007 x 7919 by transpose_shifted_w4_64x64x256 rows-first",
        "10007,7919 | 1,0 | 8 | Shifted 10007 x 7919 by transpose_shifted_w8_32x32x128 rows-first",
        "10007,7919 | 1,0 | 16 | Vector 10007 x 7919 by transpose_vector_w16_32x32x256 rows-first",
        "1048576,32 | 1,0 | 4 | Vector 1048576 x 32 by transpose_vector_exact_w4_64x32x128"
            + " cols-first",
        "32,1048576 | 1,0 | 4 | Vector 32 x 1048576 by transpose_vector_exact_w4_32x64x128"
            + " rows-first",
        "1048576,32 | 1,0 | 8 | Vector 1048576 x 32 by transpose_vector_exact_w8_64x32x256"
            + " cols-first",
        "32,1048576 | 1,0 | 8 | Vector 32 x 1048576 by transpose_vector_exact_w8_32x64x256"
            + " rows-first",
        "33554432,3 | 1,0 | 4 | Narrow 33554432 x 3 by split_narrow_w4_128",
        "3,33554432 | 1,0 | 4 | Narrow 3 x 33554432 by merge_narrow_w4_128",
        "33554433,3 | 1,0 | 1 | Narrow 33554433 x 3 by split_narrow_shifted_w1_128",
        "3,33554433 | 1,0 | 8 | Narrow 3 x 33554433 by merge_narrow_shifted_w8_128",
        "5,7 | 1,0 | 16 | Narrow 5 x 7 by split_narrow_w16_128",
        "4096,128,128 | 0,2,1 | 4 | Vector 4096 x 128 x 128 by transpose_vector_exact_w4_64x64x256"
            + " rows-first",
        "256,1024,1024 | 0,2,1 | 4 | Vector 256 x 1024 x 1024 by"
            + " transpose_vector_exact_w4_64x64x256 rows-first",
        "512,512,512 | 0,2,1 | 4 | Vector 512 x 512 x 512 by transpose_vector_exact_w4_64x64x256"
            + " rows-first",
        "512,512,512 | 1,0,2 | 4 | StridedCopy of runs of 2048 bytes by copy_strided_w16_256",
        "512,512,512 | 1,2,0 | 4 | Vector 512 x 262144 by transpose_vector_exact_w4_64x64x256"
            + " rows-first",
        "512,512,512 | 2,0,1 | 4 | Vector 262144 x 512 by transpose_vector_exact_w4_64x64x256"
            + " cols-first",
        "512,512,512 | 2,1,0 | 4 | Vector 512 x 512 x 512 by transpose_vector_exact_w4_64x64x256"
            + " rows-first",
        "2048,64,1000 | 0,2,1 | 8 | Vector 2048 x 64 x 1000 by transpose_vector_w8_32x64x256"
            + " rows-first",
        "2048,64,1000 | 1,0,2 | 8 | StridedCopy of runs of 8000 bytes by copy_strided_w16_256",
        "2048,64,1000 | 1,2,0 | 8 | Vector 2048 x 64000 by transpose_vector_exact_w8_64x32x256"
            + " rows-first",
        "2048,64,1000 | 2,0,1 | 8 | Vector 131072 x 1000 by transpose_vector_w8_32x64x256"
            + " cols-first",
        "2048,64,1000 | 2,1,0 | 8 | Vector 64 x 2048 x 1000 by transpose_vector_w8_32x64x256"
            + " rows-first",
        "1024,768,640 | 2,1,0 | 16 | Vector 768 x 1024 x 640 by"
            + " transpose_vector_exact_w16_32x32x256 rows-first",
        "511,513,509 | 0,2,1 | 4 | Shifted 511 x 513 x 509 by transpose_shifted_w4_64x64x256"
            + " rows-first",
        "511,513,509 | 1,0,2 | 4 | ShiftedCopy of runs of 2036 bytes by copy_shifted_w4_256",
        "511,513,509 | 1,2,0 | 8 | Shifted 511 x 261117 by transpose_shifted_w8_32x32x128"
            + " rows-first",
        "511,513,509 | 2,0,1 | 8 | Shifted 262143 x 509 by transpose_shifted_w8_32x32x128"
            + " cols-first",
        "511,513,509 | 2,1,0 | 4 | Shifted 513 x 511 x 509 by transpose_shifted_w4_64x64x256"
            + " rows-first",
        "4096,64 | 0,1 | 4 | Copy of 1048576 bytes",
        "1,64 | 1,0 | 4 | Copy of 256 bytes",
        "0,64 | 1,0 | 4 | Copy of 0 bytes",
        "20,30,50 | 0,1,2 | 8 | Copy of 240000 bytes",
        "20,30,51 | 1,0,2 | 8 | ShiftedCopy of runs of 408 bytes by copy_shifted_w8_256",
        "20,30,3 | 1,0,2 | 1 | Packed boxes of 30 x 11 x 3 of 30 x 20 x 3 by permute_packed_w1_256",
        "20,30,6 | 1,0,2 | 1 | Packed boxes of 30 x 16 x 3 of 30 x 20 x 3 by permute_packed_w2_256",
        "20,30,3 | 1,0,2 | 4 | Packed boxes of 30 x 12 x 3 of 30 x 20 x 3 by permute_packed_w4_256",
        "20,30,37 | 1,0,2 | 1 | Packed boxes of 16 x 5 x 37 of 30 x 20 x 37 by"
            + " permute_packed_w1_256",
        "20,30,32 | 1,0,2 | 1 | Packed boxes of 6 x 20 x 2 of 30 x 20 x 2 by"
            + " permute_packed_w16_256",
        "20,30,128 | 1,0,2 | 1 | StridedCopy of runs of 128 bytes by copy_strided_w16_256",
        "20,30,2 | 1,0,2 | 16 | Packed boxes of 6 x 20 x 2 of 30 x 20 x 2 by"
            + " permute_packed_w16_256",
        "20,30,2 | 1,0,2 | 4 | Narrow 20 x 30 by split_narrow_w8_128",
        "40,60,4 | 1,0,2 | 4 | Vector 40 x 60 by transpose_vector_w16_32x32x256 rows-first",
        "40,60,4 | 1,0,2 | 1 | Vector 40 x 60 by transpose_vector_w4_64x64x256 rows-first",
        "7,20,30,50 | 0,2,3,1 | 2 | Narrow 7 x 20 x 1500 by merge_narrow_shifted_w2_128",
        "7,40,60,56 | 0,3,1,2 | 2 | Vector 7 x 2400 x 56 by transpose_vector_w2_64x128x128"
            + " cols-first",
        "7,40,60,56 | 0,3,2,1 | 2 | Vector 420 x 40 x 56 by transpose_vector_w2_64x128x128"
            + " rows-first",
        "7,20,30,50 | 0,2,1,3 | 2 | Packed boxes of 1 x 6 x 7 x 25 of 7 x 30 x 20 x 25 by"
            + " permute_packed_w4_256",
        "7,20,30,250 | 0,2,1,3 | 2 | ShiftedCopy of runs of 500 bytes by copy_shifted_w2_256",
        "7,20,30,50 | 3,2,1,0 | 2 | Packed boxes of 32 x 1 x 7 x 7 of 50 x 30 x 20 x 7 by"
            + " permute_packed_w2_256",
        "70,20,30,50 | 3,2,1,0 | 2 | Shifted 600 x 70 x 50 by transpose_shifted_w2_64x64x64"
            + " rows-first",
      })
  void strategies(String shape, String order, int width, String expected) {
    assertEquals(expected, plan(shape, order, width, 16).get().describe());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "20,30,50 | 1,0,2 | 8 | 8 | ShiftedCopy of runs of 400 bytes by copy_shifted_w8_256",
        "20,30,450 | 1,0,2 | 1 | 1 | ShiftedCopy of runs of 450 bytes by copy_shifted_w1_256",
        "20,30,50 | 1,0,2 | 1 | 1 | Packed boxes of 15 x 4 x 50 of 30 x 20 x 50 by"
            + " permute_packed_w1_256",
        "20,30,2 | 1,0,2 | 4 | 4 | Packed boxes of 30 x 12 x 2 of 30 x 20 x 2 by"
            + " permute_packed_w4_256",
        "20,30,2 | 1,0,2 | 4 | 8 | Narrow 20 x 30 by split_narrow_shifted_w8_128",
        "20,30,2 | 1,0,2 | 4 | 256 | Narrow 20 x 30 by split_narrow_w8_128",
        "64,64 | 1,0 | 4 | 4 | Shifted 64 x 64 by transpose_shifted_w4_64x64x256 rows-first",
        "64,64 | 1,0 | 4 | 8 | Shifted 64 x 64 by transpose_shifted_w4_64x64x256 rows-first",
        "64,64 | 1,0 | 4 | 16 | Vector 64 x 64 by transpose_vector_exact_w4_64x64x256 rows-first",
        "64,3 | 1,0 | 4 | 4 | Narrow 64 x 3 by split_narrow_shifted_w4_128",
      })
  void accessesNeverExceedTheAlignment(
      String shape, String order, int width, int alignment, String expected) {
    assertEquals(expected, plan(shape, order, width, alignment).get().describe());
  }

  private static void assertLaunch(
      String shape,
      String order,
      int width,
      String kernel,
      int blocks,
      int threads,
      long... words) {
    assertEquals(
        new KernelLaunch(kernel, new LaunchConfig(blocks, threads, 0), words),
        plan(shape, order, width, 16).get().launch().orElseThrow());
  }

  /** Three unused outer axes, then one. */
  private static long[] words(long[] first, long extent, long inStride, long outStride) {
    return LongStream.concat(
            LongStream.of(first),
            LongStream.of(1, 0, 0, 1, 0, 0, 1, 0, 0, extent, inStride, outStride))
        .toArray();
  }

  @Test
  void argumentsOfAVectorLaunch() {
    // y is the batch; tiles of (x, z): 2 x 2 for each.
    assertLaunch(
        "126,20,62",
        "2,1,0",
        8,
        "transpose_vector_w8_64x32x256",
        80,
        256,
        // rows, cols, strides, tiles, row tiles, column tiles, columns first
        words(new long[] {126, 62, 1240, 2520, 80, 2, 2, 0}, 20, 62, 126));
  }

  @Test
  void argumentsOfAShiftedLaunch() {
    // Rows reach up to 7 elements past a multiple of 32 bytes: 2 row tiles; tall: columns first.
    assertLaunch(
        "3,2049,100",
        "0,2,1",
        4,
        "transpose_shifted_w4_64x64x256",
        198,
        256,
        words(new long[] {2049, 100, 100, 2049, 198, 33, 2, 1}, 3, 204900, 204900));
  }

  @Test
  void argumentsOfANarrowLaunch() {
    // Pieces of 1024 rows, the most that 16 KiB hold.
    assertLaunch(
        "5,5000,3",
        "0,2,1",
        4,
        "split_narrow_w4_128",
        25,
        128,
        words(new long[] {3, 5000, 5000, 25, 5, 10}, 5, 15000, 15000));
    assertLaunch(
        "5,3,5000",
        "0,2,1",
        4,
        "merge_narrow_w4_128",
        25,
        128,
        words(new long[] {3, 5000, 5000, 25, 5, 10}, 5, 15000, 15000));
  }

  @Test
  void argumentsOfANarrowLaunchOffAlignment() {
    // Pieces of 1024 rows; vectors begin up to 3 elements before the first row.
    assertLaunch(
        "1,2046,3",
        "0,2,1",
        4,
        "split_narrow_shifted_w4_128",
        3,
        128,
        LongStream.concat(
                LongStream.of(3, 2046, 2046, 3, 3, 10),
                LongStream.of(1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0))
            .toArray());
    assertLaunch(
        "1,3,2046",
        "0,2,1",
        4,
        "merge_narrow_shifted_w4_128",
        2,
        128,
        LongStream.concat(
                LongStream.of(3, 2046, 2046, 2, 2, 10),
                LongStream.of(1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0))
            .toArray());
  }

  @ParameterizedTest(name = "{0} under {1}, width {2}")
  @CsvSource(
      delimiter = '|',
      value = {
        // Short x or z in the reversal of a volume, and both.
        "4096,4096,3 | 2,1,0 | 4 | Packed boxes of 3 x 48 x 64 of 3 x 4096 x 4096 by"
            + " permute_packed_w4_256",
        "4095,4097,3 | 2,1,0 | 4 | Packed boxes of 3 x 24 x 128 of 3 x 4097 x 4095 by"
            + " permute_packed_w4_256",
        "4095,4097,3 | 2,1,0 | 1 | Packed boxes of 3 x 64 x 160 of 3 x 4097 x 4095 by"
            + " permute_packed_w1_256",
        "3,4097,4095 | 2,1,0 | 4 | Packed boxes of 72 x 40 x 3 of 4095 x 4097 x 3 by"
            + " permute_packed_w4_256",
        "8,512,512 | 2,1,0 | 4 | Packed boxes of 32 x 8 x 8 of 512 x 512 x 8 by"
            + " permute_packed_w4_256",
        "512,512,8 | 2,1,0 | 8 | Packed boxes of 8 x 9 x 32 of 8 x 512 x 512 by"
            + " permute_packed_w8_256",
        "5,1000000,7 | 2,1,0 | 4 | Packed boxes of 7 x 216 x 5 of 7 x 1000000 x 5 by"
            + " permute_packed_w4_256",
        "64,64,5 | 2,1,0 | 4 | Packed boxes of 5 x 8 x 24 of 5 x 64 x 64 by permute_packed_w4_256",
        // Short runs, in the widest units.
        "2048,4096,21 | 1,0,2 | 1 | Packed boxes of 64 x 22 x 21 of 4096 x 2048 x 21 by"
            + " permute_packed_w1_256",
        "2048,4096,60 | 1,0,2 | 1 | Packed boxes of 40 x 16 x 15 of 4096 x 2048 x 15 by"
            + " permute_packed_w4_256",
        "2048,4096,3 | 1,0,2 | 8 | Packed boxes of 40 x 40 x 3 of 4096 x 2048 x 3 by"
            + " permute_packed_w8_256",
        "2048,4096,3 | 1,0,2 | 16 | Packed boxes of 16 x 48 x 3 of 4096 x 2048 x 3 by"
            + " permute_packed_w16_256",
        "100,300,500,3 | 2,1,0,3 | 4 | Packed boxes of 56 x 1 x 56 x 3 of 500 x 300 x 100 x 3 by"
            + " permute_packed_w4_256",
        // Many tiny matrices.
        "500000,7,9 | 0,2,1 | 4 | Packed boxes of 64 x 9 x 7 of 500000 x 9 x 7 by"
            + " permute_packed_w4_256",
        "131072,16,16 | 0,2,1 | 4 | Packed boxes of 16 x 16 x 16 of 131072 x 16 x 16 by"
            + " permute_packed_w4_256",
      })
  void packedBoxes(String shape, String order, int width, String expected) {
    assertEquals(expected, plan(shape, order, width, 16).get().describe());
  }

  @Test
  void argumentsOfAStridedCopyLaunch() {
    // (140, 30, 64) under [1, 0, 2], in units of 16 bytes: runs of 8.
    assertLaunch(
        "7,20,30,64",
        "2,0,1,3",
        2,
        "copy_strided_w16_256",
        33, // ceil(33600 / 1024)
        256,
        33600,
        8,
        1,
        0,
        0,
        1,
        0,
        0,
        30,
        8,
        1120,
        140,
        240,
        8);
  }

  @Test
  void argumentsOfAShiftedCopyLaunch() {
    // Runs of 500 bytes touch at most 33 vectors: sixteen threads of four.
    assertLaunch(
        "7,20,30,250",
        "2,0,1,3",
        2,
        "copy_shifted_w2_256",
        263, // ceil(4200 / 16)
        256,
        4200,
        1,
        250,
        4,
        1,
        0,
        0,
        1,
        0,
        0,
        30,
        250,
        35000,
        140,
        7500,
        250);
    // Runs of 2001 bytes touch at most 126 vectors: a warp. Longer ones take several segments.
    assertEquals(5, plan("3,5,2001", "1,0,2", 1, 16).get().launch().orElseThrow().words()[3]);
    assertEquals(2, plan("3,5,2047", "1,0,2", 1, 16).get().launch().orElseThrow().words()[1]);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "64,64 | 1,0 | 100,1  | 64,1  | 4 | Vector 64 x 64 by transpose_vector_exact_w4_64x64x256"
            + " rows-first",
        "64,64 | 1,0 | 101,1  | 64,1  | 4 | Shifted 64 x 64 by transpose_shifted_w4_64x64x256"
            + " rows-first",
        "64,3  | 1,0 | 3,1    | 68,1  | 4 | Narrow 64 x 3 by split_narrow_w4_128",
        "64,3  | 1,0 | 4,1    | 64,1  | 4 | Shifted 64 x 3 by transpose_shifted_w4_64x64x256"
            + " cols-first",
        "64,64 | 0,1 | 100,1  | 64,1  | 4 | StridedCopy of runs of 256 bytes by"
            + " copy_strided_w16_256",
        "64,63 | 0,1 | 100,1  | 63,1  | 4 | ShiftedCopy of runs of 252 bytes by"
            + " copy_shifted_w4_256",
        "64,2  | 0,1 | 100,1  | 80,1  | 2 | StridedCopy of runs of 4 bytes by copy_strided_w4_256",
        "64,64 | 1,0 | 200,2  | 64,1  | 4 | StridedCopy of runs of 4 bytes by copy_strided_w4_256",
        "64,64 | 0,1 | 64,1   | 64,1  | 4 | Copy of 16384 bytes",
        "1,64  | 1,0 | 999,1  | 1,999 | 4 | Copy of 256 bytes",
        "64,64 | 1,0 | 1,64   | 64,1  | 4 | Copy of 16384 bytes",
        "64,64 | 0,1 | 64,-1  | 64,1  | 4 | StridedCopy of runs of 4 bytes by copy_strided_w4_256",
        "64,64 | 0,1 | -64,1  | 64,1  | 4 | StridedCopy of runs of 256 bytes by copy_strided_w16_256",
        "64,5  | 0,1 | -64,2  | 5,1   | 8 | StridedCopy of runs of 8 bytes by copy_strided_w8_256",
      })
  void stridedProblems(
      String shape, String order, String in, String out, int width, String expected) {
    TransposeProblem dense = problem(shape, order, width);
    TransposeProblem strided =
        new TransposeProblem(
            dense.shape(),
            dense.permutation(),
            width,
            Strides.of(longs(in)),
            Strides.of(longs(out)));
    assertEquals(
        expected,
        TransposePlanner.plan(strided, 16, new DeviceKernels(H200, INDEX)).get().describe());
  }

  @Test
  void overlappingElementsAreRefused() {
    Exception e =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                new TransposeProblem(
                    Shape.of(4, 5), Permutation.of(1, 0), 4, Strides.of(4, 1), Strides.of(4, 1)));
    assertEquals(
        "Input strides [4, 1] of shape (4, 5): axis 0 needs at least 5, or elements overlap",
        e.getMessage());
  }

  @Test
  void aCopyLaunchesNothing() {
    assertTrue(plan("4,5", "0,1", 4, 16).get().launch().isEmpty());
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4, 8, 16})
  void theGridStaysWithinLimitsForAnyExtent(int width) {
    long most = 1L << 40;
    for (String shape :
        new String[] {
          (most / 3) + ",3",
          "3," + (most / 3),
          "1048576,1048576",
          "2,65536,4194304,2",
          "65536,65536,256",
          "1099511627,1000"
        }) {
      int rank = shape.split(",").length;
      String order = rank == 2 ? "1,0" : rank == 3 ? "2,1,0" : "0,2,1,3";
      TransposePlan plan = plan(shape, order, width, width).get();
      LaunchConfig config = plan.launch().orElseThrow().config();
      assertTrue(config.blocks() >= 1 && config.threads() <= 256, () -> shape + " " + config);
    }
    DeviceLimits narrow = new DeviceLimits(9, 0, 1, 1024, 65535, 49152, 1 << 30);
    Availability<TransposePlan> looped =
        TransposePlanner.plan(
            problem("1048576,1048576", "1,0", width), 16, new DeviceKernels(narrow, INDEX));
    assertEquals(65535, looped.get().launch().orElseThrow().config().blocks());
  }

  @Test
  void declinesWithTheReason() {
    TransposeProblem matrix = problem("4,5", "1,0", 4);
    Availability<TransposePlan> noKernels =
        TransposePlanner.plan(matrix, 16, new DeviceKernels(H200, KernelIndex.EMPTY));
    assertFalse(noKernels.isPresent());
    assertEquals("this jar was built without nvcc and has no device kernels", noKernels.whyNot());
    assertEquals(
        "no kernel of width 4 for sm_80; this jar has 52 kernels for sm_90a",
        TransposePlanner.plan(matrix, 16, new DeviceKernels(limits(8, 0), INDEX)).whyNot());
    Availability<TransposePlan> manyAxes = plan("50,50,50,50,50,50,50", "6,4,2,0,5,3,1", 4, 16);
    assertEquals(
        "Shape (50, 50, 50, 50, 50, 50, 50) under [6, 4, 2, 0, 5, 3, 1] has 5 outer axes after"
            + " fusion; device kernels take at most 4",
        manyAxes.whyNot());
    Exception e =
        assertThrows(
            UnsupportedOperationException.class,
            () -> manyAxes.orElseThrow(UnsupportedOperationException::new));
    assertEquals(manyAxes.whyNot(), e.getMessage());
  }

  @Test
  void alignmentBelowTheWidthIsRefused() {
    Exception e =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                TransposePlanner.plan(problem("4,5", "1,0", 8), 4, new DeviceKernels(H200, INDEX)));
    assertEquals(
        "Buffers aligned to 4 bytes; elements of 8 bytes need a multiple of their width",
        e.getMessage());
  }

  @Test
  void aThreadBlockTooLargeForTheDeviceIsRefused() {
    assertThrows(IllegalArgumentException.class, () -> LaunchConfig.forPieces(10, 2048, 0, H200));
    assertThrows(
        IllegalArgumentException.class, () -> LaunchConfig.forPieces(10, 256, 1 << 20, H200));
  }

  @Test
  void whatTheBuildMadeServesEveryWidthOnEveryDevice() {
    KernelIndex built = KernelIndex.ofThisJar();
    Assumptions.assumeTrue(
        built.architectures().contains("compute_75"), "built without nvcc or narrowed: " + built);
    int[][] devices = {{7, 5}, {8, 0}, {8, 6}, {8, 9}, {9, 0}, {10, 0}, {12, 0}};
    for (int[] device : devices) {
      for (int width = 1; width <= 16; width *= 2) {
        DeviceLimits limits = limits(device[0], device[1]);
        for (String order : new String[] {"2,1,0", "1,0,2"}) {
          Availability<TransposePlan> plan =
              TransposePlanner.plan(
                  problem("20,30,50", order, width), width, new DeviceKernels(limits, built));
          assertTrue(plan.isPresent(), () -> limits.architecture() + ": " + plan.whyNot());
        }
      }
    }
  }

  @Test
  void theCacheForgetsWhatIsUnusedForLongest() {
    PlanCache<Integer, String> cache = new PlanCache<>(2);
    assertEquals("1", cache.get(1, String::valueOf));
    assertEquals("2", cache.get(2, String::valueOf));
    assertEquals("1", cache.get(1, key -> "planned again"));
    assertEquals("3", cache.get(3, String::valueOf));
    assertEquals(2, cache.size());
    assertEquals("planned again", cache.get(2, key -> "planned again"));
    assertThrows(IllegalArgumentException.class, () -> new PlanCache<Integer, String>(0));
  }

  private static Availability<TransposePlan> plan(
      String shape, String order, int width, int alignment) {
    return TransposePlanner.plan(
        problem(shape, order, width), alignment, new DeviceKernels(H200, INDEX));
  }

  private static TransposeProblem problem(String shape, String order, int width) {
    int[] axes = Arrays.stream(order.split(",")).mapToInt(Integer::parseInt).toArray();
    return new TransposeProblem(Shape.of(longs(shape)), Permutation.of(axes), width);
  }

  private static long[] longs(String text) {
    return Arrays.stream(text.split(",")).mapToLong(Long::parseLong).toArray();
  }
}
