package org.tilespark.spark.ui;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.json4s.jackson.JsonMethods$;
import org.junit.jupiter.api.Test;
import org.tilespark.spark.runtime.DeviceStatus;
import org.tilespark.spark.runtime.ExecutorStatus;
import org.tilespark.spark.runtime.HostStatus;
import org.tilespark.spark.shuffle.ServedShuffle;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;

/** The body of the GPU page, and the JSON that it is made of. */
class GpuHtmlTest {
  private static final String NASTY = "<script>alert('x')</script> & \"H200\"\u0000\u001b";

  /** Control characters are left out. */
  private static final String NASTY_SHOWN = NASTY.replace("\u0000", "").replace("\u001b", "");

  private static final List<ServedShuffle> SHUFFLES =
      List.of(new ServedShuffle(8, Optional.empty()), new ServedShuffle(7, Optional.of(NASTY)));

  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final ExecutorBoard board = new ExecutorBoard();

  @Test
  void nothingIsSaidOfNobody() throws Exception {
    Document page = page();
    assertEquals(List.of(), rows(page, "gpu-devices"));
    assertEquals(List.of(), rows(page, "gpu-executors"));
    assertEquals(MAPPER.createArrayNode(), json(board.entries()));
  }

  @Test
  void aDeviceShowsMemoryAndThroughput() throws Exception {
    board.added("1", "left");
    board.report(StatusSamples.onDevice("1", "NVIDIA H200, sm_90, driver 580 (CUDA 13.0)"));
    Document page = page();
    assertEquals(
        List.of(
            "Executor=1, Host=left, Device=0: NVIDIA H200, sm_90, driver 580 (CUDA 13.0),"
                + " Memory GiB=140, In use GiB=21, Limit of tasks GiB=112, Held by tasks GiB=3,"
                + " Peak of tasks GiB=20, Blocks=321, Up GiB=37.3, Up s=1, Kernels s=0.5,"
                + " Down GiB=18.6, Down s=1, Waited for a turn s=0.07, Waited for memory s=0.08,"
                + " Retries=6, Splits=5"),
        rows(page, "gpu-devices"));
    assertEquals(
        List.of(
            "Executor=1, Host=left, State=, Blocks on the CPU=0, CPU s=0,"
                + " Pinned held GiB=0.001, Pinned peak GiB=1, Pinned kept GiB=2,"
                + " Plain held GiB=0.5, Plain peak GiB=0.75, Plain kept GiB=0,"
                + " Stored GiB=1, Stored at most GiB=2, Limit of store GiB=3,"
                + " Into memory GiB=9, Into files GiB=7, Read here GiB=6,"
                + " Fetched GiB=5"),
        rows(page, "gpu-executors"));
    assertEquals(
        List.of(
            "Shuffle=8, Exchange=memory, Why=", "Shuffle=7, Exchange=spark, Why=" + NASTY_SHOWN),
        rows(page, "gpu-shuffles"));
  }

