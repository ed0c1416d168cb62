package org.tilespark.kernels.device;

import org.tilespark.kernels.memory.HostMemory;

/**
 * Copies matrices of one shape between host memory of any kind and device memory, where the
 * matrices have no gaps.
 *
 * @param rows rows of one matrix
 * @param count number of matrices, at least one
 * @param strideBytes from one matrix's first byte to the next one's in host memory
 */
record BatchTransfer(RowTransfer rows, long count, long strideBytes) {
  /**
   * Transfer of the matrices of a batch.
   *
   * @param rows rows of one matrix
   * @param rowBytes length of each row
   * @param pitchBytes from one row's first byte to the next one's in host memory
   * @param count number of matrices
   * @param strideBytes from one matrix's first byte to the next one's; 0 if all are the same matrix
   */
  static BatchTransfer of(long rows, long rowBytes, long pitchBytes, long count, long strideBytes) {
    // Matrices that follow each other at the pitch of their rows are one matrix of more rows.
    boolean oneMatrix = strideBytes == 0 || strideBytes == rows * pitchBytes;
    return oneMatrix
        ? new BatchTransfer(
            new RowTransfer(strideBytes == 0 ? rows : count * rows, rowBytes, pitchBytes), 1, 0)
        : new BatchTransfer(new RowTransfer(rows, rowBytes, pitchBytes), count, strideBytes);
  }

  /**
   * Queues the copy of all matrices to the start of {@code to}; parameters as in {@link
   * RowTransfer}.
   */
  void upload(HostMemory in, DeviceBuffer to, CudaStream stream, PinnedBuffer[] buffers) {
    for (long i = 0; i < count && rows.bytes() > 0; i++) {
      rows.upload(matrix(in, i), to, i * rows.bytes(), stream, buffers);
    }
  }

  /** Copies all matrices from the start of {@code from}; the copy is done on return. */
  void download(DeviceBuffer from, HostMemory out, CudaStream stream, PinnedBuffer[] buffers) {
    for (long i = 0; i < count && rows.bytes() > 0; i++) {
      if (out.isOffHeap()) {
        rows.queueDownload(from, i * rows.bytes(), matrix(out, i), stream);
      } else {
        rows.download(from, i * rows.bytes(), matrix(out, i), stream, buffers);
      }
    }
    stream.synchronize();
  }

  /**
   * The range of host memory from the first byte of matrix {@code which} to the end of its last
   * row.
   */
  private HostMemory matrix(HostMemory all, long which) {
    long bytes = (rows.rows() - 1) * rows.pitchBytes() + rows.rowBytes();
    return all.slice(which * strideBytes, bytes);
  }
}
