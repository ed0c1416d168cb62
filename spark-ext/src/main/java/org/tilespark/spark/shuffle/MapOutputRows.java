package org.tilespark.spark.shuffle;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.util.function.Consumer;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.tilespark.arrow.store.MapOutput;
import org.tilespark.arrow.store.RowImage;
import scala.Product2;
import scala.Tuple2;

/**
 * The rows of one partition of a map output, wherever they are; a row is valid until the next is
 * asked for. Used by one thread.
 */
interface MapOutputRows extends AutoCloseable {
  /** Points {@code row} to the next row's bytes; false at the end. */
  boolean next(Target row) throws IOException;

  @Override
  void close();

  /** The row that goes to the consumer; a new one only where the count of fields changes. */
  final class Target {
    private final Consumer<UnsafeRow> given;
    private UnsafeRow row;
    private Product2<Object, Object> record;

    /** Tells {@code given} of each row object. */
    Target(Consumer<UnsafeRow> given) {
      this.given = given;
    }

    /** The row that was pointed to last, as Spark's readers give it. */
    Product2<Object, Object> record() {
      return record;
    }

    void pointTo(Object base, long offset, long header) {
      int fields = RowImage.fields(header);
      if (row == null || row.numFields() != fields) {
        row = new UnsafeRow(fields);
        record = new Tuple2<>(0, row);
        given.accept(row);
      }
      row.pointTo(base, offset, RowImage.bytes(header));
    }

    void pointToImage(long address) {
      pointTo(null, address + RowImage.HEADER_BYTES, RowImage.headerAt(address));
    }
  }

  /** Rows of an output in this process. */
  final class OfOutput implements MapOutputRows {
    private final MapOutput output; // retained
    private final int partition;
    private int at;

    OfOutput(MapOutput output, int partition) {
      this.output = output;
      this.partition = partition;
    }

    /** Bytes of its partition on the wire. */
    long bytes() {
      return output.wireBytes(partition);
    }

    @Override
    public boolean next(Target row) {
      if (at == output.imageCount(partition)) {
        return false;
      }
      row.pointToImage(output.image(partition, at++));
      return true;
    }

    @Override
    public void close() {
      output.release();
    }
  }

  /** Rows that came from another executor, one behind the other. */
  final class Received implements MapOutputRows {
    private final RemoteBlocks.Result result;
    private final RemoteBlocks remote;
    private final long end;
    private long at;

    Received(RemoteBlocks.Result result, RemoteBlocks remote) {
      this.result = result;
      this.remote = remote;
      this.at = result.received().address();
      this.end = at + result.received().size();
    }

    @Override
    public boolean next(Target row) throws IOException {
      if (at == end) {
        return false;
      }
      if (end - at < RowImage.HEADER_BYTES || RowImage.endOf(at) > end) {
        throw new IOException("A partition ends within a row");
      }
      row.pointToImage(at);
      at = RowImage.endOf(at);
      return true;
    }

    @Override
    public void close() {
      remote.free(result);
    }
  }

  /** Rows of an output in a file of this process, read one by one. */
  final class OfFile implements MapOutputRows {
    private static final int FILE_BUFFER_BYTES = 1 << 16;

    private final DataInputStream in;
    private long left; // bytes
    private byte[] bytes = {};

    OfFile(ManagedBuffer file) throws IOException {
      this.in =
          new DataInputStream(new BufferedInputStream(file.createInputStream(), FILE_BUFFER_BYTES));
      try {
        this.left = Long.reverseBytes(in.readLong()) - Long.BYTES;
      } catch (IOException | RuntimeException e) {
        in.close();
        throw e;
      }
    }

    @Override
    public boolean next(Target row) throws IOException {
      if (left == 0) {
        return false;
      }
      long header = Long.reverseBytes(in.readLong());
      int length = RowImage.bytes(header);
      left -= RowImage.HEADER_BYTES + length;
      if (left < 0) {
        throw new EOFException("A partition ends within a row");
      }
      if (bytes.length < length) {
        bytes = new byte[length];
      }
      in.readFully(bytes, 0, length);
      row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET, header);
      return true;
    }

    @Override
    public void close() {
      try {
        in.close();
      } catch (IOException e) {
        throw new java.io.UncheckedIOException(e);
      }
    }
  }
}
