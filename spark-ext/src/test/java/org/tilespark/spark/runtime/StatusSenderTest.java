package org.tilespark.spark.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** How often an executor speaks, and what it does if nobody hears it. */
class StatusSenderTest {
  private static final ExecutorStatus STATUS =
      new ExecutorStatus(
          "1",
          "",
          "",
          List.of(),
          new HostStatus(Map.of(), PipelineTotals.Snapshot.ZERO),
          new ExchangeStatus(0, 0, 0, 0, 0, 0, 0, 0));

  private final BlockingQueue<Object> sent = new LinkedBlockingQueue<>();

  @Test
  void manyTasksMakeOneMessageASecond() throws InterruptedException {
    try (StatusSender sender = new StatusSender(sent::add, () -> STATUS)) {
      assertEquals(STATUS, sent.poll(60, TimeUnit.SECONDS), "the first status");
      for (int i = 0; i < 10; i++) {
        sender.soon();
      }
      assertEquals(STATUS, sent.poll(60, TimeUnit.SECONDS), "the status after the tasks");
      assertNull(sent.poll(1500, TimeUnit.MILLISECONDS), "a second message for the same tasks");
      sender.soon();
      assertEquals(STATUS, sent.poll(60, TimeUnit.SECONDS), "the status after another task");
    }
    assertTrue(sent.isEmpty());
  }

  @Test
  void aBrokenLineDisturbsNobody() throws InterruptedException {
    StatusSender.Line broken =
        message -> {
          sent.add(message);
          throw new IOException("no driver");
        };
    try (StatusSender sender = new StatusSender(broken, () -> STATUS)) {
      assertEquals(STATUS, sent.poll(60, TimeUnit.SECONDS));
      sender.now();
      assertEquals(STATUS, sent.poll());
      sender.soon();
      assertEquals(STATUS, sent.poll(60, TimeUnit.SECONDS), "it goes on trying");
    }
  }

  @Test
  void tasksMayEndAfterIt() {
    StatusSender sender = new StatusSender(sent::add, () -> STATUS);
    sender.close();
    sent.clear();
    sender.soon();
    sender.close();
    assertTrue(sent.isEmpty());
  }
}
