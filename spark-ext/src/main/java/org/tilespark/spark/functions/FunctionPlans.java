package org.tilespark.spark.functions;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.fourier.FourierPlans;
import org.tilespark.spark.fourier.SpectrumPlans;
import org.tilespark.spark.multiply.MultiplyPlans;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.permute.PermuteBlocks;
import org.tilespark.spark.pointwise.PointwisePlans;
import org.tilespark.spark.reblock.ReblockPlans;
import org.tilespark.spark.transfer.TransferPlans;
import org.tilespark.spark.validate.BlockValidator;

/** The logical plan of each call of an operator, from SQL or from the facade. */
final class FunctionPlans {
  private FunctionPlans() {}

  // ---- matrices

  static LogicalPlan transpose(Arguments call) {
    return PermuteBlocks.of(
        input(call, BlockKind.MATRIX), BlockKind.MATRIX, Permutation.of(1, 0), call.function());
  }

  static LogicalPlan multiply(Arguments call) {
    return MultiplyPlans.multiply(
        stated(call, BlockKind.MATRIX, "a", "extentsA", ", matrix A"),
        stated(call, BlockKind.MATRIX, "b", "extentsB", ", matrix B"),
        options(call, MultiplyOptions.NAMES, MultiplyOptions::of),
        call.caller()::asDataset,
        call.function());
  }

  static LogicalPlan gram(Arguments call) {
    return MultiplyPlans.gram(
        stated(call, BlockKind.MATRIX, "a", "extents", ""),
        options(call, MultiplyOptions.NAMES, MultiplyOptions::of),
        call.caller()::asDataset,
        call.function());
  }

  static LogicalPlan center(Arguments call) {
    return PointwisePlans.center(
        stated(call, BlockKind.MATRIX, "a", "extents", ""), call.function());
  }

  // ---- of both kinds

  static LogicalPlan reblock(Arguments call, BlockKind kind) {
    return ReblockPlans.reblock(
        input(call, kind),
        kind,
        kind.sizeColumns().stream().mapToLong(call::whole).toArray(),
        missing(call),
        call.function());
  }

  static LogicalPlan pack(Arguments call, BlockKind kind) {
    return TransferPlans.pack(input(call, kind), kind, call.optionalText("dtype"), call.function());
  }

  static LogicalPlan unpack(Arguments call, BlockKind kind) {
    return TransferPlans.unpack(
        call.table("input"),
        kind,
        call.optionalText("dtype"),
        call.optionalText("extents"),
        call.optionalText("blockShape"),
        call.function());
  }

  static LogicalPlan scale(Arguments call, BlockKind kind) {
    String table = kind == BlockKind.MATRIX ? "a" : "input";
    return PointwisePlans.scale(
        stated(call, kind, table, "extents", ""), kind, call.number("alpha"), call.function());
  }

  static LogicalPlan add(Arguments call, BlockKind kind) {
    return PointwisePlans.add(
        stated(call, kind, "a", "extentsA", ", first " + kind.label()),
        stated(call, kind, "b", "extentsB", ", second " + kind.label()),
        kind,
        missing(call),
        call.caller()::asDataset,
        call.function());
  }

  static LogicalPlan validate(Arguments call, BlockKind kind) {
    return BlockValidator.validate(
        call.table("input"),
        kind,
        call.optionalText("extents"),
        call.caller()::asDataset,
        call.function());
  }

  static LogicalPlan withExtents(Arguments call, BlockKind kind) {
    return BlockFrame.withExtents(
        call.table("input"), kind, Optional.of(call.text("extents")), call.function());
  }

  // ---- volumes

  static LogicalPlan permute(Arguments call) {
    return PermuteBlocks.of(
        input(call, BlockKind.VOLUME),
        BlockKind.VOLUME,
        BlockKind.VOLUME.permutation(call.function(), call.text("axes")),
        call.function());
  }

  static LogicalPlan slabs(Arguments call) {
    return ReblockPlans.slabs(
        input(call, BlockKind.VOLUME),
        BlockKind.VOLUME.axis(call.function(), call.text("axis")),
        call.optionalWhole("thickness"),
        missing(call),
        call.caller().tasks(),
        call.caller()::asDataset,
        call.function());
  }

  static LogicalPlan pencils(Arguments call) {
    boolean isStated = !call.texts(List.of("first", "second")).isEmpty();
    return ReblockPlans.pencils(
        input(call, BlockKind.VOLUME),
        BlockKind.VOLUME.axis(call.function(), call.text("axis")),
        isStated
            ? Optional.of(new long[] {call.whole("first"), call.whole("second")})
            : Optional.empty(),
        missing(call),
        call.caller().tasks(),
        call.caller()::asDataset,
        call.function());
  }

  static LogicalPlan fft(Arguments call) {
    return FourierPlans.fft(
        input(call, BlockKind.VOLUME),
        options(call, FftOptions.NAMES, FftOptions::of),
        fourier(call));
  }

  static LogicalPlan ifft(Arguments call) {
    return FourierPlans.ifft(
        input(call, BlockKind.VOLUME),
        options(call, FftOptions.NAMES, FftOptions::of),
        fourier(call));
  }

  static LogicalPlan lowPass(Arguments call) {
    return FourierPlans.lowPass(call.table("input"), call.number("cutoff"), fourier(call));
  }

  static LogicalPlan multiplyPointwise(Arguments call) {
    return PointwisePlans.multiply(
        call.table("a"), call.table("b"), call.caller()::asDataset, call.function());
  }

  static LogicalPlan powerSpectrum(Arguments call) {
    return FourierPlans.power(call.table("input"), fourier(call));
  }

  static LogicalPlan radialAverage(Arguments call) {
    return SpectrumPlans.radialAverage(
        call.table("input"), call.optionalNumber("width"), fourier(call));
  }

  static LogicalPlan frequencies(Arguments call) {
    return SpectrumPlans.frequencies(call.table("input"), fourier(call));
  }

  // ---- what plans are made of

  /** The only table, with the extents that the call states. */
  private static LogicalPlan input(Arguments call, BlockKind kind) {
    return stated(call, kind, "input", "extents", "");
  }

  /**
   * A table, with the extents that the call states.
   *
   * @param which of several tables, for messages
   */
  private static LogicalPlan stated(
      Arguments call, BlockKind kind, String table, String extents, String which) {
    return BlockFrame.withExtents(
        call.table(table), kind, call.optionalText(extents), call.function() + which);
  }

  /** Options of their texts; errors name the function. */
  private static <T> T options(
      Arguments call, List<String> names, Function<Map<String, String>, T> of) {
    try {
      return of.apply(call.texts(names));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(call.function() + ": " + e.getMessage(), e);
    }
  }

  private static Missing missing(Arguments call) {
    return call.optionalText("missing")
        .map(text -> Missing.parse(call.function() + ": missing", text))
        .orElse(Missing.ERROR);
  }

  private static FourierPlans.Context fourier(Arguments call) {
    return new FourierPlans.Context(
        call.caller()::asDataset,
        call.caller().tasks(),
        TileSparkConf.FOURIER_TASK_SIZE.read(call.caller().conf().get()),
        call.function());
  }
}
