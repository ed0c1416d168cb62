package org.tilespark.spark.fourier;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.arrow.arrays.ArrayStep;
import org.tilespark.arrow.arrays.ArrayStep.Direction;
import org.tilespark.arrow.arrays.ArrayStep.Form;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.KnownArray;
import org.tilespark.spark.block.Streaming;
import org.tilespark.spark.fourier.FourierStages.Stage;
import org.tilespark.spark.fourier.FourierStages.Transform;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.FftOptions.Detrend;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.Norm;
import org.tilespark.spark.options.Shift;
import org.tilespark.spark.options.Window;
import org.tilespark.spark.permute.BlockPlans;
import org.tilespark.spark.reblock.ReblockPlans;

/**
 * Makes the logical plans of Fourier transforms. They are stages ({@link FourierBlocks}), each of
 * which transforms the axes along which its blocks are whole, with exchanges between them ({@link
 * ReblockPlans}):
 *
 * <pre>
 *   slabs     x-slabs, over y and z    exchange    y-slabs, over x
 *   pencils   over z    exchange    over y    exchange    over x
 *   task      the whole volume, over x, y and z
 * </pre>
 *
 * <p>Where the input lies otherwise, one exchange more comes first.
 */
public final class FourierPlans {
  private static final String LETTERS = "xyz";
  private static final int RANK = 3;

  /**
   * What a plan may depend on besides its input.
   *
   * @param asDataset makes a DataFrame of a plan; extents that no metadata states are found by a
   *     small aggregate over the coordinates, which runs now
   * @param tasks that can run at once
   * @param taskBytes of a volume that one task may transform by itself
   * @param operator who asks, for messages
   */
  public record Context(
      Function<LogicalPlan, Dataset<Row>> asDataset, int tasks, long taskBytes, String operator) {}

  private final LogicalPlan input;
  private final Context context;
  private final BlockSchema blocks;
  private final ArrayMetadata metadata;
  private final KnownArray known;
  private final String letters; // of the input's axes, in the volume that was there first
  private final Missing missing;

  private FourierPlans(LogicalPlan input, Missing missing, Context context) {
    this.context = context;
    this.missing = missing;
    BlockFrame frame = BlockFrame.of(input, BlockKind.VOLUME, context.operator()).requireNumbers();
    this.blocks = frame.blocks();
    this.metadata = frame.metadata();
    this.known = KnownArray.of(input, blocks, missing, context.asDataset(), context.operator());
    requireAlike();
    this.input =
        metadata.extents(RANK).isPresent()
            ? input
            : BlockPlans.withExtents(
                input, BlockKind.VOLUME, Optional.of(known.extents().text()), context.operator());
    this.letters = metadata.axes().filter(axes -> axes.length() == RANK).orElse(LETTERS);
  }

  // ---- the operators

  /**
   * A volume's spectrum.
   *
   * @throws IllegalArgumentException if {@code input} has no volume blocks of FLOAT or DOUBLE, or
   *     the options do not fit them; says what was found
   */
  public static LogicalPlan fft(LogicalPlan input, FftOptions options, Context context) {
    Streaming.refuse(context.operator(), input);
    return new FourierPlans(input, options.missing(), context).forward(options);
  }

  /**
   * The volume of a spectrum.
   *
   * @throws IllegalArgumentException as {@link #fft}; or if neither metadata nor options say which
   *     transform made the spectrum
   */
  public static LogicalPlan ifft(LogicalPlan input, FftOptions options, Context context) {
    Streaming.refuse(context.operator(), input);
    return new FourierPlans(input, options.missing(), context).inverse(options);
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
    FourierPlans plans = new FourierPlans(input, Missing.ERROR, context);
    return plans.pointwise(new PlacedStep.LowPass(cutoff, plans.frequencies()));
  }

  /**
   * The squares of a spectrum's absolute values.
   *
   * @throws IllegalArgumentException if {@code input} has no complex volume blocks
   */
  public static LogicalPlan power(LogicalPlan input, Context context) {
    FourierPlans plans = new FourierPlans(input, Missing.ERROR, context);
    if (!plans.blocks.isComplex()) {
      throw plans.bad("the blocks are real (no column imag); expected complex ones of a spectrum");
    }
    return plans.pointwise(new ArrayStep.Power(1));
  }

