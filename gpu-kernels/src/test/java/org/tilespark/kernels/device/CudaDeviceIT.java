package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.tilespark.kernels.device.CudaDevice.MemoryInfo;
import org.tilespark.kernels.memory.HostMemory;

@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@RequiresGpu
class CudaDeviceIT {
  private CudaDevice device;

  @BeforeAll
  void open() {
    device = CudaDevice.open(0);
  }

  @AfterAll
  void close() {
    if (device == null) {
      return;
    }
    long deviceBytes = device.liveDeviceBytes();
    long pinnedBytes = device.livePinnedBytes();
    device.close();
    device.close();
    assertEquals(0, deviceBytes, "device bytes alive");
    assertEquals(0, pinnedBytes, "pinned bytes alive");
    assertThrows(IllegalStateException.class, device::newStream);
  }

  @Test
  void describesItself() {
    assertEquals(0, device.ordinal());
    assertFalse(device.name().isBlank());
    assertTrue(device.description().startsWith(device.name() + ", sm_"), device.description());
    assertEquals(DeviceProbe.run().get().description(), device.description());
    assertTrue(device.limits().multiprocessors() > 0);
    assertEquals(1024, device.limits().maxThreadsPerBlock());
    assertEquals(Integer.MAX_VALUE, device.limits().maxGridX());
    MemoryInfo memory = device.memoryInfo();
    assertTrue(memory.freeBytes() > 0 && memory.freeBytes() <= memory.totalBytes());
    assertEquals(memory.totalBytes(), device.limits().globalBytes());
    assertFalse(device.kernels().index().isEmpty());
  }

  @Test
  void ordinalsOutOfRangeAreRefused() {
    assertThrows(IllegalArgumentException.class, () -> CudaDevice.open(-1));
    assertThrows(IllegalArgumentException.class, () -> CudaDevice.open(10_000));
  }

  @Test
  void bytesGoUpAcrossAndDown() {
    int bytes = 1_000_003;
    byte[] in = new byte[bytes];
    new SplittableRandom(3).nextBytes(in);
    byte[] out = new byte[bytes];
    try (PinnedBuffer pinned = device.allocatePinned(bytes);
        CudaStream stream = device.newStream();
        DeviceBuffer first = device.allocate(bytes + 7, stream);
        DeviceBuffer second = device.allocate(bytes, stream)) {
      assertEquals(2L * bytes + 7, device.liveDeviceBytes());
      assertEquals(0, pinned.address() % 4096);
      HostMemory.ofArray(in).copyTo(pinned.memory());
      stream.upload(pinned.memory(), first, 7);
      stream.copy(first, 7, second, 0, bytes);
      stream.synchronize();
      pinned.memory().fill((byte) 0);
      stream.download(second, 0, pinned.memory());
      stream.synchronize();
      pinned.memory().copyTo(HostMemory.ofArray(out));
    }
    assertArrayEquals(in, out);
    assertEquals(0, device.liveDeviceBytes());
  }

