package org.tilespark.bench.soak;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.tilespark.bench.soak.Operator.Trait;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.error.TileSparkThrowable;

/**
 * One operator in one setting, on arrays of a random shape and type in random blocks, and what
 * plain loops make of the same arrays. All of it follows from a seed.
 *
 * <p>Elements are small whole numbers, so that products and sums are exact in either type, in
 * whatever order they are made; only means and Fourier transforms are not.
 */
final class RandomQuery {
  private static final double[] GROUPS = {0, Double.NaN, 7};

  private final Operator operator;
  private final Setting setting;
  private final Draw draw;
  private final String name;

  private RandomQuery(long seed, Optional<Operator> operator, Optional<Setting> setting) {
    Random random = new Random(seed);
    Operator anyOperator = Operator.values()[random.nextInt(Operator.values().length)];
    Setting anySetting = Setting.values()[random.nextInt(Setting.values().length)];
    this.operator = operator.orElse(anyOperator);
    this.setting = setting.orElse(anySetting);
    this.draw = new Draw(random, this.operator, this.setting);
    this.name =
        "%s %s of %s%s%s"
            .formatted(
                this.operator.name().toLowerCase(Locale.ROOT),
                this.setting.name().toLowerCase(Locale.ROOT),
                draw.a().isComplex() ? "complex " : "",
                draw.single() ? "FLOAT" : "DOUBLE",
                Arrays.toString(draw.a().extents()));
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
    try (RandomFrames frames = draw.frames()) {
      Query query = operator.query(draw);
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
    }
  }

  private Optional<String> plain(SparkSession spark, Query query) {
    Dataset<Row> result = query.operator().apply(frames(spark, query));
    return BlockComparison.compare(
        query.oracle().apply(query.inputs()), result, query.error().applyAsDouble(query.inputs()));
  }

