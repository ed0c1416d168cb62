package org.tilespark.examples.bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Random;
import java.util.TreeSet;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.tilespark.spark.FftOptions;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.Missing;
import org.tilespark.spark.MultiplyOptions;
import org.tilespark.spark.VolumeBlocks;

/**
 * One operator, on arrays of a random shape and type in random blocks, and what plain loops make of
 * the same arrays. All of it follows from a seed.
 *
 * <p>Elements are small whole numbers, so that products and sums are exact in either type, in
 * whatever order they are made; only means and Fourier transforms are not.
 */
final class RandomQuery {
  /** What is called. */
  enum Operator {
    TRANSPOSE,
    PERMUTE,
    REBLOCK,
    REBLOCK_ZERO,
    MULTIPLY,
    GRAM,
    ADD,
    SCALE,
    CENTER,
    CUT_VOLUME,
    FFT,
    HALF_FFT,
    ROUND_TRIP,
    POINTWISE,
    LOW_PASS;

    boolean takesVolumes() {
      return this == PERMUTE || compareTo(CUT_VOLUME) >= 0;
    }
  }

  private static final String[] AXES = {"xyz", "xzy", "yxz", "yzx", "zxy", "zyx"};
  private static final int LARGEST_EXTENT = 150;
  private static final int LARGEST_VOLUME_EXTENT = 30;

  /**
   * Of a mean, beside the exact one: two roundings of numbers up to {@link Dense#LARGEST_ELEMENT}.
   */
  private static final double FLOAT_MEAN_ERROR = 2e-6;

  private static final double DOUBLE_MEAN_ERROR = 1e-13;

  /**
   * Of an element of a transform, as a part of the root of the mean square of all: some ten times
   * what FLOAT and DOUBLE leave of extents up to {@link #LARGEST_VOLUME_EXTENT}, primes too.
   */
  private static final double FLOAT_TRANSFORM_ERROR = 2e-5;

  private static final double DOUBLE_TRANSFORM_ERROR = 1e-12;

  private static final String[] DECOMPOSITIONS = {"auto", "task", "slabs", "pencils"};
  private static final String[] NORMS = {"backward", "ortho", "forward"};

  private final Random random;
  private final Operator operator;
  private final boolean single; // FLOAT, else DOUBLE
  private final Dense a;
  private final String name;

  private String details = "";

  private RandomQuery(long seed) {
    this.random = new Random(seed);
    Operator[] all = Operator.values();
    this.operator = all[random.nextInt(all.length)];
    this.single = random.nextBoolean();
    Dense real =
        operator.takesVolumes()
            ? Dense.random(
                random,
                extent(LARGEST_VOLUME_EXTENT),
                extent(LARGEST_VOLUME_EXTENT),
                extent(LARGEST_VOLUME_EXTENT))
            : Dense.random(random, extent(LARGEST_EXTENT), extent(LARGEST_EXTENT));
    boolean mayBeComplex = operator.takesVolumes() && operator != Operator.HALF_FFT;
    this.a = mayBeComplex && random.nextBoolean() ? real.withRandomImag(random) : real;
    this.name =
        operator.name().toLowerCase(Locale.ROOT)
            + " of "
            + (a.isComplex() ? "complex " : "")
            + (single ? "FLOAT" : "DOUBLE")
            + Arrays.toString(a.extents());
  }

  static RandomQuery of(long seed) {
    return new RandomQuery(seed);
  }

  Operator operator() {
    return operator;
  }

