package org.tilespark.examples;

import java.io.PrintStream;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.types.StructField;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.stage.BlockStageExec;

/** A job's output for its user, one line per step. */
public final class JobReport {
  /** Shorter runs report no rate: they consist mostly of task start and JIT compilation. */
  private static final long LEAST_NANOS_FOR_RATES = 5_000_000_000L;

  private final PrintStream out;

  /** Creates a report that prints to a stream. */
  public JobReport(PrintStream out) {
    this.out = out;
  }

  /** Reports the input: array type, extents and bytes, and the blocks that Spark reads it as. */
  void read(Path file, Dataset<Row> blocks) {
    StructField values = values(blocks);
    ArrayMetadata known = ArrayMetadata.of(values.metadata());
    line(
        "read",
        "%s: %s, %,d bytes of values",
        file,
        array(blocks),
        Math.multiplyExact(extents(blocks).elements(), (long) type(blocks).elementBytes()));
    line(
        "blocks",
        "%,d of %s at most, values %s%s, in %d partitions",
        blocks.count(), // reads no array values
        known.blockShape(rank(blocks)).map(JobReport::text).orElse("unknown shape"),
        values.dataType().sql(),
        Arrays.asList(blocks.columns()).contains(BlockKind.IMAG) ? " and imag" : "",
        execution(blocks).toRdd().getNumPartitions());
  }

  /** Reports the backend and the reason for it, from the physical plan. */
  public void backend(Dataset<Row> result) {
    line(
        "backend",
        "%s",
        permute(execution(result).executedPlan())
            .map(BlockStageExec::backend)
            .map(
                choice ->
                    choice.requested().name().toLowerCase(Locale.ROOT) + " -> " + choice.expected())
            .orElse("none: the optimizer found nothing to compute"));
  }

  /** Reports the physical plan. */
  void plan(Dataset<Row> result) {
    line("plan", "%n%s", execution(result).executedPlan().toString().stripTrailing());
  }

  /** Reports the output file and the time it took. */
  void wrote(Path file, Dataset<Row> blocks, long elapsedNanos) {
    long bytes = Math.multiplyExact(extents(blocks).elements(), 2L * type(blocks).elementBytes());
    line("wrote", "%s: %s", file, array(blocks));
    line(
        "time",
        "%.2f s%s: reading, computing and writing, %,d bytes of values in both files; the first"
            + " run of a JVM",
        elapsedNanos / 1e9,
        rate((double) bytes, elapsedNanos, "GB/s"),
        bytes);
  }

  /**
   * The rate as text, {@code ", 1.234 UNIT"}, in 1e9 units of work per second; empty for a short
   * run.
   */
  static String rate(double work, long elapsedNanos, String unit) {
    return elapsedNanos < LEAST_NANOS_FOR_RATES
        ? ""
        : String.format(Locale.ROOT, ", %.3f %s", work / elapsedNanos, unit);
  }

  void check(SampleCheck check) {
    line("check", "%s", check);
  }

  /** Prints one line: a label and a formatted text. */
  public void line(String label, String format, Object... arguments) {
    out.printf(Locale.ROOT, "%-10s %s%n", label, String.format(Locale.ROOT, format, arguments));
  }

  private static Optional<BlockStageExec> permute(SparkPlan plan) {
    if (plan instanceof BlockStageExec node) {
      return Optional.of(node);
    }
    return ScalaInterop.<SparkPlan>list(plan.children()).stream()
        .map(JobReport::permute)
        .flatMap(Optional::stream)
        .findFirst();
  }

  private static org.apache.spark.sql.execution.QueryExecution execution(Dataset<Row> df) {
    return ((org.apache.spark.sql.classic.Dataset<Row>) df).queryExecution();
  }

  /** The array's type and extents in numpy's notation: {@code uint8 (10000, 784)}. */
  private static String array(Dataset<Row> blocks) {
    return type(blocks).numpyName() + " " + text(extents(blocks));
  }

  private static NpyType type(Dataset<Row> blocks) {
    return NpyType.byName(ArrayMetadata.of(values(blocks).metadata()).fileType().orElseThrow());
  }

  private static Shape extents(Dataset<Row> blocks) {
    return ArrayMetadata.of(values(blocks).metadata()).extents(rank(blocks)).orElseThrow();
  }

  private static int rank(Dataset<Row> blocks) {
    return Arrays.asList(blocks.columns()).contains("z") ? 3 : 2;
  }

  private static StructField values(Dataset<Row> blocks) {
    return blocks.schema().apply(BlockKind.VALUES);
  }

  private static String text(Shape shape) {
    return Arrays.stream(shape.toArray())
        .mapToObj(Long::toString)
        .collect(Collectors.joining(", ", "(", ")"));
  }
}
