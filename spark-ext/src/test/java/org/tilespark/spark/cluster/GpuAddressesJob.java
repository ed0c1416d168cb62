package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.SparkSession;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.testing.TestArray;

/**
 * An application to which Spark assigns GPUs, whether or not they exist: every task must be led to
 * the one that it was assigned. Its arguments are the addresses of each executor.
 */
public final class GpuAddressesJob {
  private GpuAddressesJob() {}

  public static void main(String[] args) throws IOException {
    Cases cases = new Cases();
    try (SparkSession spark = SparkSession.builder().getOrCreate()) {
      Executors executors = new Executors(spark.sparkContext(), 2);
      cases.run(
          "each task uses the GPU that Spark assigned to it",
          () -> {
            executors.awaitAll();
            Map<String, List<Integer>> used = new TreeMap<>();
            for (Executors.Seen seen : executors.look()) {
              assertEquals(List.of(Integer.toString(seen.device())), seen.addresses());
              used.computeIfAbsent(seen.executorId(), id -> new ArrayList<>()).add(seen.device());
            }
            List<Integer> all = List.of(args).stream().map(Integer::valueOf).toList();
            assertEquals(2, used.size(), used::toString);
            used.values().forEach(devices -> assertEquals(all, devices.stream().sorted().toList()));
          });
      cases.run(
          "transpose",
          () -> {
            TestArray array = TestArray.matrix(ElementType.INT16, 120, 90, 20, 15);
            array.assertPermuted(
                Permutation.of(1, 0), MatrixBlocks.transpose(array.toDataFrame(spark, 6)));
          });
    }
    cases.end();
  }
}
