package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.util.TaskCompletionListener;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.device.DeviceOutOfMemoryException;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.conf.Backend;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.testing.TestArray;

/**
 * An application in whose first attempt at a task all memory of the device is taken, by this
 * process but past the governor, as another program would: the task must fail with the figures, its
 * next attempt must succeed. For one executor with one core, so that nobody else is in the way.
 */
public final class DeviceMemoryJob {
  /** Bytes that the driver hands out in one piece; smaller ones are parts of it. */
  private static final long LEAST_BYTES = 512;

  private DeviceMemoryJob() {}

  public static void main(String[] args) throws Exception {
    Cases cases = new Cases();
    try (SparkSession spark = SparkSession.builder().getOrCreate()) {
      Executors executors = new Executors(spark.sparkContext(), 1);
      TestArray array = TestArray.matrix(ElementType.FLOAT32, 512, 384, 128, 128);
      Dataset<Row> blocks = array.toDataFrame(spark, 3);
      // Streams and kernels are there before memory is short.
      array.assertPermuted(Permutation.of(1, 0), MatrixBlocks.transpose(blocks));
      executors.forgetTasks();
      cases.run(
          "a task without device memory is tried again",
          () -> {
            Dataset<Row> starving =
                Interference.through(
                    spark,
                    blocks,
                    row -> {
                      TaskContext task = TaskContext.get();
                      if (row == 0 && task.partitionId() == 1 && task.attemptNumber() == 0) {
                        takeAll(task);
                      }
                    });
            array.assertPermuted(Permutation.of(1, 0), MatrixBlocks.transpose(starving));
            executors.awaitFailure(1, 0, "bytes requested, the least that will do");
            assertEquals(1, executors.failures("the driver said: "), "one attempt failed");
          });
      cases.run("nothing alive", executors::assertNothingAlive);
    }
    cases.end();
  }

  /** Holds all device memory until the task ends. */
  private static void takeAll(TaskContext task) {
    CudaDevice device = ExecutorRuntime.current().gpu(Backend.GPU, task).orElseThrow().device();
    CudaStream stream = device.newStream();
    List<DeviceBuffer> taken = new ArrayList<>();
    task.addTaskCompletionListener(
        new TaskCompletionListener() {
          @Override
          public void onTaskCompletion(TaskContext context) {
            taken.forEach(DeviceBuffer::close);
            stream.close();
            device.trim();
          }
        });
    for (long bytes = device.memoryInfo().freeBytes(); bytes >= LEAST_BYTES; bytes /= 2) {
      try {
        while (true) {
          taken.add(device.allocate(bytes, stream));
        }
      } catch (DeviceOutOfMemoryException full) {
        System.err.println("took all pieces of " + bytes + " bytes: " + full.getMessage());
      }
    }
  }
}
