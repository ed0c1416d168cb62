package org.tilespark.kernels.launch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import org.junit.jupiter.api.Test;

class AvailabilityTest {
  @Test
  void aThing() {
    Availability<Integer> found = Availability.of(Optional.of(3), () -> "unused");
    assertTrue(found.isPresent());
    assertEquals(3, found.get());
    assertEquals("", found.whyNot());
    assertEquals(Availability.of("3"), found.map(String::valueOf));
    assertEquals(3, found.orElseThrow(UnsupportedOperationException::new));
  }

  @Test
  void whyNot() {
    Availability<Integer> missing = Availability.of(Optional.empty(), () -> "no driver");
    assertFalse(missing.isPresent());
    assertEquals(Availability.not("no driver"), missing.map(String::valueOf));
    assertEquals("no driver", assertThrows(IllegalStateException.class, missing::get).getMessage());
    assertEquals(
        "no driver",
        assertThrows(
                UnsupportedOperationException.class,
                () -> missing.orElseThrow(UnsupportedOperationException::new))
            .getMessage());
    assertThrows(IllegalArgumentException.class, () -> Availability.not(""));
  }
}
