package org.tilespark.spark.shuffle;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.List;
import java.util.function.Consumer;
import java.util.zip.CheckedInputStream;
import java.util.zip.Checksum;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.arrow.store.CheckedHeader;
import org.tilespark.arrow.store.CorruptDataException;
import org.tilespark.arrow.store.MapOutput;
import org.tilespark.arrow.store.PartitionFrames;
import org.tilespark.arrow.store.RowImage;
import org.tilespark.kernels.memory.HostMemory;
import scala.Product2;
import scala.Tuple2;

/**
 * The rows of one partition of a map output, in memory or files; a row is valid until the next is
 * requested. Used by one thread.
 */
interface MapOutputRows extends AutoCloseable {
  /** Points {@code row} to the next row's bytes; false at the end. */
  boolean next(Target row) throws IOException;

  @Override
  void close();

  /**
   * The row that goes to the consumer; a new row object is created only if the count of fields
   * changes.
   */
  final class Target {
    private final Consumer<UnsafeRow> given;
    private UnsafeRow row;
    private Product2<Object, Object> record;

    /** A target that passes each new row object to {@code given}. */
    Target(Consumer<UnsafeRow> given) {
      this.given = given;
    }

    /** The current row in the form of Spark's readers. */
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
    private final MapOutput output; // retained output
    private final int partition;
    private int at;

    OfOutput(MapOutput output, int partition) {
      this.output = output;
      this.partition = partition;
    }

    /** Bytes of the output's partition as they are sent. */
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

  /**
   * Rows whose bytes were read from a file or another executor; they are verified before they are
   * given.
   */
  final class Verified implements MapOutputRows {
    private final PartitionFrames images;
    private final CorruptionDiagnosis.Bytes bytes;
    private final AutoCloseable owner;

    private Verified(PartitionFrames images, CorruptionDiagnosis.Bytes bytes, AutoCloseable owner) {
      this.images = images;
      this.bytes = bytes;
      this.owner = owner;
    }

    /** All received bytes, for a diagnosis. */
    CorruptionDiagnosis.Bytes bytes() {
      return bytes;
    }

    /** Rows that stay in memory until this is closed. */
    static Verified received(RemoteBlocks.Result result, RemoteBlocks remote) {
      ReceivedBlock block = result.received();
      HostMemory frames = HostMemory.ofAddress(block.address(), block.size());
      return new Verified(
          new PartitionFrames(PartitionFrames.Source.of(frames), frames.bytes()),
          block::addTo,
          () -> remote.free(result));
    }

    /**
     * Rows of a file, which are read frame by frame.
     *
     * @param place checksum that identifies the partition, which the file's header must state
     * @param buffer buffer for the partition's frames; borrowed until this is closed
     * @throws IOException if the file does not hold this partition, or is corrupt
     */
    static Verified ofFile(ManagedBuffer file, int place, PartitionFrames.Buffer buffer)
        throws IOException {
      DataInputStream in = new DataInputStream(file.createInputStream());
      try {
        byte[] encoded = new byte[CheckedHeader.BYTES];
        in.readFully(encoded);
        CheckedHeader header = CheckedHeader.of(encoded, file.size());
        checkPlace(header.checksum(), place);
        if (header.bytes() != file.size()) {
          throw new CorruptDataException(
              "A partition states %d bytes, and has %d".formatted(header.bytes(), file.size()));
        }
        return new Verified(
            new PartitionFrames(
                PartitionFrames.Source.of(in, buffer), header.bytes() - CheckedHeader.BYTES),
            checksum -> readAgain(file, checksum),
            in);
      } catch (IOException | RuntimeException e) {
        in.close();
        throw e;
      }
    }

    private static void readAgain(ManagedBuffer file, Checksum checksum) throws IOException {
      try (InputStream all = new CheckedInputStream(file.createInputStream(), checksum)) {
        all.transferTo(OutputStream.nullOutputStream());
      }
    }

    /**
     * Checks that bytes belong to the requested partition: the checksums that identify both must be
     * equal.
     */
    static void checkPlace(int found, int expected) throws CorruptDataException {
      if (found != expected) {
        throw new CorruptDataException("These are the bytes of another partition");
      }
    }

    @Override
    public boolean next(Target row) throws IOException {
      if (!images.next()) {
        return false;
      }
      HostMemory bytes = images.row();
      row.pointTo(bytes.base(), bytes.offset(), images.header());
      return true;
    }

    @Override
    public void close() {
      Closing.all(List.of(owner));
    }
  }
}
