package org.tilespark.kernels;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Set;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.launch.KernelIndex;

class LongListsTest {
  /** Records have at most eight components, methods seven parameters. */
  @Test
  void listsAreShort() throws Exception {
    assertEquals(Set.of(), LongLists.of(KernelIndex.class));
  }

  /** A record of as many components as are allowed plus one. */
  record Nine(int a, int b, int c, int d, int e, int f, int g, int h, int i) {
    static int eight(int a, int b, int c, int d, int e, int f, int g, int h) {
      return a + b + c + d + e + f + g + h;
    }
  }

  @Test
  void longOnesAreFound() throws Exception {
    Set<String> found = LongLists.of(LongListsTest.class);
    assertEquals(
        Set.of("Nine", "Nine.eight"),
        Set.copyOf(found.stream().filter(name -> name.startsWith("Nine")).toList()));
  }
}
