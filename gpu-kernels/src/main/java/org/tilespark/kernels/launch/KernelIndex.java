package org.tilespark.kernels.launch;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The kernels in this jar and their architectures: read from the resource that the build derives
 * from the compiler's output. Tile shapes are part of a kernel's name, so the launch and the kernel
 * cannot disagree. Immutable.
 *
 * <p>The resource is text, one item a line: {@code nvcc VERSION}, {@code fatbin SOURCE BYTES HASH},
 * {@code ptx SOURCE BYTES HASH} (functions for kernels that are written at run time), {@code kernel
 * SOURCE NAME ARCH [registers=N] [sharedBytes=N] [spillBytes=N] [dynamicBytes=N]
 * [blocksPerProcessor=N] [early=1]}. {@code ARCH} is {@code sm_NN}, {@code sm_NNa} (machine code)
 * or {@code compute_NN} (PTX). Empty lines and lines that begin with {@code #} are ignored.
 */
public final class KernelIndex {
  /** The index of a jar that was built without nvcc. */
  public static final KernelIndex EMPTY = new KernelIndex("", Map.of(), "", Map.of());

  /** Folder of this jar's index and its fatbins. */
  private static final String FOLDER = "/org/tilespark/kernels/device/";

  private static final String FILE = "kernels.index";

  /** The index of this jar. */
  public static final String RESOURCE = FOLDER + FILE;

  private static final Pattern NAME =
      Pattern.compile("(\\w+?)_w(\\d+)(?:_(\\d+)x(\\d+))?[_x](\\d+)");
  private static final Pattern ARCH = Pattern.compile("(sm|compute)_(\\d+)(\\d)([af]?)");

  private final String compiler;
  private final Map<String, Kernel> kernels;
  private final String hash;
  private final Map<String, String> files; // by source: name of the fatbin or PTX

  private KernelIndex(
      String compiler, Map<String, Kernel> kernels, String hash, Map<String, String> files) {
    this.compiler = compiler;
    this.kernels = kernels;
    this.hash = hash;
    this.files = files;
  }

  /**
   * The tile of a kernel, from its name: {@code ..._w4_64x48x256} is 64 rows, 48 columns and 256
   * threads; {@code ..._w4_256} is 1 row, 1 column and 256 threads.
   *
   * @param rows input rows of a tile
   * @param cols input columns of a tile
   * @param threads threads of a thread block
   */
  public record TileShape(int rows, int cols, int threads) {}

  /**
   * Traits of a kernel that its launch needs.
   *
   * @param dynamicBytes bytes of dynamic shared memory that each of its thread blocks must be
   *     given; 0 if the launch says how many, or none are needed
   * @param blocksPerProcessor the least number of its thread blocks that a multiprocessor holds at
   *     once
   * @param early true if the kernel itself waits for the launches before it ({@code
   *     griddepcontrol.wait}), so that it may be launched before those end
   */
  public record Traits(int dynamicBytes, int blocksPerProcessor, boolean early) {
    /** The traits of a kernel for which the index states none. */
    static final Traits PLAIN = new Traits(0, 1, false);
  }

  /**
   * One kernel: an entry point of a fatbin.
   *
   * @param name name of the entry point, such as {@code transpose_vector_w4_64x64x256}
   * @param source the {@code .cu} file without its ending; its fatbin has the same name
   * @param family name without width and tile, such as {@code transpose_vector}
   * @param elementBytes width of an element in bytes
   * @param shape tile and threads
   * @param traits traits that the launch needs
   * @param architectures architectures for which the kernel was compiled
   */
  public record Kernel(
      String name,
      String source,
      String family,
      int elementBytes,
      TileShape shape,
      Traits traits,
      Set<String> architectures) {
    /** Copies the set. */
    public Kernel {
      architectures = Collections.unmodifiableSet(new TreeSet<>(architectures));
    }

    /**
     * True if a device of this compute capability can run the kernel, as machine code or from PTX.
     */
    public boolean runsOn(int major, int minor) {
      return architectures.stream().anyMatch(arch -> architectureRunsOn(arch, major, minor));
    }
  }

  /**
   * The index in this class's jar; {@link #EMPTY} if the jar was built without nvcc.
   *
   * @throws IllegalStateException if the resource cannot be read
   */
  public static KernelIndex ofThisJar() {
    return read(FOLDER);
  }

  /**
   * The index that the build put into a folder of resources, with the fatbins.
   *
   * @param folder absolute path of the folder, such as {@code /org/tilespark/kernels/device/}
   * @return the index; {@link #EMPTY} if the folder has none, since it was built without nvcc
   * @throws IllegalStateException if the resource cannot be read
   */
  public static KernelIndex read(String folder) {
    String resource = folder + FILE;
    try (InputStream in = KernelIndex.class.getResourceAsStream(resource)) {
      return in == null
          ? EMPTY
          : parse(new String(in.readAllBytes(), StandardCharsets.UTF_8), folder);
    } catch (IOException e) {
      throw new IllegalStateException("Cannot read the resource " + resource, e);
    }
  }

  /**
   * The index written in {@code text}.
   *
   * @throws IllegalArgumentException if a line is not understood; the message quotes it
   */
  public static KernelIndex parse(String text) {
    return parse(text, FOLDER);
  }

  private static KernelIndex parse(String text, String folder) {
    String compiler = "";
    Map<String, String> files = new HashMap<>();
    Map<String, Kernel> kernels = new LinkedHashMap<>();
    int number = 0;
    for (String line : text.split("\n", -1)) {
      number++;
      String[] words = line.strip().split("\\s+");
      switch (words[0]) {
        case "" -> {}
        case "nvcc" -> compiler = line.strip();
        case "fatbin", "ptx" -> {
          requireWords(words, 3, number, line);
          files.put(words[1], folder + words[1] + "." + words[0]);
        }
        case "kernel" -> {
          requireWords(words, 4, number, line);
          add(kernels, words, number, line);
        }
        default -> {
          if (!words[0].startsWith("#")) {
            throw bad(number, line, "expected nvcc, fatbin, ptx or kernel first");
          }
        }
      }
    }
    return new KernelIndex(
        compiler, Collections.unmodifiableMap(kernels), sha256(text), Map.copyOf(files));
  }

  private static void add(Map<String, Kernel> kernels, String[] words, int number, String line) {
    String name = words[2];
    Matcher matcher = NAME.matcher(name);
    if (!matcher.matches()) {
      throw bad(number, line, "expected a name like transpose_vector_w4_64x64x256");
    }
    if (!ARCH.matcher(words[3]).matches()) {
      throw bad(number, line, "expected an architecture like sm_90a or compute_80");
    }
    int rows = matcher.group(3) == null ? 1 : Integer.parseInt(matcher.group(3));
    int cols = matcher.group(4) == null ? 1 : Integer.parseInt(matcher.group(4));
    Set<String> architectures = new TreeSet<>(Set.of(words[3]));
    Kernel before = kernels.get(name);
    if (before != null) {
      architectures.addAll(before.architectures());
    }
    Traits known = before == null ? Traits.PLAIN : before.traits();
    kernels.put(
        name,
        new Kernel(
            name,
            words[1],
            matcher.group(1),
            Integer.parseInt(matcher.group(2)),
            new TileShape(rows, cols, Integer.parseInt(matcher.group(5))),
            new Traits(
                number(words, "dynamicBytes=", known.dynamicBytes()),
                number(words, "blocksPerProcessor=", known.blocksPerProcessor()),
                number(words, "early=", known.early() ? 1 : 0) > 0),
            architectures));
  }

  /**
   * The number in the word that begins with {@code key}; {@code known} if no word begins with it.
   */
  private static int number(String[] words, String key, int known) {
    for (String word : words) {
      if (word.startsWith(key)) {
        return Integer.parseInt(word.substring(key.length()));
      }
    }
    return known;
  }

  /** True if the jar holds no kernels at all. */
  public boolean isEmpty() {
    return kernels.isEmpty();
  }

  /** The compiler that made the kernels, such as {@code nvcc 13.0.88}; empty if there are none. */
  public String compiler() {
    return compiler;
  }

  /**
   * A hash of all the kernels, which changes with sources, options and architectures; empty if
   * there are no kernels.
   */
  public String hash() {
    return hash;
  }

  /**
   * An index of these kernels and those of {@code more}, which come from other sources.
   *
   * @throws IllegalArgumentException if both have a source of the same name
   */
  public KernelIndex with(KernelIndex more) {
    if (!Collections.disjoint(files.keySet(), more.files.keySet())) {
      throw new IllegalArgumentException(
          "Sources of kernels in two indexes: %s and %s"
              .formatted(files.keySet(), more.files.keySet()));
    }
    Map<String, Kernel> all = new LinkedHashMap<>(kernels);
    all.putAll(more.kernels);
    Map<String, String> allFiles = new HashMap<>(files);
    allFiles.putAll(more.files);
    return new KernelIndex(
        compiler, Collections.unmodifiableMap(all), sha256(hash + more.hash), allFiles);
  }

  /**
   * The machine code and PTX of a source's kernels, as the driver loads them.
   *
   * @throws IllegalStateException if the index does not name the source, or the resource is missing
   */
  public byte[] fatbin(String source) {
    return file(source);
  }

  /** The PTX of a source of functions, or why there is none: the jar was built without nvcc. */
  public Availability<String> functions(String source) {
    return files.containsKey(source)
        ? Availability.of(new String(file(source), StandardCharsets.US_ASCII))
        : Availability.not("this build has no device functions of " + source);
  }

  private byte[] file(String source) {
    String resource = files.get(source);
    try (InputStream in =
        resource == null ? null : KernelIndex.class.getResourceAsStream(resource)) {
      if (in == null) {
        throw new IllegalStateException("There is no file of the source " + source);
      }
      return in.readAllBytes();
    } catch (IOException e) {
      throw new IllegalStateException("Cannot read " + resource, e);
    }
  }

  /** All kernels, in the order of the resource. */
  public Collection<Kernel> kernels() {
    return kernels.values();
  }

  /** The kernel of this name. */
  public Optional<Kernel> find(String name) {
    return Optional.ofNullable(kernels.get(name));
  }

  /** The first kernel of a family and width that runs on a device. */
  public Optional<Kernel> find(String family, int elementBytes, DeviceLimits limits) {
    return findAll(family, elementBytes, limits).stream().findFirst();
  }

  /** The kernels of a family and width that run on a device, in the order of the resource. */
  public List<Kernel> findAll(String family, int elementBytes, DeviceLimits limits) {
    return kernels.values().stream()
        .filter(kernel -> kernel.family().equals(family) && kernel.elementBytes() == elementBytes)
        .filter(kernel -> kernel.runsOn(limits.computeMajor(), limits.computeMinor()))
        .toList();
  }

  /** All architectures that some kernel was compiled for, sorted. */
  public List<String> architectures() {
    Set<String> all = new TreeSet<>();
    kernels.values().forEach(kernel -> all.addAll(kernel.architectures()));
    return new ArrayList<>(all);
  }

  /**
   * Machine code runs on the same major architecture and an equal or later minor one; with the
   * suffix {@code a} on that architecture only, with {@code f} as without a suffix. PTX runs on any
   * later architecture.
   */
  private static boolean architectureRunsOn(String arch, int major, int minor) {
    Matcher matcher = ARCH.matcher(arch);
    if (!matcher.matches()) {
      return false;
    }
    int archMajor = Integer.parseInt(matcher.group(2));
    int archMinor = Integer.parseInt(matcher.group(3));
    if (matcher.group(4).equals("a")) {
      return archMajor == major && archMinor == minor;
    }
    if (matcher.group(1).equals("sm") || matcher.group(4).equals("f")) {
      return archMajor == major && archMinor <= minor;
    }
    return archMajor < major || (archMajor == major && archMinor <= minor);
  }

  private static String sha256(String text) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Every Java platform has SHA-256", e);
    }
  }

  private static void requireWords(String[] words, int atLeast, int number, String line) {
    if (words.length < atLeast) {
      throw bad(number, line, "expected at least " + atLeast + " words");
    }
  }

  private static IllegalArgumentException bad(int number, String line, String expected) {
    return new IllegalArgumentException(
        "Kernel index, line " + number + " '" + line + "': " + expected);
  }

  @Override
  public String toString() {
    return isEmpty()
        ? "no kernels"
        : kernels.size() + " kernels for " + String.join(", ", architectures());
  }
}
