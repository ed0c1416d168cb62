package org.tilespark.spark.fourier;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.tilespark.arrow.blocks.ArrayStep;
import org.tilespark.arrow.blocks.Fourier;
import org.tilespark.arrow.blocks.Fourier.Direction;
import org.tilespark.arrow.blocks.Fourier.Form;
import org.tilespark.arrow.blocks.Pad;
import org.tilespark.arrow.blocks.Roll;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.KnownArray;
import org.tilespark.spark.fourier.FourierStages.Transform;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.FftOptions.Detrend;
import org.tilespark.spark.options.Norm;
import org.tilespark.spark.options.Shift;
import org.tilespark.spark.options.Window;

/**
 * The volume to be transformed, as known during planning. It determines the steps of a transform
 * and the metadata of its result.
 *
 * @param extents extents of the volume; none is 0
 * @param metadata metadata of the volume's values
 * @param isComplex true if the volume's blocks are complex
 * @param letters letters that the volume's axes had in the original volume
 * @param operator operator's name, for messages
 */
record FourierVolume(
    Shape extents, ArrayMetadata metadata, boolean isComplex, String letters, String operator) {
  private static final String LETTERS = "xyz";
  private static final int RANK = 3;

  /**
   * Gives the steps of a stage that transforms {@code axes} of volumes with the extents {@code
   * before}.
   */
  interface Later {
    List<ArrayStep> over(List<Integer> axes, Shape before);
  }

  /**
   * The steps of a transform.
   *
   * @param asComplex true if the first stage takes complex numbers
   * @param first steps of the first stage before all others
   * @param later gives the steps of each stage that transform its axes
   * @param result metadata of the result without its extents, blocks and axes
   */
  record Steps(
      Transform transform,
      boolean asComplex,
      List<ArrayStep> first,
      Later later,
      ArrayMetadata result) {}

  // ---- forward

  /** The steps of the forward transform that options ask for. */
  Steps forward(FftOptions options) {
    List<Integer> axes = axes(options.axes().orElse(LETTERS));
    boolean isReal = options.real().orElse(false);
    if (isReal && isComplex) {
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
      first.add(new PositionDependentStep.Detrend());
    }
    if (windows.stream().anyMatch(window -> window != Window.NONE)) {
      first.add(new PositionDependentStep.Taper(windows));
    }
    Later later =
        (over, before) -> {
          List<ArrayStep> list = new ArrayList<>();
          long[] grown = before.toArray();
          long[] toFront = new long[RANK];
          long[] toMiddle = new long[RANK];
          double elements = 1;
          for (int axis : over) {
            grown[axis] = padded.get(axes.indexOf(axis));
            elements *= grown[axis];
            toFront[axis] = shift.ofVolume() ? -(before.extent(axis) / 2) : 0;
            toMiddle[axis] = shift.ofSpectrum() && axis != halved ? grown[axis] / 2 : 0;
          }
          add(list, Roll.by(toFront));
          if (!Shape.of(grown).equals(before)) {
            list.add(new Pad(Shape.of(grown)));
          }
          list.add(
              new Fourier(
                  over,
                  over.contains(halved) ? Form.REAL : Form.COMPLEX,
                  Direction.FORWARD,
                  0,
                  norm.scale(elements, false)));
          add(list, Roll.by(toMiddle));
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
            letters,
            letters(permutation, letters));
    return new Steps(
        new Transform(
            axes,
            halved,
            false,
            permutation,
            axes.stream()
                .collect(Collectors.toMap(axis -> axis, axis -> padded.get(axes.indexOf(axis))))),
        !isReal,
        first,
        later,
        metadata.withSpectrum(Optional.of(spectrum.after(metadata.spectrum()))));
  }

  private List<Long> padded(FftOptions options, List<Integer> axes) {
    List<Long> padded = described(() -> options.padTo(axes.stream().map(extents::extent).toList()));
    long[] grown = extents.toArray();
    axes.forEach(axis -> grown[axis] = padded.get(axes.indexOf(axis)));
    if (Arrays.stream(grown).asDoubleStream().reduce(1, (a, b) -> a * b)
        >= KnownArray.TOO_MANY_ELEMENTS) {
      throw bad(
          "padTo makes the extents "
              + Arrays.toString(grown)
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

  /**
   * The steps of the inverse of the transform that the column metadata states, with what options
   * change; of what the options state if the metadata states none.
   */
  Steps inverse(FftOptions options) {
    for (String forwardOnly : List.of("detrend", "window", "padTo", "spacing")) {
      if (options.toMap().containsKey(forwardOnly)) {
        throw bad(forwardOnly + " is for the forward transform");
      }
    }
    Spectrum spectrum = spectrum(options);
    String current = isTold(options) ? letters : layout(options);
    List<Integer> axes = spectrum.axes().chars().map(current::indexOf).boxed().toList();
    int halved = spectrum.isHalf() ? axes.get(axes.size() - 1) : -1;
    if (!isComplex) {
      throw bad("the blocks are real (no column imag); expected the complex ones of a spectrum");
    }
    if (halved >= 0 && extents.extent(halved) != spectrum.lastExtent() / 2 + 1) {
      throw bad(
          ("half a spectrum of %s values has %s frequencies along its last axis %s,"
                  + " found %s; if the metadata is stale, state realExtent")
              .formatted(
                  spectrum.lastExtent(),
                  spectrum.lastExtent() / 2 + 1,
                  LETTERS.charAt(halved),
                  extents.extent(halved)));
    }
    Permutation permutation =
        Permutation.of(spectrum.orderAfterInverse(current).chars().map(current::indexOf).toArray());
    Later later =
        (over, before) -> {
          List<ArrayStep> list = new ArrayList<>();
          long[] toFront = new long[RANK];
          long[] toMiddle = new long[RANK];
          double elements = 1;
          for (int axis : over) {
            long extent = axis == halved ? spectrum.lastExtent() : before.extent(axis);
            elements *= extent;
            toFront[axis] = spectrum.shift().ofSpectrum() && axis != halved ? -(extent / 2) : 0;
            toMiddle[axis] = spectrum.shift().ofVolume() ? extent / 2 : 0;
          }
          add(list, Roll.by(toFront));
          list.add(
              new Fourier(
                  over,
                  over.contains(halved) ? Form.REAL : Form.COMPLEX,
                  Direction.INVERSE,
                  over.contains(halved) ? spectrum.lastExtent() : 0,
                  spectrum.norm().scale(elements, true)));
          add(list, Roll.by(toMiddle));
          return list;
        };
    return new Steps(
        new Transform(axes, halved, true, permutation, Map.of()),
        true,
        List.of(),
        later,
        metadata.withAxes(current).withSpectrum(metadata.spectrum().flatMap(Spectrum::beforeLast)));
  }

  /** True if metadata states the transform to be inverted, false if only the options do. */
  private boolean isTold(FftOptions options) {
    Optional<String> told = metadata.spectrum();
    return told.isPresent() && !(Spectrum.isMixed(told.get()) && options.axes().isPresent());
  }

  /** The transform to be inverted: from the metadata, with changes by the options. */
  private Spectrum spectrum(FftOptions options) {
    if (!isTold(options)) {
      return spectrumOfOptions(options);
    }
    String text = metadata.spectrum().get();
    if (Spectrum.isMixed(text)) {
      throw bad(
          ("the rows come from different transforms, or some from none, as after a UNION (column"
                  + " metadata %s is '%s'); undo them before, or state axes, norm, real, realExtent"
                  + " and shift of the one that made all")
              .formatted(ArrayMetadata.SPECTRUM, text));
    }
    Spectrum told = Spectrum.last(text);
    if (options.axes().isPresent()) {
      Set<String> asked =
          axes(options.axes().get()).stream().map(this::letter).collect(Collectors.toSet());
      if (!asked.equals(Set.of(told.axes().split("")))) {
        throw bad(
            "axes is '%s'; the column metadata %s says that the axes "
                    .formatted(options.axes().get(), ArrayMetadata.SPECTRUM)
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
        told.order(),
        told.left());
  }

  private Spectrum spectrumOfOptions(FftOptions options) {
    if (options.axes().isEmpty()) {
      throw bad(
          ("the column metadata does not tell which transform made the spectrum (%s);"
                  + " state axes: those to transform, or, of all three, the order in which the"
                  + " spectrum has them, as 'yzx' for what fft leaves")
              .formatted(ArrayMetadata.SPECTRUM));
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
            : extents.extent(layout(options).indexOf(axes.charAt(axes.length() - 1))),
        options.norm().orElse(Norm.BACKWARD),
        options.shift().orElse(Shift.NONE),
        Collections.nCopies(axes.length(), 1.0),
        LETTERS,
        layout(options));
  }

  /** The order of the axes of the spectrum, if only options state it. */
  private static String layout(FftOptions options) {
    return options.axes().filter(stated -> stated.length() == RANK).orElse(LETTERS);
  }

  /**
   * The frequencies along each axis that one of the transforms transformed, by the number of the
   * axis.
   */
  Map<Integer, AxisFrequencies> frequencies() {
    List<Spectrum> transforms =
        metadata
            .spectrum()
            .map(text -> described(() -> Spectrum.all(text)))
            .orElseThrow(
                () ->
                    bad(
                        "the column metadata does not say that this is a spectrum ("
                            + ArrayMetadata.SPECTRUM
                            + "); expected what fft gives"));
    Map<Integer, AxisFrequencies> frequencies = new HashMap<>();
    for (int axis = 0; axis < RANK; axis++) {
      long extent = extents.extent(axis);
      for (Spectrum transform : transforms) {
        Optional<AxisFrequencies> along = transform.frequencies(letters.charAt(axis), extent);
        if (along.isPresent() && frequencies.put(axis, along.get()) != null) {
          throw bad(
              ("axis %s was transformed more than once, by the column metadata %s, so"
                      + " its elements belong to no frequencies; undo all but one transform"
                      + " with ifft")
                  .formatted(LETTERS.charAt(axis), ArrayMetadata.SPECTRUM));
        }
      }
    }
    return frequencies;
  }

  /** The letters of the axes after a permutation, from those before. */
  static String letters(Permutation permutation, String before) {
    return Arrays.stream(permutation.toArray())
        .mapToObj(axis -> before.substring(axis, axis + 1))
        .collect(Collectors.joining());
  }

  private List<Integer> axes(String asked) {
    return asked.chars().mapToObj(LETTERS::indexOf).toList();
  }

  private String letter(int axis) {
    return letters.substring(axis, axis + 1);
  }

  private static void add(List<ArrayStep> list, Roll roll) {
    if (roll.shifts().stream().anyMatch(shift -> shift != 0)) {
      list.add(roll);
    }
  }

  /** Runs {@code read}, and puts the operator's name before its error message. */
  private <T> T described(Supplier<T> read) {
    try {
      return read.get();
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(operator + ": " + e.getMessage(), e);
    }
  }

  /** An error whose message begins with the operator's name. */
  IllegalArgumentException bad(String defect) {
    return new IllegalArgumentException(operator + ": " + defect);
  }
}
