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
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.zip.CRC32;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.kernels.OwnFiles;

/**
 * A file of what was tuned: a header that says what it holds for, a table as text, and a checksum;
 * in a directory that only its owner may write to. A file that is damaged, holds for something
 * else, or is not ours is ignored with a warning and replaced when there is something to write; a
 * directory that cannot be used is warned of once, and everything goes on without it.
 *
 * <p>A file is replaced as a whole, so readers see the old or the new one. Safe for several
 * threads.
 *
 * @param <T> the table; a value
 */
final class TuningFile<T> {
  private static final Logger LOG = LoggerFactory.getLogger(TuningFile.class);
  private static final Set<PosixFilePermission> OWNER_ONLY =
      PosixFilePermissions.fromString("rwx------");
  private static final Set<PosixFilePermission> OWNER_READS_AND_WRITES =
      PosixFilePermissions.fromString("rw-------");

  /** A process may hold a file's lock once, whichever thread asks. */
  private static final Object ONE_LOCK_AT_A_TIME = new Object();

  /**
   * What such a file holds.
   *
   * @param what its entries are called, one word
   * @param empty the table of a file that is not there
   * @param parser reads what {@code writer} wrote; throws {@link IllegalArgumentException} where it
   *     is of another form
   * @param writer the table as lines of text
   */
  record Format<T>(String what, T empty, Function<String, T> parser, Function<T, String> writer) {}

  private final Format<T> format;
  private final Path directory;
  private final Path file;
  private final List<String> header;
  private boolean usable = true;

  /**
   * A file in {@code directory}, which is made when something is written.
   *
   * @param header lines that say what the table holds for; others have another file
   */
  TuningFile(Format<T> format, Path directory, List<String> header) {
    this.format = format;
    this.directory = directory;
    this.header = List.copyOf(header);
    this.file = directory.resolve(format.what() + "-" + hash(String.join("\n", header)) + ".txt");
  }

  /** Where it is, or will be. */
  Path path() {
    return file;
  }

  /** What is on disk; empty if there is nothing of use. */
  synchronized T load() {
    try {
      if (!usable || !Files.exists(directory) || !isPrivate() || !Files.exists(file)) {
        return format.empty();
      }
      return parse(Files.readString(file, StandardCharsets.UTF_8));
    } catch (IOException | IllegalArgumentException | UnsupportedOperationException e) {
      LOG.warn("Ignoring the tuned {} in {}: {}", format.what(), file, e.toString());
      return format.empty();
    }
  }

  /**
   * Changes what is on disk. Of two processes that do so at the same moment one may lose its
   * change.
   *
   * @param change of the table that is there
   */
  synchronized void update(UnaryOperator<T> change) {
    try {
      if (isReady()) {
        write(text(change.apply(load())));
      }
    } catch (IOException | UnsupportedOperationException e) {
      giveUp(e);
    }
  }

  /**
   * Changes what is on disk while no other process does.
   *
   * @param change of the table that is there
   * @return the table after the change, also where it cannot be kept
   */
  synchronized T updateAlone(UnaryOperator<T> change) {
    try {
      if (isReady()) {
        synchronized (ONE_LOCK_AT_A_TIME) {
          try (FileChannel channel =
                  FileChannel.open(
                      file.resolveSibling(file.getFileName() + ".lock"),
                      Set.of(StandardOpenOption.CREATE, StandardOpenOption.WRITE),
                      PosixFilePermissions.asFileAttribute(OWNER_READS_AND_WRITES));
              FileLock held = channel.lock()) {
            T before = load();
            T after = change.apply(before);
            if (held.isValid() && !after.equals(before)) {
              write(text(after));
            }
            return after;
          }
        }
      }
    } catch (IOException | UnsupportedOperationException e) {
      giveUp(e);
    }
    return change.apply(format.empty());
  }

  /** True if the directory is there, or could be made, and is ours alone. */
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
        format.what(),
        directory,
        e.toString());
  }

  /** True if nobody but its owner, who is the owner of this process, may write to the directory. */
  private boolean isPrivate() throws IOException {
    Optional<String> objection = OwnFiles.objectionToDirectory(directory);
    if (objection.isPresent() && usable) {
      usable = false;
      LOG.warn("Tuned {} are not kept: {}", format.what(), objection.get());
    }
    return objection.isEmpty();
  }

  private void write(String text) throws IOException {
    Path written =
        Files.createTempFile(
            directory,
            "." + format.what(),
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

  private String text(T table) {
    String body = String.join("\n", header) + "\n\n" + format.writer().apply(table);
    return body + "# crc32 " + checksum(body) + "\n";
  }

  private T parse(String text) {
    int last = text.lastIndexOf("# crc32 ");
    if (last < 0
        || !text.substring(last).strip().equals("# crc32 " + checksum(text.substring(0, last)))) {
      throw new IllegalArgumentException("its checksum is missing or wrong");
    }
    String expected = String.join("\n", header) + "\n\n";
    if (!text.startsWith(expected)) {
      throw new IllegalArgumentException(
          "it is of another device, driver or version: "
              + text.lines().limit(header.size()).toList()
              + ", expected "
              + header);
    }
    return format.parser().apply(text.substring(expected.length(), last));
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
