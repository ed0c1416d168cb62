package org.tilespark.arrow.store;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class Crc32cTest {
  @Test
  void checksumsOfNeighboursAreCombined() {
    SplittableRandom random = new SplittableRandom(5);
    for (int trial = 0; trial < 300; trial++) {
      byte[] bytes = new byte[random.nextInt(trial < 100 ? 20 : 5000)];
      random.nextBytes(bytes);
      int cut = random.nextInt(bytes.length + 1);
      assertEquals(
          Crc32c.of(bytes, 0, bytes.length),
          Crc32c.combine(
              Crc32c.of(bytes, 0, cut),
              Crc32c.of(bytes, cut, bytes.length - cut),
              bytes.length - cut));
    }
  }

  /** RFC 3720, B.4: 32 bytes of zeros. */
  @Test
  void checksumIsThatOfTheStandard() {
    assertEquals(0x8A9136AA, Crc32c.of(new byte[32], 0, 32));
  }

  /** A long run of zeros, which no array holds, as twice a half of it. */
  @Test
  void lengthsBeyondAnArrayAreCombined() {
    int sum = 0;
    int half = Crc32c.of(new byte[1 << 20], 0, 1 << 20);
    for (int i = 0; i < 1 << 13; i++) { // 8 GiB
      sum = Crc32c.combine(sum, half, 1 << 20);
    }
    int twice = half;
    for (long bytes = 1 << 20; bytes < 1L << 33; bytes *= 2) {
      twice = Crc32c.combine(twice, twice, bytes);
    }
    assertEquals(sum, twice);
  }
}
