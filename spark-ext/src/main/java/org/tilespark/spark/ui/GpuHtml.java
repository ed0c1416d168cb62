package org.tilespark.spark.ui;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.tilespark.arrow.pipeline.Measure;
import org.tilespark.spark.runtime.DeviceStatus;
import org.tilespark.spark.runtime.ExchangeStatus;
import org.tilespark.spark.runtime.ExecutorStatus;
import org.tilespark.spark.runtime.HostStatus;
import org.tilespark.spark.runtime.HostStatus.Memory;
import org.tilespark.spark.runtime.PipelineTotals;
import org.tilespark.spark.shuffle.ServedShuffle;
import org.tilespark.spark.ui.ExecutorBoard.Entry;
import scala.xml.Utility;

/**
 * The body of the GPU page: tables of the records that its JSON has in full. Every cell is escaped.
 */
final class GpuHtml {
  /**
   * A column of a table.
   *
   * @param title name of the column, with the unit if there is one
   * @param cell gives the content of a cell: text, a whole number, or a fraction, which is shown
   *     with three digits, none finer than a thousandth
   */
  private record Column<T>(String title, Function<T, Object> cell) {}

  private record Device(Executor executor, DeviceStatus status) {
    long work(Measure measure) {
      return status.work().get(measure);
    }
  }

  private record Executor(Entry entry, ExecutorStatus status) {
    /** The row of an executor, with zeros if it has not reported. */
    static Executor of(Entry entry) {
      return new Executor(
          entry,
          entry
              .status()
              .orElseGet(
                  () ->
                      new ExecutorStatus(
                          entry.executorId(),
                          "",
                          "",
                          List.of(),
                          new HostStatus(Map.of(), PipelineTotals.Snapshot.ZERO),
                          new ExchangeStatus(0, 0, 0, 0, 0, 0, 0, 0))));
    }

    Object gib(Memory memory) {
      return GpuHtml.gib(status.host().get(memory));
    }

    boolean hasLostDevice() {
      return !status.lostDevice().isEmpty();
    }

    String state() {
      return Stream.of(
              entry.status().isPresent() ? "" : "has not reported",
              hasLostDevice() ? "lost its device: " + status.lostDevice() : "",
              hasLostDevice() || status.cpuReason().isEmpty()
                  ? ""
                  : "computes on the CPU: " + status.cpuReason(),
              entry.endedBecause().map(why -> "ended: " + why).orElse(""))
          .filter(part -> !part.isEmpty())
          .collect(Collectors.joining("; "));
    }
  }

  private static final List<Column<Device>> DEVICES =
      List.of(
          new Column<>("Executor", row -> row.executor.entry.executorId()),
          new Column<>("Host", row -> row.executor.entry.host()),
          new Column<>("Device", row -> row.status.ordinal() + ": " + row.status.description()),
          new Column<>("Memory GiB", row -> gib(row.status.totalBytes())),
          new Column<>("In use GiB", row -> gib(row.status.inUseBytes())),
          new Column<>("Limit of tasks GiB", row -> gib(row.status.limitBytes())),
          new Column<>("Held by tasks GiB", row -> gib(row.status.heldBytes())),
          new Column<>("Peak of tasks GiB", row -> gib(row.status.peakBytes())),
          new Column<>("Blocks", row -> row.work(Measure.BLOCKS)),
          new Column<>("Up GiB", row -> gib(row.work(Measure.BYTES_UP))),
          new Column<>("Up s", row -> seconds(row.work(Measure.COPY_UP))),
          new Column<>("Kernels s", row -> seconds(row.work(Measure.KERNEL))),
          new Column<>("Down GiB", row -> gib(row.work(Measure.BYTES_DOWN))),
          new Column<>("Down s", row -> seconds(row.work(Measure.COPY_DOWN))),
          new Column<>("Waited for a turn s", row -> seconds(row.work(Measure.TURN))),
          new Column<>("Waited for memory s", row -> seconds(row.work(Measure.MEMORY))),
          new Column<>("Retries", row -> row.work(Measure.RETRIES)),
          new Column<>("Splits", row -> row.work(Measure.SPLITS)));

