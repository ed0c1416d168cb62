package org.tilespark.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BinaryOperator;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.BrokenBlocks.Defect;
import org.tilespark.spark.BrokenBlocks.Visible;
import org.tilespark.spark.MultiplyOptions.Strategy;

/**
 * Every defect against every operator: each fails with an error of ours that names the block, or
 * passes the defect on where {@code validate} still finds it. None crashes, hangs or gives a wrong
 * answer that looks right.
 */
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class BrokenBlocksTest extends SparkTest {
  private static final Pattern PLACE =
      Pattern.compile("(row -?\\d+, col -?\\d+|x -?\\d+, y -?\\d+, z -?\\d+)");

  /** What an operator must see, beyond what one row shows. */
  private enum Looks {
    /** At each block by itself; holes and overlaps are in its result as in its input. */
    AT_ROWS,
    /** At all blocks: holes and overlaps are errors. */
    AT_ALL
  }

  /** An operator, with the broken blocks first and good ones second. */
  private record Operator(
      String name, Looks looks, boolean isProduct, BinaryOperator<Dataset<Row>> run) {
    Operator(String name, Looks looks, BinaryOperator<Dataset<Row>> run) {
      this(name, looks, false, run);
    }
  }

  /**
   * Defects by which a matrix without stated extents seems to reach beyond 2^31. Products of such
   * are left out: planning a gram does not end (it doubles an int as far as 2^31 rows), that of
   * others takes a minute, and ends beyond 2^63 are an overflow in Spark's aggregate.
   */
  private static final Set<Defect> FAR_OUT =
      EnumSet.of(Defect.BLOCK_FAR_OUT, Defect.SIZES_LARGEST, Defect.PLACE_OVERFLOWS);

  /**
   * What is said before any block is looked at, of the extents that a broken one gives a matrix.
   */
  private static final Pattern BEFORE_BLOCKS =
      Pattern.compile(
          "the inner extents differ: A is \\d+ x"
              + "|would have \\d+ target blocks.*see with validate"
              // what a broadcast says of blocks cut along the inner dimension, good or not
              + "|does not span the inner dimension"
              // what an addition says of the place that a moved block left
              + "|only the (first|second) matrix has a block there");

  private static final MultiplyOptions DEFAULTS = MultiplyOptions.defaults();

  private static final List<Operator> MATRIX =
      List.of(
          new Operator("transpose", Looks.AT_ROWS, (x, good) -> MatrixBlocks.transpose(x)),
          new Operator("scale", Looks.AT_ROWS, (x, good) -> MatrixBlocks.scale(x, 2)),
          new Operator("add first", Looks.AT_ROWS, MatrixBlocks::add),
          new Operator("add second", Looks.AT_ROWS, (x, good) -> MatrixBlocks.add(good, x)),
          new Operator("center", Looks.AT_ALL, (x, good) -> MatrixBlocks.center(x)),
          new Operator("reblock", Looks.AT_ALL, (x, good) -> MatrixBlocks.reblock(x, 4, 5)),
          new Operator("gram", Looks.AT_ALL, true, (x, good) -> MatrixBlocks.gram(x)),
          new Operator("multiply A", Looks.AT_ALL, true, MatrixBlocks::multiply),
          new Operator(
              "multiply B", Looks.AT_ALL, true, (x, good) -> MatrixBlocks.multiply(good, x)),
          multiply("cuboid A", new Strategy.Cuboid(2, 2, 1), false),
          multiply("cuboid B", new Strategy.Cuboid(1, 2, 2), true),
          multiply("broadcast A", Strategy.BROADCAST, false),
          multiply("broadcast B", Strategy.BROADCAST, true));

  private static final List<Operator> VOLUME =
      Stream.of("yzx", "zyx", "xzy", "yxz")
          .map(
              axes ->
                  new Operator(
                      "permute " + axes, Looks.AT_ROWS, (x, good) -> VolumeBlocks.permute(x, axes)))
          .toList();

  private static Operator multiply(String name, Strategy strategy, boolean second) {
    MultiplyOptions options = DEFAULTS.withStrategy(strategy);
    return new Operator(
        name,
        Looks.AT_ALL,
        true,
        (x, good) ->
            second
                ? MatrixBlocks.multiply(good, x, options)
                : MatrixBlocks.multiply(x, good, options));
  }

  @TempDir Path directory;

  @ParameterizedTest
  @EnumSource
  void everyOperatorNamesABrokenBlock(Defect defect) throws IOException {
    Random random = new Random(defect.ordinal());
    List<String> wrong = new ArrayList<>();
    for (BlockKind kind : BlockKind.values()) {
      ElementType type = random.nextBoolean() ? ElementType.FLOAT32 : ElementType.FLOAT64;
      boolean stated = random.nextBoolean(); // randomOnes has both
      wrong.addAll(defectsMissed(BrokenBlocks.of(kind, type, defect, random), stated, random));
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
              random.nextBoolean() ? BlockKind.MATRIX : BlockKind.VOLUME,
              random.nextBoolean() ? ElementType.FLOAT32 : ElementType.FLOAT64,
              defects[random.nextInt(defects.length)],
              random);
      assertEquals(
          List.of(),
          defectsMissed(broken, random.nextBoolean(), random),
          "seed " + seed + ", round " + round);
    }
  }

  /** What is wrong with what the operators say of broken blocks. */
  private List<String> defectsMissed(BrokenBlocks broken, boolean stated, Random random)
      throws IOException {
    Dataset<Row> x = broken.frame(spark, stated);
    Dataset<Row> good =
        BrokenBlocks.frame(
            spark,
            broken.kind(),
            broken.type(),
            BrokenBlocks.good(broken.kind(), broken.type(), random),
            stated);
    List<String> wrong = new ArrayList<>();
    for (Operator operator : broken.kind() == BlockKind.MATRIX ? MATRIX : VOLUME) {
      if (operator.isProduct && !stated && FAR_OUT.contains(broken.defect())) {
        continue;
      }
      String what = operator.name + " of " + broken + (stated ? ", extents stated" : "");
      try {
        Dataset<Row> result = operator.run.apply(x, good);
        List<Row> rows = result.collectAsList();
        boolean passesOn =
            broken.defect().visible == Visible.IN_ALL_PLACES && operator.looks == Looks.AT_ROWS;
        if (!passesOn) {
          wrong.add(what + ": no error, but " + rows.size() + " blocks");
        } else if (validate(broken.kind(), stated ? x : result).isEmpty()) {
          wrong.add(what + ": a result that looks right");
        }
      } catch (Throwable t) {
        complaint(t, broken).ifPresent(about -> wrong.add(what + ": " + about));
      }
    }
    List<Row> found = validate(broken.kind(), x);
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

  /** What is wrong with an error; empty if it is ours and names the block. */
  private static Optional<String> complaint(Throwable thrown, BrokenBlocks broken) {
    List<Throwable> chain = new ArrayList<>();
    for (Throwable t = thrown; t != null && chain.size() < 20; t = t.getCause()) {
      chain.add(t);
    }
    String said = chain.stream().map(String::valueOf).collect(Collectors.joining(" <- "));
    Optional<String> ours =
        chain.stream()
            .filter(IllegalArgumentException.class::isInstance)
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