  /**
   * The frequencies along each transformed axis of a spectrum, by its current axes.
   *
   * @throws IllegalArgumentException if the metadata does not say that this is a spectrum
   */
  public static Map<Integer, AxisFrequencies> frequencies(LogicalPlan input, Context context) {
    return new FourierPlans(input, Missing.ERROR, context).frequencies();
  }

  /** One step for each element, of blocks of any shape. */
  private LogicalPlan pointwise(ArrayStep step) {
    FourierProgram program =
        new FourierProgram(
            known.extents(), blocks.elementType(), blocks.isComplex(), List.of(step));
    return FourierBlocks.of(
        input,
        program,
        described(metadata, program, metadata.blockShape(RANK).map(program::blockShape), true)
            .toMetadata(),
        Optional.empty(),
        missing,
        context.operator());
  }

  // ---- forward

  private LogicalPlan forward(FftOptions options) {
    List<Integer> axes = axes(options.axes().orElse(LETTERS));
    boolean isReal = options.real().orElse(false);
    if (isReal && blocks.isComplex()) {
      throw bad("real=true, but the blocks are complex (column imag); expected real ones");
    }
    if (options.realExtent().isPresent()) {
      throw bad("realExtent is for the inverse");
    }
    int halved = isReal ? axes.get(axes.size() - 1) : -1;
    Norm norm = options.norm().orElse(Norm.BACKWARD);
    Shift shift = options.shift().orElse(Shift.NONE);
    List<Long> padded = padded(options, axes);
    List<Window> windows = windows(options, axes);
    List<Double> spacing =
        described(() -> options.spacing(axes.size()))
            .orElseGet(() -> Collections.nCopies(axes.size(), 1.0));
    Permutation permutation =
        axes.size() == RANK && !options.natural()
            ? Permutation.of(1, 2, 0)
            : Permutation.identity(RANK);

    List<ArrayStep> first = new ArrayList<>();
    if (options.detrend() != Detrend.NONE) {
      first.add(new PlacedStep.Detrend());
    }
    if (windows.stream().anyMatch(window -> window != Window.NONE)) {
      first.add(new PlacedStep.Taper(windows));
    }
    StepsOf steps =
        (over, extents) -> {
          List<ArrayStep> list = new ArrayList<>();
          long[] grown = extents.toArray();
          long[] toFront = new long[RANK];
          long[] toMiddle = new long[RANK];
          double elements = 1;
          for (int axis : over) {
            grown[axis] = padded.get(axes.indexOf(axis));
            elements *= grown[axis];
            toFront[axis] = shift.ofVolume() ? -(extents.extent(axis) / 2) : 0;
            toMiddle[axis] = shift.ofSpectrum() && axis != halved ? grown[axis] / 2 : 0;
          }
          add(list, new ArrayStep.Roll(boxed(toFront)));
          if (!Shape.of(grown).equals(extents)) {
            list.add(new ArrayStep.Pad(Shape.of(grown)));
          }
          list.add(
              new ArrayStep.Fourier(
                  over,
                  over.contains(halved) ? Form.REAL : Form.COMPLEX,
                  Direction.FORWARD,
                  0,
                  norm.scale(elements, false)));
          add(list, new ArrayStep.Roll(boxed(toMiddle)));
          return list;
        };
    Spectrum spectrum =
        new Spectrum(
            axes.stream().map(this::letter).collect(Collectors.joining()),
            isReal,
            padded.get(axes.size() - 1),
            norm,
            shift,
            spacing,
            letters);
    return transformed(
        new Transform(
            axes,
            halved,
            false,
            permutation,
            axes.stream()
                .collect(Collectors.toMap(axis -> axis, axis -> padded.get(axes.indexOf(axis))))),
        new Steps(!isReal, first, steps),
        options,
        metadata.withSpectrum(Optional.of(spectrum.after(metadata.spectrum()))));
  }

