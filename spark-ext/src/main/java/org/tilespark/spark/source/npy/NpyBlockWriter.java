package org.tilespark.spark.source.npy;

import java.io.IOException;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.spark.numpy.NpyEncoder;
import org.tilespark.spark.rows.BlockCursor;
import org.tilespark.spark.source.BlockColumns;
import org.tilespark.spark.source.BlockSink;
import org.tilespark.spark.source.BoxRuns;
import org.tilespark.spark.source.PosixWriter;

/** Puts blocks at their places in the file of an {@link NpyTarget}. Used by one thread. */
final class NpyBlockWriter implements BlockSink.Writer {
  private final NpyTarget target;
  private final PosixWriter file; // owned

  /**
   * A writer of one task attempt.
   *
   * @param file writer of the target file; closed with this writer
   */
  NpyBlockWriter(NpyTarget target, PosixWriter file) {
    this.target = target;
    this.file = file;
  }

  @Override
  public void write(BlockCursor blocks, long[] box, int at) throws IOException {
    BlockColumns.Block block = target.columns().block(blocks);
    BoxRuns runs = new BoxRuns(target.columns().extents(), block.offset(), block.size());
    file.store(
        () -> {
          for (long run = 0; run < runs.count(); run++) {
            put(block, run * runs.elements(), runs.elements(), runs.start(run));
          }
        });
    block.putPlace(box, at);
  }

  /**
   * Encodes {@code count} elements of a block, from {@code first} on, as the file's elements from
   * {@code start} on.
   */
  private void put(BlockColumns.Block block, long first, long count, long start)
      throws IOException {
    NpyEncoder encoder = target.columns().encoder();
    int elementBytes = encoder.to().elementBytes();
    int width = encoder.from().bytes();
    long done = 0;
    while (done < count) {
      long position = target.dataOffset() + (start + done) * elementBytes;
      HostMemory to = file.room(position, (count - done) * elementBytes);
      long piece = to.bytes() / elementBytes;
      for (int part = 0; part < block.values().length; part++) {
        HostMemory from = block.values()[part].slice((first + done) * width, piece * width);
        long bad = encoder.encode(from, to, part);
        if (bad >= 0) {
          throw target.columns().misfit(block, part, first + done + bad, NpyOptions.DTYPE);
        }
      }
      done += piece;
    }
  }

  @Override
  public void finish() throws IOException {
    file.finish(target.isDurable());
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
