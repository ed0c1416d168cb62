package org.tilespark.spark.fourier;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.arrow.blocks.ArrayProgram;
import org.tilespark.arrow.blocks.ArrayStep;
import org.tilespark.arrow.blocks.Elementwise;
import org.tilespark.arrow.blocks.Permute;
import org.tilespark.kernels.pointwise.FilterPrograms;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.KnownArray;
import org.tilespark.spark.block.StatedExtents;
import org.tilespark.spark.block.Streaming;
import org.tilespark.spark.block.UsualShape;
import org.tilespark.spark.fourier.FourierStages.Stage;
import org.tilespark.spark.fourier.FourierStages.Transform;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.FftOptions.Detrend;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.reblock.ReblockPlans;
import org.tilespark.spark.stage.ProgramBlocks;

/**
 * Makes the logical plans of Fourier transforms. They are stages ({@link ProgramBlocks}), each of
 * which transforms the axes along which its blocks are whole, with exchanges between them ({@link
 * ReblockPlans}):
 *
 * <pre>
 *   slabs     x-slabs, over y and z    exchange    y-slabs, over x
 *   pencils   over z    exchange    over y    exchange    over x
 *   task      the whole volume, over x, y and z
 * </pre>
 *
 * <p>Inputs whose blocks do not fit the first stage need one further exchange before it.
 */
public final class FourierPlans {
  private static final int RANK = 3;

  /**
   * Facts other than its input that a plan may depend on.
   *
   * @param asDataset turns a plan into a DataFrame; extents that no metadata states are found by a
   *     small aggregate over the coordinates, which runs now
   * @param tasks tasks that can run at once
   * @param taskBytes most bytes of a volume that a single task may transform
   * @param operator operator's name, for messages
   */
  public record Context(
      Function<LogicalPlan, Dataset<Row>> asDataset, int tasks, long taskBytes, String operator) {}

  private final LogicalPlan input;
  private final Context context;
  private final BlockSchema blocks;
  private final ArrayMetadata metadata;
  private final KnownArray known;
  private final FourierVolume volume;
  private final Missing missing;

  private FourierPlans(LogicalPlan input, Missing missing, Context context) {
    this.context = context;
    this.missing = missing;
    BlockFrame frame = BlockFrame.of(input, BlockKind.VOLUME, context.operator()).requireNumbers();
    this.blocks = frame.blocks();
    this.metadata = frame.metadata();
    this.known = KnownArray.of(input, blocks, missing, context.asDataset(), context.operator());
    this.volume =
        new FourierVolume(
            known.extents(),
            metadata,
            blocks.isComplex(),
            metadata.axes().filter(axes -> axes.length() == RANK).orElse("xyz"),
            context.operator());
    requireAlike();
    this.input =
        metadata.extents(RANK).isPresent()
            ? input
            : BlockFrame.withExtents(
                input,
                BlockKind.VOLUME,
                Optional.of(StatedExtents.of(known.extents())),
                context.operator());
  }

  // ---- the operators

  /**
   * A volume's spectrum.
   *
   * @throws IllegalArgumentException if {@code input} has no volume blocks of FLOAT or DOUBLE, or
   *     the options do not fit the blocks; the message says what was found
   */
  public static LogicalPlan fft(LogicalPlan input, FftOptions options, Context context) {
    Streaming.refuse(context.operator(), input);
    FourierPlans plans = new FourierPlans(input, options.missing(), context);
    return plans.transformed(plans.volume.forward(options), options);
  }

  /**
   * The volume of a spectrum.
   *
   * @throws IllegalArgumentException as {@link #fft}; also if neither metadata nor options say
   *     which transform made the spectrum
   */
  public static LogicalPlan ifft(LogicalPlan input, FftOptions options, Context context) {
    Streaming.refuse(context.operator(), input);
    FourierPlans plans = new FourierPlans(input, options.missing(), context);
    return plans.transformed(plans.volume.inverse(options), options);
  }

