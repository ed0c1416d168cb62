package org.tilespark.kernels.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.select.ColumnSelection;
import org.tilespark.kernels.select.SelectionCases;
import org.tilespark.kernels.select.SelectionCases.Case;
import org.tilespark.layout.ElementType;

/** Selections of columns on the host, against the definition. */
class HostSelectionTest {
  @Test
  void randomTiles() {
    for (int seed = 0; seed < 300; seed++) {
      Random random = new Random(seed);
      ElementType type = seed % 2 == 0 ? ElementType.FLOAT32 : ElementType.FLOAT64;
      int cols = 1 + random.nextInt(200);
      int wanted = random.nextInt(3) == 0 ? 0 : 1 + random.nextInt(cols + 3);
      Case given =
          SelectionCases.random(
              type, 1 + random.nextInt(6), cols, wanted, random.nextInt(4) * 5, random);
      SelectionCases.check(given, new HostSelection(given.selection(), given.tile()));
    }
  }

  /** Of numbers with large differences no more are selected than are wanted. */
  @Test
  void fewAreSelected() {
    Case given = SelectionCases.random(ElementType.FLOAT64, 1, 1000, 7, 0, new Random(1));
    given.selection().rows().least()[0] = Double.NEGATIVE_INFINITY;
    Arrays.fill(given.selection().columns().perNorm(), 0);
    Arrays.fill(given.selection().columns().errors(), 0);
    given.selection().rows().errors()[0] = 0;
    assertEquals(7, new HostSelection(given.selection(), given.tile()).select(0));
  }

  @Test
  void mistakes() {
    ColumnSelection some =
        SelectionCases.random(ElementType.FLOAT64, 1, 3, 1, 0, new Random(1)).selection();
    String message =
        assertThrows(
                IllegalArgumentException.class,
                () -> new ColumnSelection(some.type(), some.rows(), some.columns(), -1, 1))
            .getMessage();
    assertTrue(message.contains("-1 columns are wanted"), message);
  }
}
