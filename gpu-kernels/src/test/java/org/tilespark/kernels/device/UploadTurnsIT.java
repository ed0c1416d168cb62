package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

@RequiresGpu
class UploadTurnsIT {
  private static final long BYTES = 32L << 20;
  private static final int THREADS = 8;
  private static final int TURNS = 10; // of each thread

  /** Copies of the turn before the last are done when a turn begins, whoever had it. */
  @Test
  void copiesOfAllThreadsGoUpInTurns() throws Exception {
    CudaDevice device = CudaDevice.open(0);
    // Guarded by the turns: an event after the copies of each turn.
    List<CudaEvent> behind = new ArrayList<>();
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    try {
      List<Future<?>> all = new ArrayList<>();
      for (int thread = 0; thread < THREADS; thread++) {
        boolean fails = thread == 3;
        all.add(
            threads.submit(
                () -> {
                  try (PinnedBuffer pinned = device.allocatePinned(BYTES);
                      CudaStream stream = device.newStream();
                      DeviceBuffer buffer = device.allocate(BYTES, stream)) {
                    for (int i = 0; i < TURNS; i++) {
                      takeTurn(device, pinned, stream, buffer, behind, fails);
                    }
                  }
                }));
      }
      for (Future<?> each : all) {
        each.get();
      }
      assertEquals(THREADS * TURNS, behind.size());
      behind.forEach(CudaEvent::close);
      device.uploadTurns().close();
      assertEquals(Map.of(), device.liveObjects());
    } finally {
      threads.shutdownNow();
      device.close();
    }
  }

  private static void takeTurn(
      CudaDevice device,
      PinnedBuffer pinned,
      CudaStream stream,
      DeviceBuffer buffer,
      List<CudaEvent> behind,
      boolean fails) {
    try (UploadTurns.Turn turn = device.uploadTurns().begin()) {
      if (behind.size() > 1) {
        assertTrue(behind.get(behind.size() - 2).isDone(), "two turns ago");
      }
      stream.upload(pinned.memory(), buffer, 0);
      behind.add(stream.record());
      turn.copiesOn(stream);
      if (fails) {
        throw new IllegalStateException("after a copy");
      }
    } catch (IllegalStateException e) {
      assertTrue(fails, e::toString);
    }
  }
}