  /**
   * A spectrum without its high frequencies.
   *
   * @param cutoff the greatest absolute value of a frequency that is kept, in cycles per unit of
   *     the spacing
   * @throws IllegalArgumentException if the cutoff is not 0 or more, or the metadata does not say
   *     that this is a spectrum
   */
  public static LogicalPlan lowPass(LogicalPlan input, double cutoff, Context context) {
    if (!(cutoff >= 0)) {
      throw new IllegalArgumentException(
          context.operator() + ": cutoff is " + cutoff + "; expected 0 or more");
    }
    return band(input, 0, cutoff, context);
  }

  /**
   * A spectrum without its low and its high frequencies.
   *
   * @param low the least absolute value of a frequency that is kept, in cycles per unit of the
   *     spacing
   * @param high the greatest absolute value of a frequency that is kept
   * @throws IllegalArgumentException if not 0 &lt;= low &lt;= high, or the metadata does not say
   *     that this is a spectrum
   */
  public static LogicalPlan bandPass(LogicalPlan input, double low, double high, Context context) {
    if (!(low >= 0 && high >= low)) {
      throw new IllegalArgumentException(
          "%s: the band is from %s to %s; expected 0 or more, and no end before its start"
              .formatted(context.operator(), low, high));
    }
    return band(input, low, high, context);
  }

  private static LogicalPlan band(LogicalPlan input, double low, double high, Context context) {
    FourierPlans plans = new FourierPlans(input, Missing.ERROR, context);
    return plans.pointwise(
        new PositionDependentStep.BandPass(low, high, plans.volume.frequencies()));
  }

  /**
   * The squares of a spectrum's absolute values.
   *
   * @throws IllegalArgumentException if {@code input} has no complex volume blocks
   */
  public static LogicalPlan power(LogicalPlan input, Context context) {
    FourierPlans plans = new FourierPlans(input, Missing.ERROR, context);
    if (!plans.blocks.isComplex()) {
      throw plans.volume.bad(
          "the blocks are real (no column imag); expected complex ones of a spectrum");
    }
    return plans.pointwise(
        new Elementwise(FilterPrograms.power(RANK, plans.blocks.elementType()), "power"));
  }

  /**
   * The frequencies along each transformed axis of a spectrum, by the number of its current axis.
   *
   * @throws IllegalArgumentException if the metadata does not say that this is a spectrum
   */
  public static Map<Integer, AxisFrequencies> frequencies(LogicalPlan input, Context context) {
    return new FourierPlans(input, Missing.ERROR, context).volume.frequencies();
  }

  /** The plan of an elementwise step, for blocks of any shape. */
  private LogicalPlan pointwise(ArrayStep step) {
    ArrayProgram program =
        new ArrayProgram(known.extents(), blocks.elementType(), blocks.isComplex(), List.of(step));
    return ProgramBlocks.of(
        input,
        BlockKind.VOLUME,
        program,
        described(metadata, program, metadata.blockShape(RANK).map(program::blockShape), true)
            .toMetadata(),
        Optional.empty(),
        missing,
        context.operator());
  }

  // ---- stages, with exchanges between them

