package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.memory.HostMemory;

/** Copies of a region of a plane that consists of several ranges. */
class HostRangesTest {
  private static final long BASE = 1 << 20;

  private final HostRanges ranges = new HostRanges();

  private void add(long at, long bytes, Object source) {
    ranges.add(HostMemory.ofAddress(BASE + at, bytes), source);
  }

  /** Copies as texts {@code from+bytes>to}, rows as {@code from+row/pitch*rows>to}. */
  private List<String> copies(Region region) {
    return ranges.copies(region).stream()
        .map(
            copy ->
                copy.memory().offset()
                    - BASE
                    + "+"
                    + (copy.rows() == 1
                        ? "" + copy.memory().bytes()
                        : copy.rowBytes() + "/" + copy.pitchBytes() + "*" + copy.rows())
                    + ">"
                    + copy.deviceOffset())
        .toList();
  }

  @Test
  void neighboursOfOneSourceAreOneCopy() {
    add(0, 100, "a");
    add(100, 50, "a");
    add(150, 50, "b"); // next to it by chance
    add(300, 50, "b");
    assertEquals(3, ranges.ranges().size());
    assertEquals(List.of("0+150>0", "150+50>150", "300+50>200"), copies(Region.of(0, 250)));
  }

  @Test
  void aRegionTakesPartsOfRanges() {
    add(0, 100, "a");
    add(1000, 100, "a");
    add(2000, 100, "a");
    assertEquals(List.of("50+50>0", "1000+100>50", "2000+10>150"), copies(Region.of(50, 160)));
    assertEquals(List.of("1000+100>0"), copies(Region.of(100, 100)));
    assertEquals(List.of("2050+50>0"), copies(Region.of(250, 50)));
  }

  @Test
  void rowsOfASliceLieInOneRange() {
    add(0, 120, "a");
    add(1000, 120, "a");
    add(1120, 120, "a"); // the third array, joined with the second
    assertEquals(List.of("1010+10/30*4>0"), copies(new Region(130, 10, 30, 4)));
    assertEquals(List.of("1130+10/30*4>0"), copies(new Region(250, 10, 30, 4)));
  }
}
