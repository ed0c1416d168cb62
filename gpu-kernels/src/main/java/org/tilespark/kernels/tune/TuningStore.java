package org.tilespark.kernels.tune;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Optional;
import java.util.Set;
import java.util.zip.CRC32;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.kernels.OwnFiles;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.launch.TuningTable;
import org.tilespark.kernels.launch.TuningTable.Format;
import org.tilespark.kernels.multiply.MultiplyClass;
import org.tilespark.kernels.multiply.MultiplyWay;
import org.tilespark.kernels.transpose.ProblemClass;
import org.tilespark.kernels.transpose.Tiling;

/**
 * Keeps the results of trials on disk. Each origin (device model, driver, set of kernels, version
 * of a library) has one file: a header that names the origin, a table as text, and a checksum. Only
 * the owner of the directory may be able to write to it. A file that is damaged, of another origin,
 * or of another user is ignored with a warning and replaced at the next write. A directory that
 * cannot be used is logged once as a warning and then ignored.
 *
 * <p>A file is replaced as a whole, so readers see the old or the new one. Safe for several
 * threads.
 *
 * @param <K> classes of problems
 * @param <V> choices
 */
public final class TuningStore<K, V> {
  private static final Logger LOG = LoggerFactory.getLogger(TuningStore.class);
  private static final Set<PosixFilePermission> OWNER_ONLY =
      PosixFilePermissions.fromString("rwx------");
  private static final Set<PosixFilePermission> OWNER_READS_AND_WRITES =
      PosixFilePermissions.fromString("rw-------");

  /**
   * Lock for the files' locks: a process may hold a file's lock only once, whichever thread asks.
   */
  private static final Object ONE_LOCK_AT_A_TIME = new Object();

  private final Format<K, V> format;
  private final Path directory;
  private final Path file;
  private final String header;
  private boolean usable = true;

  private TuningStore(Format<K, V> format, Path directory, String... origin) {
    this.format = format;
    this.directory = directory;
    String lines = "tilespark " + format.name() + " 1\n" + String.join("\n", origin);
    this.header = lines + "\n\n";
    this.file = directory.resolve(format.name() + "-" + hash(lines) + ".txt");
  }

  /**
   * The store of tilings of transposes in {@code directory}, which is created at the first write.
   *
   * @param directory the store's directory, which need not exist yet
   * @param device the device's name, architecture and driver
   * @param kernels hash of the kernels that are tuned
   */
  public static TuningStore<ProblemClass, Tiling> ofTilings(
      Path directory, String device, String kernels) {
    return new TuningStore<>(Tiling.FORMAT, directory, "device " + device, "kernels " + kernels);
  }

  /**
   * The store of ways to multiply in {@code directory}; otherwise as {@link #ofTilings}.
   *
   * @param cublas version of cuBLAS; an empty text without cuBLAS
   */
  public static TuningStore<MultiplyClass, MultiplyWay> ofMultiplies(
      Path directory, String device, String kernels, String cublas) {
    return new TuningStore<>(
        MultiplyClass.FORMAT,
        directory,
        "device " + device,
        "kernels " + kernels,
        "cublas " + (cublas.isEmpty() ? "none" : cublas));
  }

  /** The file that holds the choices, or will hold them. */
  public Path file() {
    return file;
  }

  /** Loads the choices on disk; empty if no usable ones are there. */
  public synchronized TuningTable<K, V> load() {
    try {
      if (!usable || !Files.exists(directory) || !isPrivate() || !Files.exists(file)) {
        return TuningTable.empty();
      }
      return parse(Files.readString(file, StandardCharsets.UTF_8));
    } catch (IOException | IllegalArgumentException | UnsupportedOperationException e) {
      LOG.warn("Ignoring the tuned {} in {}: {}", format.name(), file, e.toString());
      return TuningTable.empty();
    }
  }

  /**
   * Sets the choice for a class. If two processes set choices at the same moment, one entry may be
   * lost, and trials find it again later.
   */
  synchronized void put(K key, V value) {
    try {
      if (isReady()) {
        write(text(load().with(key, value)));
      }
    } catch (IOException | UnsupportedOperationException e) {
      giveUp(e);
    }
  }

  /**
   * Sets the choice for a class that has none; a lock excludes other processes of this user.
   *
   * @return the choice that the class has now: the first one that was made, even if the store
   *     cannot keep it
   */
  synchronized V addIfAbsent(K key, V value) {
    try {
      if (isReady()) {
        synchronized (ONE_LOCK_AT_A_TIME) {
          try (FileChannel channel =
                  FileChannel.open(
                      file.resolveSibling(file.getFileName() + ".lock"),
                      Set.of(StandardOpenOption.CREATE, StandardOpenOption.WRITE),
                      PosixFilePermissions.asFileAttribute(OWNER_READS_AND_WRITES));
              FileLock held = channel.lock()) {
            TuningTable<K, V> before = load();
            Optional<V> known = before.find(key);
            if (held.isValid() && known.isEmpty()) {
              write(text(before.with(key, value)));
            }
            return known.orElse(value);
          }
        }
      }
    } catch (IOException | UnsupportedOperationException e) {
      giveUp(e);
    }
    return value;
  }

  /**
   * True if the directory exists, or was created, and only this user can write to the directory.
   */
  private boolean isReady() throws IOException {
    if (!usable) {
      return false;
    }
    if (!Files.exists(directory)) {
      Path parent = directory.getParent();
      if (parent != null) {
        Files.createDirectories(parent);
      }
      Files.createDirectory(directory, PosixFilePermissions.asFileAttribute(OWNER_ONLY));
    }
    return isPrivate();
  }

  private void giveUp(Exception e) {
    usable = false;
    LOG.warn(
        "Tuned {} cannot be kept in {}, so every process finds them anew: {}",
        format.name(),
        directory,
        e.toString());
  }

  /** True if the directory belongs to this process's user and nobody else may write to it. */
  private boolean isPrivate() throws IOException {
    Availability<Path> ours = OwnFiles.directory(directory);
    if (!ours.isPresent() && usable) {
      usable = false;
      LOG.warn("Tuned {} are not kept: {}", format.name(), ours.whyNot());
    }
    return ours.isPresent();
  }

  private void write(String text) throws IOException {
    Path written =
        Files.createTempFile(
            directory,
            "." + format.name(),
            ".tmp",
            PosixFilePermissions.asFileAttribute(OWNER_READS_AND_WRITES));
    try {
      Files.writeString(written, text, StandardCharsets.UTF_8);
      Files.move(
          written, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } finally {
      Files.deleteIfExists(written);
    }
  }

  private String text(TuningTable<K, V> table) {
    String body = header + table.toText();
    return body + "# crc32 " + checksum(body) + "\n";
  }

  private TuningTable<K, V> parse(String text) {
    int last = text.lastIndexOf("# crc32 ");
    if (last < 0
        || !text.substring(last).strip().equals("# crc32 " + checksum(text.substring(0, last)))) {
      throw new IllegalArgumentException("its checksum is missing or wrong");
    }
    if (!text.startsWith(header)) {
      throw new IllegalArgumentException(
          "it is of another device, driver or version: "
              + text.lines().limit(header.lines().count() - 1).toList()
              + ", expected "
              + header.strip().lines().toList());
    }
    return format.parse(text.substring(header.length(), last));
  }

  private static String checksum(String text) {
    CRC32 crc = new CRC32();
    crc.update(text.getBytes(StandardCharsets.UTF_8));
    return Long.toHexString(crc.getValue());
  }

  private static String hash(String text) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest, 0, 8);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Every Java platform has SHA-256", e);
    }
  }
}