  /** Runs it once; what is wrong with the result, or nothing. */
  Optional<String> run(SparkSession spark) {
    Dataset<Row> x = frame(spark, a, 1.0);
    return switch (operator) {
      case TRANSPOSE -> compare(a.transposed(), MatrixBlocks.transpose(x));
      case PERMUTE -> {
        String axes = AXES[random.nextInt(AXES.length)];
        details += " " + axes;
        yield compare(
            a.permuted(axes.chars().map("xyz"::indexOf).toArray()), VolumeBlocks.permute(x, axes));
      }
      case REBLOCK -> compare(a, MatrixBlocks.reblock(x, size(a.rows()), size(a.cols())));
      case REBLOCK_ZERO -> {
        Dense holes = new Dense(a.extents(), a.values().clone(), Optional.empty());
        Dataset<Row> some = MatrixBlocks.withExtents(frame(spark, holes, 0.6), a.rows(), a.cols());
        yield compare(
            holes, MatrixBlocks.reblock(some, size(a.rows()), size(a.cols()), Missing.ZERO));
      }
      case MULTIPLY -> multiply(spark, x);
      case GRAM -> compare(a.transposed().times(a), MatrixBlocks.gram(x));
      case ADD -> {
        Dense other = Dense.random(random, a.extents());
        Dense sum = Dense.zeros(a.extents());
        Arrays.setAll(sum.values(), i -> a.values()[i] + other.values()[i]);
        int rows = size(a.rows());
        int cols = size(a.cols());
        yield compare(
            sum,
            MatrixBlocks.add(
                MatrixBlocks.reblock(x, rows, cols),
                MatrixBlocks.reblock(frame(spark, other, 1.0), rows, cols)));
      }
      case SCALE -> {
        double alpha = random.nextInt(9) * 0.25;
        Dense scaled = Dense.zeros(a.extents());
        Arrays.setAll(scaled.values(), i -> a.values()[i] * alpha);
        yield compare(scaled, MatrixBlocks.scale(x, alpha));
      }
      case CENTER -> {
        Dense centered = Dense.zeros(a.extents());
        for (long j = 0; j < a.cols(); j++) {
          double sum = 0;
          for (long i = 0; i < a.rows(); i++) {
            sum += a.at(i, j);
          }
          for (long i = 0; i < a.rows(); i++) {
            centered.values()[a.index(i, j)] = a.at(i, j) - sum / a.rows();
          }
        }
        yield compare(
            centered, MatrixBlocks.center(x), single ? FLOAT_MEAN_ERROR : DOUBLE_MEAN_ERROR);
      }
      case CUT_VOLUME -> compare(a, cut(x));
      case FFT -> fft(x, false);
      case HALF_FFT -> fft(x, true);
      case ROUND_TRIP -> {
        boolean isHalf = !a.isComplex() && random.nextBoolean();
        FftOptions forward = transform().withReal(isHalf).withAxes(transformed());
        FftOptions back = FftOptions.defaults().withDecomposition(oneOf(DECOMPOSITIONS));
        details += " " + forward + ", back " + back;
        yield compare(
            isHalf ? a : a.asComplex(),
            VolumeBlocks.ifft(VolumeBlocks.fft(x, forward), back),
            error(a.magnitude()));
      }
      case POINTWISE -> pointwise(spark, x);
      case LOW_PASS -> {
        // One of all that may be, which is no frequency itself.
        double cutoff = 0.9 * random.nextDouble();
        details += " " + cutoff;
        Dataset<Row> passed = VolumeBlocks.lowPass(VolumeBlocks.fft(x, transform()), cutoff);
        yield compare(
            HostFourier.of(a, "xyz").lowPass(cutoff).inverse(),
            VolumeBlocks.ifft(passed),
            error(a.magnitude()));
      }
    };
  }

  /** In blocks, slabs or pencils of some size. */
  private Dataset<Row> cut(Dataset<Row> x) {
    int axis = random.nextInt(3);
    String letter = "xyz".substring(axis, axis + 1);
    int first = size(a.extents()[axis == 0 ? 1 : 0]);
    int second = size(a.extents()[axis == 2 ? 1 : 2]);
    int along = size(a.extents()[axis]);
    int way = random.nextInt(5);
    details +=
        List.of(" slabs ", " thick slabs ", " pencils ", " cut pencils ", "").get(way) + letter;
    return switch (way) {
      case 0 -> VolumeBlocks.slabs(x, letter);
      case 1 -> VolumeBlocks.slabs(x, letter, along);
      case 2 -> VolumeBlocks.pencils(x, letter);
      case 3 -> VolumeBlocks.pencils(x, letter, first, second);
      default -> VolumeBlocks.reblock(x, first, along, second);
    };
  }

  private Optional<String> fft(Dataset<Row> x, boolean isHalf) {
    String axes = transformed();
    FftOptions options = transform().withReal(isHalf).withAxes(axes);
    details += " " + options;
    HostFourier spectrum =
        HostFourier.of(a, axes).scaled(HostFourier.scale(options.norm().orElseThrow(), a, axes));
    Dense expected =
        isHalf ? spectrum.half("xyz".indexOf(axes.charAt(axes.length() - 1))) : spectrum.dense();
    boolean isPermuted = axes.length() == 3 && !options.natural();
    return compare(
        isPermuted ? expected.permuted(1, 2, 0) : expected,
        VolumeBlocks.fft(x, options),
        error(spectrum.dense().magnitude()));
  }

