package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Ports of this machine's loopback address. */
final class Ports {
  private Ports() {}

  /** One that nobody uses at this moment. */
  static int free() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  /**
   * Waits until a server listens.
   *
   * @param alive false once the server has ended
   * @param printed the server's output, for the failure
   */
  static void await(int port, BooleanSupplier alive, Supplier<String> printed, Duration limit)
      throws InterruptedException {
    long end = System.nanoTime() + limit.toNanos();
    while (true) {
      try {
        new Socket(InetAddress.getLoopbackAddress(), port).close();
        return;
      } catch (IOException e) {
        assertTrue(
            alive.getAsBoolean() && System.nanoTime() < end,
            () -> "no server at " + port + ":\n" + printed.get());
        Thread.sleep(100);
      }
    }
  }
}
