package org.tilespark.spark.cluster;

import java.io.FileNotFoundException;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.net.URI;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * A store of objects for all processes of a cluster, with the semantics of S3: an object is there
 * from the close of its stream on, and directories are prefixes of names. It kills a process at a
 * change of an object that the configuration names. Objects are files at their paths, those that
 * are being written in a directory next to the store.
 */
public final class KillingFileSystem extends FileSystem {
  static final String SCHEME = "kills";

  /**
   * A regular expression for the event and the object's path at which a process is killed. Events
   * are {@code create}, {@code write} (after half of the bytes), {@code close} (all bytes, not yet
   * visible), {@code closed}, {@code delete} and {@code deleted}.
   */
  static final String AT = "fs.kills.at";

  /**
   * A file that the first process makes which comes there; nobody is killed once it exists. It is
   * in the directory of the store.
   */
  static final String MARK = "fs.kills.mark";

  /** Number of the process that is killed; 0 for the one that comes there. */
  static final String PID = "fs.kills.pid";

  private static final URI ROOT = URI.create(SCHEME + ":///");

  private final RawLocalFileSystem files = new RawLocalFileSystem();
  private String at;
  private String mark;
  private long pid;

  /** The settings by which all processes of an application have the file system. */
  static Map<String, String> conf() {
    return Map.of(
        "spark.hadoop.fs.kills.impl",
        KillingFileSystem.class.getName(),
        "spark.hadoop.fs.kills.impl.disable.cache",
        "true"); // else each process has the settings of its first use
  }

  @Override
  public void initialize(URI uri, Configuration conf) throws IOException {
    super.initialize(uri, conf);
    setConf(conf);
    files.initialize(URI.create("file:///"), conf);
    at = conf.get(AT, "");
    mark = conf.get(MARK, "");
    pid = conf.getLong(PID, 0);
  }

  private void event(String event, Path object) throws IOException {
    if (!at.isEmpty() && (event + " " + object).matches(at) && Interference.leave(Path.of(mark))) {
      if (pid == 0) {
        Runtime.getRuntime().halt(137);
      }
      try {
        Executors.kill(pid);
        TimeUnit.SECONDS.sleep(300); // this one ends with it
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IOException("interrupted, as a task is that is killed", e);
      }
    }
  }

  private static Path local(org.apache.hadoop.fs.Path path) {
    return Path.of(path.toUri().getPath());
  }

  private static org.apache.hadoop.fs.Path file(org.apache.hadoop.fs.Path path) {
    return new org.apache.hadoop.fs.Path("file", null, path.toUri().getPath());
  }

  @Override
  public String getScheme() {
    return SCHEME;
  }

  @Override
  public URI getUri() {
    return ROOT;
  }

  @Override
  public FSDataInputStream open(org.apache.hadoop.fs.Path path, int bufferSize) throws IOException {
    return files.open(file(path), bufferSize);
  }

  @Override
  public FSDataOutputStream create(
      org.apache.hadoop.fs.Path path,
      FsPermission permission,
      boolean overwrite,
      int bufferSize,
      short replication,
      long blockSize,
      Progressable progress)
      throws IOException {
    Path object = local(path);
    event("create", object);
    if (!overwrite && Files.exists(object)) {
      throw new FileAlreadyExistsException(path.toString());
    }
    Path parts = Files.createDirectories(Path.of(mark).resolveSibling("parts"));
    Path part = parts.resolve(UUID.randomUUID().toString());
    return new FSDataOutputStream(
        new FilterOutputStream(Files.newOutputStream(part)) {
          private boolean isClosed;

          @Override
          public void write(byte[] bytes, int from, int count) throws IOException {
            out.write(bytes, from, count / 2);
            event("write", object);
            out.write(bytes, from + count / 2, count - count / 2);
          }

          @Override
          public void close() throws IOException {
            if (isClosed) {
              return;
            }
            isClosed = true;
            out.close();
            event("close", object);
            while (true) {
              Files.createDirectories(object.getParent());
              try {
                Files.move(part, object, StandardCopyOption.ATOMIC_MOVE);
                break;
              } catch (NoSuchFileException e) {
                // Another process has removed the directory with its last object.
              }
            }
            event("closed", object);
          }
        },
        null);
  }

  @Override
  public FSDataOutputStream append(
      org.apache.hadoop.fs.Path path, int bufferSize, Progressable progress) {
    throw new UnsupportedOperationException("append");
  }

  @Override
  public boolean rename(org.apache.hadoop.fs.Path from, org.apache.hadoop.fs.Path to) {
    throw new UnsupportedOperationException("rename");
  }

  @Override
  public boolean delete(org.apache.hadoop.fs.Path path, boolean recursive) throws IOException {
    Path top = local(path);
    List<Path> objects =
        Files.isRegularFile(top) ? List.of(top) : recursive ? below(top) : List.of();
    for (Path object : objects) {
      event("delete", object);
      Files.deleteIfExists(object);
      Path directory = object.getParent();
      while (!directory.equals(Path.of(mark).getParent()) && isEmpty(directory)) {
        Files.deleteIfExists(directory);
        directory = directory.getParent();
      }
      event("deleted", object);
    }
    return !objects.isEmpty();
  }

  private static boolean isEmpty(Path directory) throws IOException {
    try (Stream<Path> entries = Files.list(directory)) {
      return entries.findAny().isEmpty();
    } catch (NoSuchFileException e) {
      return false; // another process was faster
    }
  }

  /** All objects of a prefix, by name. */
  private static List<Path> below(Path top) throws IOException {
    List<Path> objects = new ArrayList<>();
    if (Files.exists(top)) {
      Files.walkFileTree(
          top,
          new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
              objects.add(file);
              return FileVisitResult.CONTINUE;
            }
          });
    }
    return objects.stream().sorted().toList();
  }

  @Override
  public FileStatus[] listStatus(org.apache.hadoop.fs.Path path) throws IOException {
    TreeMap<String, FileStatus> statuses = new TreeMap<>();
    for (FileStatus status : files.listStatus(file(path))) {
      statuses.put(status.getPath().getName(), here(status));
    }
    return statuses.values().toArray(new FileStatus[0]);
  }

  private static FileStatus here(FileStatus status) {
    return new FileStatus(
        status.getLen(),
        status.isDirectory(),
        1,
        status.getBlockSize(),
        status.getModificationTime(),
        new org.apache.hadoop.fs.Path(SCHEME, null, status.getPath().toUri().getPath()));
  }

  @Override
  public void setWorkingDirectory(org.apache.hadoop.fs.Path path) {}

  @Override
  public org.apache.hadoop.fs.Path getWorkingDirectory() {
    return new org.apache.hadoop.fs.Path(ROOT);
  }

  @Override
  public boolean mkdirs(org.apache.hadoop.fs.Path path, FsPermission permission) {
    throw new UnsupportedOperationException("mkdirs");
  }

  @Override
  public FileStatus getFileStatus(org.apache.hadoop.fs.Path path) throws IOException {
    FileStatus status = files.getFileStatus(file(path));
    if (status.isDirectory() && below(local(path)).isEmpty()) {
      throw new FileNotFoundException(path.toString());
    }
    return here(status);
  }
}
