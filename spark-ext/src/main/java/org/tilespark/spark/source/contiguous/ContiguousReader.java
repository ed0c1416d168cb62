package org.tilespark.spark.source.contiguous;

import java.io.IOException;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.hadoop.conf.Configuration;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.kernels.transpose.Transposer;
import org.tilespark.layout.Shape;
import org.tilespark.spark.numpy.NpyDecoder;
import org.tilespark.spark.source.BlockReader;
import org.tilespark.spark.source.BoxRuns;
import org.tilespark.spark.source.StoredInput;

/**
 * Brings single blocks of a file into memory outside the heap: row-major, decoded to the columns'
 * type. Reads only the bytes of the block, in runs as long as the file's order allows.
 *
 * <p>Used by one thread. Owns its scratch memory and the open file until {@link #close()}.
 */
final class ContiguousReader implements BlockReader {
  /**
   * Bytes of encoded numbers that are decoded at a time: they stay in cache after they are read.
   */
  private static final int SCRATCH_BYTES = 1 << 20;

  private final StoredInput input; // taken
  private final ContiguousSource source;
  private final ContiguousArray array;
  private final Configuration conf; // borrowed
  private final BufferAllocator allocator; // borrowed
  private final Transposer transposer; // borrowed

  private ArrowBuf raw; // encoded numbers that are read; null until needed
  private long rawFilled; // bytes of raw in use
  private long decoded; // elements of the block decoded so far

  /**
   * A reader of one array.
   *
   * @param input the open file; closed with this reader
   * @param conf configuration with which the file is opened; borrowed
   * @param allocator allocator of scratch memory; borrowed
   * @param transposer borrowed; transposes blocks that are stored in Fortran order
   */
  ContiguousReader(
      StoredInput input,
      ContiguousSource source,
      Configuration conf,
      BufferAllocator allocator,
      Transposer transposer) {
    this.input = input;
    this.source = source;
    this.array = source.array();
    this.conf = conf;
    this.allocator = allocator;
    this.transposer = transposer;
  }

  @Override
  public void requireUnchanged() throws IOException {
    source.file().requireUnchanged(conf);
  }

  /**
   * Reads one block.
   *
   * @param offset place of the block's first element
   * @param size the block's extents, none of them 0
   * @param values memory for the numbers (of complex files the real parts), room for all of them;
   *     or null if not needed
   * @param valuesAt offset in {@code values}, in bytes
   * @param imag memory for the imaginary parts, or null
   * @param imagAt offset in {@code imag}, in bytes
   * @throws IOException if the file cannot be read
   */
  @Override
  public void read(
      long[] offset, long[] size, ArrowBuf values, long valuesAt, ArrowBuf imag, long imagAt)
      throws IOException {
    readNumbers(offset, size, values, valuesAt, imag, imagAt);
    ContiguousArray.Scaling scaling = array.scaling();
    if (!scaling.equals(ContiguousArray.Scaling.NONE)) {
      long count = Shape.of(size).elements();
      for (ArrowBuf part : new ArrowBuf[] {values, imag}) {
        if (part != null) {
          // The parts of a complex number are scaled as numbers are; the intercept is real.
          double intercept = part == imag ? 0 : scaling.intercept();
          long bytes = count * source.columnType().bytes();
          NpyDecoder.scale(
              Buffers.memory(part, part == imag ? imagAt : valuesAt, bytes),
              source.columnType(),
              scaling.slope(),
              intercept);
        }
      }
    }
  }

  private void readNumbers(
      long[] offset, long[] size, ArrowBuf values, long valuesAt, ArrowBuf imag, long imagAt)
      throws IOException {
    long[] extents = array.shape().toArray();
    if (!array.firstAxisFastest()) {
      gather(extents, offset, size, values, valuesAt, imag, imagAt);
      return;
    }
    // The file stores the block row-major with its own axes reversed: read it in this order, then
    // transpose it.
    long[] fileSize = source.inFileOrder(size);
    long bytes = Shape.of(size).elements() * source.columnType().bytes();
    try (ArrowBuf real = values == null ? null : allocator.buffer(bytes);
        ArrowBuf imaginary = imag == null ? null : allocator.buffer(bytes)) {
      gather(
          source.inFileOrder(extents), source.inFileOrder(offset), fileSize, real, 0, imaginary, 0);
      long[] own = source.axes().own(fileSize);
      TransposeProblem problem =
          new TransposeProblem(
              Shape.of(own), ContiguousSource.reversal(own.length), source.columnType().bytes());
      if (values != null) {
        transposer.transpose(
            problem, Buffers.memory(real, 0, bytes), Buffers.memory(values, valuesAt, bytes));
      }
      if (imag != null) {
        transposer.transpose(
            problem, Buffers.memory(imaginary, 0, bytes), Buffers.memory(imag, imagAt, bytes));
      }
    }
  }

  /** Reads a box of a row-major array; all parameters have the axes in the file's order. */
  private void gather(
      long[] extents,
      long[] offset,
      long[] size,
      ArrowBuf values,
      long valuesAt,
      ArrowBuf imag,
      long imagAt)
      throws IOException {
    BoxRuns runs = new BoxRuns(extents, offset, size);
    int elementBytes = array.type().elementBytes();
    long runBytes = runs.elements() * elementBytes;
    boolean copy = NpyDecoder.isCopy(array.type(), source.columnType());
    decoded = 0;
    rawFilled = 0;
    long done = 0;
    for (long i = 0; i < runs.count(); i++) {
      long position = array.dataOffset() + runs.start(i) * elementBytes;
      if (copy) {
        input.read(position, values, valuesAt + done, runBytes);
        done += runBytes;
        continue;
      }
      long at = 0;
      while (at < runBytes) {
        long piece = Math.min(runBytes - at, raw().capacity() - rawFilled);
        input.read(position + at, raw(), rawFilled, piece);
        at += piece;
        rawFilled += piece;
        if (rawFilled == raw().capacity()) {
          decodeRaw(values, valuesAt, imag, imagAt);
        }
      }
    }
    if (copy && array.bigEndian()) {
      NpyDecoder.swapBytes(
          Buffers.memory(values, valuesAt, done).offset(), done / elementBytes, elementBytes);
    } else if (!copy) {
      decodeRaw(values, valuesAt, imag, imagAt);
    }
  }

  private void decodeRaw(ArrowBuf values, long valuesAt, ArrowBuf imag, long imagAt) {
    long count = rawFilled / array.type().elementBytes();
    HostMemory elements = Buffers.memory(raw(), 0, rawFilled);
    if (array.bigEndian()) {
      NpyDecoder.swapBytes(
          elements.offset(), count * array.type().parts(), array.type().partBytes());
    }
    if (values != null) {
      decodePart(elements, 0, count, values, valuesAt);
    }
    if (imag != null) {
      decodePart(elements, 1, count, imag, imagAt);
    }
    decoded += count;
    rawFilled = 0;
  }

  private void decodePart(HostMemory elements, int part, long count, ArrowBuf out, long at) {
    int width = source.columnType().bytes();
    HostMemory numbers = Buffers.memory(out, at + decoded * width, count * width);
    NpyDecoder.decode(array.type(), source.columnType(), elements, part, numbers);
  }

  /**
   * The scratch memory, a whole number of elements: its size and their widths are powers of two.
   */
  private ArrowBuf raw() {
    if (raw == null) {
      raw = allocator.buffer(SCRATCH_BYTES);
    }
    return raw;
  }

  @Override
  public void close() throws IOException {
    if (raw != null) {
      raw.close();
      raw = null;
    }
    input.close();
  }
}