  /** The convolution with another volume, by the product of the spectra. */
  private Optional<String> pointwise(SparkSession spark, Dataset<Row> x) {
    Dense other = Dense.random(random, a.extents());
    FftOptions options = transform();
    int[] shape = {size(a.extents()[0]), size(a.extents()[1]), size(a.extents()[2])};
    details += " " + options + " in " + Arrays.toString(shape);
    List<Dataset<Row>> spectra = new ArrayList<>();
    for (Dataset<Row> volume : List.of(x, frame(spark, other, 1.0))) {
      Dataset<Row> spectrum = VolumeBlocks.fft(volume, options);
      spectra.add(VolumeBlocks.reblock(spectrum, shape[0], shape[1], shape[2]));
    }
    Dataset<Row> product = VolumeBlocks.multiplyPointwise(spectra.get(0), spectra.get(1));
    // Both spectra were scaled; the inverse is told that neither was.
    Dataset<Row> back = VolumeBlocks.ifft(product, FftOptions.defaults().withNorm("backward"));
    double scale = Math.pow(HostFourier.scale(options.norm().orElseThrow(), a, "xyz"), 2);
    HostFourier expected =
        HostFourier.of(a, "xyz").times(HostFourier.of(other, "xyz")).scaled(scale);
    double magnitude = a.magnitude() * other.magnitude() * Math.sqrt(a.values().length) * scale;
    return compare(expected.inverse(), back, error(magnitude));
  }

  private FftOptions transform() {
    return FftOptions.defaults()
        .withDecomposition(oneOf(DECOMPOSITIONS))
        .withNorm(oneOf(NORMS))
        .withOutput(random.nextBoolean() ? "natural" : "permuted");
  }

  /** Of elements of a transform whose root mean square is this. */
  private double error(double magnitude) {
    return magnitude * (single ? FLOAT_TRANSFORM_ERROR : DOUBLE_TRANSFORM_ERROR);
  }

  /** All axes, or some of them in some order. */
  private String transformed() {
    return random.nextBoolean() ? "xyz" : oneOf("x", "y", "z", "xy", "zx", "yz", "zyx", "yzx");
  }

  private String oneOf(String... words) {
    return words[random.nextInt(words.length)];
  }

  private Optional<String> multiply(SparkSession spark, Dataset<Row> x) {
    boolean transposeA = random.nextBoolean();
    boolean transposeB = random.nextBoolean();
    Dense left = transposeA ? a.transposed() : a;
    Dense right = Dense.random(random, left.cols(), extent(LARGEST_EXTENT));
    Dense asGiven = transposeB ? right.transposed() : right;
    MultiplyOptions options =
        MultiplyOptions.defaults().withTransposeA(transposeA).withTransposeB(transposeB);
    if (random.nextBoolean()) {
      options =
          options.withStrategy(
              new MultiplyOptions.Strategy.Cuboid(
                  parts(left.rows()), parts(right.cols()), parts(left.cols())));
    }
    if (random.nextBoolean()) {
      options = options.withBlockShape(size(left.rows()), size(right.cols()));
    }
    details += " with " + Arrays.toString(asGiven.extents()) + " " + options;
    return compare(
        left.times(right), MatrixBlocks.multiply(x, frame(spark, asGiven, 1.0), options));
  }

  /** Short axes and edges of tiles are as likely as long ones. */
  private long extent(int largest) {
    return switch (random.nextInt(4)) {
      case 0 -> 1 + random.nextInt(4);
      case 1 -> Math.min(largest, 31 + random.nextInt(3));
      default -> 1 + random.nextInt(largest);
    };
  }

  private int size(long extent) {
    return 1 + random.nextInt(Math.toIntExact(extent) + 2) / (1 + random.nextInt(2));
  }

  private int parts(long extent) {
    return 1 + random.nextInt((int) Math.min(3, extent));
  }

  /**
   * The array in random blocks: the first axis is cut anywhere, and each strip anywhere along the
   * others. Sets elements of blocks that are left out to 0.
   *
   * @param share of the blocks that are there; at least one is
   */
  private Dataset<Row> frame(SparkSession spark, Dense dense, double share) {
    int rank = dense.extents().length;
    List<long[][]> boxes = new ArrayList<>();
    boxes.add(new long[][] {new long[rank], dense.extents()});
    for (int axis = 0; axis < rank; axis++) {
      List<long[][]> parts = new ArrayList<>();
      for (long[][] box : boxes) {
        parts.addAll(cut(box, axis));
      }
      boxes = parts;
    }
    Collections.shuffle(boxes, random);
    List<Row> rows = new ArrayList<>();
    for (long[][] box : boxes) {
      boolean kept = rows.isEmpty() || random.nextDouble() < share;
      Row row = block(dense, box[0], box[1], kept);
      if (kept) {
        rows.add(row);
      }
    }
    StructType schema = new StructType();
    for (String column : rank == 2 ? new String[] {"row", "col"} : new String[] {"x", "y", "z"}) {
      schema = schema.add(column, DataTypes.LongType);
    }
    for (String column :
        rank == 2 ? new String[] {"rows", "cols"} : new String[] {"nx", "ny", "nz"}) {
      schema = schema.add(column, DataTypes.IntegerType);
    }
    DataType values =
        DataTypes.createArrayType(single ? DataTypes.FloatType : DataTypes.DoubleType);
    schema = schema.add("values", values);
    schema = dense.isComplex() ? schema.add("imag", values) : schema;
    int partitions = 1 + random.nextInt(4);
    details += " in " + rows.size() + " blocks";
    return spark.createDataFrame(rows, schema).repartition(partitions);
  }

