package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.fourier.FourierBoxes.Piece;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.Shape;

/** Of which ranges of memory a staging buffer is filled. */
class DeviceLoadTest {
  private static final int CAPACITY = 256;

  private final ByteBuffer pinned = ByteBuffer.allocateDirect(CAPACITY);
  private int asked;
  private final DeviceLoad load =
      new DeviceLoad(
          CAPACITY,
          () -> {
            asked++;
            return HostMemory.ofDirectBuffer(pinned);
          });

  private static HostMemory memory(int bytes, int fill) {
    byte[] array = new byte[bytes];
    Arrays.fill(array, (byte) fill);
    return HostMemory.ofArray(array);
  }

  /** Uploads as texts {@code from+bytes>to}, with {@code from} relative to an address. */
  private List<String> uploads(long base) {
    return load.uploads().stream()
        .map(u -> u.from().offset() - base + "+" + u.from().bytes() + ">" + u.toBytes())
        .toList();
  }

  @Test
  void whatIsGatheredIsOneCopyWithItsGaps() {
    assertEquals(0, load.gather(memory(5, 1)));
    assertEquals(16, load.gather(memory(16, 2)));
    assertEquals(32, load.gather(memory(3, 3)));
    assertEquals(List.of("0+35>0"), uploads(HostMemory.ofDirectBuffer(pinned).offset()));
    assertEquals(1, asked);
    assertTrue(load.isGathered());
    byte[] expected = new byte[CAPACITY];
    Arrays.fill(expected, 0, 5, (byte) 1);
    Arrays.fill(expected, 16, 32, (byte) 2);
    Arrays.fill(expected, 32, 35, (byte) 3);
    byte[] found = new byte[CAPACITY];
    pinned.get(found);
    assertArrayEquals(expected, found);
  }

  @Test
  void neighboursInPinnedMemoryAreOneCopy() {
    HostMemory plane = HostMemory.ofAddress(1 << 20, 100);
    assertEquals(0, load.upload(plane.slice(0, 32)));
    assertEquals(32, load.upload(plane.slice(32, 20)));
    // After a gap on the device, then after one in pinned memory.
    assertEquals(64, load.upload(plane.slice(52, 16)));
    assertEquals(80, load.upload(plane.slice(70, 8)));
    assertEquals(List.of("0+52>0", "52+16>64", "70+8>80"), uploads(1 << 20));
    assertEquals(0, asked);
    assertFalse(load.isGathered());
  }

  /** A gathered plane joins no copy from elsewhere. */
  @Test
  void bothKindsInTurns() {
    HostMemory plane = HostMemory.ofAddress(1 << 20, 100);
    load.gather(memory(16, 1));
    load.upload(plane.slice(0, 16));
    load.gather(memory(16, 2));
    load.gather(memory(16, 3));
    long base = HostMemory.ofDirectBuffer(pinned).offset();
    assertEquals(
        List.of("0+16>0", "32+32>32"), List.of(uploads(base).get(0), uploads(base).get(2)));
    assertEquals("0+16>16", uploads(1 << 20).get(1));
  }

  /** Values that do not fit are cut, unless more than half is used: then the load is sent first. */
  @Test
  void fittingElements() {
    assertEquals(32, load.fitting(32, 2, 4));
    assertEquals(32, load.fitting(33, 2, 4));
    assertEquals(64, load.fitting(100, 1, 4));
    load.gather(memory(120, 1)); // takes 128
    assertEquals(32, load.fitting(100, 1, 4));
    load.gather(memory(1, 1));
    assertEquals(0, load.fitting(100, 1, 4));
    assertEquals(28, load.fitting(28, 1, 4));
  }

  /** It takes nothing of the staging buffer. */
  @Test
  void whatGoesStraight() {
    assertTrue(load.isEmpty());
    load.straight(3, HostMemory.ofAddress(1 << 20, 1000), 72);
    assertFalse(load.isEmpty());
    assertEquals(List.of(), load.uploads());
    assertEquals(1000, load.straight().get(3).get(0).from().bytes());
    assertEquals(72, load.straight().get(3).get(0).toBytes());
    assertEquals(0, load.gather(memory(5, 1)));
  }

  @Test
  void emptyUntilThereIsAPiece() {
    load.gather(memory(16, 1));
    assertTrue(load.isEmpty());
    Piece piece = new Piece(Shape.of(2, 2), List.of(0L, 0L), Shape.of(2, 2), 0, 4, 0, 0);
    load.add(1, piece);
    assertFalse(load.isEmpty());
    assertEquals(Map.of(1, List.of(piece)), load.pieces());
  }
}
