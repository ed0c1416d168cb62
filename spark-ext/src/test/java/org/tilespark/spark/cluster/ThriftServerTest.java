package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.spark.rows.BulkTransitions;

/**
 * SQL functions through Spark's Thrift server, from several JDBC connections at the same time. Runs
 * on a distribution of Spark, whose {@code spark-submit} starts the server, so only with {@code
 * dev/test-versions}: Maven's class path has neither the server nor the JDBC driver.
 */
class ThriftServerTest {
  private static final int CONNECTIONS = 8;

  /** Of each connection in one round, so 200 in all. */
  private static final int QUERIES = 25;

  /** How much the live heap may grow in a round after the first. */
  private static final long HEAP_GROWTH_BYTES = 8 << 20;

  /**
   * Objects of our classes that may be added in a round after the first, such as the constants of a
   * class that is loaded late. An object that one kind of query leaves is there 33 times.
   */
  private static final long OBJECT_GROWTH = 16;

  /**
   * Growth of the memory that the pool may keep for reuse after a round: as many extents of map
   * outputs as concurrent tasks may have had more than in the first round. A buffer that no query
   * gives back to the next one is there 200 times.
   */
  private static final long KEPT_GROWTH_BYTES = 16 << 20;

  /** Extents of each connection's matrix, of which a block has 16 x 16 elements. */
  private static final int ROWS = 64;

  private static final int COLS = 48;

  /** Extents of each connection's volume, of which a block has half the extent along x. */
  private static final int[] VOLUME = {8, 6, 4};

  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  Path directory;

  @Test
  void servesConnectionsAtTheSameTime() throws Exception {
    Path home = Path.of(System.getProperty("tilespark.test.connect")).getParent();
    assumeTrue(
        Files.exists(home.resolve("bin/spark-submit")),
        "no distribution of Spark; run dev/test-versions --class ThriftServerTest");
    Class.forName("org.apache.hive.jdbc.HiveDriver");
    try (ThriftServer server = ThriftServer.start(home, userJar(), directory)) {
      round(server);
      long heapBytes = liveHeapBytes(server);
      long objects = liveObjects(server);
      long keptBytes = server.gauge("host.keptBytes");
      round(server);
      long grown = liveHeapBytes(server) - heapBytes;
      assertTrue(
          grown < HEAP_GROWTH_BYTES,
          () -> "the live heap grew by " + grown + " bytes from " + heapBytes + " in 200 queries");
      long more = liveObjects(server) - objects;
      assertTrue(more < OBJECT_GROWTH, () -> more + " more live objects of our classes");
      long kept = server.gauge("host.keptBytes");
      assertTrue(
          kept - keptBytes < KEPT_GROWTH_BYTES,
          () -> "the host pool keeps " + kept + " bytes instead of " + keptBytes);
    }
  }

  private static Path userJar() throws IOException {
    try (var files = Files.newDirectoryStream(Path.of("target"), "tilespark-*.jar")) {
      for (Path file : files) {
        if (!file.toString().endsWith("-tests.jar")) {
          return file.toAbsolutePath();
        }
      }
    }
    throw new AssertionError("no user jar in target; run mvn -DskipTests package");
  }

