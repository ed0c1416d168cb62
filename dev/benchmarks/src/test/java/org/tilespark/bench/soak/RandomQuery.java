package org.tilespark.bench.soak;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.apache.hadoop.fs.FileUtil;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.error.TileSparkThrowable;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.MultiplyOptions;

/**
 * One operator in one setting, on arrays of a random shape and type in random blocks, and what
 * plain loops make of the same arrays. All of it follows from a seed.
 *
 * <p>Elements are small whole numbers, so that products and sums are exact in either type, in
 * whatever order they are made; only means and Fourier transforms are not.
 */
final class RandomQuery {
  /** What is called. */
  enum Operator {
    TRANSPOSE,
    PACK,
    PERMUTE,
    REBLOCK,
    REBLOCK_ZERO,
    MULTIPLY,
    GRAM,
    ADD,
    ADD_ZERO,
    SCALE,
    CENTER,
    PAD,
    ROLL,
    HALO,
    RESHAPE,
    CUT_VOLUME,
    PAD_VOLUME,
    HALO_VOLUME,
    FFT,
    HALF_FFT,
    PADDED_FFT,
    REPEATED_FFT,
    ROUND_TRIP,
    POINTWISE,
    LOW_PASS;

    boolean takesVolumes() {
      return this == PERMUTE || compareTo(CUT_VOLUME) >= 0;
    }

    /** Whether it transforms one volume, and may leave its blocks where they are. */
    boolean isTransform() {
      return compareTo(FFT) >= 0 && this != POINTWISE;
    }

    boolean isProduct() {
      return this == MULTIPLY || this == GRAM;
    }

    /** Whether each block of the result is made of one block alone. */
    boolean worksBlockByBlock() {
      return this == TRANSPOSE || this == PACK || this == PERMUTE || this == SCALE;
    }
  }

  /** Where the operator's input comes from, and what stands above it in the query. */
  enum Setting {
    /** Whole arrays; all rows are collected. */
    PLAIN,
    /** A filter over a place column stands above. */
    FILTERED,
    /** A join with some of the places stands above. */
    JOINED,
    /**
     * Three arrays told apart by a DOUBLE column with 0.0, -0.0 and NaN of several bit patterns.
     */
    GROUPED,
    /** A filter below leaves no blocks. */
    EMPTY,
    /** Two further columns have one name, or names that differ in case. */
    DUPLICATE_COLUMNS,
    /** A block is there twice. */
    DOUBLED,
    /** The table of a SQL function has PARTITION BY, ORDER BY or WITH SINGLE PARTITION. */
    PARTITIONED
  }

  /**
   * What is asked.
   *
   * @param inputs arrays; a frame of blocks is made of each
   * @param share of the blocks that are there; elements of the others are 0
   * @param operator of the frames
   * @param oracle of the inputs, once the frames are made
   * @param error by how much an element may be off, of the same inputs
   */
  private record Query(
      List<Dense> inputs,
      double share,
      Function<List<Dataset<Row>>, Dataset<Row>> operator,
      Function<List<Dense>, Dense> oracle,
      ToDoubleFunction<List<Dense>> error) {}

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

  private static final String[] EDGES = {"constant", "edge", "reflect", "symmetric", "wrap"};
  private static final String[] DECOMPOSITIONS = {"auto", "task", "slabs", "pencils"};
  private static final String[] NORMS = {"backward", "ortho", "forward"};
  private static final double[] GROUPS = {0, Double.NaN, 7};

  private final Random random;
  private final Operator operator;
  private final Setting setting;
  private final boolean single; // FLOAT, else DOUBLE
  private final Dense a;
  private final String name;

  private final Map<String, Path> tables = new HashMap<>(); // with the folders of their files
  private final List<Dataset<Row>> cached = new ArrayList<>();
  private String details = "";

  private RandomQuery(long seed, Optional<Operator> operator, Optional<Setting> setting) {
    this.random = new Random(seed);
    Operator anyOperator = Operator.values()[random.nextInt(Operator.values().length)];
    Setting anySetting = Setting.values()[random.nextInt(Setting.values().length)];
    this.operator = operator.orElse(anyOperator);
    this.setting = setting.orElse(anySetting);
    this.single = random.nextBoolean();
    Dense real =
        this.operator.takesVolumes()
            ? Dense.random(
                random,
                extent(LARGEST_VOLUME_EXTENT),
                extent(LARGEST_VOLUME_EXTENT),
                extent(LARGEST_VOLUME_EXTENT))
            : Dense.random(random, extent(LARGEST_EXTENT), extent(LARGEST_EXTENT));
    boolean mayBeComplex = this.operator.takesVolumes() && this.operator != Operator.HALF_FFT;
    this.a = mayBeComplex && random.nextBoolean() ? real.withRandomImag(random) : real;
    this.name =
        this.operator.name().toLowerCase(Locale.ROOT)
            + " "
            + this.setting.name().toLowerCase(Locale.ROOT)
            + " of "
            + (a.isComplex() ? "complex " : "")
            + (single ? "FLOAT" : "DOUBLE")
            + Arrays.toString(a.extents());
  }