  private List<Long> padded(FftOptions options, List<Integer> axes) {
    List<Long> padded =
        described(() -> options.padTo(axes.stream().map(known.extents()::extent).toList()));
    long[] extents = known.extents().toArray();
    axes.forEach(axis -> extents[axis] = padded.get(axes.indexOf(axis)));
    if (Arrays.stream(extents).asDoubleStream().reduce(1, (a, b) -> a * b)
        >= KnownArray.TOO_MANY_ELEMENTS) {
      throw bad(
          "padTo makes the extents "
              + Arrays.toString(extents)
              + "; expected fewer than 2^58 elements");
    }
    return padded;
  }

  private List<Window> windows(FftOptions options, List<Integer> axes) {
    List<Window> along = described(() -> options.windows(axes.size()));
    return IntStream.range(0, RANK)
        .mapToObj(axis -> axes.contains(axis) ? along.get(axes.indexOf(axis)) : Window.NONE)
        .toList();
  }

  // ---- inverse

  private LogicalPlan inverse(FftOptions options) {
    for (String forwardOnly : List.of("detrend", "window", "padTo", "spacing")) {
      if (options.toMap().containsKey(forwardOnly)) {
        throw bad(forwardOnly + " is for the forward transform");
      }
    }
    Spectrum spectrum = spectrum(options);
    String current = metadata.spectrum().isPresent() ? letters : layout(options);
    List<Integer> axes = new ArrayList<>();
    for (char letter : spectrum.axes().toCharArray()) {
      axes.add(current.indexOf(letter));
    }
    int halved = spectrum.isHalf() ? axes.get(axes.size() - 1) : -1;
    if (!blocks.isComplex()) {
      throw bad("the blocks are real (no column imag); expected the complex ones of a spectrum");
    }
    if (halved >= 0 && known.extents().extent(halved) != spectrum.lastExtent() / 2 + 1) {
      throw bad(
          "half a spectrum of "
              + spectrum.lastExtent()
              + " values has "
              + (spectrum.lastExtent() / 2 + 1)
              + " frequencies along its last axis "
              + LETTERS.charAt(halved)
              + ", found "
              + known.extents().extent(halved)
              + "; if the metadata is stale, state realExtent");
    }
    Permutation permutation =
        Permutation.of(spectrum.order().chars().map(current::indexOf).toArray());
    StepsOf steps =
        (over, extents) -> {
          List<ArrayStep> list = new ArrayList<>();
          long[] toFront = new long[RANK];
          long[] toMiddle = new long[RANK];
          double elements = 1;
          for (int axis : over) {
            long extent = axis == halved ? spectrum.lastExtent() : extents.extent(axis);
            elements *= extent;
            toFront[axis] = spectrum.shift().ofSpectrum() && axis != halved ? -(extent / 2) : 0;
            toMiddle[axis] = spectrum.shift().ofVolume() ? extent / 2 : 0;
          }
          add(list, new ArrayStep.Roll(boxed(toFront)));
          list.add(
              new ArrayStep.Fourier(
                  over,
                  over.contains(halved) ? Form.REAL : Form.COMPLEX,
                  Direction.INVERSE,
                  over.contains(halved) ? spectrum.lastExtent() : 0,
                  spectrum.norm().scale(elements, true)));
          add(list, new ArrayStep.Roll(boxed(toMiddle)));
          return list;
        };
    return transformed(
        new Transform(axes, halved, true, permutation),
        new Steps(true, List.of(), steps),
        options,
        metadata.withAxes(current).withSpectrum(metadata.spectrum().flatMap(Spectrum::beforeLast)));
  }

