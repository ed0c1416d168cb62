package org.tilespark.spark.source.zarr;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * Objects in memory with the semantics of S3: an object is there from the close of its stream on,
 * there is no rename, and directories are prefixes of names. Nothing can be listed unless a test
 * allows it: only a write over what a killed write left needs that. It can be told to fail from
 * some change of its objects on, as seen by a process that is killed there.
 */
public final class ObjectStoreTestFileSystem extends FileSystem {
  static final String SCHEME = "objects";
  static final ConcurrentSkipListMap<String, byte[]> OBJECTS = new ConcurrentSkipListMap<>();

  /** Changes that still succeed. */
  static final AtomicLong LEFT = new AtomicLong(Long.MAX_VALUE);

  /** More than 0 if directories can be listed. */
  static final AtomicLong LISTS = new AtomicLong();

  /** Names of the changes that succeeded. */
  static final NavigableMap<Long, String> CHANGES = new TreeMap<>();

  private static void change(String what) throws IOException {
    synchronized (CHANGES) {
      if (LEFT.get() <= 0) {
        throw new IOException("the process was killed before: " + what);
      }
      LEFT.decrementAndGet();
      CHANGES.put((long) CHANGES.size(), what);
    }
  }

  static void reset() {
    OBJECTS.clear();
    LISTS.set(0);
    revive();
  }

  static void revive() {
    synchronized (CHANGES) {
      LEFT.set(Long.MAX_VALUE);
      CHANGES.clear();
    }
  }

  @Override
  public void initialize(URI uri, Configuration conf) throws IOException {
    super.initialize(uri, conf);
    setConf(conf);
  }

  @Override
  public String getScheme() {
    return SCHEME;
  }

  @Override
  public URI getUri() {
    return URI.create(SCHEME + "://bucket");
  }

  private static String key(Path path) {
    return path.toUri().getPath();
  }

  @Override
  public FSDataInputStream open(Path path, int bufferSize) throws IOException {
    byte[] bytes = OBJECTS.get(key(path));
    if (bytes == null) {
      throw new FileNotFoundException(path.toString());
    }
    return new FSDataInputStream(new Input(bytes));
  }

  private static final class Input extends FSInputStream {
    private final byte[] bytes;
    private int at;

    private Input(byte[] bytes) {
      this.bytes = bytes;
    }

    @Override
    public void seek(long position) throws IOException {
      if (position > bytes.length) {
        throw new EOFException();
      }
      at = (int) position;
    }

    @Override
    public long getPos() {
      return at;
    }

    @Override
    public boolean seekToNewSource(long position) {
      return false;
    }

    @Override
    public int read() {
      return at < bytes.length ? bytes[at++] & 0xff : -1;
    }
  }

  @Override
  public FSDataOutputStream create(
      Path path,
      FsPermission permission,
      boolean overwrite,
      int bufferSize,
      short replication,
      long blockSize,
      Progressable progress)
      throws IOException {
    if (!overwrite && OBJECTS.containsKey(key(path))) {
      throw new FileAlreadyExistsException(path.toString());
    }
    ByteArrayOutputStream bytes =
        new ByteArrayOutputStream() {
          private boolean closed;

          @Override
          public void close() throws IOException {
            if (!closed) {
              closed = true;
              change("put " + key(path));
              OBJECTS.put(key(path), toByteArray());
            }
          }
        };
    return new FSDataOutputStream(bytes, null);
  }

  @Override
  public FSDataOutputStream append(Path path, int bufferSize, Progressable progress) {
    throw new UnsupportedOperationException("append");
  }

  @Override
  public boolean rename(Path from, Path to) {
    throw new UnsupportedOperationException("rename");
  }

  @Override
  public boolean delete(Path path, boolean recursive) throws IOException {
    String key = key(path);
    boolean found = OBJECTS.containsKey(key);
    if (found) {
      change("delete " + key);
      OBJECTS.remove(key);
    }
    if (recursive) {
      for (String below : OBJECTS.subMap(key + "/", key + "0").keySet()) {
        change("delete " + below);
        OBJECTS.remove(below);
        found = true;
      }
    }
    return found;
  }

  @Override
  public FileStatus[] listStatus(Path path) throws IOException {
    if (LISTS.get() <= 0) {
      throw new UnsupportedOperationException("list");
    }
    TreeMap<String, FileStatus> found = new TreeMap<>();
    String prefix = key(path) + "/";
    for (String key : OBJECTS.subMap(prefix, key(path) + "0").keySet()) {
      Path child = new Path(path, key.substring(prefix.length()).split("/")[0]);
      if (!found.containsKey(child.getName())) {
        found.put(child.getName(), getFileStatus(child));
      }
    }
    if (found.isEmpty()) {
      throw new FileNotFoundException(path.toString());
    }
    return found.values().toArray(new FileStatus[0]);
  }

  @Override
  public void setWorkingDirectory(Path path) {}

  @Override
  public Path getWorkingDirectory() {
    return new Path(SCHEME + "://bucket/");
  }

  @Override
  public boolean mkdirs(Path path, FsPermission permission) {
    throw new UnsupportedOperationException("mkdirs");
  }

  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    byte[] bytes = OBJECTS.get(key(path));
    if (bytes != null) {
      return new FileStatus(bytes.length, false, 1, 1 << 20, 1, path);
    }
    if (OBJECTS.subMap(key(path) + "/", key(path) + "0").isEmpty()) {
      throw new FileNotFoundException(path.toString());
    }
    return new FileStatus(0, true, 1, 0, 0, path);
  }
}
