package org.tilespark.spark.source.raw;

import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.hadoop.conf.Configuration;
import org.tilespark.kernels.transpose.Transposer;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.source.BlockGrid;
import org.tilespark.spark.source.BlockReader;
import org.tilespark.spark.source.BlockSource;
import org.tilespark.spark.source.BoxRuns;

/** One raw file, and how it is cut. */
record RawSource(String path, long modificationMillis, BlockGrid grid) implements BlockSource {
  @Override
  public String format() {
    return RawFormat.NAME;
  }

  @Override
  public String description() {
    return "float64 " + Shape.of(grid.extents());
  }

  @Override
  public ElementType columnType() {
    return ElementType.FLOAT64;
  }

  @Override
  public int storedBytes() {
    return RawFormat.WIDTH;
  }

  @Override
  public boolean isComplex() {
    return false;
  }

  @Override
  public ArrayMetadata metadata() {
    return ArrayMetadata.empty().withExtents(Shape.of(grid.extents()));
  }

  @Override
  public List<Chunk> chunks(long[] offset, long[] size) {
    BoxRuns runs = new BoxRuns(grid.extents(), offset, size);
    List<Chunk> chunks = new ArrayList<>();
    for (long run = 0; run < runs.count(); run++) {
      chunks.add(new Chunk(path, place(runs.start(run)), runs.elements() * RawFormat.WIDTH));
    }
    return chunks;
  }

  private static long place(long element) {
    return RawFormat.MARK.length + element * RawFormat.WIDTH;
  }

  @Override
  public BlockReader open(Configuration conf, BufferAllocator allocator, Transposer transposer)
      throws IOException {
    FileChannel channel = FileChannel.open(Path.of(URI.create(path)), StandardOpenOption.READ);
    return new BlockReader() {
      @Override
      public void requireUnchanged() throws IOException {
        if (channel.size() != place(Shape.of(grid.extents()).elements())) {
          throw new IOException(path + " was written anew");
        }
      }

      @Override
      public void read(
          long[] offset, long[] size, ArrowBuf values, long valuesAt, ArrowBuf imag, long imagAt)
          throws IOException {
        long at = valuesAt;
        for (Chunk chunk : chunks(offset, size)) {
          ByteBuffer bytes = values.nioBuffer(at, Math.toIntExact(chunk.bytes()));
          while (bytes.hasRemaining()) {
            if (channel.read(bytes, chunk.offset() + bytes.position()) < 0) {
              throw new IOException(path + " is truncated");
            }
          }
          at += chunk.bytes();
        }
      }

      @Override
      public void close() throws IOException {
        channel.close();
      }
    };
  }
}