  @Test
  void rowsThatLieApartOnTheHostLieTogetherOnTheDevice() {
    int rowBytes = 37;
    int rows = 1000;
    int pitch = 53;
    int span = (rows - 1) * pitch + rowBytes;
    byte[] in = new byte[span];
    new SplittableRandom(4).nextBytes(in);
    byte[] together = new byte[rows * rowBytes];
    byte[] apart = new byte[span];
    Arrays.fill(apart, (byte) 0x55); // the gaps between rows stay
    for (int row = 0; row < rows; row++) {
      System.arraycopy(in, row * pitch, together, row * rowBytes, rowBytes);
      System.arraycopy(in, row * pitch, apart, row * pitch, rowBytes);
    }
    byte[] found = new byte[rows * rowBytes];
    byte[] back = new byte[span];
    try (PinnedBuffer pinned = device.allocatePinned(span);
        CudaStream stream = device.newStream();
        DeviceBuffer buffer = device.allocate(rows * rowBytes + 5, stream)) {
      HostMemory.ofArray(in).copyTo(pinned.memory());
      stream.uploadRows(pinned.memory(), pitch, rowBytes, rows, buffer, 5);
      stream.synchronize();
      HostMemory dense = pinned.memory().slice(0, found.length);
      stream.download(buffer, 5, dense);
      stream.synchronize();
      dense.copyTo(HostMemory.ofArray(found));
      pinned.memory().fill((byte) 0x55);
      stream.downloadRows(buffer, 5, pinned.memory(), pitch, rowBytes, rows);
      stream.synchronize();
      pinned.memory().copyTo(HostMemory.ofArray(back));
      HostMemory everySecond = pinned.memory().slice(0, (rows / 2) * (long) rowBytes);
      stream.downloadRows(buffer, 5, 2L * rowBytes, everySecond, rowBytes, rowBytes, rows / 2);
      stream.synchronize();
      byte[] halves = new byte[(rows / 2) * rowBytes];
      everySecond.copyTo(HostMemory.ofArray(halves));
      for (int row = 0; row < rows / 2; row++) {
        assertArrayEquals(
            Arrays.copyOfRange(together, 2 * row * rowBytes, (2 * row + 1) * rowBytes),
            Arrays.copyOfRange(halves, row * rowBytes, (row + 1) * rowBytes),
            "row " + row);
      }
      assertThrows(
          IndexOutOfBoundsException.class,
          () ->
              stream.downloadRows(
                  buffer, 6L + rowBytes, 2L * rowBytes, everySecond, rowBytes, rowBytes, rows / 2));
      HostMemory oneRow = pinned.memory().slice(0, rowBytes);
      stream.uploadRows(oneRow, 0, rowBytes, 1, buffer, 0);
      stream.downloadRows(buffer, 0, oneRow, 0, rowBytes, 1);
      assertThrows(
          IllegalArgumentException.class,
          () -> stream.uploadRows(pinned.memory(), rowBytes - 1, rowBytes, rows, buffer, 0));
      assertThrows(
          IllegalArgumentException.class,
          () -> stream.downloadRows(buffer, 0, pinned.memory(), pitch, rowBytes, rows - 1));
      assertThrows(
          IndexOutOfBoundsException.class,
          () -> stream.uploadRows(pinned.memory(), pitch, rowBytes, rows, buffer, 6));
    }
    assertArrayEquals(together, found);
    assertArrayEquals(apart, back);
  }

  @Test
  void heapMemoryAndRangesThatDoNotFitAreRefused() {
    try (CudaStream stream = device.newStream();
        PinnedBuffer pinned = device.allocatePinned(100);
        DeviceBuffer buffer = device.allocate(50, stream)) {
      Exception e =
          assertThrows(
              IllegalArgumentException.class,
              () -> stream.upload(HostMemory.ofArray(new byte[10]), buffer, 0));
      assertEquals(
          "Asynchronous copies need memory outside the Java heap, found byte[]; copy it to a pinned"
              + " buffer first",
          e.getMessage());
      assertThrows(
          IllegalArgumentException.class,
          () -> stream.download(buffer, 0, HostMemory.ofArray(new byte[10])));
      assertThrows(
          IndexOutOfBoundsException.class, () -> stream.upload(pinned.memory(), buffer, 0));
      assertThrows(
          IndexOutOfBoundsException.class, () -> stream.download(buffer, -1, pinned.memory()));
    }
  }

  @Test
  void eventsOrderStreamsAndMeasureTime() {
    int bytes = 64 << 20;
    try (CudaStream one = device.newStream();
        CudaStream two = device.newStream();
        PinnedBuffer pinned = device.allocatePinned(bytes);
        DeviceBuffer buffer = device.allocate(bytes, one)) {
      try (CudaEvent before = one.record()) {
        for (int i = 0; i < 20; i++) {
          one.fill(buffer, (byte) i);
        }
        try (CudaEvent filled = one.record()) {
          two.waitFor(filled);
          two.download(buffer, 0, pinned.memory());
          two.synchronize();
          assertTrue(filled.isDone());
          assertEquals(19, HostMemory.unsafe().getByte(pinned.address()));
          assertEquals(19, HostMemory.unsafe().getByte(pinned.address() + bytes - 1));
          filled.synchronize();
          assertTrue(filled.millisSince(before) > 0);
        }
      }
    }
  }

