package org.tilespark.spark.source;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The hidden files next to a target; a driver is writing each of them, or was killed and left it.
 * The modification time distinguishes these cases, since a live driver renews it: that needs no
 * locks, which shared file systems may lack. Process ids, which are meaningless on another machine,
 * tell on the same one that a driver has ended.
 */
public final class HiddenFiles {
  /** The interval at which a driver renews its file's time. */
  public static final Duration BEAT = Duration.ofSeconds(10);

  /** A file whose time was not renewed for this long has no live driver. */
  static final Duration ABANDONED_AFTER = Duration.ofMinutes(2);

  private static final Logger LOG = LoggerFactory.getLogger(HiddenFiles.class);
  private static final String UUID_PATTERN =
      "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

  /** A name that many machines have. */
  private static final String LOCALHOST = "localhost";

  private static final Pattern SCRATCH =
      Pattern.compile("\\.tilespark-%s\\.writing".formatted(UUID_PATTERN));

  private HiddenFiles() {}

  /** A new name next to {@code target}; unique among all processes. */
  public static Path newName(Path target) {
    return directory(target).resolve("." + target.getFileName() + "." + UUID.randomUUID() + ".tmp");
  }

  /**
   * Removes the files that killed drivers left next to a target, and logs those that it removed and
   * those that it left; never fails.
   *
   * @param own hidden file that was just created, whose time shows the file system's clock
   */
  public static void removeAbandoned(Path target, Path own) {
    Pattern names =
        Pattern.compile(
            "\\.%s\\.%s\\.tmp"
                .formatted(Pattern.quote(target.getFileName().toString()), UUID_PATTERN));
    try (DirectoryStream<Path> files =
        Files.newDirectoryStream(
            directory(target), file -> names.matcher(file.getFileName().toString()).matches())) {
      Instant now = Files.getLastModifiedTime(own).toInstant();
      for (Path file : files) {
        if (!file.getFileName().equals(own.getFileName())) {
          removeIfAbandoned(file, now);
        }
      }
    } catch (IOException | RuntimeException e) { // a file of another write must not fail this one
      LOG.warn("Could not look for abandoned files beside {}", target, e);
    }
  }

  /** A new name of a directory for files of one write that have no name yet. */
  public static String newScratch() {
    return ".tilespark-" + UUID.randomUUID() + ".writing";
  }

  /** The file in a scratch directory whose time is renewed. */
  public static Path beat(Path scratch) {
    return scratch.resolve("beat");
  }

  /** The content of a beat file: a byte that is renewed, and the process that does so. */
  public static byte[] beatContent() {
    return (" " + process()).getBytes(StandardCharsets.UTF_8);
  }

  private static String process() {
    return host() + " " + ProcessHandle.current().pid();
  }

  private static String host() {
    try {
      return InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException e) {
      return LOCALHOST;
    }
  }

  /**
   * The scratch directories of other writes in the same directory, all of which were killed.
   *
   * @param own scratch directory that was just created, with its file
   * @throws FileAlreadyExistsException if another write is under way
   */
  public static List<Path> abandonedScratches(Path own) throws IOException {
    Instant now = Files.getLastModifiedTime(beat(own)).toInstant();
    List<Path> abandoned = new ArrayList<>();
    for (Path scratch : scratches(directory(own))) {
      if (scratch.getFileName().equals(own.getFileName())) {
        continue;
      }
      if (!isAbandoned(beat(scratch), now)) {
        throw underWay(directory(own));
      }
      abandoned.add(scratch);
    }
    return abandoned;
  }

  /**
   * Checks that no write to a directory is under way.
   *
   * @throws FileAlreadyExistsException if one is
   */
  public static void requireNoWrite(Path directory) throws IOException {
    for (Path scratch : scratches(directory)) {
      if (!isAbandoned(beat(scratch), Instant.now())) {
        throw underWay(directory);
      }
    }
  }

  /** True for the name of a scratch directory. */
  public static boolean isScratch(String name) {
    return SCRATCH.matcher(name).matches();
  }

