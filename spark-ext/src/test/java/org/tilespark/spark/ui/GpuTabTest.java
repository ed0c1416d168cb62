package org.tilespark.spark.ui;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import org.apache.spark.ui.SparkUI;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.device.DeviceProbe;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;
import scala.xml.Utility;

/** The tab as a browser gets it. */
@Tag("versions")
class GpuTabTest extends SparkTest {
  private static final TestArray MATRIX = TestArray.matrix(ElementType.FLOAT32, 40, 60, 10, 10);

  private final HttpClient client =
      HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NORMAL).build();

  @Test
  void aQueryIsSeenWithinSeconds() throws Exception {
    long before = counted();
    MATRIX.assertPermuted(
        Permutation.of(1, 0), MatrixBlocks.transpose(MATRIX.toDataFrame(spark, 2)));
    JsonNode after = executor(get("/GPU/json"));
    for (int i = 0; i < 600 && blocks(after) != counted(); i++) {
      Thread.sleep(100);
      after = executor(get("/GPU/json"));
    }
    assertEquals(before + MATRIX.blockCount(), blocks(after), after::toString);
    assertFalse(after.get("host").asText().isEmpty());
    JsonNode status = after.get("status");
    String page = get("/GPU/");
    if (DeviceProbe.run().isPresent()) {
      assertTrue(status.get("devices").get(0).get("work").get("bytesUp").asLong() > 0);
      assertTrue(page.contains(status.get("devices").get(0).get("description").asText()), page);
    } else {
      assertEquals(DeviceProbe.run().whyNot(), status.get("cpuReason").asText());
      assertTrue(page.contains(Utility.escape(DeviceProbe.run().whyNot())), page);
      assertTrue(status.get("host").get("work").get("kernelNanos").asLong() > 0);
      assertEquals(0, status.get("devices").size());
    }
    assertTrue(page.contains("<td>" + after.get("host").asText() + "</td>"), page);
  }

  @Test
  void theTabStandsBesideSparksOwn() throws Exception {
    for (String path : new String[] {"/jobs/", "/GPU/"}) {
      String page = get(path);
      assertTrue(page.contains("/GPU/\">GPU</a>"), page);
      assertTrue(page.contains("/executors/\">Executors</a>"), page);
    }
  }

  @Test
  void namesFromElsewhereAreText() throws Exception {
    ExecutorBoard board = new ExecutorBoard();
    board.added("1", "<b>host</b>");
    board.report(StatusSamples.onDevice("1", "<script>alert(1)</script>"));
    SparkUI ui = spark.sparkContext().ui().get();
    GpuTab tab = GpuTab.attach(ui, "GPU-by-hand", board);
    try {
      String page = get("/GPU-by-hand/");
      assertFalse(page.contains("<script>alert"), page);
      assertFalse(page.contains("<b>host"), page);
      assertTrue(page.contains("0: &lt;script&gt;alert(1)&lt;/script&gt;"), page);
      JsonNode device = executor(get("/GPU-by-hand/json")).get("status").get("devices").get(0);
      assertEquals("<script>alert(1)</script>", device.get("description").asText());
      assertEquals(40_000_000_000L, device.get("work").get("bytesUp").asLong());
    } finally {
      ui.detachTab(tab);
    }
  }

  private static long counted() {
    var counters = executorMetrics().getCounters();
    return counters.get("host.blocks").getCount() + counters.get("gpu.blocks").getCount();
  }

  private static long blocks(JsonNode executor) {
    JsonNode status = executor.get("status");
    if (status == null) {
      return 0;
    }
    long blocks = status.get("host").get("work").get("blocks").asLong();
    for (JsonNode device : status.get("devices")) {
      blocks += device.get("work").get("blocks").asLong();
    }
    return blocks;
  }

  private static JsonNode executor(String json) throws IOException {
    JsonNode executors = new ObjectMapper().readTree(json);
    assertEquals(1, executors.size(), json);
    return executors.get(0);
  }

  private String get(String path) throws IOException, InterruptedException {
    String url = spark.sparkContext().uiWebUrl().get() + path;
    HttpResponse<String> response =
        client.send(
            HttpRequest.newBuilder(URI.create(url)).build(), HttpResponse.BodyHandlers.ofString());
    assertEquals(200, response.statusCode(), response.body());
    return response.body();
  }
}
