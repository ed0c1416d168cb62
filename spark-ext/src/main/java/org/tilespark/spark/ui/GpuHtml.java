package org.tilespark.spark.ui;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.tilespark.spark.runtime.DeviceStatus;
import org.tilespark.spark.runtime.ExchangeStatus;
import org.tilespark.spark.runtime.ExecutorStatus;
import org.tilespark.spark.runtime.HostStatus;
import org.tilespark.spark.runtime.HostStatus.Memory;
import org.tilespark.spark.runtime.Measure;
import org.tilespark.spark.runtime.PipelineTotals;
import org.tilespark.spark.shuffle.ServedShuffle;
import org.tilespark.spark.ui.ExecutorBoard.Entry;

/** The body of the GPU page, from what the board has. Escapes all that comes from elsewhere. */
final class GpuHtml {
  /** A column: its title, and what it means. */
  private record Column(String title, String meaning) {}

  private static final List<Column> DEVICE_COLUMNS =
      List.of(
          new Column("Executor", "Spark's id of the executor, and its host"),
          new Column("Device", "Number, name, architecture and driver"),
          new Column("In use / total", "Device memory that all processes and the driver use"),
          new Column(
              "Held / peak / limit",
              "Device memory that this executor's tasks hold now, held at most, and may hold"),
          new Column("Blocks", "Blocks computed on the device"),
          new Column("Up", "Bytes copied to the device"),
          new Column("Up GB/s", "Over the time of these copies, which share the link if many run"),
          new Column("Down", "Bytes copied from the device"),
          new Column("Down GB/s", "Over the time of these copies"),
          new Column("Kernels", "Device time in kernels"),
          new Column("Share", "Part of the device time that kernels took; copies took the rest"),
          new Column("Turn wait", "Time that tasks waited for gpu.concurrentTasks"),
          new Column("Memory wait", "Time that tasks waited for device memory"),
          new Column("Retries", "Requests for device memory that were repeated"),
          new Column("Splits", "Batches that were cut for want of device memory"));

  private static final List<Column> CPU_COLUMNS =
      List.of(
          new Column("Executor", "Spark's id of the executor, and its host"),
          new Column("Why", "Why it computes on the CPU"),
          new Column("Blocks", "Blocks computed on the CPU"),
          new Column("Time", "Time that tasks computed, added up"));

  private static final List<Column> HOST_COLUMNS =
      List.of(
          new Column("Executor", "Spark's id of the executor, and its host"),
          new Column("Pinned held / peak", "Arrow buffers that devices copy from and to directly"),
          new Column("Pinned kept / pool", "Kept for reuse, and memory.pinnedPoolSize"),
          new Column("Plain held / peak", "Other Arrow buffers"),
          new Column("Plain kept / pool", "Kept for reuse, and memory.hostPoolSize"));

  private static final List<Column> EXCHANGE_COLUMNS =
      List.of(
          new Column("Executor", "Spark's id of the executor, and its host"),
          new Column("Kept / peak / limit", "Blocks kept beyond their tasks; memory.storeSize"),
          new Column("Into memory", "Bytes of map outputs that were kept in memory"),
          new Column("In place", "Bytes of rows that were made where they are kept"),
          new Column("Into files", "Bytes of map outputs that were written to files"),
          new Column("Read here", "Bytes that tasks read from this executor's outputs"),
          new Column("Fetched", "Bytes that tasks fetched from other executors"));

  private static final List<Column> SHUFFLE_COLUMNS =
      List.of(
          new Column("Shuffle", "Spark's id of the shuffle"),
          new Column("Exchange", "Memory, or Spark's own shuffle"),
          new Column("Why", "Why it is Spark's own shuffle"));

  private final StringBuilder html = new StringBuilder();

  /** Where the rows of the table under way begin. */
  private int rowsFrom;

  private GpuHtml() {}

  /** The page for these executors, and the last shuffles of blocks. */
  static String of(List<Entry> entries, List<ServedShuffle> shuffles) {
    GpuHtml page = new GpuHtml();
    page.summary(entries);
    page.losses(entries);
    page.devices(entries);
    page.onTheCpu(entries);
    page.hosts(entries);
    page.exchanges(entries);
    page.shuffles(shuffles);
    return page.html.toString();
  }

  private void summary(List<Entry> entries) {
    List<Entry> live = entries.stream().filter(e -> e.endedBecause().isEmpty()).toList();
    long devices =
        live.stream().flatMap(e -> e.status().stream()).mapToLong(s -> s.devices().size()).sum();
    long silent = live.stream().filter(e -> e.status().isEmpty()).count();
    html.append("<p>")
        .append(count(live.size(), "live executor"))
        .append(" with ")
        .append(count(devices, "open device"));
    if (silent > 0) {
      html.append("; ").append(silent).append(" not heard of yet");
    }
    html.append(". Figures count from each executor's start and are at most ten seconds old; <a")
        .append(" href=\"json/\">as JSON</a>.</p>");
  }

