package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tilespark.kernels.device.driver.LibCudaCopies;
import org.tilespark.kernels.memory.HostMemory;

@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@RequiresGpu
class CopyBatchIT {
  private CudaDevice device;

  @BeforeAll
  void open() {
    device = CudaDevice.open(0);
  }

  @AfterAll
  void close() {
    if (device != null) {
      device.close();
    }
  }

  /** CUDA 12.8 and later have the call; this project is measured with 13.0. */
  @Test
  void driverHasTheCall() {
    assertDoesNotThrow(LibCudaCopies::load);
  }

  @ParameterizedTest
  @CsvSource({"1,true", "2,true", "37,true", "300,true", "37,false"})
  void piecesGoUpAndComeDownReversed(int count, boolean inOneCall) {
    SplittableRandom random = new SplittableRandom(count);
    long[] starts = new long[count + 1];
    for (int i = 0; i < count; i++) {
      starts[i + 1] = starts[i] + (i == 1 ? 0 : random.nextLong(1, 40_000)); // one is empty
    }
    int bytes = (int) starts[count];
    byte[] in = new byte[bytes];
    random.nextBytes(in);
    byte[] expected = new byte[bytes];
    try (PinnedBuffer pinned = device.allocatePinned(2L * bytes);
        CudaStream stream = device.newStream();
        DeviceBuffer buffer = device.allocate(bytes + 5, stream)) {
      HostMemory.ofArray(in).copyTo(pinned.memory().slice(0, bytes));
      CopyBatch batch = new CopyBatch(stream);
      for (int i = 0; i < count; i++) {
        long length = starts[i + 1] - starts[i];
        batch.upload(pinned.memory().slice(starts[i], length), buffer, 5 + starts[i]);
      }
      batch.queue(inOneCall);
      long at = 0;
      for (int i = count - 1; i >= 0; i--) {
        long length = starts[i + 1] - starts[i];
        batch.download(buffer, 5 + starts[i], pinned.memory().slice(bytes + at, length));
        System.arraycopy(in, (int) starts[i], expected, (int) at, (int) length);
        at += length;
      }
      batch.queue(inOneCall);
      batch.queue(inOneCall); // empty
      stream.synchronize();
      byte[] out = new byte[bytes];
      pinned.memory().slice(bytes, bytes).copyTo(HostMemory.ofArray(out));
      assertArrayEquals(expected, out);
    }
  }

  @Test
  void rowsWithAndWithoutGaps() {
    int rows = 33;
    int rowBytes = 2000;
    int pitch = 2064;
    int span = (rows - 1) * pitch + rowBytes;
    byte[] in = new byte[span];
    new SplittableRandom(5).nextBytes(in);
    byte[] dense = new byte[rows * rowBytes];
    for (int row = 0; row < rows; row++) {
      System.arraycopy(in, row * pitch, dense, row * rowBytes, rowBytes);
    }
    try (PinnedBuffer pinned = device.allocatePinned(span);
        PinnedBuffer back = device.allocatePinned(dense.length);
        CudaStream stream = device.newStream();
        DeviceBuffer buffer = device.allocate(dense.length, stream)) {
      HostMemory.ofArray(in).copyTo(pinned.memory());
      CopyBatch batch = new CopyBatch(stream);
      batch.uploadRows(pinned.memory(), pitch, rowBytes, rows, buffer, 0, rowBytes);
      batch.queue();
      batch.downloadRows(buffer, 0, back.memory(), rowBytes, rowBytes, rows);
      batch.queue();
      stream.synchronize();
      byte[] out = new byte[dense.length];
      back.memory().copyTo(HostMemory.ofArray(out));
      assertArrayEquals(dense, out);
    }
  }

  @Test
  void badCopiesAreRefusedAsTheyAreAdded() {
    try (PinnedBuffer pinned = device.allocatePinned(64);
        CudaStream stream = device.newStream();
        DeviceBuffer buffer = device.allocate(64, stream)) {
      CopyBatch batch = new CopyBatch(stream);
      HostMemory onHeap = HostMemory.ofArray(new byte[8]);
      assertThrows(IllegalArgumentException.class, () -> batch.upload(onHeap, buffer, 0));
      assertThrows(IllegalArgumentException.class, () -> batch.download(buffer, 0, onHeap));
      assertThrows(IndexOutOfBoundsException.class, () -> batch.upload(pinned.memory(), buffer, 1));
      assertThrows(
          IndexOutOfBoundsException.class, () -> batch.download(buffer, 1, pinned.memory()));
    }
  }
}