  private static final List<Column<Executor>> EXECUTORS =
      List.of(
          new Column<>("Executor", row -> row.entry.executorId()),
          new Column<>("Host", row -> row.entry.host()),
          new Column<>("State", Executor::state),
          new Column<>("Blocks on the CPU", row -> row.status.host().work().get(Measure.BLOCKS)),
          new Column<>("CPU s", row -> seconds(row.status.host().work().get(Measure.KERNEL))),
          new Column<>("Pinned held GiB", row -> row.gib(Memory.PINNED_HELD)),
          new Column<>("Pinned peak GiB", row -> row.gib(Memory.PINNED_PEAK)),
          new Column<>("Pinned kept GiB", row -> row.gib(Memory.PINNED_KEPT)),
          new Column<>("Plain held GiB", row -> row.gib(Memory.PLAIN_HELD)),
          new Column<>("Plain peak GiB", row -> row.gib(Memory.PLAIN_PEAK)),
          new Column<>("Plain kept GiB", row -> row.gib(Memory.PLAIN_KEPT)),
          new Column<>("Stored GiB", row -> gib(row.status.exchange().storeHeldBytes())),
          new Column<>("Stored at most GiB", row -> gib(row.status.exchange().storePeakBytes())),
          new Column<>("Limit of store GiB", row -> gib(row.status.exchange().storeLimitBytes())),
          new Column<>("Into memory GiB", row -> gib(row.status.exchange().inMemoryBytes())),
          new Column<>("Into files GiB", row -> gib(row.status.exchange().inFilesBytes())),
          new Column<>("Read here GiB", row -> gib(row.status.exchange().readLocallyBytes())),
          new Column<>("Fetched GiB", row -> gib(row.status.exchange().readRemotelyBytes())));

  private static final List<Column<ServedShuffle>> SHUFFLES =
      List.of(
          new Column<>("Shuffle", ServedShuffle::shuffleId),
          new Column<>("Exchange", row -> row.whySpark().isEmpty() ? "memory" : "spark"),
          new Column<>("Why", row -> row.whySpark().orElse("")));

  private GpuHtml() {}

  /** The page for these executors, and the last shuffles of blocks. */
  static String of(List<Entry> entries, List<ServedShuffle> shuffles) {
    List<Executor> executors = entries.stream().map(Executor::of).toList();
    List<Device> devices =
        executors.stream()
            .flatMap(row -> row.status.devices().stream().map(status -> new Device(row, status)))
            .toList();
    return "<p>Figures count from each executor's start and are at most ten seconds old. All of"
        + " them, in bytes and nanoseconds: <a href=\"json/\">JSON</a>.</p>"
        + table("gpu-devices", "Devices", DEVICES, devices, row -> row.executor.hasLostDevice())
        + table("gpu-executors", "Executors", EXECUTORS, executors, Executor::hasLostDevice)
        + table("gpu-shuffles", "Last shuffles of blocks", SHUFFLES, shuffles, row -> false);
  }

  private static <T> String table(
      String id, String title, List<Column<T>> columns, List<T> rows, Predicate<T> isAlarm) {
    StringBuilder html =
        new StringBuilder("<h4>").append(title).append("</h4><table id=\"").append(id);
    html.append("\" class=\"table table-bordered table-striped table-sm sortable\"><thead><tr>");
    columns.forEach(column -> html.append("<th>").append(column.title).append("</th>"));
    html.append("</tr></thead><tbody>");
    for (T row : rows) {
      html.append(isAlarm.test(row) ? "<tr class=\"table-danger\">" : "<tr>");
      for (Column<T> column : columns) {
        html.append("<td>").append(Utility.escape(shown(column.cell.apply(row)))).append("</td>");
      }
      html.append("</tr>");
    }
    return html.append("</tbody></table>").toString();
  }

  private static String shown(Object cell) {
    if (!(cell instanceof Double fraction)) {
      return cell.toString();
    }
    BigDecimal rounded = new BigDecimal(fraction).round(new MathContext(3));
    return rounded
        .setScale(Math.min(rounded.scale(), 3), RoundingMode.HALF_UP)
        .stripTrailingZeros()
        .toPlainString();
  }

  /** The number in GiB; no text if it is unknown. */
  private static Object gib(long bytes) {
    return bytes < 0 ? "" : (Object) (bytes / (double) (1L << 30));
  }

  private static double seconds(long nanos) {
    return nanos / 1e9;
  }
}
