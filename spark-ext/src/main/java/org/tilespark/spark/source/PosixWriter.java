package org.tilespark.spark.source;

import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Objects;
import org.apache.arrow.memory.BufferAllocator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.memory.HostMemory;

/**
 * Writes a task attempt's bytes at places inside the hidden file of a {@link PosixTarget}, in the
 * {@link WriteWay} that suits the file.
 *
 * <p>It never creates the file: an attempt that starts after the job was committed or aborted finds
 * no file and fails, and repeated attempts write the same bytes to the same places. Used by one
 * thread. Owns the open file until {@link #close()}.
 */
public abstract sealed class PosixWriter implements Closeable
    permits MappedWriter, PositionedWriter {
  private static final Logger LOG = LoggerFactory.getLogger(PosixWriter.class);

  protected final FileChannel channel;
  protected final long fileBytes;
  private final Path file;

  /**
   * A writer.
   *
   * @param channel channel of the file; this writer closes it
   */
  protected PosixWriter(Path file, long fileBytes, FileChannel channel) {
    this.file = file;
    this.fileBytes = fileBytes;
    this.channel = channel;
  }

  /**
   * Opens the hidden file.
   *
   * @param fileBytes full length of the file
   * @param allocator allocator of buffers; borrowed
   * @throws IOException if the file does not exist: this machine does not share the target's
   *     storage, or the job is over
   */
  public static PosixWriter open(Path file, long fileBytes, BufferAllocator allocator)
      throws IOException {
    try {
      return open(file, fileBytes, allocator, way(file));
    } catch (NoSuchFileException e) {
      throw new IOException(
          ("This executor does not see %s, which the driver made. One file is written on"
                  + " a path that the driver and all executors share")
              .formatted(file),
          e);
    }
  }

  /** The way in which this machine's tasks write a file. */
  static WriteWay way(Path file) {
    return WriteWay.of(fileSystem(file), Runtime.getRuntime().availableProcessors());
  }

  /** The type of the file system; "unknown" if the system's mount table does not list it. */
  private static String fileSystem(Path file) {
    try {
      return Files.getFileStore(file).type();
    } catch (
        IOException e) { // containers may hide mounts; a missing file is reported when it is opened
      return "unknown";
    }
  }

  /** Opens the file for one way of writing; if no space can be reserved, for positioned writes. */
  static PosixWriter open(Path file, long fileBytes, BufferAllocator allocator, WriteWay way)
      throws IOException {
    FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
    try {
      if (way == WriteWay.MAPPED) {
        Availability<FileSpace> space = FileSpace.open(file, fileBytes);
        if (space.isPresent()) {
          return new MappedWriter(file, fileBytes, channel, space.get());
        }
        LOG.info("Writes {} by positions: {}", file, space.whyNot());
      }
      return new PositionedWriter(file, fileBytes, channel, allocator);
    } catch (Throwable t) {
      channel.close();
      throw t;
    }
  }

  /** Stores the bytes of a block. */
  @FunctionalInterface
  public interface Storing {
    /** Stores bytes to memory from {@link #room}. */
    void run() throws IOException;
  }

  /**
   * Memory for bytes of the file, which must be written only through {@link HostMemory#unsafe()}:
   * if a page of the file is lost, HotSpot turns that into an error there, while in other code it
   * ends the process.
   *
   * @param position position of the first byte in the file
   * @return memory for all bytes or the first ones, at least 1, without dividing an aligned
   *     element; valid until the next call
   * @throws IOException if they cannot be written; the message states the free space
   */
  public abstract HostMemory room(long position, long bytes) throws IOException;

  /** Hands all stored bytes to the operating system. */
  protected abstract void flush() throws IOException;

  /**
   * Runs {@code body}, which stores to memory from {@link #room}.
   *
   * @throws IOException also if a page of the file was lost
   */
  public final void store(Storing body) throws IOException {
    try {
      body.run();
      awaitFailure();
    } catch (InternalError e) {
      throw notWritten(0, 0, new IOException("a page of it is gone, or cannot be read", e));
    }
  }

  /**
   * Makes HotSpot throw the failure of an earlier store: HotSpot 17 throws it at the thread's next
   * call into the VM, newer versions at the next safepoint poll. Creating an array of arrays whose
   * length the compiler does not know includes both.
   */
  private void awaitFailure() {
    // Does not call the channel: if the failure interrupted a call, the channel would consider
    // it unfinished, and close() would wait forever.
    int length = (int) Math.min(1, fileBytes);
    Object made = new byte[length][length];
    Objects.requireNonNull(made);
  }

  /**
   * Flushes all stored data to the operating system.
   *
   * @param durable true to wait until it is on the disk
   */
  public final void finish(boolean durable) throws IOException {
    flush();
    if (!durable) {
      return;
    }
    try {
      channel.force(false); // some file systems report only here that they are full
    } catch (IOException e) {
      throw notWritten(0, 0, e);
    }
  }

  /**
   * The failure to write these bytes, or of the whole file if {@code bytes} is 0, with the relevant
   * figures.
   */
  protected final IOException notWritten(long bytes, long position, IOException why) {
    if (why instanceof ClosedByInterruptException) {
      return why; // the task is killed
    }
    long free = -1;
    try {
      free = Files.getFileStore(file).getUsableSpace();
    } catch (IOException unknown) {
      why.addSuppressed(unknown);
    }
    return new IOException(
        "Cannot write %s%s: %s; the whole file takes %s bytes%s"
            .formatted(
                bytes > 0 ? bytes + " bytes at " + position + " of " : "",
                file,
                why.getMessage(),
                fileBytes,
                free < 0 ? "" : ", the file system has " + free + " bytes free"),
        why);
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
