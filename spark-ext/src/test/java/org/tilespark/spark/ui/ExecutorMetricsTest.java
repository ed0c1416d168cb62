package org.tilespark.spark.ui;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.URI;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.device.DeviceProbe;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.TileSparkPlugin;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

/**
 * Metrics of an executor, read from Spark's metrics system and from a sink that is always there.
 */
@Tag("versions")
class ExecutorMetricsTest extends SparkTest {
  private static final String SOURCE = "plugin." + TileSparkPlugin.class.getName();
  private static final TestArray MATRIX = TestArray.matrix(ElementType.FLOAT32, 40, 60, 10, 10);
  private static final long BYTES = 40 * 60 * 4;

  @Test
  void aQueryCounts() {
    boolean gpu = DeviceProbe.run().isPresent();
    String where = gpu ? "gpu." : "host.";
    long blocks = count(where + "blocks");
    long batches = count(where + "batches");
    long up = count("gpu.bytesUp");
    long down = count("gpu.bytesDown");
    long nanos = count(gpu ? "gpu.kernelTimeNs" : "host.computeTimeNs");
    MATRIX.assertPermuted(
        Permutation.of(1, 0), MatrixBlocks.transpose(MATRIX.toDataFrame(spark, 2)));
    assertEquals(MATRIX.blockCount(), count(where + "blocks") - blocks);
    assertTrue(count(where + "batches") > batches);
    assertEquals(gpu ? BYTES : 0, count("gpu.bytesUp") - up);
    assertEquals(gpu ? BYTES : 0, count("gpu.bytesDown") - down);
    assertTrue(count(gpu ? "gpu.kernelTimeNs" : "host.computeTimeNs") > nanos);
    assertTrue(gauge(gpu ? "gpu.pinnedPeakBytes" : "host.peakBytes") > 0);
    assertEquals(gpu, gauge("gpu.deviceMemoryLimitBytes") > 0);
    assertEquals(gpu, gauge("gpu.deviceMemoryPeakBytes") > 0);
    assertEquals(0, gauge("gpu.lostDevices"));
  }

  @Test
  void sinksReadThem() throws Exception {
    MATRIX.assertPermuted(
        Permutation.of(1, 0), MatrixBlocks.transpose(MATRIX.toDataFrame(spark, 2)));
    URI servlet = URI.create(spark.sparkContext().uiWebUrl().get() + "/metrics/json/");
    JsonNode shown = new ObjectMapper().readTree(servlet.toURL());
    String where = DeviceProbe.run().isPresent() ? "gpu" : "host";
    assertTrue(figure(shown.get("counters"), "." + where + ".blocks").get("count").asLong() > 0);
    assertTrue(
        figure(
                    shown.get("gauges"),
                    where.equals("gpu") ? ".gpu.pinnedPeakBytes" : ".host.peakBytes")
                .get("value")
                .asLong()
            > 0);
  }

  private static JsonNode figure(JsonNode figures, String end) {
    String name = spark.sparkContext().applicationId() + ".driver." + SOURCE + end;
    assertTrue(figures.has(name), () -> name + " is not among " + figures);
    return figures.get(name);
  }

  private static long count(String name) {
    return executorMetrics().getCounters().get(name).getCount();
  }

  private static long gauge(String name) {
    return (Long) executorMetrics().getGauges().get(name).getValue();
  }
}
