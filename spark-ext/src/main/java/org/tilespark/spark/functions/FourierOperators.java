package org.tilespark.spark.functions;

import static org.tilespark.spark.block.BlockKind.VOLUME;
import static org.tilespark.spark.functions.Parameter.MISSING;
import static org.tilespark.spark.functions.Parameter.STATED;
import static org.tilespark.spark.functions.Parameter.blocks;
import static org.tilespark.spark.functions.Parameter.extents;
import static org.tilespark.spark.functions.Parameter.optional;
import static org.tilespark.spark.functions.Parameter.required;

import java.util.List;
import java.util.OptionalDouble;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.fourier.FourierPlans;
import org.tilespark.spark.fourier.SpectrumPlans;
import org.tilespark.spark.options.FftOptions;

/** Transforms, and operators on spectra. Options of transforms are those of {@link FftOptions}. */
final class FourierOperators {
  private static final String MOVES = "each element once, or twice";

  private static final Parameter<LogicalPlan> SPECTRUM =
      required(
          "input",
          Type.TABLE,
          "blocks of a spectrum, as volume_fft gives them with their column metadata");
  private static final Parameter<Double> CUTOFF =
      required(
          "cutoff",
          Type.NUMBER,
          "the greatest frequency that is kept, in cycles per unit of the spacing");
  private static final Parameter<Double> WIDTH =
      optional(
          "width",
          Type.NUMBER,
          "the finest step of any axis",
          "width of a ring, in cycles per unit of the spacing");

  private static final Parameter<String> AXES =
      optional(
          "axes",
          Type.AXES,
          "'xyz'",
          "the axes to transform, 'yz', '1,2' or array(1, 2); of a real transform the last one"
              + " named is halved");
  private static final Parameter<String> NORM =
      optional("norm", Type.TEXT, "'backward'", "'backward', 'ortho' or 'forward', as in numpy");
  private static final Parameter<String> REAL =
      optional(
          "real", Type.FLAG, "false", "true for half a spectrum of real values, as numpy's rfftn");
  private static final Parameter<String> OUTPUT =
      optional(
          "output",
          Type.TEXT,
          "'permuted'",
          "'permuted' leaves the axes of a transform of all three as yzx, 'natural' as they were,"
              + " by a second exchange");
  private static final Parameter<String> SHIFT =
      optional(
          "shift",
          Type.TEXT,
          "'none'",
          "what has its origin in the middle: 'none', 'spectrum', 'volume' or 'both'");
  private static final Parameter<String> DECOMPOSITION =
      optional(
          "decomposition",
          Type.TEXT,
          "'auto'",
          "how tasks share the work: 'auto' (by cost), 'task' (one task a volume), 'slabs' or"
              + " 'pencils'");
  private static final Parameter<String> DETREND =
      optional(
          "detrend",
          Type.TEXT,
          "'none'",
          "what is subtracted first: 'none', 'mean', or 'linear' for the plane that fits best");
  private static final Parameter<String> WINDOW =
      optional(
          "window",
          Type.LIST,
          "'none'",
          "'none', 'hann', 'hamming' or 'blackman'; one, or one per axis: 'hann,none,hann'");
  private static final Parameter<String> PAD_TO =
      optional(
          "padTo",
          Type.LIST,
          "'none'",
          "extents to pad with zeros to, 'fast' for the next fast length, or 'none'; one, or one"
              + " per axis");
  private static final Parameter<String> SPACING =
      optional(
          "spacing",
          Type.LIST,
          "1",
          "distance between samples, for frequencies; one, or one per axis: array(0.5, 1, 1)");
  private static final Parameter<Long> REAL_EXTENT =
      optional("realExtent", Type.WHOLE, STATED, "extent of the halved axis before the transform");

  static final Operator FFT =
      new Operator(
          "(v[, options])",
          "The discrete Fourier transform of a volume of FLOAT or DOUBLE; its axes come out as yzx."
              + Operator.APART,
          MOVES,
          List.of(
              blocks("input", VOLUME),
              AXES,
              NORM,
              REAL,
              OUTPUT,
              SHIFT,
              DECOMPOSITION,
              MISSING,
              DETREND,
              WINDOW,
              PAD_TO,
              SPACING,
              extents(VOLUME)),
          call -> FourierPlans.fft(call.blocks(VOLUME), options(call), context(call)));

  static final Operator IFFT =
      new Operator(
          "(v[, options])",
          "The volume of a spectrum: undoes volume_fft as the column metadata states that it was"
              + " done. Axes that were permuted since keep their order. Where there is no metadata,"
              + " options say it.",
          MOVES,
          List.of(
              SPECTRUM,
              AXES.otherwise(STATED),
              NORM.otherwise(STATED),
              REAL.otherwise(STATED),
              SHIFT.otherwise(STATED),
              DECOMPOSITION,
              MISSING,
              REAL_EXTENT,
              extents(VOLUME)),
          call -> FourierPlans.ifft(call.blocks(VOLUME), options(call), context(call)));

  static final Operator LOW_PASS =
      new Operator(
          "(v, cutoff)",
          "A spectrum with zeros where the absolute value of the frequency is above a cutoff.",
          "none",
          List.of(SPECTRUM, CUTOFF),
          call -> FourierPlans.lowPass(call.get(SPECTRUM), call.get(CUTOFF), context(call)));

  static final Operator POWER_SPECTRUM =
      new Operator(
          "(v)",
          "The squares of the absolute values of complex blocks.",
          "none",
          List.of(SPECTRUM),
          call -> FourierPlans.power(call.get(SPECTRUM), context(call)));

  static final Operator RADIAL_AVERAGE =
      new Operator(
          "(v[, width])",
          "The mean power of a spectrum at each absolute value of the frequency: frequency, power,"
              + " count.",
          "sums",
          List.of(SPECTRUM, WIDTH),
          call ->
              SpectrumPlans.radialAverage(
                  call.get(SPECTRUM),
                  call.find(WIDTH).map(OptionalDouble::of).orElse(OptionalDouble.empty()),
                  context(call)));

  static final Operator FREQUENCIES =
      new Operator(
          "(v)",
          "The frequencies along the transformed axes of a spectrum: axis, index, frequency.",
          "none",
          List.of(SPECTRUM),
          call -> SpectrumPlans.frequencies(call.get(SPECTRUM), context(call)));

  private FourierOperators() {}

  private static FftOptions options(Call call) {
    return call.options(FftOptions.NAMES, FftOptions::of);
  }

  private static FourierPlans.Context context(Call call) {
    return new FourierPlans.Context(
        call::asDataset,
        call.tasks(),
        TileSparkConf.FOURIER_TASK_SIZE.read(call.conf()),
        call.operator());
  }
}