  private LogicalPlan transformed(FourierVolume.Steps steps, FftOptions options) {
    Transform transform = steps.transform();
    FourierStages planner =
        new FourierStages(
            known, 2L * blocks.elementType().bytes(), context.tasks(), context.taskBytes());
    List<Stage> stages = planner.stages(transform, options.decomposition());
    LogicalPlan at = input;
    Shape extents = known.extents();
    boolean isComplex = steps.asComplex();
    boolean isGathered = stages.get(0).isGathered();
    Optional<Shape> shape = metadata.blockShape(RANK);
    for (int i = 0; i < stages.size(); i++) {
      Stage stage = stages.get(i);
      boolean isLast = i == stages.size() - 1;
      if (!isGathered && (i > 0 || !stage.cut().isEmpty() || missing == Missing.ZERO)) {
        long[] wanted =
            stage.cut().isEmpty()
                ? known.largest().toArray()
                : planner.shape(stage.cut(), extents, transform.padded(extents, stage.axes()));
        at =
            i == 0
                ? ReblockPlans.reblock(at, BlockKind.VOLUME, wanted, missing, context.operator())
                : cutAgain(at, wanted, stage.cut().size() == 1);
        shape = Optional.of(Shape.of(wanted));
      }
      if (i == 0 && options.detrend() != Detrend.NONE) {
        at = TrendPlans.joined(at, input, known.extents(), options, context.operator());
      }
      List<ArrayStep> list = new ArrayList<>(i == 0 ? steps.first() : List.of());
      list.addAll(steps.later().over(stage.axes(), extents));
      if (isLast && !transform.permutation().isIdentity()) {
        list.add(new Permute(transform.permutation()));
      }
      ArrayProgram program = new ArrayProgram(extents, blocks.elementType(), isComplex, list);
      shape =
          isGathered ? Optional.of(planner.gatheredShape(program)) : shape.map(program::blockShape);
      at =
          ProgramBlocks.of(
              at,
              BlockKind.VOLUME,
              program,
              described(isLast ? steps.result() : metadata, program, shape, isLast).toMetadata(),
              isGathered ? shape : Optional.empty(),
              missing,
              context.operator());
      extents = program.output().shape();
      isComplex = program.output().isComplex();
    }
    boolean areSlabs = stages.size() == 2 && stages.get(1).cut().size() == 1;
    boolean comesBack =
        options.natural() && !transform.inverse() && areSlabs && stages.get(1).cut().get(0) != 0;
    return comesBack ? inSlabsOfInput(at, extents, planner) : at;
  }

  /**
   * The plan of the volume in x-slabs again, as thick as the input's unless blocks would become too
   * large.
   */
  private LogicalPlan inSlabsOfInput(LogicalPlan plan, Shape extents, FourierStages planner) {
    long[] shape = planner.shape(List.of(0), extents);
    if (known.isSlabs(0)) {
      long plane = 2L * blocks.elementType().bytes() * extents.extent(1) * extents.extent(2);
      long most = Math.max(1, (UsualShape.LARGE_BYTES - 1) / plane);
      shape[0] = Math.max(1, Math.min(most, known.largest().extent(0)));
    }
    return cutAgain(plan, shape, true);
  }

  /**
   * The plan that cuts the volume again between two stages, by an exchange.
   *
   * @param areSlabs true if every block gives a piece to every target block
   */
  private LogicalPlan cutAgain(LogicalPlan plan, long[] shape, boolean areSlabs) {
    return areSlabs
        ? ReblockPlans.allToAll(plan, BlockKind.VOLUME, shape, Missing.ERROR, context.operator())
        : ReblockPlans.reblock(
            plan, BlockKind.VOLUME, shape, Missing.ERROR, input, context.operator());
  }

  /**
   * The metadata of a stage's result.
   *
   * @param blockShape shape of the result's blocks
   */
  private ArrayMetadata described(
      ArrayMetadata like, ArrayProgram program, Optional<Shape> blockShape, boolean isLast) {
    ArrayMetadata result = like.withExtents(program.output().shape());
    if (blockShape.isPresent()) {
      result = result.withBlockShape(blockShape.get());
    }
    if (isLast) {
      String before = like.axes().filter(axes -> axes.length() == RANK).orElse(volume.letters());
      result = result.withAxes(FourierVolume.letters(program.permutation(), before));
    }
    return result.ofComputed(blocks.elementType(), program.output().isComplex());
  }

  private void requireAlike() {
    if (Arrays.stream(known.extents().toArray()).anyMatch(extent -> extent == 0)) {
      throw volume.bad(
          "the extents are "
              + known.extents()
              + "; expected at least one element (state the extents of a volume without blocks)");
    }
    if (known.extents().elements() >= KnownArray.TOO_MANY_ELEMENTS) {
      throw volume.bad(
          "the extents are " + known.extents() + "; expected fewer than 2^58 elements");
    }
    if (!known.alike()) {
      throw volume.bad(
          "the volumes that further columns tell apart have different extents, up to "
              + known.extents()
              + " along each axis; expected one size (reblock and transform them apart)");
    }
  }
}
