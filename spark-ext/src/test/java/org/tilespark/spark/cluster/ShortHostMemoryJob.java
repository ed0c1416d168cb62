package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.testing.TestArray;
import org.tilespark.spark.testing.TestField;
import org.tilespark.spark.testing.TestProduct;

/**
 * An application whose executors are refused memory outside the heap now and then, pinned memory
 * where they have a GPU: Spark must try the tasks again, every answer must be right. Its argument
 * is a directory that all processes share.
 */
public final class ShortHostMemoryJob {
  private static final String REFUSED = "host memory was refused on purpose";
  private static final int MOST_ROUNDS = 100;

  private ShortHostMemoryJob() {}

  public static void main(String[] args) throws IOException {
    Cases cases = new Cases();
    try (SparkSession spark = SparkSession.builder().getOrCreate()) {
      Executors executors = new Executors(spark.sparkContext(), 2);
      TestArray array = TestArray.matrix(ElementType.INT16, 120, 90, 20, 15);
      Dataset<Row> blocks = array.toDataFrame(spark, 6);
      cases.run(
          "transpose",
          () ->
              untilRefused(
                  executors,
                  () ->
                      array.assertPermuted(Permutation.of(1, 0), MatrixBlocks.transpose(blocks))));
      TestProduct a = TestProduct.random(ElementType.FLOAT32, 60, 50, 1);
      TestProduct b = TestProduct.random(ElementType.FLOAT32, 50, 40, 2);
      // A new one each time: of a DataFrame that has run, Spark skips the stages before the last.
      // And eight tasks that ask for memory, so that few rounds are enough.
      MultiplyOptions eightTasks = MultiplyOptions.of(Map.of("strategy", "cuboid(2,2,2)"));
      Supplier<Dataset<Row>> product =
          () -> MatrixBlocks.multiply(a.frame(spark, 10, 7), b.frame(spark, 8, 9), eightTasks);
      Map<String, List<?>> right = TestProduct.bits(product.get());
      cases.run(
          "multiply",
          () -> {
            TestProduct.assertProduct(a, b, product.get());
            untilRefused(executors, () -> assertEquals(right, TestProduct.bits(product.get())));
          });
      String target = Path.of(args[0], "short.npy").toString();
      cases.run(
          "npy source and sink",
          () ->
              untilRefused(
                  executors,
                  () -> {
                    blocks.drop("tag").write().format("npy").mode(SaveMode.Overwrite).save(target);
                    Dataset<Row> again =
                        spark.read().format("npy").option("blockShape", "20,15").load(target);
                    array.assertPermuted(
                        Permutation.of(0, 1), again.selectExpr("*", "cast(null AS STRING) AS tag"));
                  }));
      // So small that no task asks as often as every request that is refused, or none would
      // succeed.
      int[] shape = {2, 4, 5};
      TestField field = TestField.random(3, true, shape);
      FftOptions options = FftOptions.defaults().withDecomposition("slabs");
      cases.run(
          "fft and back",
          () ->
              untilRefused(
                  executors,
                  () -> {
                    Dataset<Row> volume = field.blocks(spark, ElementType.FLOAT64, true, 1, 2, 5);
                    Dataset<Row> back =
                        VolumeBlocks.ifft(VolumeBlocks.fft(volume, options), options);
                    TestField.of(back, shape).assertNear(field, ElementType.FLOAT64, "back");
                  }));
      cases.run("nothing alive", executors::assertNothingAlive);
    }
    cases.end();
  }

  /** Runs it again and again, until a task of it was refused memory. */
  private static void untilRefused(Executors executors, Runnable body) {
    long before = executors.failures(REFUSED);
    for (int round = 0; round < MOST_ROUNDS; round++) {
      body.run();
      if (executors.failures(REFUSED) > before) {
        System.out.println("refused in round " + round);
        return;
      }
    }
    assertTrue(false, "no task was refused memory in " + MOST_ROUNDS + " rounds");
  }
}
