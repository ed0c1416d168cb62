package org.tilespark.arrow;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Set;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.store.StoreBudget;
import org.tilespark.kernels.LongLists;

class LongListsTest {
  /** Records have at most eight components, methods seven parameters. */
  @Test
  void listsAreShort() throws Exception {
    assertEquals(Set.of(), LongLists.of(StoreBudget.class));
  }
}