  /** All queries of all connections, which then close; asserts that nothing of them is left. */
  private static void round(ThriftServer server) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(CONNECTIONS);
    try {
      List<Future<?>> ends = new ArrayList<>();
      for (int c = 1; c <= CONNECTIONS; c++) {
        int scale = c;
        ends.add(threads.submit(() -> new Client(scale).run(server)));
      }
      for (Future<?> end : ends) {
        end.get();
      }
    } finally {
      threads.shutdownNow();
    }
    await("open sessions", server::openSessions);
    await("bytes held on the host", () -> server.gauge("host.usedBytes"));
    await("bytes of pinned memory held", () -> server.gauge("gpu.pinnedUsedBytes"));
    await("bytes of device memory held", () -> server.gauge("gpu.deviceMemoryUsedBytes"));
    long peak = server.gauge("host.peakBytes") + server.gauge("gpu.pinnedPeakBytes");
    assertTrue(peak > 0, "no query used memory outside the heap");
  }

  private interface Figure {
    long now() throws IOException, InterruptedException;
  }

  /** Waits until a figure is 0. */
  private static void await(String what, Figure figure) throws IOException, InterruptedException {
    for (int i = 0; i < 600 && figure.now() != 0; i++) {
      Thread.sleep(100);
    }
    assertEquals(0, figure.now(), what);
  }

  /** The least of several looks: Spark clears its records of closed sessions a little later. */
  private static long liveHeapBytes(ThriftServer server) throws Exception {
    long least = Long.MAX_VALUE;
    for (int i = 0; i < 5; i++) {
      least = Math.min(least, server.liveHeapBytes());
      Thread.sleep(500);
    }
    return least;
  }

  /**
   * Objects of our classes, without those that each session has: Spark keeps closed sessions, also
   * without tilespark, while threads live that began in them.
   */
  private static long liveObjects(ThriftServer server) throws Exception {
    return server.liveObjects("org.tilespark.")
        - server.liveObjects(BulkTransitions.class.getName());
  }

  /**
   * One connection. Its views have the names that the others use too, and values of its own: an
   * element is its linear index times the scale.
   */
  private record Client(int scale) {

    Void run(ThriftServer server) throws SQLException {
      try (Connection connection = server.connect();
          Statement statement = connection.createStatement()) {
        statement.execute(
            String.format(
                "CREATE TEMPORARY VIEW m AS SELECT r * 16 AS row, c * 16 AS col, 16 AS rows, 16 AS"
                    + " cols, transform(sequence(0, 255), i -> CAST(((r * 16 + i div 16) * %d + c *"
                    + " 16 + i %% 16) * %d AS DOUBLE)) AS values FROM (SELECT id AS r FROM"
                    + " range(%d)) CROSS JOIN (SELECT id AS c FROM range(%d))",
                COLS, scale, ROWS / 16, COLS / 16));
        int half = VOLUME[0] / 2 * VOLUME[1] * VOLUME[2];
        statement.execute(
            String.format(
                "CREATE TEMPORARY VIEW v AS SELECT id * %d AS x, 0L AS y, 0L AS z, %d AS nx,"
                    + " %d AS ny, %d AS nz, transform(sequence(0, %d), i ->"
                    + " CAST((id * %d + i) * %d AS DOUBLE)) AS values FROM range(2)",
                VOLUME[0] / 2, VOLUME[0] / 2, VOLUME[1], VOLUME[2], half - 1, half, scale));
        for (int query = 0; query < QUERIES; query++) {
          run(statement, (query + scale) % 6);
        }
      }
      return null;
    }

    private void run(Statement statement, int kind) throws SQLException {
      switch (kind) {
        case 0 -> {
          double[] found = fetched(statement, "matrix_transpose(TABLE(m))", COLS, ROWS);
          assertArrayEquals(expected(COLS * ROWS, i -> i % ROWS * COLS + i / ROWS), found);
        }
        case 1 -> {
          double[] found =
              fetched(
                  statement, "matrix_multiply(TABLE(m), TABLE(m), transposeB => true)", ROWS, ROWS);
          assertArrayEquals(product(), found);
        }
        case 2 -> {
          double[] found = fetched(statement, "matrix_reblock(TABLE(m), 20, 20)", ROWS, COLS);
          assertArrayEquals(expected(ROWS * COLS, i -> i), found);
        }
        case 3 -> {
          double[] found =
              fetched(
                  statement,
                  "volume_ifft(TABLE(SELECT * FROM volume_fft(TABLE(v), real => true)))",
                  VOLUME);
          assertArrayEquals(expected(found.length, i -> i), found, 1e-9 * found.length * scale);
        }
        case 4 -> {
          // A client that reads one row and no more.
          statement.setFetchSize(1);
          try (ResultSet rows =
              statement.executeQuery("SELECT * FROM matrix_transpose(TABLE(m))")) {
            assertTrue(rows.next());
          }
          statement.setFetchSize(1000);
        }
        default -> {
          SQLException wrong =
              assertThrows(
                  SQLException.class,
                  () -> statement.executeQuery("SELECT * FROM volume_permute(TABLE(v), 'xyw')"));
          assertTrue(wrong.getMessage().contains("xyw"), wrong::getMessage);
        }
      }
    }

    private interface Index {
      long of(int output);
    }

    /** Values of the elements whose linear indices are given. */
    private double[] expected(int count, Index index) {
      double[] values = new double[count];
      for (int i = 0; i < count; i++) {
        values[i] = (double) index.of(i) * scale;
      }
      return values;
    }

    /** The matrix times its transpose: whole numbers below 2^53, so exact in any order. */
    private double[] product() {
      double[] c = new double[ROWS * ROWS];
      for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < ROWS; j++) {
          for (int k = 0; k < COLS; k++) {
            c[i * ROWS + j] += (double) (i * COLS + k) * (j * COLS + k) * scale * scale;
          }
        }
      }
      return c;
    }

    /** The whole array that a function gives, row-major; JDBC has arrays of SQL as text. */
    private static double[] fetched(Statement statement, String function, int... shape)
        throws SQLException {
      int rank = shape.length;
      double[] array = new double[size(shape)];
      int elements = 0;
      try (ResultSet rows = statement.executeQuery("SELECT * FROM " + function)) {
        while (rows.next()) {
          int[] place = new int[rank];
          int[] extents = new int[rank];
          for (int axis = 0; axis < rank; axis++) {
            place[axis] = Math.toIntExact(rows.getLong(1 + axis));
            extents[axis] = rows.getInt(1 + rank + axis);
          }
          String text = rows.getString("values");
          String[] values = text.substring(1, text.length() - 1).split(",");
          assertEquals(size(extents), values.length);
          for (int i = 0; i < values.length; i++) {
            array[target(i, place, extents, shape)] = Double.parseDouble(values[i]);
          }
          elements += values.length;
        }
      }
      assertEquals(array.length, elements, function);
      return array;
    }

    private static int size(int[] shape) {
      int size = 1;
      for (int extent : shape) {
        size *= extent;
      }
      return size;
    }

    /** Linear index in the array of a block's i-th element. */
    private static int target(int i, int[] place, int[] extents, int[] shape) {
      int index = 0;
      int stride = 1;
      int rest = i;
      for (int axis = shape.length - 1; axis >= 0; axis--) {
        index += (place[axis] + rest % extents[axis]) * stride;
        rest /= extents[axis];
        stride *= shape[axis];
      }
      return index;
    }
  }
}
