package org.tilespark.kernels.device.library;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.jna.ptr.LongByReference;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The table of routines, without the library. */
class CusolverRoutineTest {
  private static void check(String name, String size, List<Long> operands, CusolverRoutine found) {
    assertEquals(name, found.name());
    assertEquals(size, found.size());
    assertEquals(operands, found.operands());
  }

  @Test
  void operandsHaveTheSizesThatLapackHas() {
    check("geqrf", "5 x 3", List.of(15L, 3L), CusolverRoutine.geqrf(5, 3));
    check("geqrf", "3 x 5", List.of(15L, 3L), CusolverRoutine.geqrf(3, 5));
    check("orgqr", "5 x 3", List.of(15L, 3L), CusolverRoutine.orgqr(5, 3));
    check("gesvd", "5 x 3", List.of(15L, 3L, 15L, 9L), CusolverRoutine.gesvd(5, 3));
    check("gesvd", "5 x 3", List.of(15L, 3L), CusolverRoutine.gesvdValues(5, 3));
    check("syevd", "4 x 4", List.of(16L, 4L), CusolverRoutine.syevd(1, 4));
    check("syevdx", "4 x 2", List.of(16L, 4L), CusolverRoutine.syevdx(4, 2, new LongByReference()));
    check("potrf", "4 x 4", List.of(16L), CusolverRoutine.potrf(4));
    check("getrf", "4 x 4", List.of(16L, 4L), CusolverRoutine.getrf(4));
  }

  @Test
  void countsExceedAnInt() {
    assertEquals(10_000_000_000L, CusolverRoutine.potrf(100_000).operands().get(0));
  }

  @Test
  void wideMatricesAreRefused() {
    for (boolean vectors : new boolean[] {false, true}) {
      String reason =
          assertThrows(
                  IllegalArgumentException.class,
                  () -> {
                    if (vectors) {
                      CusolverRoutine.gesvd(3, 5);
                    } else {
                      CusolverRoutine.gesvdValues(3, 5);
                    }
                  })
              .getMessage();
      assertTrue(reason.contains("gesvd of 3 x 5; expected m >= n"), reason);
    }
  }
}