  /**
   * Contents of the page, and facts that it leaves out: copies by the CPU, pools, rows made in
   * place.
   */
  @Test
  void theJsonHasAllFigures() throws Exception {
    board.added("1", "left");
    board.report(StatusSamples.onDevice("1", "NVIDIA H200"));
    String expected =
        """
        [{"executorId": "1", "host": "left", "status": {
          "executorId": "1", "cpuReason": "", "lostDevice": "",
          "devices": [{
            "ordinal": 0, "description": "NVIDIA H200", "totalBytes": 150323855360,
            "inUseBytes": 22548578304, "limitBytes": 120259084288, "heldBytes": 3221225472,
            "peakBytes": 21474836480,
            "work": {
              "blocks": 321, "batches": 12, "bytesUp": 40000000000, "bytesDown": 20000000000,
              "stagedBytes": 7, "copyUpNanos": 1000000000, "kernelNanos": 500000000,
              "copyDownNanos": 1000000000, "turnNanos": 70000000, "memoryNanos": 80000000,
              "resultNanos": 90000000, "retries": 6, "splits": 5, "peakDeviceBytes": 1073741824,
              "peakPinnedBytes": 1073741824}}],
          "host": {
            "pinnedHeldBytes": 1048576, "pinnedPeakBytes": 1073741824,
            "pinnedKeptBytes": 2147483648, "pinnedPoolBytes": 4294967296,
            "plainHeldBytes": 536870912, "plainPeakBytes": 805306368, "plainKeptBytes": 0,
            "plainPoolBytes": 1073741824,
            "work": {
              "blocks": 0, "batches": 0, "bytesUp": 0, "bytesDown": 0, "stagedBytes": 0,
              "copyUpNanos": 0, "kernelNanos": 0, "copyDownNanos": 0, "turnNanos": 0,
              "memoryNanos": 0, "resultNanos": 0, "retries": 0, "splits": 0,
              "peakDeviceBytes": 0, "peakPinnedBytes": 0}},
          "exchange": {
            "storeHeldBytes": 1073741824, "storePeakBytes": 2147483648,
            "storeLimitBytes": 3221225472, "inMemoryBytes": 9663676416, "inPlaceBytes": 8589934592,
            "inFilesBytes": 7516192768, "readLocallyBytes": 6442450944,
            "readRemotelyBytes": 5368709120}}}]
        """;
    assertEquals(MAPPER.readTree(expected), json(board.entries()));
    assertEquals(
        MAPPER.valueToTree(
            List.of(Map.of("shuffleId", 8), Map.of("shuffleId", 7, "whySpark", NASTY))),
        json(SHUFFLES));
  }

  @Test
  void theCpuIsGivenAReason() throws Exception {
    board.report(StatusSamples.onCpu("3", "no NVIDIA driver on this machine"));
    Document page = page();
    assertBegins(
        "Executor=3, Host=, State=computes on the CPU: no NVIDIA driver on this machine,"
            + " Blocks on the CPU=17, CPU s=0,",
        rows(page, "gpu-executors"));
    assertEquals(List.of(), rows(page, "gpu-devices"));
  }

  @Test
  void anExecutorThatHasNotReportedIsListed() throws Exception {
    board.added("4", "right");
    assertBegins(
        "Executor=4, Host=right, State=has not reported, Blocks on the CPU=0,",
        rows(page(), "gpu-executors"));
  }

  @Test
  void aLostDeviceIsAnAlarmAlsoAfterTheEnd() throws Exception {
    board.report(StatusSamples.lost("4", "cuLaunchKernel failed"));
    board.report(StatusSamples.onDevice("5", "NVIDIA H200"));
    board.report(StatusSamples.onCpu("6", "no NVIDIA driver"));
    assertEquals(List.of("4", "4"), alarms());
    board.removed("4", "Command exited with code 87");
    assertEquals(List.of("4", "4"), alarms());
    assertTrue(
        rows(page(), "gpu-executors")
            .get(2) // the last one, since it ended
            .startsWith(
                "Executor=4, Host=, State=lost its device: cuLaunchKernel failed;"
                    + " ended: Command exited with code 87, Blocks on the CPU=0,"));
  }

  @Test
  void whoLostADeviceAndGoesOnComputesOnTheCpu() throws Exception {
    ExecutorStatus lost = StatusSamples.lost("driver", "cuLaunchKernel failed");
    HostStatus worked = StatusSamples.onCpu("driver", "").host();
    board.report(
        new ExecutorStatus(
            "driver",
            lost.cpuReason(),
            lost.lostDevice(),
            lost.devices(),
            worked,
            StatusSamples.exchange()));
    assertBegins(
        "Executor=driver, Host=, State=lost its device: cuLaunchKernel failed,"
            + " Blocks on the CPU=17,",
        rows(page(), "gpu-executors"));
  }

