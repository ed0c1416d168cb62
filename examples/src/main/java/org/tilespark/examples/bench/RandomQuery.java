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
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.Missing;
import org.tilespark.spark.MultiplyOptions;
import org.tilespark.spark.VolumeBlocks;

/**
 * One operator, on arrays of a random shape and type in random blocks, and what plain loops make of
 * the same arrays. All of it follows from a seed.
 *
 * <p>Elements are small whole numbers, so that products and sums are exact in either type, in
 * whatever order they are made; only means are not.
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
    CENTER
  }

  private static final String[] AXES = {"xyz", "xzy", "yxz", "yzx", "zxy", "zyx"};
  private static final int LARGEST_EXTENT = 150;
  private static final int LARGEST_VOLUME_EXTENT = 30;
  private static final int LARGEST_ELEMENT = 9;

  /** Of a mean, beside the exact one: two roundings of numbers up to {@link #LARGEST_ELEMENT}. */
  private static final double FLOAT_MEAN_ERROR = 2e-6;

  private static final double DOUBLE_MEAN_ERROR = 1e-13;

  /**
   * A dense array.
   *
   * @param extents 2 or 3
   * @param values row-major
   */
  private record Dense(long[] extents, double[] values) {
    static Dense zeros(long... extents) {
      return new Dense(
          extents,
          new double[Math.toIntExact(Arrays.stream(extents).reduce(1, Math::multiplyExact))]);
    }

    static Dense random(Random random, long... extents) {
      Dense dense = zeros(extents);
      for (int i = 0; i < dense.values.length; i++) {
        dense.values[i] = random.nextInt(2 * LARGEST_ELEMENT + 1) - LARGEST_ELEMENT;
      }
      return dense;
    }

    int index(long... at) {
      long index = 0;
      for (int axis = 0; axis < at.length; axis++) {
        index = index * extents[axis] + at[axis];
      }
      return Math.toIntExact(index);
    }

    double at(long... at) {
      return values[index(at)];
    }

    long rows() {
      return extents[0];
    }

    long cols() {
      return extents[1];
    }

    Dense transposed() {
      return permuted(1, 0);
    }

    /** Axis {@code i} of the result is this one's {@code axes[i]}. */
    Dense permuted(int... axes) {
      long[] out = new long[axes.length];
      Arrays.setAll(out, i -> extents[axes[i]]);
      Dense result = zeros(out);
      long[] to = new long[axes.length];
      long[] from = new long[axes.length];
      for (int i = 0; i < result.values.length; i++) {
        int rest = i;
        for (int axis = axes.length - 1; axis >= 0; axis--) {
          to[axis] = rest % out[axis];
          rest /= Math.toIntExact(out[axis]);
        }
        for (int axis = 0; axis < axes.length; axis++) {
          from[axes[axis]] = to[axis];
        }
        result.values[i] = at(from);
      }
      return result;
    }

    Dense times(Dense other) {
      Dense product = zeros(rows(), other.cols());
      for (long i = 0; i < rows(); i++) {
        for (long k = 0; k < cols(); k++) {
          double a = at(i, k);
          for (long j = 0; j < other.cols(); j++) {
            product.values[product.index(i, j)] += a * other.at(k, j);
          }
        }
      }
      return product;
    }
  }

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
    this.a =
        operator == Operator.PERMUTE
            ? Dense.random(
                random,
                extent(LARGEST_VOLUME_EXTENT),
                extent(LARGEST_VOLUME_EXTENT),
                extent(LARGEST_VOLUME_EXTENT))
            : Dense.random(random, extent(LARGEST_EXTENT), extent(LARGEST_EXTENT));
    this.name =
        operator.name().toLowerCase(Locale.ROOT)
            + " of "
            + (single ? "FLOAT" : "DOUBLE")
            + Arrays.toString(a.extents);
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
        Dense holes = new Dense(a.extents, a.values.clone());
        Dataset<Row> some = MatrixBlocks.withExtents(frame(spark, holes, 0.6), a.rows(), a.cols());
        yield compare(
            holes, MatrixBlocks.reblock(some, size(a.rows()), size(a.cols()), Missing.ZERO));
      }
      case MULTIPLY -> multiply(spark, x);
      case GRAM -> compare(a.transposed().times(a), MatrixBlocks.gram(x));
      case ADD -> {
        Dense other = Dense.random(random, a.extents);
        Dense sum = Dense.zeros(a.extents);
        Arrays.setAll(sum.values, i -> a.values[i] + other.values[i]);
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
        Dense scaled = Dense.zeros(a.extents);
        Arrays.setAll(scaled.values, i -> a.values[i] * alpha);
        yield compare(scaled, MatrixBlocks.scale(x, alpha));
      }
      case CENTER -> {
        Dense centered = Dense.zeros(a.extents);
        for (long j = 0; j < a.cols(); j++) {
          double sum = 0;
          for (long i = 0; i < a.rows(); i++) {
            sum += a.at(i, j);
          }
          for (long i = 0; i < a.rows(); i++) {
            centered.values[a.index(i, j)] = a.at(i, j) - sum / a.rows();
          }
        }
        yield compare(centered, MatrixBlocks.center(x));
      }
    };
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
    details += " with " + Arrays.toString(asGiven.extents) + " " + options;
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
    int rank = dense.extents.length;
    List<long[][]> boxes = new ArrayList<>();
    boxes.add(new long[][] {new long[rank], dense.extents});
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
    schema =
        schema.add(
            "values",
            DataTypes.createArrayType(single ? DataTypes.FloatType : DataTypes.DoubleType));
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
    int rank = size.length;
    Object[] cells = new Object[2 * rank + 1];
    long length = 1;
    for (int axis = 0; axis < rank; axis++) {
      cells[axis] = offset[axis];
      cells[rank + axis] = Math.toIntExact(size[axis]);
      length *= size[axis];
    }
    List<Object> values = new ArrayList<>();
    long[] at = new long[rank];
    for (long i = 0; i < length; i++) {
      place(i, offset, size, at);
      int index = dense.index(at);
      if (!kept) {
        dense.values[index] = 0;
      }
      double value = dense.values[index];
      values.add(single ? (Object) (float) value : (Object) value);
    }
    cells[2 * rank] = values;
    return RowFactory.create(cells);
  }

  /** Where the {@code index}-th element of a block lies in the array. */
  private static void place(long index, long[] offset, long[] size, long[] at) {
    long rest = index;
    for (int axis = size.length - 1; axis >= 0; axis--) {
      at[axis] = offset[axis] + rest % size[axis];
      rest /= size[axis];
    }
  }

  private Optional<String> compare(Dense expected, Dataset<Row> df) {
    int rank = expected.extents.length;
    double error = operator != Operator.CENTER ? 0 : single ? FLOAT_MEAN_ERROR : DOUBLE_MEAN_ERROR;
    boolean[] seen = new boolean[expected.values.length];
    long[] offset = new long[rank];
    long[] size = new long[rank];
    long[] at = new long[rank];
    for (Row row : df.collectAsList()) {
      for (int axis = 0; axis < rank; axis++) {
        offset[axis] = row.getLong(axis);
        size[axis] = row.getInt(rank + axis);
      }
      List<? extends Number> values = row.getList(2 * rank);
      for (int i = 0; i < values.size(); i++) {
        place(i, offset, size, at);
        for (int axis = 0; axis < rank; axis++) {
          if (at[axis] < 0 || at[axis] >= expected.extents[axis]) {
            return Optional.of("an element at " + Arrays.toString(at));
          }
        }
        int index = expected.index(at);
        if (seen[index]) {
          return Optional.of("two elements at " + Arrays.toString(at));
        }
        seen[index] = true;
        double found = values.get(i).doubleValue();
        if (!(Math.abs(found - expected.values[index]) <= error)) {
          return Optional.of(
              "at " + Arrays.toString(at) + ": " + found + ", expected " + expected.values[index]);
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
