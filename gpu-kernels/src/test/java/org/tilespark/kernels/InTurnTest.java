package org.tilespark.kernels;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class InTurnTest {
  @Test
  void methodsAreSpreadOverTheTurns() {
    int[] counts = new int[InTurn.TURNS + 1];
    IntStream.range(0, 3000)
        .forEach(i -> counts[InTurn.Condition.turn(InTurnTest.class, "methodOfATest" + i)]++);
    assertEquals(0, counts[0]);
    for (int turn = 1; turn <= InTurn.TURNS; turn++) {
      assertTrue(counts[turn] > 600, "turn " + turn + " has " + counts[turn] + " of 3000 methods");
    }
  }
}