  private void losses(List<Entry> entries) {
    for (Entry entry : entries) {
      entry
          .status()
          .filter(status -> !status.lostDevice().isEmpty())
          .ifPresent(
              status -> {
                html.append("<div class=\"alert alert-danger\" role=\"alert\"><strong>Executor ")
                    .append(name(entry))
                    .append(" lost its device.</strong> ")
                    .append(escape(status.lostDevice()));
                entry
                    .endedBecause()
                    .ifPresent(why -> html.append(". It ended: ").append(escape(why)));
                html.append("</div>");
              });
    }
  }

  private void devices(List<Entry> entries) {
    begin("gpu-devices", "Devices", DEVICE_COLUMNS);
    for (Entry entry : entries) {
      for (DeviceStatus device : entry.status().map(ExecutorStatus::devices).orElse(List.of())) {
        device(entry, device);
      }
    }
    end("No executor has opened a device.");
  }

  private void device(Entry entry, DeviceStatus device) {
    PipelineTotals.Snapshot work = device.work();
    long deviceNanos =
        work.get(Measure.COPY_UP) + work.get(Measure.KERNEL) + work.get(Measure.COPY_DOWN);
    html.append("<tr>");
    text(executor(entry));
    text(device.ordinal() + ": " + escape(device.description()));
    number(
        device.inUseBytes(),
        (device.inUseBytes() < 0 ? "?" : bytes(device.inUseBytes()))
            + " / "
            + bytes(device.totalBytes()));
    number(
        device.heldBytes(),
        "%s / %s / %s"
            .formatted(
                bytes(device.heldBytes()), bytes(device.peakBytes()), bytes(device.limitBytes())));
    count(work, Measure.BLOCKS);
    size(work.get(Measure.BYTES_UP));
    rate(work.get(Measure.BYTES_UP), work.get(Measure.COPY_UP));
    size(work.get(Measure.BYTES_DOWN));
    rate(work.get(Measure.BYTES_DOWN), work.get(Measure.COPY_DOWN));
    time(work, Measure.KERNEL);
    share(work.get(Measure.KERNEL), deviceNanos);
    time(work, Measure.TURN);
    time(work, Measure.MEMORY);
    count(work, Measure.RETRIES);
    count(work, Measure.SPLITS);
    html.append("</tr>");
  }

  private void onTheCpu(List<Entry> entries) {
    begin("gpu-cpu", "On the CPU", CPU_COLUMNS);
    for (Entry entry : entries) {
      Optional<ExecutorStatus> status = entry.status();
      if (status.isPresent() && computesThere(status.get())) {
        PipelineTotals.Snapshot work = status.get().host().work();
        html.append("<tr>");
        text(executor(entry));
        text(escape(status.get().cpuReason()));
        count(work, Measure.BLOCKS);
        time(work, Measure.KERNEL);
        html.append("</tr>");
      }
    }
    end("No executor computes on the CPU.");
  }

  /** An executor that lost its device has said why, unless it went on. */
  private static boolean computesThere(ExecutorStatus status) {
    boolean did = status.host().work().get(Measure.BLOCKS) > 0;
    return did || (!status.cpuReason().isEmpty() && status.lostDevice().isEmpty());
  }

  private void hosts(List<Entry> entries) {
    begin("gpu-host", "Host memory outside the Java heap", HOST_COLUMNS);
    for (Entry entry : entries) {
      if (entry.status().isPresent()) {
        HostStatus host = entry.status().get().host();
        html.append("<tr>");
        text(executor(entry));
        pair(host.get(Memory.PINNED_HELD), host.get(Memory.PINNED_PEAK));
        pair(host.get(Memory.PINNED_KEPT), host.get(Memory.PINNED_POOL));
        pair(host.get(Memory.PLAIN_HELD), host.get(Memory.PLAIN_PEAK));
        pair(host.get(Memory.PLAIN_KEPT), host.get(Memory.PLAIN_POOL));
        html.append("</tr>");
      }
    }
    end("No executor has reported.");
  }

  private void exchanges(List<Entry> entries) {
    begin("gpu-exchange", "Blocks between tasks", EXCHANGE_COLUMNS);
    for (Entry entry : entries) {
      if (entry.status().isPresent()) {
        ExchangeStatus exchange = entry.status().get().exchange();
        html.append("<tr>");
        text(executor(entry));
        number(
            exchange.storeHeldBytes(),
            "%s / %s / %s"
                .formatted(
                    bytes(exchange.storeHeldBytes()),
                    bytes(exchange.storePeakBytes()),
                    bytes(exchange.storeLimitBytes())));
        size(exchange.inMemoryBytes());
        size(exchange.inPlaceBytes());
        size(exchange.inFilesBytes());
        size(exchange.readLocallyBytes());
        size(exchange.readRemotelyBytes());
        html.append("</tr>");
      }
    }
    end("No executor has reported.");
  }