  private List<long[][]> cut(long[][] box, int axis) {
    TreeSet<Long> cuts = new TreeSet<>();
    int count = random.nextInt(4);
    for (int i = 0; i < count; i++) {
      cuts.add(1 + (long) random.nextInt(Math.toIntExact(box[1][axis])));
    }
    cuts.add(box[1][axis]);
    List<long[][]> parts = new ArrayList<>();
    long from = 0;
    for (long cut : cuts) {
      long[] offset = box[0].clone();
      long[] size = box[1].clone();
      offset[axis] += from;
      size[axis] = cut - from;
      parts.add(new long[][] {offset, size});
      from = cut;
    }
    return parts;
  }

  private Row block(Dense dense, long[] offset, long[] size, boolean kept) {
    List<Object> cells = new ArrayList<>();
    for (long place : offset) {
      cells.add(place);
    }
    long length = 1;
    for (long extent : size) {
      cells.add(Math.toIntExact(extent));
      length *= extent;
    }
    for (double[] plane : planes(dense)) {
      List<Object> values = new ArrayList<>();
      long[] at = new long[size.length];
      for (long i = 0; i < length; i++) {
        place(i, offset, size, at);
        int index = dense.index(at);
        if (!kept) {
          plane[index] = 0;
        }
        values.add(single ? (Object) (float) plane[index] : (Object) plane[index]);
      }
      cells.add(values);
    }
    return RowFactory.create(cells.toArray());
  }

  /** Real parts, and the imaginary ones if there are some. */
  private static List<double[]> planes(Dense dense) {
    return dense.isComplex()
        ? List.of(dense.values(), dense.imag().orElseThrow())
        : List.of(dense.values());
  }

  /** Where the {@code index}-th element of a block lies in the array. */
  private static void place(long index, long[] offset, long[] size, long[] at) {
    long rest = index;
    for (int axis = size.length - 1; axis >= 0; axis--) {
      at[axis] = offset[axis] + rest % size[axis];
      rest /= size[axis];
    }
  }

  private static Optional<String> compare(Dense expected, Dataset<Row> df) {
    return compare(expected, df, 0);
  }

  /**
   * What is wrong with blocks, or nothing.
   *
   * @param error by how much an element may be off
   */
  private static Optional<String> compare(Dense expected, Dataset<Row> df, double error) {
    if (Arrays.asList(df.columns()).contains("imag") != expected.isComplex()) {
      return Optional.of("columns " + Arrays.toString(df.columns()));
    }
    int rank = expected.extents().length;
    List<double[]> wanted = planes(expected);
    boolean[] seen = new boolean[expected.values().length];
    long[] offset = new long[rank];
    long[] size = new long[rank];
    long[] at = new long[rank];
    for (Row row : df.collectAsList()) {
      for (int axis = 0; axis < rank; axis++) {
        offset[axis] = row.getLong(axis);
        size[axis] = row.getInt(rank + axis);
      }
      List<List<? extends Number>> found = new ArrayList<>();
      for (int plane = 0; plane < wanted.size(); plane++) {
        found.add(row.getList(2 * rank + plane));
      }
      for (int i = 0; i < found.get(0).size(); i++) {
        place(i, offset, size, at);
        for (int axis = 0; axis < rank; axis++) {
          if (at[axis] < 0 || at[axis] >= expected.extents()[axis]) {
            return Optional.of("an element at " + Arrays.toString(at));
          }
        }
        int index = expected.index(at);
        if (seen[index]) {
          return Optional.of("two elements at " + Arrays.toString(at));
        }
        seen[index] = true;
        for (int plane = 0; plane < wanted.size(); plane++) {
          double number = found.get(plane).get(i).doubleValue();
          double right = wanted.get(plane)[index];
          if (!(Math.abs(number - right) <= error)) {
            String place = Arrays.toString(at) + (plane == 1 ? ", imaginary" : "");
            return Optional.of(
                "at " + place + ": " + number + ", expected " + right + " +- " + error);
          }
        }
      }
    }
    for (int i = 0; i < seen.length; i++) {
      if (!seen[i]) {
        return Optional.of("no element of index " + i);
      }
    }
    return Optional.empty();
  }

  @Override
  public String toString() {
    return name + details;
  }
}
