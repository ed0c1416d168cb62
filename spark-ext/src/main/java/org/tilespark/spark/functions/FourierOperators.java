package org.tilespark.spark.functions;

import static org.tilespark.spark.block.BlockKind.VOLUME;
import static org.tilespark.spark.functions.Tables.blocks;
import static org.tilespark.spark.functions.Tables.extents;
import static org.tilespark.spark.options.Parameter.found;
import static org.tilespark.spark.options.Parameter.required;

import java.util.List;
import java.util.OptionalDouble;
import java.util.Set;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.fourier.FourierPlans;
import org.tilespark.spark.fourier.SpectrumPlans;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.Parameter;
import org.tilespark.spark.options.Type;

/** Declarations of Fourier transforms, and of operators on spectra. */
final class FourierOperators {
  private static final String MOVES = "each element once, or twice";

  private static final Parameter<LogicalPlan> SPECTRUM =
      Tables.table(
          "input", "blocks of a spectrum, as volume_fft gives them with their column metadata");
  private static final Parameter<Double> CUTOFF =
      required(
          "cutoff",
          Type.NUMBER,
          "the greatest frequency that is kept, in cycles per unit of the spacing");
  private static final Parameter<Double> LOW =
      required("low", Type.NUMBER, "the least frequency that is kept, as high");
  private static final Parameter<Double> HIGH =
      required(
          "high",
          Type.NUMBER,
          "the greatest frequency that is kept, in cycles per unit of the spacing");
  private static final Parameter<Double> WIDTH =
      found(
          "width",
          Type.NUMBER,
          "the finest step of any axis",
          "width of a ring, in cycles per unit of the spacing");

  /** Options of a forward transform that an inverse does not have. */
  private static final Set<String> FORWARD =
      Set.of("output", "detrend", "window", "padTo", "spacing");

  /** Options that an inverse by default takes from the metadata. */
  private static final Set<String> UNDONE = Set.of("axes", "norm", "real", "shift");

  static final Operator FFT =
      new Operator(
          "(v[, options])",
          "The discrete Fourier transform of a volume of FLOAT or DOUBLE; its axes come out as yzx."
              + Operator.APART,
          MOVES,
          List.of(blocks("input", VOLUME)),
          Parameter.ofTransforms().stream()
              .filter(option -> !option.name().equals("realExtent"))
              .toList(),
          List.of(extents(VOLUME)),
          call -> FourierPlans.fft(call.blocks(VOLUME), options(call), context(call)));

  static final Operator IFFT =
      new Operator(
          "(v[, options])",
          "The volume of a spectrum: undoes volume_fft as the column metadata states that it was"
              + " done. Axes that were permuted since keep their order. Where there is no metadata,"
              + " options say it.",
          MOVES,
          List.of(SPECTRUM),
          Parameter.ofTransforms().stream()
              .filter(option -> !FORWARD.contains(option.name()))
              .<Parameter<?>>map(
                  each -> UNDONE.contains(each.name()) ? each.otherwise(Parameter.STATED) : each)
              .toList(),
          List.of(extents(VOLUME)),
          call -> FourierPlans.ifft(call.blocks(VOLUME), options(call), context(call)));

  static final Operator LOW_PASS =
      new Operator(
          "(v, cutoff)",
          "A spectrum with zeros where the absolute value of the frequency is above a cutoff.",
          "none",
          List.of(SPECTRUM, CUTOFF),
          call -> FourierPlans.lowPass(call.get(SPECTRUM), call.get(CUTOFF), context(call)));

  static final Operator BAND_PASS =
      new Operator(
          "(v, low, high)",
          "A spectrum with zeros where the absolute value of the frequency is outside a band.",
          "none",
          List.of(SPECTRUM, LOW, HIGH),
          call ->
              FourierPlans.bandPass(
                  call.get(SPECTRUM), call.get(LOW), call.get(HIGH), context(call)));

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
    return call.options(FftOptions::of);
  }

  private static FourierPlans.Context context(Call call) {
    return new FourierPlans.Context(
        call::asDataset,
        call.tasks(),
        TileSparkConf.FOURIER_TASK_SIZE.read(call.conf()),
        call.operator());
  }
}