  /** The transform to be undone: as the metadata tells it, changed as the options say. */
  private Spectrum spectrum(FftOptions options) {
    if (metadata.spectrum().isEmpty()) {
      return spectrumOfOptions(options);
    }
    Spectrum told = Spectrum.last(metadata.spectrum().get());
    if (options.axes().isPresent()) {
      Set<String> asked =
          axes(options.axes().get()).stream().map(this::letter).collect(Collectors.toSet());
      if (!asked.equals(Set.of(told.axes().split("")))) {
        throw bad(
            "axes is '"
                + options.axes().get()
                + "'; the column metadata "
                + ArrayMetadata.SPECTRUM
                + " says that the axes "
                + told.axes()
                    .chars()
                    .mapToObj(letter -> LETTERS.substring(letters.indexOf(letter)).substring(0, 1))
                    .sorted()
                    .collect(Collectors.joining())
                + " were transformed together; expected all of them");
      }
    }
    return new Spectrum(
        told.axes(),
        options.real().orElse(told.isHalf()),
        options.realExtent().orElse(told.lastExtent()),
        options.norm().orElse(told.norm()),
        options.shift().orElse(told.shift()),
        told.spacing(),
        told.order());
  }

  private Spectrum spectrumOfOptions(FftOptions options) {
    if (options.axes().isEmpty()) {
      throw bad(
          "the column metadata does not tell which transform made the spectrum ("
              + ArrayMetadata.SPECTRUM
              + "); state axes: those to transform, or, of all three, the order in which the"
              + " spectrum has them, as 'yzx' for what fft leaves");
    }
    String stated = options.axes().get();
    String axes = stated.length() == RANK ? LETTERS : stated;
    boolean isReal = options.real().orElse(false);
    if (isReal && options.realExtent().isEmpty()) {
      throw bad(
          "real=true, but the column metadata does not tell how many values there were along the"
              + " halved axis; state realExtent");
    }
    return new Spectrum(
        axes,
        isReal,
        isReal
            ? options.realExtent().getAsLong()
            : known.extents().extent(layout(options).indexOf(axes.charAt(axes.length() - 1))),
        options.norm().orElse(Norm.BACKWARD),
        options.shift().orElse(Shift.NONE),
        Collections.nCopies(axes.length(), 1.0),
        LETTERS);
  }

  /** The order of the axes, where only options tell it. */
  private static String layout(FftOptions options) {
    return options.axes().filter(stated -> stated.length() == RANK).orElse(LETTERS);
  }

  // ---- both

  /** The steps of a transform over some axes of volumes whose extents are these before. */
  private interface StepsOf {
    List<ArrayStep> over(List<Integer> axes, Shape extents);
  }

  /**
   * What happens to the elements.
   *
   * @param asComplex true if the first stage takes complex numbers
   * @param first steps before all others
   * @param later those of each stage
   */
  private record Steps(boolean asComplex, List<ArrayStep> first, StepsOf later) {}

