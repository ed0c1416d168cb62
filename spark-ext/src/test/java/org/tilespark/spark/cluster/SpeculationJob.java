package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.testing.TestArray;
import org.tilespark.spark.testing.TestField;

/**
 * An application in which a task runs twice at the same time, since the first attempt is slow: both
 * write into the file of the npy sink, which must appear once, and whole. Its argument is a
 * directory that all processes share.
 */
public final class SpeculationJob {
  private static final int PARTITIONS = 8;
  private static final String KILLED = "TaskKilled"; // in two ways, whichever comes first

  private final SparkSession spark;
  private final Executors executors;
  private final Path shared;
  private final TestArray array = TestArray.matrix(ElementType.FLOAT32, 120, 90, 20, 15);
  private final TestField field = TestField.random(1, true, 36, 6, 5);
  private final Written transposed;
  private final Written transformed;

  private SpeculationJob(SparkSession spark, Path shared) throws IOException, InterruptedException {
    this.spark = spark;
    this.executors = new Executors(spark.sparkContext(), 2);
    this.shared = shared;
    this.transposed =
        written(
            MatrixBlocks.transpose(array.toDataFrame(spark, PARTITIONS).drop("tag")),
            "90,120",
            "15,20",
            again ->
                array.assertPermuted(
                    Permutation.of(1, 0), again.selectExpr("*", "cast(null AS STRING) AS tag")));
    this.transformed =
        written(
            VolumeBlocks.fft(planes(), FftOptions.defaults().withAxes("yz")),
            "36,6,5",
            "36,6,5",
            again ->
                TestField.of(again, 36, 6, 5)
                    .assertNear(field.fft("yz"), ElementType.FLOAT64, "fft"));
  }

  /**
   * A written array.
   *
   * @param extents extents of the array, so that nothing but the write looks at the blocks
   * @param right the file
   */
  private record Written(Dataset<Row> blocks, String extents, byte[] right) {
    void to(Path target) {
      blocks
          .write()
          .format("npy")
          .option("extents", extents)
          .mode(SaveMode.Overwrite)
          .save(target.toString());
    }

    Written through(SparkSession spark, Interference.AtRow action) {
      return new Written(Interference.through(spark, blocks, action), extents, right);
    }
  }

  private Written written(
      Dataset<Row> blocks, String extents, String blockShape, Consumer<Dataset<Row>> check)
      throws IOException {
    Path file = shared.resolve("right.npy");
    new Written(blocks, extents, new byte[0]).to(file);
    check.accept(spark.read().format("npy").option("blockShape", blockShape).load(file.toString()));
    return new Written(blocks, extents, Files.readAllBytes(file));
  }

  /** A volume in planes, of which it is said that they are some: nothing is shuffled. */
  private Dataset<Row> planes() {
    ArrayMetadata metadata =
        ArrayMetadata.empty().withExtents(Shape.of(36, 6, 5)).withBlockShape(Shape.of(1, 6, 5));
    return field
        .blocks(spark, ElementType.FLOAT64, true, 1, 6, 5)
        .repartition(PARTITIONS)
        .withMetadata(BlockKind.VALUES, metadata.toMetadata());
  }

  public static void main(String[] args) throws Exception {
    Cases cases = new Cases();
    try (SparkSession spark = SparkSession.builder().getOrCreate()) {
      SpeculationJob job = new SpeculationJob(spark, Path.of(args[0]));
      cases.run("the second attempt wins", job::theSecondAttemptWins);
      cases.run("the first attempt wins after all", job::theFirstAttemptWinsAfterAll);
      cases.run("the second attempt at a transform wins", job::theSecondTransformWins);
      cases.run("nothing alive", job.executors::assertNothingAlive);
    }
    cases.end();
  }

  /** The slow attempt has written a part, and is killed while it sleeps. */
  private void theSecondAttemptWins() throws Exception {
    writeWhile(
        transposed,
        "second",
        0,
        (row, attempt, directory) -> {
          if (attempt == 0 && row == 2) {
            TimeUnit.SECONDS.sleep(120);
          }
        });
  }

  /** The slow attempt holds what it has transformed, and is killed while it sleeps. */
  private void theSecondTransformWins() throws Exception {
    writeWhile(
        transformed,
        "transform",
        0,
        (row, attempt, directory) -> {
          if (attempt == 0 && row == 2) {
            TimeUnit.SECONDS.sleep(120);
          }
        });
  }

  /** The slow attempt goes on when the second one has written a part; that one is killed. */
  private void theFirstAttemptWinsAfterAll() throws Exception {
    writeWhile(
        transposed,
        "first",
        1,
        (row, attempt, directory) -> {
          if (row == 2 && attempt == 0) {
            Interference.await(directory.resolve("second-has-written"));
          } else if (row == 2 && attempt == 1) {
            Interference.leave(directory.resolve("second-has-written"));
            TimeUnit.SECONDS.sleep(120);
          }
        });
  }

  /** An action of an attempt at the first partition at a row. */
  private interface Slowness extends java.io.Serializable {
    void at(int row, int attempt, Path directory) throws IOException, InterruptedException;
  }

  /** Writes; of the attempts at the first partition, number {@code loser} is killed. */
  private void writeWhile(Written what, String name, int loser, Slowness slowness)
      throws Exception {
    Path directory = Files.createDirectory(shared.resolve(name));
    String path = directory.toString();
    executors.forgetTasks();

    Path target = directory.resolve("out.npy");
    Written slow =
        what.through(
            spark,
            row -> {
              TaskContext task = TaskContext.get();
              if (task.partitionId() == 0) {
                slowness.at(row, task.attemptNumber(), Path.of(path));
              }
            });
    slow.to(target);

    assertArrayEquals(what.right(), Files.readAllBytes(target));
    try (Stream<Path> files = Files.list(directory)) {
      assertEquals(
          List.of(), files.filter(file -> file.getFileName().toString().startsWith(".")).toList());
    }
    executors.awaitFailure(0, loser, KILLED);
    assertTrue(executors.speculative() > 0, "no attempt was speculative");
  }
}
