package org.tilespark.kernels.multiply;

import java.util.Optional;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.multiply.MultiplyProblem.Batch;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.MultiplyProblem.Stored;
import org.tilespark.layout.ElementType;

/** Devices, kernels and problems of the tests of plans. */
final class PlannerFixture {
  static final DeviceLimits H200 =
      new DeviceLimits(9, 0, 132, 1024, Integer.MAX_VALUE, 48 << 10, 140L << 30);

  static final DeviceLimits OLD =
      new DeviceLimits(7, 0, 80, 1024, Integer.MAX_VALUE, 48 << 10, 16L << 30);

  static final KernelIndex INDEX =
      KernelIndex.parse(
          """
          kernel multiply_tiled multiply_tiled_w4_128x128x256 sm_90a
          kernel multiply_tiled multiply_tiled_w4_64x64x128 sm_90a
          kernel multiply_tiled multiply_tiled_w4_32x32x64 sm_90a
          kernel multiply_tiled multiply_tiled_w8_64x64x128 sm_90a
          kernel multiply_tiled multiply_tiled_w8_32x32x128 sm_90a
          kernel add_tile add_tile_w4_256 sm_90a
          kernel add_tile add_tile_w8_256 sm_90a
          """);

  /**
   * The kernels of {@link #INDEX} and those of sm_90a alone, except the one that sums parts of K.
   */
  private static final String UNCUT =
      """
      kernel multiply_tiled multiply_tiled_w4_128x128x256 sm_90a
      kernel multiply_tiled multiply_tiled_w4_64x64x128 sm_90a
      kernel multiply_tiled multiply_tiled_w4_32x32x64 sm_90a
      kernel multiply_tiled multiply_tiled_w4_32x32x64 compute_80
      kernel multiply_tiled multiply_tiled_w8_64x64x128 sm_90a
      kernel multiply_tiled multiply_tiled_w8_32x32x128 sm_90a
      kernel multiply_tiled multiply_tiled_w8_32x32x128 compute_80
      kernel multiply_split multiply_split_w4_128x128x384 sm_90a dynamicBytes=205824
      kernel multiply_split multiply_split_across_w4_128x128x384 sm_90a dynamicBytes=205824
      kernel repair_split repair_split_w4_64x64x128 sm_90a
      kernel multiply_tensor multiply_float16_w2_128x256x384 sm_90a dynamicBytes=197632
      kernel multiply_tensor multiply_float16_w2_128x128x384 sm_90a dynamicBytes=197633
      kernel multiply_tensor multiply_bfloat16_w2_128x256x384 sm_90a dynamicBytes=197632
      kernel multiply_tensor multiply_tf32_w4_128x256x384 sm_90a dynamicBytes=197632
      kernel multiply_double multiply_double_tt_w8_64x128x384 sm_90a dynamicBytes=197120
      kernel multiply_double multiply_double_nt_w8_64x128x384 sm_90a dynamicBytes=197120
      kernel multiply_double multiply_double_tn_w8_64x128x384 sm_90a dynamicBytes=197120
      kernel multiply_double multiply_double_chain_tt_w8_128x64x384 sm_90a dynamicBytes=197120
      kernel multiply_double multiply_double_chain_nt_w8_128x64x384 sm_90a dynamicBytes=197120
      kernel multiply_double multiply_double_chain_tn_w8_128x64x384 sm_90a dynamicBytes=197120
      kernel pack pack_split_w2_256 sm_90a
      kernel pack pack_split_mixed_w2_256 sm_90a
      kernel pack pack_float16_w2_256 sm_90a
      kernel pack pack_bfloat16_w2_256 sm_90a
      kernel pack pack_tf32_w4_256 sm_90a
      kernel pack pack_rows_w8_256 sm_90a
      """;

  static final KernelIndex HOPPER = KernelIndex.parse(UNCUT);

