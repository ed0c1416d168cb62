package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.memory.HostMemory;

/** Choice of the rooms of a batch that the device writes itself. */
class DeviceBatchTest {
  private static List<HostMemory> room(long... addresses) {
    List<HostMemory> planes = new ArrayList<>();
    for (long address : addresses) {
      planes.add(HostMemory.ofAddress((1 << 20) + address, 10));
    }
    return planes;
  }

  private static boolean[] direct(int planes, List<List<HostMemory>> rooms) {
    return DeviceBatch.direct(rooms, planes, range -> range.bytes() >= 30);
  }

  @Test
  void neighboursCountTogether() {
    assertArrayEquals(
        new boolean[] {true, true, true, false, false, true, true, true, true},
        direct(
            1,
            List.of(
                room(0), room(10), room(20), room(40), room(50), room(70), room(80), room(90),
                room(100))));
  }

  @Test
  void buffersAndJumpsEndARange() {
    assertArrayEquals(
        new boolean[] {false, false, false, false, false},
        direct(1, List.of(room(0), room(10), List.of(), room(20), room(30))));
    assertArrayEquals(
        new boolean[] {false, false, false}, direct(1, List.of(room(20), room(10), room(0))));
  }

  @Test
  void allPlanesOrNone() {
    assertArrayEquals(
        new boolean[] {false, true, true, true},
        direct(2, List.of(room(0, 500), room(10, 600), room(20, 610), room(30, 620))));
  }
}
