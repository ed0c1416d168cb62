package org.tilespark.kernels.device;

import org.tilespark.kernels.memory.HostMemory;

/**
 * Copies rows between host memory of any kind and device memory, where the rows are stored without
 * gaps from a given byte on. Heap arrays go through two pinned buffers, one filling while the other
 * is copied.
 *
 * @param rows number of rows
 * @param rowBytes length of each row
 * @param pitchBytes from one row's first byte to the next one's in host memory, at least {@code
 *     rowBytes}
 */
record RowTransfer(long rows, long rowBytes, long pitchBytes) {
  /** The transfer of {@code bytes} bytes as one row. */
  static RowTransfer whole(long bytes) {
    return new RowTransfer(1, bytes, bytes);
  }

  /** Bytes of all rows on the device. */
  long bytes() {
    return rows * rowBytes;
  }

  private boolean isDense() {
    return rows <= 1 || pitchBytes == rowBytes;
  }

  /**
   * Queues the copy as {@link #upload(HostMemory, DeviceBuffer, long, CudaStream, PinnedBuffer[])}
   * does, to the start of {@code to}.
   */
  void upload(HostMemory in, DeviceBuffer to, CudaStream stream, PinnedBuffer[] buffers) {
    upload(in, to, 0, stream, buffers);
  }

  /**
   * Copies as {@link #download(DeviceBuffer, long, HostMemory, CudaStream, PinnedBuffer[])} does,
   * from the start of {@code from}.
   */
  void download(DeviceBuffer from, HostMemory out, CudaStream stream, PinnedBuffer[] buffers) {
    download(from, 0, out, stream, buffers);
  }

  /**
   * Queues the copy to {@code to}, from byte {@code at} on; a copy from a heap array is done on
   * return.
   *
   * @param in host memory from the first row's first byte to the last row's last byte
   * @param buffers two pinned buffers of the same length, used for heap arrays only
   */
  void upload(HostMemory in, DeviceBuffer to, long at, CudaStream stream, PinnedBuffer[] buffers) {
    if (bytes() == 0) {
      return;
    }
    if (!in.isOffHeap()) {
      uploadStaged(in, to, at, stream, buffers);
    } else if (isDense()) {
      stream.upload(in, to, at);
    } else {
      stream.uploadRows(in, pitchBytes, rowBytes, rows, to, at);
    }
  }

  /**
   * Copies all rows from byte {@code at} of {@code from} on; done on return. Parameters as in
   * {@code upload}.
   */
  void download(
      DeviceBuffer from, long at, HostMemory out, CudaStream stream, PinnedBuffer[] buffers) {
    if (bytes() == 0) {
      stream.synchronize();
    } else if (!out.isOffHeap()) {
      downloadStaged(from, at, out, stream, buffers);
    } else {
      queueDownload(from, at, out, stream);
      stream.synchronize();
    }
  }

  /** Queues the copy of all rows to memory outside the heap. */
  void queueDownload(DeviceBuffer from, long at, HostMemory out, CudaStream stream) {
    if (isDense()) {
      stream.download(from, at, out);
    } else {
      stream.downloadRows(from, at, out, pitchBytes, rowBytes, rows);
    }
  }

  private void uploadStaged(
      HostMemory in, DeviceBuffer to, long at, CudaStream stream, PinnedBuffer[] buffers) {
    CudaEvent[] sent = new CudaEvent[buffers.length];
    try {
      long chunkBytes = buffers[0].bytes();
      int turn = 0;
      for (long start = 0; start < bytes(); start += chunkBytes) {
        HostMemory buffer = buffers[turn].memory().slice(0, Math.min(chunkBytes, bytes() - start));
        awaitAndClose(sent, turn);
        eachPiece(
            start,
            buffer.bytes(),
            (inRows, dense, bytes) -> in.slice(inRows, bytes).copyTo(buffer.slice(dense, bytes)));
        stream.upload(buffer, to, at + start);
        sent[turn] = stream.record();
        turn = 1 - turn;
      }
      awaitAndClose(sent, 0);
      awaitAndClose(sent, 1);
    } finally {
      closeAll(sent);
    }
  }

  private void downloadStaged(
      DeviceBuffer from, long at, HostMemory out, CudaStream stream, PinnedBuffer[] buffers) {
    CudaEvent[] arrived = new CudaEvent[buffers.length];
    long[] starts = new long[buffers.length];
    try {
      long chunkBytes = buffers[0].bytes();
      int turn = 0;
      for (long start = 0; start < bytes(); start += chunkBytes) {
        drain(arrived, starts, buffers, turn, out);
        long length = Math.min(chunkBytes, bytes() - start);
        stream.download(from, at + start, buffers[turn].memory().slice(0, length));
        arrived[turn] = stream.record();
        starts[turn] = start;
        turn = 1 - turn;
      }
      drain(arrived, starts, buffers, turn, out);
      drain(arrived, starts, buffers, 1 - turn, out);
    } finally {
      closeAll(arrived);
    }
  }

  /**
   * Waits for the download into buffer {@code turn}, if one is under way, and copies the buffer's
   * content to {@code out}.
   */
  private void drain(
      CudaEvent[] arrived, long[] starts, PinnedBuffer[] buffers, int turn, HostMemory out) {
    if (arrived[turn] != null) {
      awaitAndClose(arrived, turn);
      HostMemory buffer = buffers[turn].memory();
      eachPiece(
          starts[turn],
          Math.min(buffer.bytes(), bytes() - starts[turn]),
          (inRows, dense, bytes) -> buffer.slice(dense, bytes).copyTo(out.slice(inRows, bytes)));
    }
  }

  /**
   * Copies one contiguous piece of rows: {@code inRows} is its first byte in the memory of the
   * rows, {@code dense} its first byte in the range without gaps.
   */
  private interface Piece {
    void copy(long inRows, long dense, long bytes);
  }

  /**
   * Calls {@code piece} for each piece of rows in {@code length} bytes of the rows without their
   * gaps, from byte {@code start} on.
   */
  private void eachPiece(long start, long length, Piece piece) {
    if (isDense()) {
      piece.copy(start, 0, length);
      return;
    }
    long dense = 0;
    while (dense < length) {
      long row = (start + dense) / rowBytes;
      long inRow = (start + dense) % rowBytes;
      long bytes = Math.min(rowBytes - inRow, length - dense);
      piece.copy(row * pitchBytes + inRow, dense, bytes);
      dense += bytes;
    }
  }

  private static void awaitAndClose(CudaEvent[] events, int which) {
    if (events[which] != null) {
      events[which].synchronize();
      events[which].close();
      events[which] = null;
    }
  }

  private static void closeAll(CudaEvent[] events) {
    for (CudaEvent event : events) {
      if (event != null) {
        event.close();
      }
    }
  }
}
