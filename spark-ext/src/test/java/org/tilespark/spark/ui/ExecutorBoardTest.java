package org.tilespark.spark.ui;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.tilespark.spark.runtime.ExecutorStatus;
import org.tilespark.spark.ui.ExecutorBoard.Entry;

/** The driver's record of its executors. */
class ExecutorBoardTest {
  private final ExecutorBoard board = new ExecutorBoard();

  @Test
  void hostAndStatusMeetWhicheverComesFirst() {
    ExecutorStatus one = StatusSamples.onCpu("1", "no driver");
    board.added("1", "left");
    board.report(one);
    ExecutorStatus two = StatusSamples.onCpu("2", "no driver");
    board.report(two);
    board.added("2", "right");
    assertEquals(
        List.of(
            new Entry("1", "left", Optional.empty(), Optional.of(one)),
            new Entry("2", "right", Optional.empty(), Optional.of(two))),
        board.entries());
  }

  @Test
  void theLastStatusCounts() {
    board.report(StatusSamples.onCpu("1", "first"));
    board.report(StatusSamples.onCpu("1", "second"));
    assertEquals("second", board.entries().get(0).status().orElseThrow().cpuReason());
    assertEquals(1, board.entries().size());
  }

  @Test
  void liveOnesComeByNumberThenTheEndedLastFirst() {
    List.of("10", "9", "2", "1").forEach(id -> board.added(id, "host"));
    board.removed("1", "exit 87");
    board.removed("9", "killed");
    assertEquals(List.of("2", "10", "9", "1"), ids());
    assertEquals(Optional.of("exit 87"), board.entries().get(3).endedBecause());
    assertEquals(Optional.empty(), board.entries().get(0).endedBecause());
  }

  @Test
  void aStatusAfterTheEndRaisesNobody() {
    board.added("1", "host");
    board.removed("1", "exit 87");
    ExecutorStatus last = StatusSamples.lost("1", "it trapped");
    board.report(last);
    assertEquals(
        List.of(new Entry("1", "host", Optional.of("exit 87"), Optional.of(last))),
        board.entries());
  }

  @Test
  void endedOnesAreBounded() {
    for (int i = 0; i < 3 * ExecutorBoard.ENDED_KEPT; i++) {
      board.added(Integer.toString(i), "host");
      board.removed(Integer.toString(i), "");
    }
    List<String> ids = ids();
    assertEquals(ExecutorBoard.ENDED_KEPT, ids.size());
    assertEquals(Integer.toString(3 * ExecutorBoard.ENDED_KEPT - 1), ids.get(0));
  }

  @Test
  void anEndWithoutABeginningIsNoNews() {
    board.removed("1", "never seen");
    assertEquals(List.of(), board.entries());
  }

  private List<String> ids() {
    return board.entries().stream().map(Entry::executorId).toList();
  }
}