  @Test
  void outOfMemorySaysWhatWasAskedAndWhatIsFree() {
    long asked = device.memoryInfo().totalBytes() * 2;
    try (CudaStream stream = device.newStream()) {
      DeviceOutOfMemoryException e =
          assertThrows(
              DeviceOutOfMemoryException.class, () -> device.allocate(asked, stream).close());
      assertEquals(asked, e.requestedBytes());
      assertTrue(e.freeBytes() > 0);
      assertTrue(
          e.getMessage().startsWith("Device memory: " + asked + " bytes requested, "),
          e.getMessage());
      // The device works on.
      try (DeviceBuffer buffer = device.allocate(1 << 20, stream)) {
        stream.fill(buffer, (byte) 1);
        stream.synchronize();
      }
    }
  }

  @Test
  void freedMemoryIsReused() {
    long bytes = 256L << 20;
    try (CudaStream stream = device.newStream()) {
      device.allocate(bytes, stream).close();
      stream.synchronize();
      long held = device.memoryInfo().freeBytes();
      for (int i = 0; i < 10; i++) {
        device.allocate(bytes, stream).close();
        stream.synchronize();
      }
      assertEquals(held, device.memoryInfo().freeBytes(), 64L << 20);
      device.trim();
    }
  }

  @Test
  void emptyBuffersNeedNothing() {
    try (CudaStream stream = device.newStream();
        PinnedBuffer pinned = device.allocatePinned(0);
        DeviceBuffer buffer = device.allocate(0, stream)) {
      stream.upload(pinned.memory(), buffer, 0);
      stream.download(buffer, 0, pinned.memory());
      stream.fill(buffer, (byte) 0);
      assertEquals(0, buffer.bytes());
    }
    try (CudaStream stream = device.newStream()) {
      assertThrows(IllegalArgumentException.class, () -> device.allocate(-1, stream));
    }
    assertThrows(IllegalArgumentException.class, () -> device.allocatePinned(-1));
  }

  @Test
  void closeIsIdempotentAndUseAfterItIsRefused() {
    CudaStream stream = device.newStream();
    DeviceBuffer buffer = device.allocate(100, stream);
    PinnedBuffer pinned = device.allocatePinned(100);
    CudaEvent event = stream.record();
    // The stream first: the buffer is then freed without it.
    stream.close();
    stream.close();
    buffer.close();
    buffer.close();
    pinned.close();
    pinned.close();
    event.close();
    event.close();
    assertThrows(IllegalStateException.class, stream::synchronize);
    assertThrows(IllegalStateException.class, stream::record);
    assertThrows(IllegalStateException.class, pinned::memory);
    assertThrows(IllegalStateException.class, event::isDone);
    try (CudaStream other = device.newStream()) {
      assertThrows(IllegalStateException.class, () -> other.fill(buffer, (byte) 0));
      assertThrows(IllegalStateException.class, () -> device.allocate(1, stream));
    }
  }

  @Test
  void whatIsLeftOpenIsClosedWithTheDevice() {
    CudaDevice second = CudaDevice.open(0);
    CudaStream stream = second.newStream();
    DeviceBuffer buffer = second.allocate(1 << 20, stream);
    PinnedBuffer pinned = second.allocatePinned(1 << 20);
    PinnedPool pool = second.newPinnedPool(1 << 20);
    PinnedBuffer taken = pool.take(1000);
    assertTrue(second.livePinnedBytes() >= (1 << 20) + 1000);
    second.close();
    assertEquals(0, second.liveDeviceBytes());
    assertEquals(0, second.livePinnedBytes());
    buffer.close();
    pinned.close();
    taken.close();
    pool.close();
    stream.close();
  }
}
