package org.tilespark.examples;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.storage.StorageLevel;
import org.tilespark.examples.JobArguments.Option;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.options.RowOptions;

/**
 * Computes how closely individuals are related, from their genotypes: the genomic relationship
 * matrix of VanRaden (Efficient methods to compute genomic predictions, J. Dairy Sci. 91, 2008,
 * first method).
 *
 * <pre>
 *   G = Z Z^T / (2 sum p (1 - p))    Z = genotypes - 2 p, 0 where a genotype is unknown
 *                                    p = frequency of a variant: half the mean known genotype
 * </pre>
 *
 * <p>The job generates a table from a seed, with one row for each individual of some families. Exit
 * status: 0 right answer, 1 wrong answer or failure, 2 bad arguments.
 */
public final class GenomicRelationshipJob {
  private static final int SAMPLES = 12;

  private static final JobArguments.Usage USAGE =
      new JobArguments.Usage(
          "grm OUT_DIR [options]",
          """
          Makes a table with the genotypes of individuals, of which half are children of the others,
          and writes grm.npy, their genomic relationship matrix, into OUT_DIR.

            --individuals N         rows of the table (default: 400)
            --variants N            genotypes of each (default: 5000)
            --missing PART          of the genotypes that are not known (default: 0.02)
            --backend auto|gpu|cpu  who computes (default: auto)
            --seed N                seed of the table, and of the sample that is checked
                                    (default: a new one)
          """,
          List.of("OUT_DIR"),
          List.of(
              Option.checked("individuals", GenomicRelationshipJob::checkIndividuals),
              Option.count("variants"),
              Option.checked("missing", GenomicRelationshipJob::checkPart),
              Option.BACKEND,
              Option.SEED));

  private GenomicRelationshipJob() {}

  /** Runs the job under spark-submit. */
  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    return ExampleJob.run(USAGE, args, GenomicRelationshipJob::run, out, err);
  }

  private static void checkIndividuals(String text) {
    if (Integer.parseInt(text) < 4) {
      throw new IllegalArgumentException("expected 4 or more");
    }
  }

  private static void checkPart(String text) {
    double part = Double.parseDouble(text);
    if (!(part >= 0 && part < 1)) {
      throw new IllegalArgumentException("expected 0 or more, below 1");
    }
  }

  private static boolean run(SparkSession spark, JobArguments arguments, PrintStream out)
      throws IOException {
    Path file = arguments.outputDirectory(0).resolve("grm.npy");
    int individuals = arguments.count("individuals", 400);
    double missing = arguments.option("missing").map(Double::parseDouble).orElse(0.02);
    long seed = arguments.seed();
    Genotypes genotypes =
        new Genotypes(individuals / 2, arguments.count("variants", 5000), missing, seed);
    JobReport report = new JobReport(out);
    report.line(
        "made",
        "%,d individuals with %,d genotypes, %s of them not known (seed %d)",
        individuals,
        genotypes.variants(),
        missing,
        seed);

    long start = System.nanoTime();
    Dataset<Row> table = table(spark, genotypes, individuals);
    Dataset<Row> counts =
        MatrixBlocks.map(
                MatrixBlocks.fromRows(
                    table, "genotypes", RowOptions.defaults().withCols(genotypes.variants())),
                "if(v < 0, nan(), CAST(v AS DOUBLE))")
            .persist(StorageLevel.MEMORY_AND_DISK()); // (individuals, variants)
    Dataset<Row> means = // 2 p: (1, variants); 0 for a variant without known genotypes
        MatrixBlocks.map(MatrixBlocks.nanmean(counts, "0"), "nanvl(v, 0)")
            .persist(StorageLevel.MEMORY_AND_DISK());
    Dataset<Row> z = MatrixBlocks.zip(counts, means, "nanvl(a - b, 0)");
    double variance = // 2 sum p (1 - p)
        MatrixBlocks.sum(MatrixBlocks.map(means, "v * (1 - v / 2)")).first().getDouble(0);
    Dataset<Row> related =
        MatrixBlocks.scale(
            MatrixBlocks.multiply(z, z, MultiplyOptions.defaults().withTransposeB(true)),
            1 / variance);
    related.write().format("npy").mode(SaveMode.Overwrite).save(JobArguments.uri(file));
    report.line("wrote", "%s in %.2f s", file, (System.nanoTime() - start) / 1e9);
    means.unpersist();
    counts.unpersist();

    try (NpyElements found = NpyElements.open(file)) {
      describe(found, genotypes, individuals, report);
      String defect = check(found, genotypes, individuals);
      report.line("check", "%s", defect == null ? "right" : "WRONG: " + defect);
      return defect == null;
    }
  }

  /** Creates a table with one row for each individual. */
  private static Dataset<Row> table(SparkSession spark, Genotypes genotypes, int individuals) {
    StructType schema =
        new StructType()
            .add("id", DataTypes.LongType)
            .add("genotypes", DataTypes.createArrayType(DataTypes.ByteType, false));
    return spark
        .range(individuals)
        .map(
            (MapFunction<Long, Row>) id -> RowFactory.create(id, genotypes.of(Math.toIntExact(id))),
            Encoders.row(schema));
  }

  /**
   * Reports the average relationship of children to their parents, and to founders that are not
   * their parents.
   */
  private static void describe(
      NpyElements found, Genotypes genotypes, int individuals, JobReport report)
      throws IOException {
    double family = 0;
    double strangers = 0;
    int children = individuals - genotypes.founders();
    for (int child = genotypes.founders(); child < individuals; child++) {
      int[] parents = genotypes.parents(child);
      int stranger = parents[0];
      while (stranger == parents[0] || stranger == parents[1]) {
        stranger = (stranger + 1) % genotypes.founders();
        if (genotypes.founders() == 2) {
          break; // there is no founder but its parents
        }
      }
      family += (found.number(child, parents[0]) + found.number(child, parents[1])) / 2;
      strangers += found.number(child, stranger);
    }
    report.line("relation", "%.3f of children and parents, on average", family / children);
    report.line("", "%.3f of children and other founders", strangers / children);
  }

  /** Returns a defect, or null: recomputes some elements from the genotypes. */
  private static String check(NpyElements found, Genotypes genotypes, int individuals)
      throws IOException {
    byte[][] rows = new byte[individuals][];
    for (int i = 0; i < individuals; i++) {
      rows[i] = genotypes.of(i);
    }
    Relationships expected = Relationships.of(rows);
    Random random = new Random(genotypes.seed());
    for (int sample = 0; sample < SAMPLES; sample++) {
      int i = random.nextInt(individuals);
      int j = sample == 0 ? i : random.nextInt(individuals);
      double number = expected.between(i, j);
      if (!(Math.abs(found.number(i, j) - number) <= 1e-9 * Math.max(1, Math.abs(number)))) {
        return String.format(
            Locale.ROOT,
            "the relation of %d and %d is %s, expected %s (seed %d)",
            i,
            j,
            found.number(i, j),
            number,
            genotypes.seed());
      }
    }
    return null;
  }
}