  /** A filter above keeps the rows that it would keep of the collected result. */
  private Optional<String> filtered(SparkSession spark, Query query) {
    Dataset<Row> result = query.operator().apply(frames(spark, query));
    List<Row> all = result.collectAsList();
    int column = draw.random().nextInt(draw.rank());
    long bound = all.get(draw.random().nextInt(all.size())).getLong(column);
    boolean isUpper = draw.random().nextBoolean();
    draw.tell(" where " + result.columns()[column] + (isUpper ? " <= " : " >= ") + bound);
    Column place = result.col(result.columns()[column]);
    return BlockComparison.sameBlocks(
        draw.rank(),
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
    int column = draw.random().nextInt(draw.rank());
    List<Long> places = new ArrayList<>();
    for (Row row : all) {
      if (draw.random().nextBoolean() && !places.contains(row.getLong(column))) {
        places.add(row.getLong(column));
      }
    }
    Dataset<Row> named = spark.createDataset(places, Encoders.LONG()).toDF("place");
    boolean isBroadcast = draw.random().nextBoolean();
    draw.tell(" joined with " + places.size() + " places of axis " + column);
    Dataset<Row> some =
        result.join(
            isBroadcast ? functions.broadcast(named) : named,
            result.col(result.columns()[column]).equalTo(named.col("place")),
            "left_semi");
    return BlockComparison.sameBlocks(
        draw.rank(),
        all.stream().filter(r -> places.contains(r.getLong(column))).toList(),
        some.collectAsList(),
        query.error().applyAsDouble(query.inputs()));
  }

  /** Three arrays at once, distinguished by values that are equal but have other bits. */
  private Optional<String> grouped(SparkSession spark, Query query) {
    List<List<Dense>> groups = new ArrayList<>();
    List<Dataset<Row>> frames = new ArrayList<>();
    for (double key : GROUPS) {
      List<Dense> inputs = query.inputs().stream().map(d -> d.renewed(draw.random())).toList();
      for (int i = 0; i < inputs.size(); i++) {
        Dataset<Row> frame =
            draw.frames().frame(spark, draw.single(), inputs.get(i), query.share(), key);
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
      return operator.is(Trait.PRODUCT) && e.getMessage().contains("column g is DOUBLE")
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
          BlockComparison.compare(
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
          draw.random().nextBoolean()
              ? frame.col(frame.columns()[0]).lt(-1)
              : functions.size(frame.col("values")).lt(0);
      frames.add(frame.where(nothing));
    }
    boolean isStated = draw.random().nextBoolean() || query.share() < 1;
    draw.tell(isStated ? " of nothing, extents stated" : " of nothing");
    for (int i = 0; isStated && i < frames.size(); i++) {
      frames.set(i, withExtents(frames.get(i), query.inputs().get(i)));
    }
    boolean mayRefuseNothing =
        !operator.is(Trait.BLOCK_BY_BLOCK) || operator.is(Trait.FINDS_EXTENTS);
    Dataset<Row> result;
    List<Row> rows;
    try {
      result = query.operator().apply(frames);
      rows = result.collectAsList();
    } catch (Exception e) {
      return refusal(e).isPresent() && mayRefuseNothing
          ? Optional.empty()
          : Optional.of("failed: " + e);
    }
    if (rows.isEmpty()) {
      boolean isAllowed = !isStated || query.share() < 1 || operator.is(Trait.BLOCK_BY_BLOCK);
      return isAllowed ? Optional.empty() : Optional.of("no rows, and no error");
    }
    if (query.share() == 1) {
      return Optional.of(rows.size() + " rows of nothing");
    }
    return BlockComparison.compare(Dense.zeros(draw.a().extents()), result.columns(), rows, 0);
  }

  /** Refused by name where blocks are combined, else carried through. */
  private Optional<String> duplicateColumns(SparkSession spark, Query query) {
    String second = draw.random().nextBoolean() ? "g" : "G";
    draw.tell(" with columns g and " + second);
    List<Dataset<Row>> frames = new ArrayList<>();
    for (Dataset<Row> frame : frames(spark, query)) {
      List<String> names = new ArrayList<>(List.of(frame.columns()));
      names.addAll(List.of("g", second));
      frames.add(
          frame
              .withColumns(Map.of("one", functions.lit(1), "two", functions.lit(2)))
              .toDF(names.toArray(String[]::new)));
    }
    if (operator.is(Trait.BLOCK_BY_BLOCK) && !operator.is(Trait.FINDS_EXTENTS)) {
      return BlockComparison.compare(
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
    if (operator.is(Trait.BLOCK_BY_BLOCK)) {
      return Optional.empty();
    }
    List<Dataset<Row>> frames = new ArrayList<>(frames(spark, query));
    int which = draw.random().nextInt(frames.size());
    Dataset<Row> frame = frames.get(which);
    frames.set(which, frame.unionAll(frame.limit(1)));
    draw.tell(" with a block of input " + which + " twice");
    try {
      Dataset<Row> result = query.operator().apply(frames);
      List<Row> rows = result.collectAsList();
      List<Row> once = once(rows);
      return operator.is(Trait.TRANSFORM) && once.size() == rows.size() - 1
          ? BlockComparison.compare(
              query.oracle().apply(query.inputs()),
              result.columns(),
              once,
              query.error().applyAsDouble(query.inputs()))
          : Optional.of("a block that is there twice was taken");
    } catch (Exception e) {
      return refusal(e).filter(text -> text.contains(draw.rank() == 2 ? "row " : "x ")).isPresent()
          ? Optional.empty()
          : Optional.of("failed, not for the block that is there twice: " + e);
    }
  }

  /** The rows, each that is there several times once. */
  private static List<Row> once(List<Row> rows) {
    Map<List<Object>, Row> different = new LinkedHashMap<>();
    rows.forEach(row -> different.putIfAbsent(BlockComparison.cells(row, 0, row.length()), row));
    return List.copyOf(different.values());
  }

  /** Refused by name. */
  private Optional<String> partitioned(SparkSession spark, Query query) {
    String view = "blocks_" + UUID.randomUUID().toString().replace('-', '_');
    frames(spark, query).get(0).createOrReplaceTempView(view);
    String function =
        draw.rank() == 2
            ? draw.oneOf("matrix_transpose", "matrix_gram", "matrix_validate")
            : draw.oneOf("volume_fft", "volume_validate", "volume_pack");
    String place = draw.rank() == 2 ? "col" : "z";
    String clause =
        draw.oneOf(
            "PARTITION BY " + place,
            "PARTITION BY (" + place + " % 2) ORDER BY " + place,
            "WITH SINGLE PARTITION");
    draw.tell(" by " + function + " " + clause);
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
      frames.add(
          draw.frames()
              .maybeStored(
                  draw.frames()
                      .frame(spark, draw.single(), input, query.share(), Double.NaN)
                      .drop("g")));
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

  static Dataset<Row> withExtents(Dataset<Row> frame, Dense dense) {
    long[] extents = dense.extents();
    return extents.length == 2
        ? MatrixBlocks.withExtents(frame, extents[0], extents[1])
        : VolumeBlocks.withExtents(frame, extents[0], extents[1], extents[2]);
  }

  @Override
  public String toString() {
    return name + draw.told();
  }
}
