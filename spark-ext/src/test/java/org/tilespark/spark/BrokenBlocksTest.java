package org.tilespark.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.BinaryOperator;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.tilespark.kernels.Sampling;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.BrokenBlocks.Content;
import org.tilespark.spark.BrokenBlocks.Defect;
import org.tilespark.spark.BrokenBlocks.Visible;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.error.TileSparkThrowable;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.Metric;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.options.MultiplyOptions.Strategy;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.transfer.Transfers;

/**
 * Every defect against every operator: each fails with an error of ours that names the block, or
 * passes the defect on where {@code validate} still finds it. None crashes, hangs or gives a wrong
 * answer that looks right.
 */
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class BrokenBlocksTest extends SparkTest {
  private static final Pattern PLACE =
      Pattern.compile("(row -?\\d+, col -?\\d+|x -?\\d+, y -?\\d+, z -?\\d+)");

  /** Defects that an operator must see, beyond those of one row. */
  private enum Looks {
    /** Each block alone; holes and overlaps are in its result as in its input. */
    AT_ROWS,
    /** At all blocks: holes and overlaps are errors. */
    AT_ALL
  }

  /** An operator, with the broken blocks first and good ones second. */
  private record Operator(String name, Looks looks, BinaryOperator<Dataset<Row>> run) {}

  /** Errors before any block is read, about the extents that a broken one gives a matrix. */
  private static final Pattern BEFORE_BLOCKS =
      Pattern.compile(
          "the inner extents differ: A is \\d+ x"
              + "|would have \\d+ target blocks.*see with validate"
              // what a broadcast says of blocks cut along the inner dimension, good or not
              + "|does not span the inner dimension");

  private static final int KINDS = 3;

  private static final MultiplyOptions DEFAULTS = MultiplyOptions.defaults();

  private static final List<Operator> MATRIX =
      List.of(
          new Operator("transpose", Looks.AT_ROWS, (x, good) -> MatrixBlocks.transpose(x)),
          packed(BlockKind.MATRIX),
          new Operator("flip", Looks.AT_ROWS, (x, good) -> MatrixBlocks.flip(x)),
          new Operator("slice of all", Looks.AT_ROWS, (x, good) -> MatrixBlocks.slice(x, ":")),
          new Operator("origin", Looks.AT_ROWS, (x, good) -> MatrixBlocks.withOrigin(x)),
          new Operator("concat", Looks.AT_ROWS, (x, good) -> MatrixBlocks.concat("col", x, x)),
          new Operator("scale", Looks.AT_ROWS, (x, good) -> MatrixBlocks.scale(x, 2)),
          new Operator("map", Looks.AT_ROWS, (x, good) -> MatrixBlocks.map(x, "v * v")),
          new Operator("zip", Looks.AT_ALL, (x, good) -> MatrixBlocks.zip(good, x, "a - b")),
          rows("elements", "col", x -> MatrixBlocks.toCells(x).selectExpr("*", "array(value) v")),
          rows("rows", "0L", x -> MatrixBlocks.toRows(x, "v")),
          new Operator("add first", Looks.AT_ALL, MatrixBlocks::add),
          new Operator("add second", Looks.AT_ALL, (x, good) -> MatrixBlocks.add(good, x)),
          new Operator("center", Looks.AT_ALL, (x, good) -> MatrixBlocks.center(x)),
          new Operator("reblock", Looks.AT_ALL, (x, good) -> MatrixBlocks.reblock(x, 4, 5)),
          new Operator("pad", Looks.AT_ALL, (x, good) -> MatrixBlocks.pad(x, "3,2", "wrap")),
          new Operator("pad with a number", Looks.AT_ALL, (x, good) -> MatrixBlocks.pad(x, "9")),
          new Operator("roll", Looks.AT_ALL, (x, good) -> MatrixBlocks.roll(x, "3,-2")),
          new Operator(
              "halo", Looks.AT_ALL, (x, good) -> MatrixBlocks.trim(MatrixBlocks.halo(x, "1"))),
          new Operator("reshape", Looks.AT_ALL, (x, good) -> MatrixBlocks.reshape(x, "1,-1")),
          new Operator("gram", Looks.AT_ALL, (x, good) -> MatrixBlocks.gram(x)),
          new Operator("svd", Looks.AT_ALL, (x, good) -> MatrixBlocks.svd(x).u()),
          new Operator("pca", Looks.AT_ALL, (x, good) -> MatrixBlocks.pca(x, 2).components()),
          new Operator("lstsq A", Looks.AT_ALL, (x, good) -> MatrixBlocks.lstsq(x, good).x()),
          new Operator("lstsq B", Looks.AT_ALL, (x, good) -> MatrixBlocks.lstsq(good, x).x()),
          new Operator("multiply A", Looks.AT_ALL, MatrixBlocks::multiply),
          new Operator("multiply B", Looks.AT_ALL, (x, good) -> MatrixBlocks.multiply(good, x)),
          new Operator(
              "knn A", Looks.AT_ALL, (x, good) -> MatrixBlocks.knn(x, good, 2, Metric.INNER)),
          new Operator(
              "knn B", Looks.AT_ALL, (x, good) -> MatrixBlocks.knn(good, x, 2, Metric.COSINE)),
          multiply("cuboid A", new Strategy.Cuboid(2, 2, 1), false),
          multiply("cuboid B", new Strategy.Cuboid(1, 2, 2), true),
          multiply("broadcast A", Strategy.BROADCAST, false),
          multiply("broadcast B", Strategy.BROADCAST, true));

  private static final List<Operator> VOLUME =
      List.of(
          permute("yzx"),
          permute("zyx"),
          permute("xzy"),
          permute("yxz"),
          packed(BlockKind.VOLUME),
          new Operator("flip", Looks.AT_ROWS, (x, good) -> VolumeBlocks.flip(x)),
          new Operator("slice of all", Looks.AT_ROWS, (x, good) -> VolumeBlocks.slice(x, ":")),
          new Operator("origin", Looks.AT_ROWS, (x, good) -> VolumeBlocks.withOrigin(x)),
          new Operator("concat", Looks.AT_ROWS, (x, good) -> VolumeBlocks.concat("z", x, x)),
          new Operator("scale", Looks.AT_ROWS, (x, good) -> VolumeBlocks.scale(x, 2)),
          new Operator("map", Looks.AT_ROWS, (x, good) -> VolumeBlocks.map(x, "v * v")),
          new Operator("zip", Looks.AT_ALL, (x, good) -> VolumeBlocks.zip(good, x, "a - b")),
          new Operator("add first", Looks.AT_ALL, VolumeBlocks::add),
          new Operator("add second", Looks.AT_ALL, (x, good) -> VolumeBlocks.add(good, x)),
          new Operator("reblock", Looks.AT_ALL, (x, good) -> VolumeBlocks.reblock(x, 4, 5, 3)),
          new Operator("pad", Looks.AT_ALL, (x, good) -> VolumeBlocks.pad(x, "3", "reflect")),
          new Operator("roll", Looks.AT_ALL, (x, good) -> VolumeBlocks.roll(x, "3,-2,0")),
          new Operator(
              "halo",
              Looks.AT_ALL,
              (x, good) -> VolumeBlocks.trim(VolumeBlocks.halo(x, "1,2,0", "symmetric"))),
          new Operator("reshape", Looks.AT_ALL, (x, good) -> VolumeBlocks.reshape(x, "1,-1")),
          new Operator("slabs", Looks.AT_ALL, (x, good) -> VolumeBlocks.slabs(x, "y")),
          new Operator("slabs of 5", Looks.AT_ALL, (x, good) -> VolumeBlocks.slabs(x, "x", 5)),
          new Operator("pencils", Looks.AT_ALL, (x, good) -> VolumeBlocks.pencils(x, "z")),
          new Operator(
              "pencils of 4 x 5", Looks.AT_ALL, (x, good) -> VolumeBlocks.pencils(x, "y", 4, 5)),
          fft("auto", "real", "true"),
          fft("task", "detrend", "linear"),
          fft("slabs", "output", "natural"),
          fft("slabs", "axes", "yz"),
          fft("pencils", "padTo", "fast"));

  private static final List<Operator> SPECTRUM =
      List.of(
          permute("zxy"),
          packed(BlockKind.VOLUME),
          new Operator("reblock", Looks.AT_ALL, (x, good) -> VolumeBlocks.reblock(x, 4, 5, 3)),
          fft("slabs", "shift", "both"),
          ifft("auto"),
          ifft("task"),
          ifft("slabs"),
          ifft("pencils"),
          new Operator("multiply first", Looks.AT_ALL, VolumeBlocks::multiplyPointwise),
          new Operator(
              "multiply second",
              Looks.AT_ALL,
              (x, good) -> VolumeBlocks.multiplyPointwise(good, x)),
          new Operator("low pass", Looks.AT_ROWS, (x, good) -> VolumeBlocks.lowPass(x, 0.3)),
          new Operator("power", Looks.AT_ROWS, (x, good) -> VolumeBlocks.powerSpectrum(x)),
          new Operator("radial average", Looks.AT_ALL, (x, good) -> VolumeBlocks.radialAverage(x)),
          new Operator(
              "radial average of the power",
              Looks.AT_ALL,
              (x, good) -> VolumeBlocks.radialAverage(VolumeBlocks.powerSpectrum(x))),
          new Operator(
              "ifft of the low pass",
              Looks.AT_ALL,
              (x, good) -> VolumeBlocks.ifft(VolumeBlocks.lowPass(x, 0.3))));

  private static Operator permute(String axes) {
    return new Operator(
        "permute " + axes, Looks.AT_ROWS, (x, good) -> VolumeBlocks.permute(x, axes));
  }

  /** To bytes and back, so that the result is blocks. */
  private static Operator packed(BlockKind kind) {
    return new Operator(
        "pack and unpack",
        Looks.AT_ROWS,
        (x, good) -> Transfers.unpack(kind, Transfers.pack(kind, x)));
  }

  /** To rows with arrays {@code v}, and these as blocks. */
  private static Operator rows(String name, String col, UnaryOperator<Dataset<Row>> run) {
    return new Operator(
        name,
        Looks.AT_ROWS,
        (x, good) ->
            run.apply(x)
                .selectExpr("row", col + " AS col", "1 AS rows", "size(v) AS cols", "v AS values"));
  }

  private static Operator fft(String decomposition, String option, String text) {
    FftOptions options = FftOptions.defaults().withDecomposition(decomposition).with(option, text);
    return new Operator("fft " + options, Looks.AT_ALL, (x, good) -> VolumeBlocks.fft(x, options));
  }

  private static Operator ifft(String decomposition) {
    FftOptions options = FftOptions.defaults().withDecomposition(decomposition);
    return new Operator(
        "ifft " + options, Looks.AT_ALL, (x, good) -> VolumeBlocks.ifft(x, options));
  }

  private static List<Operator> operators(BrokenBlocks broken) {
    return broken.content().isSpectrum()
        ? SPECTRUM
        : broken.content().kind() == BlockKind.MATRIX ? MATRIX : VOLUME;
  }

  /** Those that a build tries: some for each defect, others for the next one. */
  private static List<Operator> someOperators(BrokenBlocks broken) {
    boolean inOneRow = broken.defect().visible == Visible.IN_ONE_ROW; // rows meet one check in all
    int step =
        broken.content().kind() == BlockKind.MATRIX ? (inOneRow ? 4 : 2) : (inOneRow ? 18 : 6);
    List<Operator> all = operators(broken);
    return IntStream.range(0, all.size())
        .filter(i -> (i + broken.defect().ordinal()) % step == 0)
        .mapToObj(all::get)
        .toList();
  }

  private static Operator multiply(String name, Strategy strategy, boolean second) {
    MultiplyOptions options = DEFAULTS.withStrategy(strategy);
    return new Operator(
        name,
        Looks.AT_ALL,
        (x, good) ->
            second
                ? MatrixBlocks.multiply(good, x, options)
                : MatrixBlocks.multiply(x, good, options));
  }

  @TempDir Path directory;

  @ParameterizedTest
  @EnumSource
  void everyOperatorNamesABrokenBlock(Defect defect) throws IOException {
    assertNamed(defect, BrokenBlocksTest::someOperators);
  }

  @Tag("full")
  @ParameterizedTest
  @EnumSource
  void everyPairOfThem(Defect defect) throws IOException {
    assertNamed(defect, BrokenBlocksTest::operators);
  }

  private void assertNamed(Defect defect, Function<BrokenBlocks, List<Operator>> operators)
      throws IOException {
    Random random = new Random(defect.ordinal());
    List<String> wrong = new ArrayList<>();
    for (int kind = 0; kind < KINDS; kind++) {
      if (Sampling.skips(kind + defect.ordinal() + defect.ordinal() / KINDS, KINDS - 1)) {
        continue;
      }
      boolean stated = random.nextBoolean(); // randomOnes has both
      BrokenBlocks broken = BrokenBlocks.of(content(kind, random), defect, random);
      wrong.addAll(defectsMissed(broken, operators.apply(broken), stated, random));
    }
    assertEquals(List.of(), wrong);
  }

  @Tag("full")
  @Test
  @Timeout(value = 60, unit = TimeUnit.MINUTES)
  void randomOnes() throws IOException {
    long seed = Optional.ofNullable(Long.getLong("tilespark.test.seed")).orElse(System.nanoTime());
    int rounds = Integer.getInteger("tilespark.test.rounds", 100);
    Random random = new Random(seed);
    for (int round = 0; round < rounds; round++) {
      Defect[] defects = Defect.values();
      BrokenBlocks broken =
          BrokenBlocks.of(
              content(random.nextInt(KINDS), random),
              defects[random.nextInt(defects.length)],
              random);
      assertEquals(
          List.of(),
          defectsMissed(broken, operators(broken), random.nextBoolean(), random),
          "seed " + seed + ", round " + round);
    }
  }

  /** Blocks of matrices, volumes or spectra, each of which has its own operators. */
  private static Content content(int kind, Random random) {
    return new Content(
        kind == 0 ? BlockKind.MATRIX : BlockKind.VOLUME,
        random.nextBoolean() ? ElementType.FLOAT32 : ElementType.FLOAT64,
        kind == 2);
  }

  /** The faults of the operators' errors about broken blocks. */
  private List<String> defectsMissed(
      BrokenBlocks broken, List<Operator> operators, boolean stated, Random random)
      throws IOException {
    Dataset<Row> x = broken.frame(spark, stated);
    Dataset<Row> good =
        BrokenBlocks.frame(
            spark, broken.content(), BrokenBlocks.good(broken.content(), random), stated);
    List<String> wrong = new ArrayList<>();
    for (Operator operator : operators) {
      String what = operator.name + " of " + broken + (stated ? ", extents stated" : "");
      try {
        Dataset<Row> result = operator.run.apply(x, good);
        List<Row> rows = result.collectAsList();
        boolean passesOn =
            broken.defect().visible == Visible.IN_ALL_PLACES && operator.looks == Looks.AT_ROWS;
        if (!passesOn) {
          wrong.add(what + ": no error, but " + rows.size() + " blocks");
        } else if (validate(broken.content().kind(), stated ? x : result).isEmpty()) {
          wrong.add(what + ": a result that looks right");
        }
      } catch (Throwable t) {
        complaint(t, broken).ifPresent(about -> wrong.add(what + ": " + about));
      }
    }
    List<Row> found = validate(broken.content().kind(), x);
    if (found.isEmpty()) {
      wrong.add("validate of " + broken + ": nothing found");
    } else if (broken.victim() != null
        && broken.victim().startsWith("block")
        && found.stream().noneMatch(row -> row.<String>getAs("block").equals(broken.victim()))) {
      wrong.add("validate of " + broken + ": " + found);
    }
    sinkWritesNothing(broken, x).ifPresent(wrong::add);
    return wrong;
  }

  private static List<Row> validate(BlockKind kind, Dataset<Row> df) {
    return (kind == BlockKind.MATRIX ? MatrixBlocks.validate(df) : VolumeBlocks.validate(df))
        .collectAsList();
  }

  private Optional<String> sinkWritesNothing(BrokenBlocks broken, Dataset<Row> x)
      throws IOException {
    Path file = directory.resolve("broken.npy");
    String what = "npy sink of " + broken;
    try {
      x.write().format("npy").mode("overwrite").save(file.toString());
      Files.delete(file);
      return Optional.of(what + ": no error");
    } catch (Throwable t) {
      try (Stream<Path> left = Files.list(directory)) {
        List<Path> files = left.toList();
        if (!files.isEmpty()) {
          return Optional.of(what + ": left " + files);
        }
      }
      return complaint(t, broken).map(about -> what + ": " + about);
    }
  }

  /** The fault of an error; empty if it is ours and names the block. */
  private static Optional<String> complaint(Throwable thrown, BrokenBlocks broken) {
    List<Throwable> chain = new ArrayList<>();
    for (Throwable t = thrown; t != null && chain.size() < 20; t = t.getCause()) {
      chain.add(t);
    }
    String said = chain.stream().map(String::valueOf).collect(Collectors.joining(" <- "));
    Optional<String> ours =
        chain.stream()
            .filter(t -> t instanceof TileSparkThrowable one && one.condition().isWrongInput())
            .map(Throwable::getMessage)
            .findFirst();
    if (ours.isEmpty()) {
      return Optional.of("no error of ours: " + shortened(said));
    }
    String message = ours.get();
    boolean named =
        broken.victim() != null
            ? message.contains(broken.victim())
                || broken.victim().startsWith("null ")
                    && message.contains(broken.victim().substring(5) + " null")
            : PLACE.matcher(message).find();
    return named || BEFORE_BLOCKS.matcher(message).find()
        ? Optional.empty()
        : Optional.of("expected '" + broken.victim() + "' in: " + shortened(message));
  }

  private static String shortened(String text) {
    return text.length() < 600 ? text : text.substring(0, 600);
  }
}
