package org.tilespark.bench.soak;

import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.ToDoubleFunction;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.tilespark.spark.options.FftOptions;

/** The array and the arguments of one query, all of which follow from a seed. */
final class Draw {
  static final String[] AXES = {"xyz", "xzy", "yxz", "yzx", "zxy", "zyx"};
  static final String[] DECOMPOSITIONS = {"auto", "task", "slabs", "pencils"};
  static final int LARGEST_EXTENT = 150;

  private static final int LARGEST_VOLUME_EXTENT = 30;

  /**
   * Of an element of a transform, as a part of the root of the mean square of all: some ten times
   * what FLOAT and DOUBLE leave of extents up to {@link #LARGEST_VOLUME_EXTENT}, primes too.
   */
  private static final double FLOAT_TRANSFORM_ERROR = 2e-5;

  private static final double DOUBLE_TRANSFORM_ERROR = 1e-12;
  private static final String[] NORMS = {"backward", "ortho", "forward"};

  private final Random random;
  private final Setting setting;
  private final boolean single;
  private final Dense a;
  private final StringBuilder details = new StringBuilder();
  private final RandomFrames frames;

  Draw(Random random, Operator operator, Setting setting) {
    this.random = random;
    this.setting = setting;
    this.single = random.nextBoolean();
    boolean isVolume = operator.is(Operator.Trait.VOLUMES);
    Dense real =
        isVolume
            ? Dense.random(
                random,
                extent(LARGEST_VOLUME_EXTENT),
                extent(LARGEST_VOLUME_EXTENT),
                extent(LARGEST_VOLUME_EXTENT))
            : Dense.random(random, extent(LARGEST_EXTENT), extent(LARGEST_EXTENT));
    boolean mayBeComplex = isVolume && !operator.is(Operator.Trait.REAL);
    this.a = mayBeComplex && random.nextBoolean() ? real.withRandomImag(random) : real;
    this.frames = new RandomFrames(random, details);
  }

  Random random() {
    return random;
  }

  Setting setting() {
    return setting;
  }

  /** True for FLOAT, else DOUBLE. */
  boolean single() {
    return single;
  }

  /** The first array. */
  Dense a() {
    return a;
  }

  int rank() {
    return a.extents().length;
  }

  RandomFrames frames() {
    return frames;
  }

  /** Adds a detail to the description of the query. */
  void tell(String detail) {
    details.append(detail);
  }

  String told() {
    return details.toString();
  }

  Query exact(UnaryOperator<Dataset<Row>> operator, UnaryOperator<Dense> oracle) {
    return of(operator, oracle, d -> 0);
  }

  /** Of the first array alone. */
  Query of(
      UnaryOperator<Dataset<Row>> operator,
      UnaryOperator<Dense> oracle,
      ToDoubleFunction<Dense> error) {
    return new Query(
        List.of(a),
        1,
        x -> operator.apply(x.get(0)),
        d -> oracle.apply(d.get(0)),
        d -> error.applyAsDouble(d.get(0)));
  }

  /** Before and after each axis, often more than a block. */
  long[][] widths(int most) {
    long[][] widths = new long[rank()][2];
    for (long[] axis : widths) {
      Arrays.setAll(axis, side -> random.nextInt(random.nextBoolean() ? 3 : most));
    }
    return widths;
  }

  static String text(long[][] widths) {
    return Arrays.stream(widths)
        .map(axis -> axis[0] + "," + axis[1])
        .collect(Collectors.joining("; "));
  }

  static int[] places(String axes) {
    return axes.chars().map("xyz"::indexOf).toArray();
  }

  FftOptions transform() {
    return FftOptions.defaults()
        .withDecomposition(oneOf(DECOMPOSITIONS))
        .withNorm(oneOf(NORMS))
        .withOutput(random.nextBoolean() ? "natural" : "permuted");
  }

  /** Of elements of a transform whose root mean square is this. */
  double error(double magnitude) {
    return magnitude * (single ? FLOAT_TRANSFORM_ERROR : DOUBLE_TRANSFORM_ERROR);
  }

  /** All axes, or some of them in some order. */
  String transformed() {
    return random.nextBoolean() ? "xyz" : oneOf("x", "y", "z", "xy", "zx", "yz", "zyx", "yzx");
  }

  String oneOf(String... words) {
    return words[random.nextInt(words.length)];
  }

  /** Short axes and edges of tiles are as likely as long ones. */
  long extent(int largest) {
    return switch (random.nextInt(4)) {
      case 0 -> 1 + random.nextInt(4);
      case 1 -> Math.min(largest, 31 + random.nextInt(3));
      default -> 1 + random.nextInt(largest);
    };
  }

  int size(long extent) {
    return 1 + random.nextInt(Math.toIntExact(extent) + 2) / (1 + random.nextInt(2));
  }

  int parts(long extent) {
    return 1 + random.nextInt((int) Math.min(3, extent));
  }
}
