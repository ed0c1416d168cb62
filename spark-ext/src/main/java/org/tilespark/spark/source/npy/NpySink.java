package org.tilespark.spark.source.npy;

import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.Optional;
import org.tilespark.layout.Shape;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.source.BlockFormat;
import org.tilespark.spark.source.BlockSink;
import org.tilespark.spark.source.HiddenFiles;
import org.tilespark.spark.source.PosixTarget;
import org.tilespark.spark.source.WrittenBlocks;

/**
 * Writes one .npy file on a POSIX file system: tasks write at places inside a hidden file.
 * Immutable.
 *
 * @param options options of the user
 * @param file target file
 */
record NpySink(NpyOptions options, PosixTarget file) implements BlockSink {
  @Override
  public BlockFormat format() {
    return options;
  }

  @Override
  public URI location() {
    return file.path().toUri();
  }

  @Override
  public boolean exists() {
    return file.exists();
  }

  @Override
  public Optional<Shape> statedExtents(int rank) {
    return options.extents(rank);
  }

  @Override
  public void check(WrittenBlocks blocks) {
    options.fileType(blocks.schema(), blocks.metadata());
  }

  @Override
  public Pending begin(WrittenBlocks blocks, Extents array, boolean replace) throws IOException {
    NpyType type = options.fileType(blocks.schema(), blocks.metadata());
    NpyHeader header = NpyHeader.forWriting(type, array.shape());
    PosixTarget.Pending pending = begin(file, header, HiddenFiles.BEAT);
    boolean restored = options.dtype().isEmpty();
    String hidden = pending.file().toString();
    return new PendingFile(
        pending,
        new NpyTarget(hidden, header, restored, array.source(), options.durable(), blocks));
  }

  /** Makes the hidden file of an array with this header. */
  static PosixTarget.Pending begin(PosixTarget file, NpyHeader header, Duration heartbeat)
      throws IOException {
    return file.begin(header.encode(), header.fileBytes(), heartbeat);
  }

  private record PendingFile(PosixTarget.Pending file, NpyTarget target) implements Pending {
    @Override
    public void commit(boolean replace) throws IOException {
      file.commit(replace, target.isDurable());
    }

    @Override
    public void close() throws IOException {
      file.close();
    }
  }
}