  @Test
  void memoryThatCannotBeAskedIsNotShown() throws Exception {
    ExecutorStatus one = StatusSamples.onDevice("1", "NVIDIA H200");
    DeviceStatus device = one.devices().get(0);
    board.report(
        new ExecutorStatus(
            "1",
            "",
            "",
            List.of(
                new DeviceStatus(
                    device.ordinal(),
                    device.description(),
                    device.totalBytes(),
                    -1,
                    device.limitBytes(),
                    device.heldBytes(),
                    device.peakBytes(),
                    device.work())),
            one.host(),
            one.exchange()));
    String row = rows(page(), "gpu-devices").get(0);
    assertTrue(row.contains("Memory GiB=140, In use GiB=, Limit"), row);
  }

  @Test
  void whatComesFromElsewhereIsTextOnly() throws Exception {
    board.added("<i>5</i>", NASTY);
    board.report(StatusSamples.onDevice("<i>5</i>", NASTY));
    board.report(StatusSamples.onCpu("6", NASTY));
    board.report(StatusSamples.lost("7", NASTY));
    board.removed("7", "'" + NASTY);
    String html = GpuHtml.of(board.entries(), SHUFFLES);
    assertFalse(html.contains("<script>"), html);
    assertFalse(html.contains("<i>"), html);
    Document page = page();
    assertEquals(0, page.getElementsByTagName("script").getLength());
    assertBegins(
        "Executor=<i>5</i>, Host=" + NASTY_SHOWN + ", Device=0: " + NASTY_SHOWN + ",",
        rows(page, "gpu-devices"));
  }

  /** Executors of the marked rows of all tables. */
  private List<String> alarms() throws Exception {
    NodeList rows = page().getElementsByTagName("tr");
    return IntStream.range(0, rows.getLength())
        .mapToObj(at -> (Element) rows.item(at))
        .filter(row -> row.getAttribute("class").equals("table-danger"))
        .map(row -> texts(row, "td").get(0))
        .toList();
  }

  private static JsonNode json(Object records) throws Exception {
    return MAPPER.readTree(JsonMethods$.MODULE$.compact(RecordJson.of(records)));
  }

  private static void assertBegins(String expected, List<String> rows) {
    assertTrue(rows.get(0).startsWith(expected), rows.get(0));
  }

  /** The page as a browser reads it; fails if it is not well-formed. */
  private Document page() throws Exception {
    String page = "<body>" + GpuHtml.of(board.entries(), SHUFFLES) + "</body>";
    return DocumentBuilderFactory.newInstance()
        .newDocumentBuilder()
        .parse(new InputSource(new StringReader(page)));
  }

  /** The rows of a table's body, cell by cell with the column's title. */
  private static List<String> rows(Document page, String id) {
    NodeList tables = page.getElementsByTagName("table");
    for (int i = 0; i < tables.getLength(); i++) {
      Element table = (Element) tables.item(i);
      if (table.getAttribute("id").equals(id)) {
        List<String> titles = texts(table, "th");
        List<String> rows = new ArrayList<>();
        Element body = (Element) table.getElementsByTagName("tbody").item(0);
        NodeList lines = body.getElementsByTagName("tr");
        for (int line = 0; line < lines.getLength(); line++) {
          List<String> cells = texts((Element) lines.item(line), "td");
          assertEquals(titles.size(), cells.size());
          rows.add(
              IntStream.range(0, cells.size())
                  .mapToObj(cell -> titles.get(cell) + "=" + cells.get(cell))
                  .collect(Collectors.joining(", ")));
        }
        return rows;
      }
    }
    throw new AssertionError("no table " + id);
  }

  private static List<String> texts(Element parent, String tag) {
    NodeList elements = parent.getElementsByTagName(tag);
    return IntStream.range(0, elements.getLength())
        .mapToObj(at -> elements.item(at).getTextContent())
        .toList();
  }
}
