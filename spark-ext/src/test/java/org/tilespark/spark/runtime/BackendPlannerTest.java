package org.tilespark.spark.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.tilespark.spark.conf.Backend;

class BackendPlannerTest {
  private static final BackendChoice AUTO = new BackendChoice(Backend.AUTO, "gpu: NVIDIA H200");
  private static final OptionalLong SMALL = OptionalLong.of(BackendPlanner.SMALL_BYTES);
  private static final OptionalLong LARGE = OptionalLong.of(BackendPlanner.SMALL_BYTES + 1);

  @Test
  void smallArraysThatAGpuTakesOneByOneStayOnTheCpu() {
    BackendChoice small = BackendPlanner.unlessSmall(AUTO, SMALL);
    assertTrue(small.toString().startsWith("backend=auto -> cpu ("), small::toString);
    assertEquals(Backend.CPU, small.requested());
    assertTrue(
        small.expected().startsWith("cpu (")
            && small.expected().contains("arrays of at most 131072 bytes cost more on their way"),
        small.expected());
    assertSame(AUTO, BackendPlanner.unlessSmall(AUTO, LARGE));
    assertSame(AUTO, BackendPlanner.unlessSmall(AUTO, OptionalLong.empty()));
  }

  @Test
  void whatIsAskedForStays() {
    BackendChoice gpu = new BackendChoice(Backend.GPU, "gpu: NVIDIA H200");
    assertSame(gpu, BackendPlanner.unlessSmall(gpu, SMALL));
  }
}
