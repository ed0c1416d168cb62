package org.tilespark.spark.ui;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.StringReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.tilespark.spark.runtime.ExecutorStatus;
import org.tilespark.spark.runtime.HostStatus;
import org.tilespark.spark.shuffle.ServedShuffle;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;

/** The body of the GPU page. */
class GpuHtmlTest {
  private static final String NASTY = "<script>alert('x')</script> & \"H200\"\u0000\u001b";

  private static final String NASTY_SHOWN = NASTY.replace('\u0000', ' ').replace('\u001b', ' ');

  private static final List<ServedShuffle> SHUFFLES =
      List.of(new ServedShuffle(8, Optional.empty()), new ServedShuffle(7, Optional.of(NASTY)));

  private final ExecutorBoard board = new ExecutorBoard();

  @Test
  void nothingIsSaidOfNobody() throws Exception {
    Document page = page();
    assertEquals(List.of(), rows(page, "gpu-devices"));
    String text = page.getDocumentElement().getTextContent();
    assertTrue(text.contains("0 live executors with 0 open devices"), text);
    assertTrue(text.contains("No executor has opened a device."), text);
  }

  @Test
  void aDeviceShowsMemoryAndThroughput() throws Exception {
    board.added("1", "left");
    board.report(StatusSamples.onDevice("1", "NVIDIA H200, sm_90, driver 580 (CUDA 13.0)"));
    Document page = page();
    assertEquals(
        List.of(
            List.of(
                "1 on left",
                "0: NVIDIA H200, sm_90, driver 580 (CUDA 13.0)",
                "21.0 GiB / 140.0 GiB",
                "3.0 GiB / 20.0 GiB / 112.0 GiB",
                "321",
                "37.3 GiB",
                "40.0",
                "18.6 GiB",
                "20.0",
                "500 ms",
                "20.0 %",
                "70 ms",
                "80 ms",
                "6",
                "5")),
        rows(page, "gpu-devices"));
    assertEquals(
        List.of(
            List.of(
                "1 on left",
                "1.0 MiB / 1.0 GiB",
                "2.0 GiB / 4.0 GiB",
                "1.0 KiB / 2.0 MiB",
                "0 B / 1.0 GiB")),
        rows(page, "gpu-host"));
    assertEquals(
        List.of(
            List.of(
                "1 on left",
                "1.0 GiB / 2.0 GiB / 3.0 GiB",
                "5.0 MiB",
                "4.0 MiB",
                "3.0 KiB",
                "2.0 KiB",
                "1.0 KiB")),
        rows(page, "gpu-exchange"));
    assertEquals(
        List.of(List.of("8", "memory", ""), List.of("7", "spark", NASTY_SHOWN)),
        rows(page, "gpu-shuffles"));
    assertEquals(List.of(), rows(page, "gpu-cpu"));
    assertTrue(
        page.getDocumentElement().getTextContent().contains("1 live executor with 1 open device"));
  }

  @Test
  void theCpuIsGivenAReason() throws Exception {
    board.report(StatusSamples.onCpu("3", "no NVIDIA driver on this machine"));
    Document page = page();
    assertEquals(
        List.of(List.of("3", "no NVIDIA driver on this machine", "17", "0 ms")),
        rows(page, "gpu-cpu"));
    assertEquals(List.of(), rows(page, "gpu-devices"));
  }

  @Test
  void aLostDeviceIsAnAlarmAlsoAfterTheEnd() throws Exception {
    board.report(StatusSamples.lost("4", "cuLaunchKernel failed"));
    assertTrue(GpuHtml.of(board.entries(), SHUFFLES).contains("alert-danger"));
    board.removed("4", "Command exited with code 87");
    String text = page().getDocumentElement().getTextContent();
    assertTrue(text.contains("Executor 4 lost its device. cuLaunchKernel failed"), text);
    assertTrue(text.contains("It ended: Command exited with code 87"), text);
    assertTrue(text.contains("4 (ended)"), text);
    assertEquals(List.of(), rows(page(), "gpu-cpu"));
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
    assertEquals(
        List.of(List.of("driver", "it was lost: cuLaunchKernel failed", "17", "0 ms")),
        rows(page(), "gpu-cpu"));
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
    assertEquals("0: " + NASTY_SHOWN, rows(page, "gpu-devices").get(0).get(1));
  }

  @Test
  void unitsAreThoseOfTheRestOfTheUi() {
    assertEquals("1023 B", GpuHtml.bytes(1023));
    assertEquals("1.0 KiB", GpuHtml.bytes(1024));
    assertEquals("8192.0 PiB", GpuHtml.bytes(Long.MAX_VALUE));
    assertEquals("999 ms", GpuHtml.time(999_000_000));
    assertEquals("59.0 s", GpuHtml.time(59_000_000_000L));
    assertEquals("1.5 min", GpuHtml.time(90_000_000_000L));
    assertEquals("2.0 h", GpuHtml.time(7_200_000_000_000L));
  }

  /** The page as a browser reads it; fails if it is not well-formed. */
  private Document page() throws Exception {
    String page = "<body>" + GpuHtml.of(board.entries(), SHUFFLES) + "</body>";
    return DocumentBuilderFactory.newInstance()
        .newDocumentBuilder()
        .parse(new InputSource(new StringReader(page)));
  }

  /** The cells of a table's body; every row has as many as the table has columns. */
  private static List<List<String>> rows(Document page, String id) {
    NodeList tables = page.getElementsByTagName("table");
    for (int i = 0; i < tables.getLength(); i++) {
      Element table = (Element) tables.item(i);
      if (table.getAttribute("id").equals(id)) {
        int columns = table.getElementsByTagName("th").getLength();
        List<List<String>> rows = new ArrayList<>();
        NodeList lines =
            ((Element) table.getElementsByTagName("tbody").item(0)).getElementsByTagName("tr");
        for (int line = 0; line < lines.getLength(); line++) {
          NodeList cells = ((Element) lines.item(line)).getElementsByTagName("td");
          assertEquals(columns, cells.getLength());
          List<String> row = new ArrayList<>();
          for (int cell = 0; cell < columns; cell++) {
            row.add(cells.item(cell).getTextContent());
          }
          rows.add(row);
        }
        return rows;
      }
    }
    throw new AssertionError("no table " + id);
  }
}