  private LogicalPlan transformed(
      Transform transform, Steps steps, FftOptions options, ArrayMetadata result) {
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
        at = i == 0 ? cutFirst(at, wanted) : cutAgain(at, wanted, stage.cut().size() == 1);
        shape = Optional.of(Shape.of(wanted));
      }
      if (i == 0 && options.detrend() != Detrend.NONE) {
        at = TrendPlans.joined(at, input, known.extents(), options, context.operator());
      }
      List<ArrayStep> list = new ArrayList<>(i == 0 ? steps.first() : List.of());
      list.addAll(steps.later().over(stage.axes(), extents));
      if (isLast && !transform.permutation().isIdentity()) {
        list.add(new ArrayStep.Permute(transform.permutation()));
      }
      FourierProgram program = new FourierProgram(extents, blocks.elementType(), isComplex, list);
      shape =
          isGathered ? Optional.of(planner.gatheredShape(program)) : shape.map(program::blockShape);
      at =
          FourierBlocks.of(
              at,
              program,
              described(isLast ? result : metadata, program, shape, isLast).toMetadata(),
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

  /** In x-slabs again, as thick as the input's, as far as blocks do not become too large. */
  private LogicalPlan inSlabsOfInput(LogicalPlan plan, Shape extents, FourierStages planner) {
    long[] shape = planner.shape(List.of(0), extents);
    if (known.isSlabs(0)) {
      long plane = 2L * blocks.elementType().bytes() * extents.extent(1) * extents.extent(2);
      long most = Math.max(1, (FourierStages.USUAL_BLOCK_BYTES - 1) / plane);
      shape[0] = Math.max(1, Math.min(most, known.largest().extent(0)));
    }
    return cutAgain(plan, shape, true);
  }

  private LogicalPlan cutFirst(LogicalPlan plan, long[] shape) {
    return ReblockPlans.reblock(plan, BlockKind.VOLUME, shape, missing, context.operator());
  }

  /**
   * The exchange between two stages.
   *
   * @param areSlabs true if every block gives a piece to every target block
   */
  private LogicalPlan cutAgain(LogicalPlan plan, long[] shape, boolean areSlabs) {
    return areSlabs
        ? ReblockPlans.crossed(plan, BlockKind.VOLUME, shape, Missing.ERROR, context.operator())
        : ReblockPlans.reblock(
            plan, BlockKind.VOLUME, shape, Missing.ERROR, input, context.operator());
  }

  /**
   * The metadata of a stage's result.
   *
   * @param blockShape of the result
   */
  private ArrayMetadata described(
      ArrayMetadata like, FourierProgram program, Optional<Shape> blockShape, boolean isLast) {
    ArrayMetadata result = like.withExtents(program.output().shape());
    if (blockShape.isPresent()) {
      result = result.withBlockShape(blockShape.get());
    }
    if (isLast) {
      String before = like.axes().filter(axes -> axes.length() == RANK).orElse(letters);
      StringBuilder after = new StringBuilder();
      for (int axis : program.permutation().toArray()) {
        after.append(before.charAt(axis));
      }
      result = result.withAxes(after.toString());
    }
    return result.ofComputed(blocks.elementType(), program.output().isComplex());
  }

  /** Those of all transforms: each axis has the frequencies of its own. */
  private Map<Integer, AxisFrequencies> frequencies() {
    List<Spectrum> transforms =
        metadata
            .spectrum()
            .map(Spectrum::all)
            .orElseThrow(
                () ->
                    bad(
                        "the column metadata does not say that this is a spectrum ("
                            + ArrayMetadata.SPECTRUM
                            + "); expected what fft gives"));
    Map<Integer, AxisFrequencies> frequencies = new HashMap<>();
    for (int axis = 0; axis < RANK; axis++) {
      long extent = known.extents().extent(axis);
      for (Spectrum transform : transforms) {
        Optional<AxisFrequencies> along = transform.frequencies(letters.charAt(axis), extent);
        if (along.isPresent() && frequencies.put(axis, along.get()) != null) {
          throw bad(
              "axis "
                  + LETTERS.charAt(axis)
                  + " was transformed more than once, by the column metadata "
                  + ArrayMetadata.SPECTRUM
                  + ", so its elements belong to no frequencies; undo all but one transform with"
                  + " ifft");
        }
      }
    }
    return frequencies;
  }

  private List<Integer> axes(String asked) {
    return asked.chars().mapToObj(LETTERS::indexOf).toList();
  }

  private String letter(int axis) {
    return letters.substring(axis, axis + 1);
  }

  private static void add(List<ArrayStep> list, ArrayStep.Roll roll) {
    if (roll.shifts().stream().anyMatch(shift -> shift != 0)) {
      list.add(roll);
    }
  }

  private static List<Long> boxed(long[] numbers) {
    return Arrays.stream(numbers).boxed().toList();
  }

  private void requireAlike() {
    if (Arrays.stream(known.extents().toArray()).anyMatch(extent -> extent == 0)) {
      throw bad(
          "the extents are "
              + known.extents()
              + "; expected at least one element (state the extents of a volume without blocks)");
    }
    if (known.extents().elements() >= KnownArray.TOO_MANY_ELEMENTS) {
      throw bad("the extents are " + known.extents() + "; expected fewer than 2^58 elements");
    }
    if (!known.alike()) {
      throw bad(
          "the volumes that further columns tell apart have different extents, up to "
              + known.extents()
              + " along each axis; expected one size (reblock and transform them apart)");
    }
  }

  /** Runs it, and puts the operator before what it complains of. */
  private <T> T described(Supplier<T> read) {
    try {
      return read.get();
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(context.operator() + ": " + e.getMessage(), e);
    }
  }

  private IllegalArgumentException bad(String defect) {
    return new IllegalArgumentException(context.operator() + ": " + defect);
  }
}