  /** An index with all kernels. */
  static final KernelIndex CUTTING =
      KernelIndex.parse(
          UNCUT
              + """
              kernel multiply_parts multiply_parts_w4_256 sm_90a
              kernel multiply_parts multiply_parts_w8_256 sm_90a
              """);

  static final DeviceLimits LATER =
      new DeviceLimits(10, 0, 148, 1024, Integer.MAX_VALUE, 48 << 10, 180L << 30);

  /** A factor of 1, as kernels for float read it. */
  static final long ONE_FLOAT = Float.floatToRawIntBits(1);

  /** A factor of 1, as kernels for double read it. */
  static final long ONE_DOUBLE = Double.doubleToRawLongBits(1);

  static final Availability<?> ABSENT = Availability.not("no such library");

  private PlannerFixture() {}

  /** A dense product with B transposed. */
  static MultiplyProblem problem(long m, long k, long n, ElementType type) {
    return MultiplyProblem.dense(m, k, n, type, false, true);
  }

  /** A dense square product of DOUBLE. */
  static MultiplyProblem doubles(long extent, boolean transposeA, boolean transposeB) {
    return MultiplyProblem.dense(
        extent, extent, extent, ElementType.FLOAT64, transposeA, transposeB);
  }

  /** A dense square product of FLOAT. */
  static MultiplyProblem square(Precision precision, long extent, boolean accumulate) {
    return new MultiplyProblem(
        new Extents(extent, extent, extent),
        ElementType.FLOAT32,
        precision,
        new Stored(false, Math.max(1, extent)),
        new Stored(false, Math.max(1, extent)),
        Math.max(1, extent),
        accumulate ? Factors.ADD : Factors.OVERWRITE,
        Batch.ONE);
  }

  /** A batch of {@code count} consecutive products. */
  static MultiplyProblem batch(MultiplyProblem one, long count) {
    return one.withBatch(
        new MultiplyProblem.Batch(
            count,
            one.rowsA() * one.a().lead(),
            one.rowsB() * one.b().lead(),
            one.m() * one.leadC()));
  }

  /** The strategy by rule with ordinary kernels alone. */
  static MultiplyStrategy strategy(
      MultiplyProblem problem, MultiplyEngine engine, Availability<?> cublas) {
    return new MultiplyPlanner(new DeviceKernels(H200, INDEX), cublas, engine)
        .plan(problem, problem.k())
        .get()
        .strategy();
  }

  /** The strategy by a way that was chosen. */
  static MultiplyStrategy by(String way, MultiplyProblem problem, Availability<?> cublas) {
    return by(way, problem, cublas, INDEX);
  }

  static MultiplyStrategy by(
      String way, MultiplyProblem problem, Availability<?> cublas, KernelIndex index) {
    return new MultiplyPlanner(new DeviceKernels(H200, index), cublas, MultiplyEngine.AUTO)
        .plan(problem, problem.k(), new MultiplyWay(way))
        .get()
        .strategy();
  }

  /** The strategy of a kernel for the tensor cores; K is not cut. */
  static MultiplyStrategy.Tensor tensor(String kernel, MultiplyProblem problem) {
    return new MultiplyPlanner(new DeviceKernels(H200, HOPPER), ABSENT, MultiplyEngine.AUTO)
        .candidates(problem, problem.k()).stream()
            .map(MultiplyPlan::strategy)
            .filter(strategy -> strategy.way().equals(Optional.of(new MultiplyWay(kernel))))
            .map(MultiplyStrategy.Tensor.class::cast)
            .findFirst()
            .orElseThrow();
  }

  /** The strategy by rule where K may be cut. */
  static MultiplyStrategy cutting(
      MultiplyProblem problem, MultiplyEngine engine, Availability<?> cublas) {
    return new MultiplyPlanner(new DeviceKernels(H200, CUTTING), cublas, engine)
        .plan(problem, problem.k())
        .get()
        .strategy();
  }

  static MultiplyStep.Place at(MultiplyStep.Side side, long bytes) {
    return new MultiplyStep.Place(side, bytes);
  }
}
