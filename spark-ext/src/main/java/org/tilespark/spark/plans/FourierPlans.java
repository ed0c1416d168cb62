package org.tilespark.spark.plans;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.ArrayMetadata;
import org.tilespark.spark.BlockKind;
import org.tilespark.spark.BlockSchema;
import org.tilespark.spark.FftOptions;
import org.tilespark.spark.FftOptions.Decomposition;
import org.tilespark.spark.FftOptions.Detrend;
import org.tilespark.spark.Missing;
import org.tilespark.spark.fourier.ArrayStep;
import org.tilespark.spark.fourier.AxisFrequencies;
import org.tilespark.spark.fourier.FourierProgram;
import org.tilespark.spark.fourier.Spectrum;
import org.tilespark.spark.fourier.Spectrum.Norm;
import org.tilespark.spark.fourier.Spectrum.Shift;
import org.tilespark.spark.fourier.Window;
import org.tilespark.spark.interop.ScalaInterop;

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

  /** A block of a stage has about this at most, unless one plane or line has more. */
  private static final long USUAL_BLOCK_BYTES = 256L << 20;

  /** Slabs of a plane with more than this are cut further. */
  private static final long MOST_PLANE_BYTES = 1L << 30;

  /** Pencils are not worth a second exchange for tasks with less than this. */
  private static final long LEAST_TASK_BYTES = 4L << 20;

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
    this.blocks = BlockSchema.find(input.schema(), BlockKind.VOLUME, context.operator());
    requireNumbers(input);
    Attribute values = ScalaInterop.<Attribute>list(input.output()).get(blocks.values());
    this.metadata = ArrayMetadata.of(values.metadata());
    this.known = KnownArray.of(input, blocks, missing, context.asDataset(), context.operator());
    requireAlike();
    this.input =
        metadata.extents(RANK).isPresent()
            ? input
            : BlockPlans.withExtents(
                input,
                BlockKind.VOLUME,
                Optional.of(ArrayMetadata.text(known.extents())),
                context.operator());
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
    return new FourierPlans(input, options.missing(), context).forward(options);
  }

  /**
   * The volume of a spectrum.
   *
   * @throws IllegalArgumentException as {@link #fft}; or if neither metadata nor options say which
   *     transform made the spectrum
   */
  public static LogicalPlan ifft(LogicalPlan input, FftOptions options, Context context) {
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
    return plans.pointwise(new ArrayStep.LowPass(cutoff, plans.frequencies()));
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
    return plans.pointwise(new ArrayStep.Power());
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
        described(metadata, program, metadata.blockShape(RANK), true).toMetadata(),
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
      first.add(new ArrayStep.Detrend());
    }
    if (windows.stream().anyMatch(window -> window != Window.NONE)) {
      first.add(new ArrayStep.Taper(windows));
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
              new ArrayStep.Transform(
                  over, over.contains(halved), false, 0, norm.scale(elements, false)));
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
        new Transform(axes, halved, false, !isReal, permutation, first, steps),
        options,
        metadata.withSpectrum(Optional.of(spectrum.after(metadata.spectrum()))));
  }

  private List<Long> padded(FftOptions options, List<Integer> axes) {
    return described(() -> options.padTo(axes.stream().map(known.extents()::extent).toList()));
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
              new ArrayStep.Transform(
                  over,
                  over.contains(halved),
                  true,
                  over.contains(halved) ? spectrum.lastExtent() : 0,
                  spectrum.norm().scale(elements, true)));
          add(list, new ArrayStep.Roll(boxed(toMiddle)));
          return list;
        };
    return transformed(
        new Transform(axes, halved, true, true, permutation, List.of(), steps),
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
   * A transform to be planned.
   *
   * @param axes in order, the halved one last
   * @param halved that axis, or -1
   * @param asComplex true if the first stage takes complex numbers
   * @param permutation of the axes in the end
   * @param first steps before all others
   */
  private record Transform(
      List<Integer> axes,
      int halved,
      boolean inverse,
      boolean asComplex,
      Permutation permutation,
      List<ArrayStep> first,
      StepsOf steps) {
    /** Those of {@code some} that are transformed, the halved one last. */
    List<Integer> only(Set<Integer> some) {
      return axes.stream().filter(some::contains).toList();
    }
  }

  /**
   * A stage: which axes are transformed, and along which others the blocks are cut.
   *
   * @param cut one or two axes; empty for the blocks as they are
   * @param isGathered true if one task takes all blocks of a volume
   */
  private record Stage(List<Integer> axes, List<Integer> cut, boolean isGathered) {
    Stage(List<Integer> axes, List<Integer> cut) {
      this(axes, cut, false);
    }
  }

  private LogicalPlan transformed(Transform transform, FftOptions options, ArrayMetadata result) {
    List<Stage> stages = stages(transform, options);
    LogicalPlan at = input;
    Shape extents = known.extents();
    boolean isComplex = transform.asComplex();
    boolean isGathered = stages.get(0).isGathered();
    Optional<Shape> shape = metadata.blockShape(RANK);
    for (int i = 0; i < stages.size(); i++) {
      Stage stage = stages.get(i);
      boolean isLast = i == stages.size() - 1;
      if (!isGathered && (i > 0 || !stage.cut().isEmpty() || missing == Missing.ZERO)) {
        long[] wanted =
            stage.cut().isEmpty() ? known.largest().toArray() : shape(stage.cut(), extents);
        at = i == 0 ? cutFirst(at, wanted) : cutAgain(at, wanted, stage.cut().size() == 1);
        shape = Optional.of(Shape.of(wanted));
      }
      if (i == 0 && options.detrend() != Detrend.NONE) {
        at = TrendPlans.joined(at, input, known.extents(), options, context.operator());
      }
      List<ArrayStep> steps = new ArrayList<>(i == 0 ? transform.first() : List.of());
      steps.addAll(transform.steps().over(stage.axes(), extents));
      if (isLast && !transform.permutation().isIdentity()) {
        steps.add(new ArrayStep.Reorder(transform.permutation()));
      }
      FourierProgram program = new FourierProgram(extents, blocks.elementType(), isComplex, steps);
      if (isGathered) {
        shape = Optional.of(gatheredShape(program));
      }
      at =
          FourierBlocks.of(
              at,
              program,
              described(isLast ? result : metadata, program, shape, isLast).toMetadata(),
              isGathered ? shape.map(program::blockShape) : Optional.empty(),
              missing,
              context.operator());
      extents = program.output().extents();
      isComplex = program.output().isComplex();
      shape = shape.map(program::blockShape);
    }
    boolean areSlabs = stages.size() == 2 && stages.get(1).cut().size() == 1;
    boolean comesBack =
        options.natural() && !transform.inverse() && areSlabs && stages.get(1).cut().get(0) != 0;
    return comesBack ? inSlabsOfInput(at, extents) : at;
  }

  /** In x-slabs again, as thick as the input's, as far as blocks do not become too large. */
  private LogicalPlan inSlabsOfInput(LogicalPlan plan, Shape extents) {
    long[] shape = shape(List.of(0), extents);
    if (known.isSlabs(0)) {
      long plane = 2L * blocks.elementType().bytes() * extents.extent(1) * extents.extent(2);
      long most = Math.max(1, (USUAL_BLOCK_BYTES - 1) / plane);
      shape[0] = Math.max(1, Math.min(most, known.largest().extent(0)));
    }
    return cutAgain(plan, shape, true);
  }

  /** Which axes are transformed after which, and how the volume is cut for that. */
  private List<Stage> stages(Transform transform, FftOptions options) {
    Set<Integer> wholeAlready = new TreeSet<>();
    for (int axis = 0; axis < RANK; axis++) {
      if (known.whole().get(axis)) {
        wholeAlready.add(axis);
      }
    }
    Decomposition asked = options.decomposition();
    if (asked == Decomposition.AUTO && wholeAlready.containsAll(transform.axes())) {
      return List.of(new Stage(transform.axes(), List.of()));
    }
    long volume = planeBytes(-1);
    if (asked == Decomposition.TASK
        || (asked == Decomposition.AUTO && volume <= context.taskBytes())) {
      return List.of(new Stage(transform.axes(), List.of(), true));
    }
    List<Stage> slabs =
        transform.axes().size() == RANK ? bySlabs(transform) : inPlace(transform, wholeAlready);
    return asked == Decomposition.PENCILS
            || (asked == Decomposition.AUTO && slabsAreTooFew(slabs, volume))
        ? byPencils(transform)
        : slabs;
  }

  /** True if a plane of some stage is too much for one task, or tasks would have nothing to do. */
  private boolean slabsAreTooFew(List<Stage> stages, long volumeBytes) {
    for (Stage stage : stages) {
      for (int cut : stage.cut()) {
        if (planeBytes(cut) > MOST_PLANE_BYTES
            || (known.extents().extent(cut) < context.tasks()
                && volumeBytes / context.tasks() >= LEAST_TASK_BYTES)) {
          return true;
        }
      }
    }
    return false;
  }

  /** Bytes of complex numbers of all axes but one, or of all. */
  private long planeBytes(int without) {
    long bytes = 2L * blocks.elementType().bytes();
    for (int axis = 0; axis < RANK; axis++) {
      bytes = axis == without ? bytes : Math.multiplyExact(bytes, known.extents().extent(axis));
    }
    return bytes;
  }

  /** One stage over one or two axes, in slabs cut along the longest of the others. */
  private List<Stage> inPlace(Transform transform, Set<Integer> wholeAlready) {
    if (wholeAlready.containsAll(transform.axes())) {
      return List.of(new Stage(transform.axes(), List.of()));
    }
    int cut = -1;
    for (int axis = 0; axis < RANK; axis++) {
      if (!transform.axes().contains(axis)
          && (cut < 0 || known.extents().extent(axis) > known.extents().extent(cut))) {
        cut = axis;
      }
    }
    return List.of(new Stage(transform.axes(), List.of(cut)));
  }

  /** A stage for each axis; between two of them the third one stays cut as it is. */
  private List<Stage> byPencils(Transform transform) {
    List<Integer> order = new ArrayList<>(transform.axes());
    order.sort(
        Comparator.comparingInt(
            axis -> {
              if (axis == transform.halved()) {
                return transform.inverse() ? RANK + 1 : -RANK - 1;
              }
              return known.whole().get(axis) ? -RANK : -axis;
            }));
    List<Integer> all = new ArrayList<>(order);
    for (int axis = 0; axis < RANK; axis++) {
      if (!all.contains(axis)) {
        all.add(axis);
      }
    }
    List<List<Integer>> cuts =
        List.of(
            List.of(all.get(2), all.get(1)),
            List.of(all.get(2), all.get(0)),
            List.of(all.get(1), all.get(0)));
    List<Stage> stages = new ArrayList<>();
    for (int i = 0; i < order.size(); i++) {
      boolean liesRight = i == 0 && known.whole().get(order.get(0));
      stages.add(new Stage(List.of(order.get(i)), liesRight ? List.of() : cuts.get(i)));
    }
    return stages;
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

  /** The shape of a volume's blocks, before its program, that come out of one task. */
  private Shape gatheredShape(FourierProgram program) {
    int cut = program.permutation().axis(0);
    long[] shape = program.extents().toArray();
    long[] wide = program.permutation().inverse().apply(program.output().extents()).toArray();
    long plane = 2L * blocks.elementType().bytes();
    for (int axis = 0; axis < RANK; axis++) {
      plane = axis == cut ? plane : Math.multiplyExact(plane, Math.max(shape[axis], wide[axis]));
    }
    long most = Math.max(1, (USUAL_BLOCK_BYTES - 1) / plane);
    if (known.isSlabs(cut)) {
      most = Math.min(most, known.largest().extent(cut));
    }
    if (most < wide[cut]) {
      shape[cut] = ceilDiv(wide[cut], ceilDiv(wide[cut], most));
    }
    return Shape.of(shape);
  }

  private List<Stage> bySlabs(Transform transform) {
    // The input's slabs, if what must come first can be transformed in them.
    int cut = -1;
    for (int axis = 0; axis < RANK; axis++) {
      if (cut < 0 && known.isSlabs(axis) && maybeCutFirst(transform, axis)) {
        cut = axis;
      }
    }
    boolean liesRight = cut >= 0;
    for (int axis = 0; axis < RANK && cut < 0; axis++) {
      cut = maybeCutFirst(transform, axis) ? axis : -1;
    }
    int then = -1;
    for (int axis : transform.permutation().toArray()) {
      boolean maybe = axis != cut && !(transform.inverse() && axis == transform.halved());
      then = then < 0 && maybe ? axis : then;
    }
    Set<Integer> first = transform.inverse() ? Set.of(then) : others(cut);
    Set<Integer> second = transform.inverse() ? others(then) : Set.of(cut);
    return List.of(
        new Stage(transform.only(first), liesRight ? List.of() : List.of(cut)),
        new Stage(transform.only(second), List.of(then)));
  }

  /** A real transform begins with its halved axis, so that one must be whole. */
  private static boolean maybeCutFirst(Transform transform, int axis) {
    return transform.inverse() || axis != transform.halved();
  }

  private static Set<Integer> others(int axis) {
    return IntStream.range(0, RANK)
        .filter(other -> other != axis)
        .boxed()
        .collect(Collectors.toSet());
  }

  /**
   * The shape of blocks of a complex volume that are cut along some axes: enough blocks for all
   * tasks, and none too large.
   */
  private long[] shape(List<Integer> cut, Shape extents) {
    long[] shape = extents.toArray();
    long total = 2L * blocks.elementType().bytes();
    for (long extent : shape) {
      total = Math.multiplyExact(total, extent);
    }
    long parts = Math.max(ceilDiv(total, USUAL_BLOCK_BYTES), context.tasks());
    for (int i = 0; i < cut.size(); i++) {
      int axis = cut.get(i);
      int left = cut.size() - i;
      long along = left == 1 ? parts : (long) Math.ceil(Math.sqrt((double) parts));
      along = Math.min(along, shape[axis]);
      shape[axis] = ceilDiv(shape[axis], along);
      parts = ceilDiv(parts, along);
    }
    return shape;
  }

  private static long ceilDiv(long a, long b) {
    return a / b + (a % b == 0 ? 0 : 1);
  }

  /** The metadata of a stage's result. */
  private ArrayMetadata described(
      ArrayMetadata like, FourierProgram program, Optional<Shape> blockShape, boolean isLast) {
    ArrayMetadata result = like.withExtents(program.output().extents());
    if (blockShape.isPresent()) {
      result = result.withBlockShape(program.blockShape(blockShape.get()));
    }
    if (isLast) {
      String before = like.axes().filter(axes -> axes.length() == RANK).orElse(letters);
      StringBuilder after = new StringBuilder();
      for (int axis : program.permutation().toArray()) {
        after.append(before.charAt(axis));
      }
      result = result.withAxes(after.toString());
    }
    if (like.fileType().isPresent()) {
      boolean isSingle = blocks.elementType() == ElementType.FLOAT32;
      boolean isComplex = program.output().isComplex();
      result =
          result.withFileType(isComplex ? (isSingle ? "<c8" : "<c16") : isSingle ? "<f4" : "<f8");
    }
    return result;
  }

  private Map<Integer, AxisFrequencies> frequencies() {
    Spectrum spectrum =
        Spectrum.last(
            metadata
                .spectrum()
                .orElseThrow(
                    () ->
                        bad(
                            "the column metadata does not say that this is a spectrum ("
                                + ArrayMetadata.SPECTRUM
                                + "); expected what fft gives")));
    Map<Integer, AxisFrequencies> frequencies = new HashMap<>();
    for (int axis = 0; axis < RANK; axis++) {
      int at = axis;
      spectrum
          .frequencies(letters.charAt(axis), known.extents().extent(axis))
          .ifPresent(along -> frequencies.put(at, along));
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

  private void requireNumbers(LogicalPlan plan) {
    ElementType type = blocks.elementType();
    if (type != ElementType.FLOAT32 && type != ElementType.FLOAT64) {
      throw bad(
          "column values is "
              + plan.schema().fields()[blocks.values()].dataType().sql()
              + "; expected ARRAY<FLOAT> or ARRAY<DOUBLE> (CAST it)");
    }
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