  private void shuffles(List<ServedShuffle> shuffles) {
    begin("gpu-shuffles", "Last shuffles of blocks", SHUFFLE_COLUMNS);
    for (ServedShuffle shuffle : shuffles) {
      html.append("<tr>");
      number(shuffle.shuffleId(), Integer.toString(shuffle.shuffleId()));
      text(shuffle.whySpark().isEmpty() ? "memory" : "spark");
      text(escape(shuffle.whySpark().orElse("")));
      html.append("</tr>");
    }
    end("Blocks were not shuffled, or spark.shuffle.manager is another.");
  }

  private void begin(String id, String title, List<Column> columns) {
    html.append("<h4>").append(title).append("</h4><table id=\"").append(id);
    html.append("\" class=\"table table-bordered table-striped table-sm sortable\"><thead><tr>");
    for (Column column : columns) {
      html.append("<th title=\"").append(escape(column.meaning())).append("\">");
      html.append(escape(column.title())).append("</th>");
    }
    html.append("</tr></thead><tbody>");
    rowsFrom = html.length();
  }

  private void end(String ifEmpty) {
    boolean empty = html.length() == rowsFrom;
    html.append("</tbody></table>");
    if (empty) {
      html.append("<p>").append(ifEmpty).append("</p>");
    }
  }

  private void text(String escaped) {
    html.append("<td>").append(escaped).append("</td>");
  }

  private void number(long key, String shown) {
    html.append("<td sorttable_customkey=\"").append(key).append("\">");
    html.append(shown).append("</td>");
  }

  /** Bytes per nanosecond are GB/s. */
  private void rate(long bytes, long nanos) {
    text(nanos == 0 ? "" : String.format(Locale.ROOT, "%.1f", (double) bytes / nanos));
  }

  private void share(long part, long whole) {
    text(whole == 0 ? "" : String.format(Locale.ROOT, "%.1f %%", 100.0 * part / whole));
  }

  private void size(long bytes) {
    number(bytes, bytes(bytes));
  }

  private void count(PipelineTotals.Snapshot work, Measure measure) {
    number(work.get(measure), Long.toString(work.get(measure)));
  }

  private void time(PipelineTotals.Snapshot work, Measure measure) {
    number(work.get(measure), time(work.get(measure)));
  }

  private void pair(long first, long second) {
    number(first, bytes(first) + " / " + bytes(second));
  }

  private static String executor(Entry entry) {
    return name(entry)
        + entry
            .endedBecause()
            .map(why -> " <span title=\"" + escape(why) + "\">(ended)</span>")
            .orElse("");
  }

  private static String name(Entry entry) {
    String host = entry.host().isEmpty() ? "" : " on " + escape(entry.host());
    return escape(entry.executorId()) + host;
  }

  private static String count(long number, String singular) {
    return number + " " + singular + (number == 1 ? "" : "s");
  }

  /** {@code 1.5 GiB}, as the rest of Spark's UI has it. */
  static String bytes(long bytes) {
    String[] units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double) bytes;
    int unit = 0;
    while (value >= 1024 && unit + 1 < units.length) {
      value /= 1024;
      unit++;
    }
    return unit == 0 ? bytes + " B" : String.format(Locale.ROOT, "%.1f %s", value, units[unit]);
  }

  /** {@code 12 ms}, {@code 3.4 s}, {@code 5.6 min}, {@code 7.8 h}. */
  static String time(long nanos) {
    double seconds = nanos / 1e9;
    if (seconds < 1) {
      return String.format(Locale.ROOT, "%.0f ms", seconds * 1e3);
    } else if (seconds < 60) {
      return String.format(Locale.ROOT, "%.1f s", seconds);
    } else if (seconds < 3600) {
      return String.format(Locale.ROOT, "%.1f min", seconds / 60);
    }
    return String.format(Locale.ROOT, "%.1f h", seconds / 3600);
  }

  /** Text that means itself in HTML, also between double or single quotes. */
  static String escape(String text) {
    StringBuilder escaped = new StringBuilder(text.length() + 16);
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      switch (c) {
        case '&' -> escaped.append("&amp;");
        case '<' -> escaped.append("&lt;");
        case '>' -> escaped.append("&gt;");
        case '"' -> escaped.append("&quot;");
        case '\'' -> escaped.append("&#39;");
        default -> escaped.append(Character.isISOControl(c) ? ' ' : c);
      }
    }
    return escaped.toString();
  }
}