  static RandomQuery of(long seed) {
    return new RandomQuery(seed, Optional.empty(), Optional.empty());
  }

  /** One of the given operator in the given setting; all else follows from the seed. */
  static RandomQuery of(long seed, Operator operator, Setting setting) {
    return new RandomQuery(seed, Optional.of(operator), Optional.of(setting));
  }

  Operator operator() {
    return operator;
  }

  /** Runs it once; what is wrong with the result, or nothing. */
  Optional<String> run(SparkSession spark) {
    Query query = query();
    try {
      return switch (setting) {
        case PLAIN -> plain(spark, query);
        case FILTERED -> filtered(spark, query);
        case JOINED -> joined(spark, query);
        case GROUPED -> grouped(spark, query);
        case EMPTY -> empty(spark, query);
        case DUPLICATE_COLUMNS -> duplicateColumns(spark, query);
        case DOUBLED -> doubled(spark, query);
        case PARTITIONED -> partitioned(spark, query);
      };
    } finally {
      cached.forEach(Dataset::unpersist);
      tables.forEach(
          (table, files) -> {
            spark.sql("DROP TABLE IF EXISTS " + table); // an error may have come first
            FileUtil.fullyDelete(files.toFile());
          });
    }
  }

  /**
   * The same blocks, one time in four as a table that they are written into gives them, and one
   * time in four some of them from a cache.
   */
  private Dataset<Row> maybeStored(Dataset<Row> blocks) {
    int how = random.nextInt(4);
    if (how == 0) {
      return stored(blocks);
    }
    return how == 1 ? mixed(blocks) : blocks;
  }

  /** Cached blocks and others, often in one partition. */
  private Dataset<Row> mixed(Dataset<Row> blocks) {
    String some = "pmod(hash(" + blocks.columns()[0] + ", " + blocks.columns()[1] + "), 2) = 0";
    Dataset<Row> kept = blocks.where(some).cache();
    kept.count();
    cached.add(kept);
    Dataset<Row> union = kept.union(blocks.where("not (" + some + ")"));
    int partitions = random.nextInt(4);
    details += " some cached, " + partitions;
    return partitions == 0 ? union : union.coalesce(partitions);
  }