  private static List<Path> scratches(Path directory) throws IOException {
    try (Stream<Path> all = Files.list(directory)) {
      return all.filter(path -> isScratch(path.getFileName().toString())).toList();
    } catch (NoSuchFileException | NotDirectoryException e) {
      return List.of();
    }
  }

  private static FileAlreadyExistsException underWay(Path directory) {
    return new FileAlreadyExistsException(
        directory.toString(),
        null,
        "another write to it is under way, or was killed less than %s s ago; write to another path, or later"
            .formatted(ABANDONED_AFTER.toSeconds()));
  }

  /** True if no driver renews a beat file: its process is known to have ended, or it is old. */
  private static boolean isAbandoned(Path beat, Instant now) throws IOException {
    try {
      String[] process = Files.readString(beat).trim().split(" ");
      boolean isHere =
          process.length == 2 && process[0].equals(host()) && !process[0].startsWith(LOCALHOST);
      if (isHere && ProcessHandle.of(Long.parseLong(process[1])).isEmpty()) {
        return true;
      }
      Instant last = Files.getLastModifiedTime(beat).toInstant();
      return Duration.between(last, now).compareTo(ABANDONED_AFTER) > 0;
    } catch (NoSuchFileException e) {
      Path scratch = beat.getParent(); // it has just begun, or just ended, or was killed then
      return !Files.exists(scratch)
          || Duration.between(Files.getLastModifiedTime(scratch).toInstant(), now)
                  .compareTo(ABANDONED_AFTER)
              > 0;
    } catch (NumberFormatException e) {
      return false;
    }
  }

  private static void removeIfAbandoned(Path file, Instant now) throws IOException {
    try {
      Duration age = Duration.between(Files.getLastModifiedTime(file).toInstant(), now);
      if (age.compareTo(ABANDONED_AFTER) > 0) {
        long bytes = Files.size(file);
        Files.delete(file);
        LOG.warn("Removed {} ({} bytes), which a write that was killed had left", file, bytes);
      } else {
        LOG.warn(
            "Left {}: another write is under way, or was killed less than {} s ago; then a later"
                + " write to the same place removes it",
            file,
            ABANDONED_AFTER.toSeconds());
      }
    } catch (NoSuchFileException e) {
      LOG.info("{} is gone: its write has ended", file);
    }
  }

  private static Path directory(Path target) {
    return target.toAbsolutePath().getParent();
  }

  /**
   * Renews the time of a hidden file until it is closed, or the application has ended, since a job
   * may wait forever for a stopped context.
   */
  public static final class Heartbeat implements Closeable {
    private final FileChannel channel;
    private final byte firstByte;
    private final BooleanSupplier hasEnded;
    private final ScheduledThreadPoolExecutor thread =
        new ScheduledThreadPoolExecutor(
            1,
            work -> {
              Thread made = new Thread(work, "tilespark-heartbeat");
              made.setDaemon(true);
              return made;
            });

    /**
     * Starts the heartbeat.
     *
     * @param channel channel of the file, for writing; borrowed
     * @param firstByte the first byte of the file: writing it anew makes the file system set the
     *     time by its own clock
     * @param hasEnded true once the application has ended
     */
    public Heartbeat(
        FileChannel channel, byte firstByte, Duration interval, BooleanSupplier hasEnded) {
      this.channel = channel;
      this.firstByte = firstByte;
      this.hasEnded = hasEnded;
      var ignored =
          thread.scheduleWithFixedDelay(
              this::beat, interval.toMillis(), interval.toMillis(), TimeUnit.MILLISECONDS);
    }

    private void beat() {
      if (hasEnded.getAsBoolean()) {
        thread.shutdown();
        return;
      }
      try {
        channel.write(ByteBuffer.wrap(new byte[] {firstByte}), 0);
      } catch (IOException | RuntimeException e) {
        LOG.warn("Could not renew the time of a file that is being written", e);
      }
    }

    /**
     * Stops the heartbeat; waits for a running beat, since an interrupt would close the channel.
     */
    @Override
    public void close() {
      thread.shutdown();
      try {
        if (!thread.awaitTermination(1, TimeUnit.MINUTES)) {
          LOG.warn("The file system holds up a write of one byte for a minute");
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
