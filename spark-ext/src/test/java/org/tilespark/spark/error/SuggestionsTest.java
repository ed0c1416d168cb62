package org.tilespark.spark.error;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class SuggestionsTest {
  @Test
  void nearNames() {
    assertEquals("; did you mean 'axes'?", of("axis"));
    assertEquals("; did you mean 'axes'?", of("AXSE"));
    assertEquals("; did you mean 'decomposition'?", of("decompostion"));
    assertEquals("; did you mean 'padTo'?", of("pad_to"));
    assertEquals("; did you mean 'padTo'?", of("padto"));
    assertEquals("; did you mean 'missing'?", of("mising"));
  }

  @Test
  void namesThatAreNotNear() {
    assertEquals("", of("zzz"));
    assertEquals("", of(""));
    assertEquals("", of("x"));
    assertEquals("", of("precision"));
    assertEquals("", Suggestions.didYouMean("axes", List.of()));
  }

  @Test
  void theNearestOfSeveral() {
    assertEquals(
        "; did you mean 'extentsB'?",
        Suggestions.didYouMean("extentsBB", List.of("extents", "extentsA", "extentsB")));
  }

  private static String of(String found) {
    return Suggestions.didYouMean(found, List.of("axes", "padTo", "decomposition", "missing"));
  }
}