  private Dataset<Row> stored(Dataset<Row> blocks) {
    String format = oneOf("parquet", "orc");
    String table = "soak_" + UUID.randomUUID().toString().replace('-', '_');
    details += " stored in " + format;
    try {
      tables.put(table, Files.createTempDirectory("soak"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    String files = tables.get(table).resolve(table).toString();
    blocks.write().format(format).option("path", files).saveAsTable(table);
    return blocks.sparkSession().table(table);
  }

  private Optional<String> plain(SparkSession spark, Query query) {
    Dataset<Row> result = query.operator().apply(frames(spark, query));
    return compare(
        query.oracle().apply(query.inputs()), result, query.error().applyAsDouble(query.inputs()));
  }

  /** A filter above keeps the rows that it would keep of the collected result. */
  private Optional<String> filtered(SparkSession spark, Query query) {
    Dataset<Row> result = query.operator().apply(frames(spark, query));
    List<Row> all = result.collectAsList();
    int column = random.nextInt(rank());
    long bound = all.get(random.nextInt(all.size())).getLong(column);
    boolean isUpper = random.nextBoolean();
    details += " where " + result.columns()[column] + (isUpper ? " <= " : " >= ") + bound;
    Column place = result.col(result.columns()[column]);
    return sameBlocks(
        all.stream()
            .filter(r -> isUpper ? r.getLong(column) <= bound : r.getLong(column) >= bound)
            .toList(),
        result.where(isUpper ? place.leq(bound) : place.geq(bound)).collectAsList(),
        query.error().applyAsDouble(query.inputs()));
  }

  /** A semi-join above keeps the rows of the places that it names. */
  private Optional<String> joined(SparkSession spark, Query query) {
    Dataset<Row> result = query.operator().apply(frames(spark, query));
    List<Row> all = result.collectAsList();
    int column = random.nextInt(rank());
    List<Long> places = new ArrayList<>();
    for (Row row : all) {
      if (random.nextBoolean() && !places.contains(row.getLong(column))) {
        places.add(row.getLong(column));
      }
    }
    Dataset<Row> named = spark.createDataset(places, Encoders.LONG()).toDF("place");
    boolean isBroadcast = random.nextBoolean();
    details += " joined with " + places.size() + " places of axis " + column;
    Dataset<Row> some =
        result.join(
            isBroadcast ? functions.broadcast(named) : named,
            result.col(result.columns()[column]).equalTo(named.col("place")),
            "left_semi");
    return sameBlocks(
        all.stream().filter(r -> places.contains(r.getLong(column))).toList(),
        some.collectAsList(),
        query.error().applyAsDouble(query.inputs()));
  }

  /** Three arrays at once, told apart by values that are equal but have other bits. */
  private Optional<String> grouped(SparkSession spark, Query query) {
    List<List<Dense>> groups = new ArrayList<>();
    List<Dataset<Row>> frames = new ArrayList<>();
    for (double key : GROUPS) {
      List<Dense> inputs = query.inputs().stream().map(d -> d.renewed(random)).toList();
      for (int i = 0; i < inputs.size(); i++) {
        Dataset<Row> frame = frame(spark, inputs.get(i), query.share(), key);
        if (frames.size() == i) {
          frames.add(frame);
        } else {
          frames.set(i, frames.get(i).unionAll(frame));
        }
      }
      groups.add(inputs);
    }
    Dataset<Row> result;
    try {
      result = query.operator().apply(stated(frames, query));
    } catch (IllegalArgumentException e) {
      // Tasks of a product compare keys by their bytes, so a column like this one is refused.
      return operator.isProduct() && e.getMessage().contains("column g is DOUBLE")
          ? Optional.empty()
          : Optional.of("failed: " + e);
    }
    List<Row> rows = result.collectAsList();
    int column = Arrays.asList(result.columns()).indexOf("g");
    if (column < 0) {
      return Optional.of("no column g in " + Arrays.toString(result.columns()));
    }
    for (int group = 0; group < GROUPS.length; group++) {
      double key = GROUPS[group];
      Optional<String> wrong =
          compare(
              query.oracle().apply(groups.get(group)),
              result.columns(),
              rows.stream().filter(r -> isSame(r.getDouble(column), key)).toList(),
              query.error().applyAsDouble(groups.get(group)));
      if (wrong.isPresent()) {
        return Optional.of("group " + key + ": " + wrong.get());
      }
    }
    long strangers =
        rows.stream()
            .filter(r -> Arrays.stream(GROUPS).noneMatch(k -> isSame(r.getDouble(column), k)))
            .count();
    return strangers == 0 ? Optional.empty() : Optional.of(strangers + " rows of no group");
  }

  private static boolean isSame(double a, double b) {
    return a == b || Double.isNaN(a) && Double.isNaN(b);
  }

  /**
   * No blocks: an operator that works block by block gives none. Of the others it is an error with
   * a reason, or, where nothing says how large the array is, no rows; and what a missing block is
   * may be asked to be zeros.
   */
  private Optional<String> empty(SparkSession spark, Query query) {
    List<Dataset<Row>> frames = new ArrayList<>();
    for (Dataset<Row> frame : frames(spark, query)) {
      // Known to be empty when planning, or only when it runs.
      Column nothing =
          random.nextBoolean()
              ? frame.col(frame.columns()[0]).lt(-1)
              : functions.size(frame.col("values")).lt(0);
      frames.add(frame.where(nothing));
    }
    boolean isStated = random.nextBoolean() || query.share() < 1;
    details += isStated ? " of nothing, extents stated" : " of nothing";
    for (int i = 0; isStated && i < frames.size(); i++) {
      frames.set(i, withExtents(frames.get(i), query.inputs().get(i)));
    }
    Dataset<Row> result;
    List<Row> rows;
    try {
      result = query.operator().apply(frames);
      rows = result.collectAsList();
    } catch (Exception e) {
      return refusal(e).isPresent() && !operator.worksBlockByBlock()
          ? Optional.empty()
          : Optional.of("failed: " + e);
    }
    if (rows.isEmpty()) {
      boolean isAllowed = !isStated || query.share() < 1 || operator.worksBlockByBlock();
      return isAllowed ? Optional.empty() : Optional.of("no rows, and no error");
    }
    if (query.share() == 1) {
      return Optional.of(rows.size() + " rows of nothing");
    }
    return compare(Dense.zeros(a.extents()), result.columns(), rows, 0);
  }

  /** Refused by name where blocks are combined, else carried through. */
  private Optional<String> duplicateColumns(SparkSession spark, Query query) {
    String second = random.nextBoolean() ? "g" : "G";
    details += " with columns g and " + second;
    List<Dataset<Row>> frames = new ArrayList<>();
    for (Dataset<Row> frame : frames(spark, query)) {
      List<String> names = new ArrayList<>(List.of(frame.columns()));
      names.addAll(List.of("g", second));
      frames.add(
          frame
              .withColumns(Map.of("one", functions.lit(1), "two", functions.lit(2)))
              .toDF(names.toArray(String[]::new)));
    }
    if (operator.worksBlockByBlock()) {
      return compare(
          query.oracle().apply(query.inputs()),
          query.operator().apply(frames),
          query.error().applyAsDouble(query.inputs()));
    }
    try {
      query.operator().apply(frames).collectAsList();
      return Optional.of("two columns of one name were taken");
    } catch (Exception e) {
      return refusal(e).filter(text -> text.contains("have the same name")).isPresent()
          ? Optional.empty()
          : Optional.of("failed, not for the columns of one name: " + e);
    }
  }

  /**
   * Operators that combine blocks name the block; others carry it through. A transform combines
   * none if all blocks are whole along its axes.
   */
  private Optional<String> doubled(SparkSession spark, Query query) {
    if (operator.worksBlockByBlock()) {
      return Optional.empty();
    }
    List<Dataset<Row>> frames = new ArrayList<>(frames(spark, query));
    int which = random.nextInt(frames.size());
    Dataset<Row> frame = frames.get(which);
    frames.set(which, frame.unionAll(frame.limit(1)));
    details += " with a block of input " + which + " twice";
    try {
      Dataset<Row> result = query.operator().apply(frames);
      List<Row> rows = result.collectAsList();
      List<Row> once = once(rows);
      return operator.isTransform() && once.size() == rows.size() - 1
          ? compare(
              query.oracle().apply(query.inputs()),
              result.columns(),
              once,
              query.error().applyAsDouble(query.inputs()))
          : Optional.of("a block that is there twice was taken");
    } catch (Exception e) {
      return refusal(e).filter(text -> text.contains(rank() == 2 ? "row " : "x ")).isPresent()
          ? Optional.empty()
          : Optional.of("failed, not for the block that is there twice: " + e);
    }
  }

  /** The rows, each that is there several times once. */
  private static List<Row> once(List<Row> rows) {
    Map<List<Object>, Row> different = new LinkedHashMap<>();
    rows.forEach(row -> different.putIfAbsent(cells(row, 0, row.length()), row));
    return List.copyOf(different.values());
  }

  /** Refused by name. */
  private Optional<String> partitioned(SparkSession spark, Query query) {
    String view = "blocks_" + UUID.randomUUID().toString().replace('-', '_');
    frames(spark, query).get(0).createOrReplaceTempView(view);
    String function =
        rank() == 2
            ? oneOf("matrix_transpose", "matrix_gram", "matrix_validate")
            : oneOf("volume_fft", "volume_validate", "volume_pack");
    String place = rank() == 2 ? "col" : "z";
    String clause =
        oneOf(
            "PARTITION BY " + place,
            "PARTITION BY (" + place + " % 2) ORDER BY " + place,
            "WITH SINGLE PARTITION");
    details += " by " + function + " " + clause;
    try {
      spark.sql("SELECT * FROM " + function + "(TABLE(" + view + ") " + clause + ")");
      return Optional.of("the clause was taken");
    } catch (Exception e) {
      return refusal(e).filter(text -> text.contains("expected the table alone")).isPresent()
          ? Optional.empty()
          : Optional.of("failed, not for the clause: " + e);
    } finally {
      spark.catalog().dropTempView(view);
    }
  }

  /** The message of the first wrong input among an exception's causes. */
  private static Optional<String> refusal(Throwable e) {
    for (Throwable cause = e; cause != null; cause = cause.getCause()) {
      if (cause instanceof IllegalArgumentException
          || (cause instanceof TileSparkThrowable ours && ours.condition().isWrongInput())) {
        return Optional.of(cause.getMessage());
      }
    }
    return Optional.empty();
  }

  private List<Dataset<Row>> frames(SparkSession spark, Query query) {
    List<Dataset<Row>> frames = new ArrayList<>();
    for (Dense input : query.inputs()) {
      frames.add(maybeStored(frame(spark, input, query.share(), Double.NaN).drop("g")));
    }
    return stated(frames, query);
  }

  /** With the extents of the arrays, where blocks may be missing. */
  private List<Dataset<Row>> stated(List<Dataset<Row>> frames, Query query) {
    List<Dataset<Row>> stated = new ArrayList<>(frames);
    for (int i = 0; query.share() < 1 && i < stated.size(); i++) {
      stated.set(i, withExtents(stated.get(i), query.inputs().get(i)));
    }
    return stated;
  }

  private static Dataset<Row> withExtents(Dataset<Row> frame, Dense dense) {
    long[] extents = dense.extents();
    return extents.length == 2
        ? MatrixBlocks.withExtents(frame, extents[0], extents[1])
        : VolumeBlocks.withExtents(frame, extents[0], extents[1], extents[2]);
  }

  /** The same blocks, as bytes on the way. */
  private static Dataset<Row> throughBytes(Dataset<Row> blocks) {
    String view = "blocks_" + UUID.randomUUID().toString().replace('-', '_');
    blocks.createOrReplaceTempView(view);
    Dataset<Row> unpacked =
        blocks
            .sparkSession()
            .sql(
                "SELECT * FROM matrix_unpack(TABLE(SELECT * FROM matrix_pack(TABLE("
                    + view
                    + "))))");
    blocks.sparkSession().catalog().dropTempView(view);
    return unpacked;
  }

  private int rank() {
    return a.extents().length;
  }

  private Query query() {
    return switch (operator) {
      case TRANSPOSE -> exact(MatrixBlocks::transpose, Dense::transposed);
      case PACK -> exact(RandomQuery::throughBytes, d -> d);
      case PERMUTE -> {
        String axes = AXES[random.nextInt(AXES.length)];
        details += " " + axes;
        yield exact(x -> VolumeBlocks.permute(x, axes), d -> d.permuted(places(axes)));
      }
      case REBLOCK -> {
        int rows = size(a.rows());
        int cols = size(a.cols());
        yield exact(x -> MatrixBlocks.reblock(x, rows, cols), d -> d);
      }
      case REBLOCK_ZERO -> {
        int rows = size(a.rows());
        int cols = size(a.cols());
        Dense holes = new Dense(a.extents(), a.values().clone(), Optional.empty());
        yield new Query(
            List.of(holes),
            0.6,
            x -> MatrixBlocks.reblock(x.get(0), rows, cols, Missing.ZERO),
            d -> d.get(0),
            d -> 0);
      }
      case MULTIPLY -> multiply();
      case GRAM -> exact(MatrixBlocks::gram, d -> d.transposed().times(d));
      case ADD -> add(1, Missing.ERROR);
      case ADD_ZERO -> add(0.6, Missing.ZERO);
      case SCALE -> {
        double alpha = random.nextInt(9) * 0.25;
        yield exact(
            x -> MatrixBlocks.scale(x, alpha),
            d -> {
              Dense scaled = Dense.zeros(a.extents());
              Arrays.setAll(scaled.values(), i -> d.values()[i] * alpha);
              return scaled;
            });
      }
      case CENTER ->
          of(
              MatrixBlocks::center,
              Dense::centered,
              d -> single ? FLOAT_MEAN_ERROR : DOUBLE_MEAN_ERROR);
      case PAD, PAD_VOLUME -> pad();
      case ROLL -> {
        long rows = random.nextInt(400) - 200L;
        long cols = random.nextInt(400) - 200L;
        yield exact(
            x -> MatrixBlocks.roll(x, rows + "," + cols),
            d ->
                d.gathered(
                    d.extents(),
                    at ->
                        new long[] {
                          Math.floorMod(at[0] - rows, d.rows()),
                          Math.floorMod(at[1] - cols, d.cols())
                        },
                    0));
      }
      case HALO, HALO_VOLUME -> halo();
      case RESHAPE -> reshape();
      case CUT_VOLUME -> exact(cut(), d -> d);
      case FFT -> fft(false);
      case HALF_FFT -> fft(true);
      case PADDED_FFT -> paddedFft();
      case REPEATED_FFT -> repeatedFft();
      case ROUND_TRIP -> {
        boolean isHalf = !a.isComplex() && random.nextBoolean();
        String transformed = transformed();
        FftOptions forward = transform().withReal(isHalf).withAxes(transformed);
        FftOptions back = FftOptions.defaults().withDecomposition(oneOf(DECOMPOSITIONS));
        String left = transformed.length() == 3 && !forward.natural() ? "yzx" : "xyz";
        String order = random.nextBoolean() ? "xyz" : oneOf(AXES);
        details += " " + forward + ", permuted " + order + ", back " + back;
        yield of(
            x -> {
              Dataset<Row> spectrum = VolumeBlocks.permute(VolumeBlocks.fft(x, forward), order);
              boolean mayBeStored =
                  setting != Setting.EMPTY && setting != Setting.DUPLICATE_COLUMNS;
              return VolumeBlocks.ifft(mayBeStored ? maybeStored(spectrum) : spectrum, back);
            },
            d -> {
              Dense volume = isHalf ? d : d.asComplex();
              // The order that a transform left is undone, one that was asked for since is kept.
              return order.equals("xyz")
                  ? volume
                  : volume.permuted(places(left)).permuted(places(order));
            },
            d -> error(d.magnitude()));
      }
      case POINTWISE -> pointwise();
      case LOW_PASS -> {
        // One of all that may be, which is no frequency itself.
        double cutoff = 0.9 * random.nextDouble();
        FftOptions options = transform();
        details += " " + cutoff + " " + options;
        yield of(
            x -> VolumeBlocks.ifft(VolumeBlocks.lowPass(VolumeBlocks.fft(x, options), cutoff)),
            d -> HostFourier.of(d, "xyz").lowPass(cutoff).inverse(),
            d -> error(d.magnitude()));
      }
    };
  }

  private static int[] places(String axes) {
    return axes.chars().map("xyz"::indexOf).toArray();
  }

  private Query exact(UnaryOperator<Dataset<Row>> operator, UnaryOperator<Dense> oracle) {
    return of(operator, oracle, d -> 0);
  }

  private Query of(
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
  private long[][] widths(int most) {
    long[][] widths = new long[rank()][2];
    for (long[] axis : widths) {
      Arrays.setAll(axis, side -> random.nextInt(random.nextBoolean() ? 3 : most));
    }
    return widths;
  }

  private static String text(long[][] widths) {
    return Arrays.stream(widths)
        .map(axis -> axis[0] + "," + axis[1])
        .collect(Collectors.joining("; "));
  }

  private Query pad() {
    long[][] widths = widths(rank() == 2 ? 90 : 20);
    String mode = oneOf(EDGES);
    String text = text(widths);
    details += " " + text + " " + mode;
    long[] to = a.extents().clone();
    Arrays.setAll(to, axis -> to[axis] + widths[axis][0] + widths[axis][1]);
    return exact(
        x -> rank() == 2 ? MatrixBlocks.pad(x, text, mode, 3) : VolumeBlocks.pad(x, text, mode, 3),
        d ->
            d.gathered(
                to,
                at -> {
                  for (int axis = 0; axis < at.length; axis++) {
                    at[axis] = source(mode, d.extents()[axis], at[axis] - widths[axis][0]);
                    if (at[axis] < 0) {
                      return null;
                    }
                  }
                  return at;
                },
                3));
  }

  /** The element behind a place of an axis that goes on beyond its ends; -1 if there is none. */
  private static long source(String mode, long extent, long place) {
    if (place >= 0 && place < extent) {
      return place;
    }
    long beyond = Math.floorMod(place, 2 * extent);
    long mirrored = extent == 1 ? 0 : Math.floorMod(place, 2 * extent - 2);
    return switch (mode) {
      case "constant" -> -1;
      case "edge" -> place < 0 ? 0 : extent - 1;
      case "wrap" -> Math.floorMod(place, extent);
      case "symmetric" -> Math.min(beyond, 2 * extent - 1 - beyond);
      default -> Math.min(mirrored, 2 * extent - 2 - mirrored);
    };
  }

  /** A halo that is taken off again, with a factor of each element between. */
  private Query halo() {
    String text = text(widths(20));
    String edge = oneOf(EDGES);
    double alpha = random.nextInt(9) * 0.25;
    details += " " + text + " " + edge + " times " + alpha;
    return exact(
        x ->
            rank() == 2
                ? MatrixBlocks.trim(MatrixBlocks.scale(MatrixBlocks.halo(x, text, edge), alpha))
                : VolumeBlocks.trim(VolumeBlocks.scale(VolumeBlocks.halo(x, text, edge), alpha)),
        d -> {
          Dense scaled =
              d.isComplex() ? Dense.zeros(d.extents()).asComplex() : Dense.zeros(d.extents());
          Arrays.setAll(scaled.values(), i -> d.values()[i] * alpha);
          d.imag().ifPresent(imag -> Arrays.setAll(scaled.imag().get(), i -> imag[i] * alpha));
          return scaled;
        });
  }

  /** As a volume, and as another matrix. */
  private Query reshape() {
    long[] divisors = LongStream.rangeClosed(1, a.rows()).filter(d -> a.rows() % d == 0).toArray();
    long first = divisors[random.nextInt(divisors.length)];
    String volume = first + ",-1," + a.cols();
    long[] matrix = {first, a.rows() / first * a.cols()};
    details += " by " + volume;
    return exact(
        x -> VolumeBlocks.reshape(MatrixBlocks.reshape(x, volume), matrix[0] + "," + matrix[1]),
        d -> new Dense(matrix, d.values(), d.imag()));
  }

  /** In blocks, slabs or pencils of some size. */
  private UnaryOperator<Dataset<Row>> cut() {
    int axis = random.nextInt(3);
    String letter = "xyz".substring(axis, axis + 1);
    int first = size(a.extents()[axis == 0 ? 1 : 0]);
    int second = size(a.extents()[axis == 2 ? 1 : 2]);
    int along = size(a.extents()[axis]);
    int way = random.nextInt(5);
    details +=
        List.of(" slabs ", " thick slabs ", " pencils ", " cut pencils ", "").get(way) + letter;
    return switch (way) {
      case 0 -> x -> VolumeBlocks.slabs(x, letter);
      case 1 -> x -> VolumeBlocks.slabs(x, letter, along);
      case 2 -> x -> VolumeBlocks.pencils(x, letter);
      case 3 -> x -> VolumeBlocks.pencils(x, letter, first, second);
      default -> x -> VolumeBlocks.reblock(x, first, along, second);
    };
  }

  private Query fft(boolean isHalf) {
    String axes = transformed();
    FftOptions options = transform().withReal(isHalf).withAxes(axes);
    if (setting == Setting.EMPTY) {
      options =
          options
              .withDetrend(oneOf("none", "mean", "linear"))
              .withWindow(oneOf("none", "hann", "hamming", "blackman"))
              .withShift(oneOf("none", "spectrum", "volume", "both"));
    }
    FftOptions all = options;
    details += " " + all;
    boolean isPermuted = axes.length() == 3 && !all.natural();
    return of(
        x -> VolumeBlocks.fft(x, all),
        d -> {
          HostFourier spectrum = spectrum(d, axes, all);
          Dense expected =
              isHalf
                  ? spectrum.half("xyz".indexOf(axes.charAt(axes.length() - 1)))
                  : spectrum.dense();
          return isPermuted ? expected.permuted(1, 2, 0) : expected;
        },
        d -> error(spectrum(d, axes, all).dense().magnitude()));
  }

  private static HostFourier spectrum(Dense volume, String axes, FftOptions options) {
    return HostFourier.of(volume, axes)
        .scaled(HostFourier.scale(options.norm().orElseThrow(), volume, axes));
  }

  /** Of a volume with zeros behind its last elements. */
  private Query paddedFft() {
    long[] padded = new long[3];
    Arrays.setAll(padded, axis -> a.extents()[axis] + random.nextInt(6));
    FftOptions options = transform().withPadTo(padded[0] + "," + padded[1] + "," + padded[2]);
    details += " " + options;
    return of(
        x -> VolumeBlocks.fft(x, options),
        d -> {
          Dense expected = spectrum(d.padded(padded), "xyz", options).dense();
          return options.natural() ? expected : expected.permuted(1, 2, 0);
        },
        d -> error(spectrum(d.padded(padded), "xyz", options).dense().magnitude()));
  }

  /** All axes by two transforms, one after another, and back in one. */
  private Query repeatedFft() {
    String order = AXES[random.nextInt(AXES.length)];
    int cut = 1 + random.nextInt(2);
    FftOptions first = transform().withAxes(order.substring(0, cut));
    FftOptions second = transform().withAxes(order.substring(cut));
    details += " " + first + " then " + second;
    return of(
        x -> VolumeBlocks.fft(VolumeBlocks.fft(x, first), second),
        d -> repeated(d, first, second),
        d -> error(repeated(d, first, second).magnitude()));
  }

  private static Dense repeated(Dense volume, FftOptions first, FftOptions second) {
    Dense once = spectrum(volume, first.axes().orElseThrow(), first).dense();
    return spectrum(once, second.axes().orElseThrow(), second).dense();
  }

  /** The convolution with another volume, by the product of the spectra. */
  private Query pointwise() {
    FftOptions options = transform();
    int[][] shapes = new int[2][];
    for (int i = 0; i < 2; i++) {
      shapes[i] = new int[] {size(a.extents()[0]), size(a.extents()[1]), size(a.extents()[2])};
    }
    if (random.nextBoolean()) {
      shapes[1] = shapes[0];
    }
    details += " " + options + " in " + Arrays.deepToString(shapes);
    double scale = Math.pow(HostFourier.scale(options.norm().orElseThrow(), a, "xyz"), 2);
    return new Query(
        List.of(a, Dense.random(random, a.extents())),
        1,
        x -> {
          List<Dataset<Row>> spectra = new ArrayList<>();
          for (int i = 0; i < 2; i++) {
            Dataset<Row> spectrum = VolumeBlocks.fft(x.get(i), options);
            spectra.add(VolumeBlocks.reblock(spectrum, shapes[i][0], shapes[i][1], shapes[i][2]));
          }
          Dataset<Row> product = VolumeBlocks.multiplyPointwise(spectra.get(0), spectra.get(1));
          // Both spectra were scaled; norm=backward keeps the inverse from undoing one scale.
          return VolumeBlocks.ifft(product, FftOptions.defaults().withNorm("backward"));
        },
        d ->
            HostFourier.of(d.get(0), "xyz")
                .times(HostFourier.of(d.get(1), "xyz"))
                .scaled(scale)
                .inverse(),
        d ->
            error(
                d.get(0).magnitude()
                    * d.get(1).magnitude()
                    * Math.sqrt(a.values().length)
                    * scale));
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

  /**
   * The sum of two matrices, each as it comes, with extents stated, or cut to a shape of its own.
   */
  private Query add(double share, Missing missing) {
    int[] forms = {random.nextInt(4), random.nextInt(4)};
    int[][] shapes = {{size(a.rows()), size(a.cols())}, {size(a.rows()), size(a.cols())}};
    if (random.nextInt(3) == 0) {
      shapes[1] = shapes[0];
    }
    details += " of forms " + Arrays.toString(forms) + " in " + Arrays.deepToString(shapes);
    return new Query(
        List.of(
            new Dense(a.extents(), a.values().clone(), Optional.empty()),
            Dense.random(random, a.extents())),
        share,
        x -> {
          List<Dataset<Row>> operands = new ArrayList<>();
          for (int i = 0; i < 2; i++) {
            operands.add(
                switch (forms[i]) {
                  case 0 -> x.get(i);
                  case 1 -> withExtents(x.get(i), a);
                  default -> MatrixBlocks.reblock(x.get(i), shapes[i][0], shapes[i][1], missing);
                });
          }
          return MatrixBlocks.add(operands.get(0), operands.get(1), missing);
        },
        d -> {
          Dense sum = Dense.zeros(a.extents());
          Arrays.setAll(sum.values(), i -> d.get(0).values()[i] + d.get(1).values()[i]);
          return sum;
        },
        d -> 0);
  }

  private Query multiply() {
    boolean transposeA = random.nextBoolean();
    boolean transposeB = random.nextBoolean();
    long rows = transposeA ? a.cols() : a.rows();
    long inner = transposeA ? a.rows() : a.cols();
    Dense right = Dense.random(random, inner, extent(LARGEST_EXTENT));
    Dense asGiven = transposeB ? right.transposed() : right;
    MultiplyOptions options =
        MultiplyOptions.defaults().withTransposeA(transposeA).withTransposeB(transposeB);
    if (random.nextBoolean()) {
      options =
          options.withStrategy(
              new MultiplyOptions.Strategy.Cuboid(parts(rows), parts(right.cols()), parts(inner)));
    }
    if (random.nextBoolean()) {
      options = options.withBlockShape(size(rows), size(right.cols()));
    }
    details += " with " + Arrays.toString(asGiven.extents()) + " " + options;
    MultiplyOptions all = options;
    return new Query(
        List.of(a, asGiven),
        1,
        x -> MatrixBlocks.multiply(x.get(0), x.get(1), all),
        d ->
            (transposeA ? d.get(0).transposed() : d.get(0))
                .times(transposeB ? d.get(1).transposed() : d.get(1)),
        d -> 0);
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
   * @param key of the column {@code g}, in any of the bit patterns that are equal to it
   */
  private Dataset<Row> frame(SparkSession spark, Dense dense, double share, double key) {
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
      Row row = block(dense, box[0], box[1], kept, anyBitsOf(key));
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
    schema = schema.add("g", DataTypes.DoubleType);
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

  private Row block(Dense dense, long[] offset, long[] size, boolean kept, double key) {
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
    cells.add(key);
    return RowFactory.create(cells.toArray());
  }

  /** A value that is equal to this one in SQL and may have other bits. */
  private double anyBitsOf(double key) {
    if (Double.isNaN(key)) {
      return Double.longBitsToDouble(0x7ff8000000000000L | random.nextInt(3));
    }
    return key == 0 && random.nextBoolean() ? -0.0 : key;
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

  private static Optional<String> compare(Dense expected, Dataset<Row> df, double error) {
    return compare(expected, df.columns(), df.collectAsList(), error);
  }

  /**
   * What is wrong with blocks, or nothing.
   *
   * @param error by how much an element may be off
   */
  private static Optional<String> compare(
      Dense expected, String[] columns, List<Row> rows, double error) {
    if (Arrays.asList(columns).contains("imag") != expected.isComplex()) {
      return Optional.of("columns " + Arrays.toString(columns));
    }
    int rank = expected.extents().length;
    List<double[]> wanted = planes(expected);
    boolean[] seen = new boolean[expected.values().length];
    long[] offset = new long[rank];
    long[] size = new long[rank];
    long[] at = new long[rank];
    for (Row row : rows) {
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

  /** What differs between two lists of blocks in any order, or nothing. */
  private Optional<String> sameBlocks(List<Row> expected, List<Row> found, double error) {
    Map<List<Object>, List<Object>> byPlace = new HashMap<>();
    for (Row row : expected) {
      byPlace.put(cells(row, 0, 2 * rank()), cells(row, 2 * rank(), row.length()));
    }
    if (found.size() != expected.size() || byPlace.size() != expected.size()) {
      return Optional.of(found.size() + " rows, expected " + expected.size());
    }
    for (Row row : found) {
      List<Object> wanted = byPlace.get(cells(row, 0, 2 * rank()));
      List<Object> cells = cells(row, 2 * rank(), row.length());
      if (wanted == null || !isNear(wanted, cells, error)) {
        return Optional.of("block " + cells(row, 0, 2 * rank()) + " is another one");
      }
    }
    return Optional.empty();
  }

  private static List<Object> cells(Row row, int from, int to) {
    List<Object> cells = new ArrayList<>();
    for (int i = from; i < to; i++) {
      cells.add(row.get(i) instanceof scala.collection.Seq ? row.getList(i) : row.get(i));
    }
    return cells;
  }

  private static boolean isNear(List<?> a, List<?> b, double error) {
    for (int i = 0; i < a.size(); i++) {
      if (a.get(i) instanceof List<?> one && b.get(i) instanceof List<?> other) {
        if (one.size() != other.size() || !isNear(one, other, error)) {
          return false;
        }
      } else if (a.get(i) instanceof Number one && b.get(i) instanceof Number other) {
        if (!(Math.abs(one.doubleValue() - other.doubleValue()) <= error)) {
          return false;
        }
      }
    }
    return true;
  }

  @Override
  public String toString() {
    return name + details;
  }
}
