package org.tilespark.spark.source.npy;

import java.net.URI;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;

/** Local files under another scheme: a Hadoop file system that is not POSIX to the source. */
public final class PlainTestFileSystem extends RawLocalFileSystem {
  static final AtomicLong OPENED = new AtomicLong();

  @Override
  public URI getUri() {
    return URI.create("plain:///");
  }

  @Override
  public FSDataInputStream open(Path path, int bufferSize) throws java.io.IOException {
    OPENED.incrementAndGet();
    return super.open(path, bufferSize);
  }
}
