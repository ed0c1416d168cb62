package org.tilespark.spark.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.device.RequiresGpu;
import org.tilespark.kernels.device.TrapKernel;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.cluster.ChildJvm;
import org.tilespark.spark.conf.Backend;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

/** A CUDA error that cannot be got past, in a process of its own. */
@RequiresGpu
class LostDeviceIT {
  @TempDir Path directory;

  @Test
  void theJobFailsAndTheProcessGoesOnWithoutTheDevice() {
    ChildJvm.Outcome outcome =
        ChildJvm.start(
                Child.class.getName(),
                List.of(),
                List.of("-Xmx1g"),
                Map.of(),
                directory.resolve("child.log"))
            .await(Duration.ofMinutes(5));
    assertEquals(0, outcome.exitCode(), outcome::output);
    assertTrue(outcome.output().contains("went on without the device"), outcome::output);
  }

  /** The work of the process. */
  static final class Child extends SparkTest {
    public static void main(String[] args) {
      startSpark();
      TestArray array = TestArray.matrix(ElementType.FLOAT32, 64, 48, 16, 16);
      Dataset<Row> df = array.toDataFrame(spark, 2);
      Permutation transpose = Permutation.of(1, 0);
      array.assertPermuted(transpose, MatrixBlocks.transpose(df));
      TrapKernel.launch(ExecutorRuntime.current().gpu(Backend.GPU, null).orElseThrow().device());
      assertFails(
          () -> MatrixBlocks.transpose(df).collectAsList(),
          "CUDA_ERROR_",
          "every later call in this process will fail on this device");
      assertTrue(ExecutorRuntime.current().lostDevice().isPresent());
      with(
          Map.of(TileSparkConf.BACKEND.name(), "gpu"),
          () ->
              assertFails(
                  () -> MatrixBlocks.transpose(df).collectAsList(),
                  "has no usable GPU: it was lost: "));
      array.assertPermuted(transpose, MatrixBlocks.transpose(df));
      assertEquals(
          Optional.empty(), ExecutorRuntime.current().gpu(Backend.AUTO, null), "auto is the CPU");
      spark.stop();
      System.out.println("went on without the device");
    }
  }
}
