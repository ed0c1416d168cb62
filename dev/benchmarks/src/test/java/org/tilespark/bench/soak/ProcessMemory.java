package org.tilespark.bench.soak;

import com.sun.jna.Function;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.management.JMException;
import javax.management.ObjectName;

/**
 * The resident memory of this process, by kinds, as far as Linux, the JVM and the C library can
 * distinguish them. Elsewhere, and where the JVM does not track its native memory, parts are empty.
 *
 * @param resident bytes by kind of mapping, as /proc/self/smaps counts them
 * @param tracked bytes that the JVM says it has committed, by its own categories; empty unless it
 *     was started with {@code -XX:NativeMemoryTracking=summary}
 * @param mallocUsed bytes of the C library's heap that are handed out, to the JVM, to libraries and
 *     to the driver
 * @param mallocFree bytes of it that are free, but not given back to the system
 */
record ProcessMemory(
    Map<Kind, Long> resident, Map<String, Long> tracked, long mallocUsed, long mallocFree) {

  /** Kinds of mappings. */
  enum Kind {
    JAVA_HEAP,
    /** Of no file: what the JVM reserves, thread stacks, arenas of the C library. */
    ANONYMOUS,
    /** The C library's first arena. */
    BRK,
    /** Libraries and jars. */
    FILES,
    /** Mappings of the driver; pinned memory too, if it is counted as resident at all. */
    DEVICES
  }

  /** The category of the Java heap in the JVM's own account. */
  private static final String TRACKED_HEAP = "Java Heap";

  /** The category of memory that Java code took by hand: ours, and direct buffers. */
  private static final String TRACKED_BY_HAND = "Other";

  private static final Path SMAPS = Path.of("/proc/self/smaps");
  private static final Pattern MAPPING =
      Pattern.compile("([0-9a-f]+)-([0-9a-f]+) \\S+ \\S+ \\S+ \\d+ *(.*)");
  private static final Pattern RANGE = Pattern.compile("\\[0x([0-9a-f]+)[^\\[]*?0x([0-9a-f]+)\\)");
  private static final Pattern CATEGORY =
      Pattern.compile(
          "^- +(\\S.*?) \\(reserved=\\d+KB, committed=(\\d+)KB[^)]*\\)$", Pattern.MULTILINE);
  private static final Pattern MALLOC_TOTAL =
      Pattern.compile("<(?:total|system) type=\"(\\w+)\".*? size=\"(\\d+)\"/>");

  /** A range of addresses. */
  record Range(long start, long end) {
    boolean overlaps(long otherStart, long otherEnd) {
      return Long.compareUnsigned(start, otherEnd) < 0 && Long.compareUnsigned(otherStart, end) < 0;
    }
  }

  /** As it is now, after the C library gave back what it holds unused. */
  static ProcessMemory look() throws IOException {
    long[] malloc = malloc();
    trim();
    return new ProcessMemory(
        Files.exists(SMAPS)
            ? resident(
                Files.readString(SMAPS, StandardCharsets.UTF_8), heapRanges(diagnose("gcHeapInfo")))
            : Map.of(),
        tracked(diagnose("vmNativeMemory", "summary")),
        malloc[0],
        malloc[1]);
  }

  /** All that is resident. */
  long residentBytes() {
    return resident.values().stream().mapToLong(Long::longValue).sum();
  }

  /** Resident bytes outside the Java heap. */
  long outsideHeapBytes() {
    return residentBytes() - resident.getOrDefault(Kind.JAVA_HEAP, 0L);
  }

  /** True if the system, the JVM's heap and its account of its own memory are all known. */
  boolean isComplete() {
    return resident.containsKey(Kind.JAVA_HEAP) && !tracked.isEmpty();
  }

  /**
   * Bytes that the JVM has committed for itself outside its heap: threads, code, classes, the
   * collector.
   */
  long ofJvmBytes() {
    return tracked.entrySet().stream()
        .filter(entry -> !entry.getKey().equals(TRACKED_HEAP))
        .filter(entry -> !entry.getKey().equals(TRACKED_BY_HAND))
        .mapToLong(Map.Entry::getValue)
        .sum();
  }

  /**
   * Resident bytes outside the heap that are not the JVM's own: our buffers, the driver's and other
   * libraries' memory, and the C library's losses between them.
   */
  long notOfJvmBytes() {
    return outsideHeapBytes() - ofJvmBytes();
  }

  /** Changes since {@code earlier}, part by part, those of a tenth of a MiB and more. */
  String changeSince(ProcessMemory earlier) {
    List<String> parts = new ArrayList<>();
    for (Kind kind : Kind.values()) {
      parts.add(
          change(
              "resident " + kind.name().toLowerCase(Locale.ROOT).replace('_', ' '),
              resident.getOrDefault(kind, 0L) - earlier.resident.getOrDefault(kind, 0L)));
    }
    Map<String, Long> categories = new TreeMap<>(tracked);
    earlier.tracked.forEach((name, bytes) -> categories.merge(name, -bytes, Long::sum));
    categories.forEach((name, bytes) -> parts.add(change("JVM's " + name, bytes)));
    parts.add(change("malloc used", mallocUsed - earlier.mallocUsed));
    parts.add(change("malloc free", mallocFree - earlier.mallocFree));
    parts.removeIf(String::isEmpty);
    return parts.isEmpty() ? "nothing" : String.join(", ", parts);
  }

  private static String change(String name, long bytes) {
    double mib = bytes / (double) (1 << 20);
    return Math.abs(mib) < 0.1 ? "" : String.format(Locale.ROOT, "%s %+.1f MiB", name, mib);
  }

  // --- Linux ---

  /** Sums what smaps says, in kB, of each mapping. */
  static Map<Kind, Long> resident(String smaps, List<Range> heap) {
    Map<Kind, Long> bytes = new EnumMap<>(Kind.class);
    Kind kind = Kind.ANONYMOUS;
    for (String line : smaps.split("\n", -1)) {
      Matcher mapping = MAPPING.matcher(line);
      if (mapping.matches()) {
        long start = Long.parseUnsignedLong(mapping.group(1), 16);
        long end = Long.parseUnsignedLong(mapping.group(2), 16);
        kind =
            heap.stream().anyMatch(range -> range.overlaps(start, end))
                ? Kind.JAVA_HEAP
                : kind(mapping.group(3));
      } else if (line.startsWith("Rss:")) {
        bytes.merge(kind, Long.parseLong(line.replaceAll("[^0-9]", "")) << 10, Long::sum);
      }
    }
    return bytes;
  }

  private static Kind kind(String path) {
    if (path.equals("[heap]")) {
      return Kind.BRK;
    }
    if (path.startsWith("/dev/")) {
      return Kind.DEVICES;
    }
    return path.startsWith("/") && !path.startsWith("//anon") ? Kind.FILES : Kind.ANONYMOUS;
  }

  // --- the JVM ---

  /** The addresses reserved for the heap; none of collectors that do not say (ZGC). */
  static List<Range> heapRanges(String heapInfo) {
    List<Range> ranges = new ArrayList<>();
    Matcher range = RANGE.matcher(heapInfo);
    while (range.find()) {
      ranges.add(
          new Range(
              Long.parseUnsignedLong(range.group(1), 16),
              Long.parseUnsignedLong(range.group(2), 16)));
    }
    return ranges;
  }

  /** The categories of the JVM's account; none if it keeps none. */
  static Map<String, Long> tracked(String summary) {
    Map<String, Long> bytes = new TreeMap<>();
    Matcher category = CATEGORY.matcher(summary);
    while (category.find()) {
      bytes.put(category.group(1), Long.parseLong(category.group(2)) << 10);
    }
    return bytes;
  }

  /** The output of jcmd. */
  private static String diagnose(String command, String... arguments) {
    try {
      boolean takesArguments = arguments.length > 0;
      return (String)
          ManagementFactory.getPlatformMBeanServer()
              .invoke(
                  new ObjectName("com.sun.management:type=DiagnosticCommand"),
                  command,
                  takesArguments ? new Object[] {arguments} : new Object[0],
                  takesArguments ? new String[] {String[].class.getName()} : new String[0]);
    } catch (JMException e) {
      throw new IllegalStateException("This JVM has no diagnostic command " + command, e);
    }
  }

  // --- the C library (glibc) ---

  /** Bytes handed out, and bytes free. */
  private static long[] malloc() throws IOException {
    NativeLibrary c = NativeLibrary.getInstance("c");
    Path file = Files.createTempFile("malloc", ".xml");
    try {
      Pointer stream = c.getFunction("fopen").invokePointer(new Object[] {file.toString(), "w"});
      c.getFunction("malloc_info").invokeInt(new Object[] {0, stream});
      c.getFunction("fclose").invokeInt(new Object[] {stream});
      return mallocTotals(Files.readString(file, StandardCharsets.US_ASCII));
    } catch (UnsatisfiedLinkError e) { // another C library
      return new long[2];
    } finally {
      Files.delete(file);
    }
  }

  /** Used and free bytes of all arenas, which follow those of each. */
  static long[] mallocTotals(String info) {
    String totals = info.substring(Math.max(0, info.lastIndexOf("</heap>")));
    Map<String, Long> sizes = new TreeMap<>();
    Matcher total = MALLOC_TOTAL.matcher(totals);
    while (total.find()) {
      sizes.put(total.group(1), Long.parseLong(total.group(2)));
    }
    long free = sizes.getOrDefault("fast", 0L) + sizes.getOrDefault("rest", 0L);
    long system = sizes.getOrDefault("current", 0L) + sizes.getOrDefault("mmap", 0L);
    return new long[] {system - free, free};
  }

  /** Gives back free pages of all arenas, as a collection does for the heap. */
  private static void trim() {
    try {
      Function trim = NativeLibrary.getInstance("c").getFunction("malloc_trim");
      trim.invokeInt(new Object[] {new com.sun.jna.NativeLong(0)});
    } catch (UnsatisfiedLinkError e) {
      // another C library
    }
  }
}
