package org.tilespark.spark;

import java.io.File;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.CodeSource;
import java.util.Locale;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The build of tilespark that a process runs. Builds are equal if their classes are equal; the
 * jar's name and other content do not matter.
 *
 * @param file name of the jar, or of the directory of classes
 * @param digest digest of the content of the classes below {@code org.tilespark.spark}
 */
record Build(String file, String digest) {
  private static final Logger LOG = LoggerFactory.getLogger(Build.class);
  private static final String CLASSES = "org/tilespark/spark/";

  /** The build to which this class belongs; empty if its classes come from no file. */
  static Optional<Build> running() {
    try {
      CodeSource source = Build.class.getProtectionDomain().getCodeSource();
      return source == null ? Optional.empty() : of(Path.of(source.getLocation().toURI()));
    } catch (IOException | URISyntaxException | RuntimeException e) {
      LOG.info("Cannot tell which build of tilespark this is", e);
      return Optional.empty();
    }
  }

  /** The build in a jar or a directory; empty if it has none of our classes. */
  static Optional<Build> of(Path file) throws IOException {
    TreeMap<String, Long> checksums = Files.isDirectory(file) ? ofDirectory(file) : ofJar(file);
    if (checksums.isEmpty()) {
      return Optional.empty();
    }
    CRC32 all = new CRC32();
    checksums.forEach(
        (name, checksum) -> {
          all.update(name.getBytes(StandardCharsets.UTF_8));
          all.update(ByteBuffer.allocate(Long.BYTES).putLong(checksum).flip());
        });
    return Optional.of(
        new Build(
            file.getFileName().toString(), String.format(Locale.ROOT, "%08x", all.getValue())));
  }

  private static boolean isOurs(String name) {
    return name.startsWith(CLASSES) && name.endsWith(".class");
  }

  private static TreeMap<String, Long> ofJar(Path jar) throws IOException {
    TreeMap<String, Long> checksums = new TreeMap<>();
    try (ZipFile zip = new ZipFile(jar.toFile())) {
      zip.stream()
          .filter(entry -> isOurs(entry.getName()))
          .forEach((ZipEntry entry) -> checksums.put(entry.getName(), entry.getCrc()));
    }
    return checksums;
  }

  private static TreeMap<String, Long> ofDirectory(Path directory) throws IOException {
    TreeMap<String, Long> checksums = new TreeMap<>();
    try (Stream<Path> files = Files.walk(directory)) {
      for (Path file : (Iterable<Path>) files.filter(Files::isRegularFile)::iterator) {
        String name = directory.relativize(file).toString().replace(File.separatorChar, '/');
        if (isOurs(name)) {
          CRC32 checksum = new CRC32();
          checksum.update(Files.readAllBytes(file));
          checksums.put(name, checksum.getValue());
        }
      }
    }
    return checksums;
  }

  /**
   * The reason why an executor cannot serve a driver: their builds differ, and one would misread
   * the tasks of the other. Empty if they agree, or if one of them is unknown.
   */
  static Optional<String> whyRefused(String executor, Optional<Build> here, String ofDriver) {
    if (here.isEmpty() || ofDriver == null || ofDriver.equals(UNKNOWN)) {
      return Optional.empty();
    }
    boolean same = ofDriver.endsWith(here.get().suffix());
    return same
        ? Optional.empty()
        : Optional.of(
            ("Executor %s has tilespark %s, the driver has %s. Give both the same jar:"
                    + " by spark.jars or --packages alone, or by the same file in each"
                    + " machine's class path")
                .formatted(executor, here.get(), ofDriver));
  }

  /** The text that the driver sends if its build is unknown. */
  static final String UNKNOWN = "unknown";

  private String suffix() {
    return " (classes " + digest + ")";
  }

  /** The build for messages: {@code tilespark.jar (classes 0a1b2c3d)}. */
  @Override
  public String toString() {
    return file + suffix();
  }
}
