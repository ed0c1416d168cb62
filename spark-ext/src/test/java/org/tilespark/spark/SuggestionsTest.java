package org.tilespark.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SuggestionsTest {
  @ParameterizedTest
  @CsvSource({
    "blockShap,blockShape",
    "BLOCKSHAPES,blockShape",
    "blokcShape,blockShape",
    "block_shape,blockShape",
    "sa,as",
    "a,as",
    "dtpye,dtype",
    "extent,extents",
    "compression,",
    "axes,",
    "'',",
  })
  void theClosestName(String found, String expected) {
    assertEquals(
        expected == null ? "" : "; did you mean '" + expected + "'?",
        Suggestions.didYouMean(found, List.of("blockShape", "as", "dtype", "extents")));
  }
}
