package org.tilespark.spark.cluster;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.concurrent.TimeUnit;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * Disturbs tasks while rows pass through them. Tasks find out what happened elsewhere by files in a
 * directory that all processes share.
 */
final class Interference {
  private static final long LIMIT_SECONDS = 240;

  private Interference() {}

  /** An action of a task at a row; called before the row is handed on. */
  interface AtRow extends Serializable {
    void at(int row) throws IOException, InterruptedException;
  }

  /** These rows; each task does {@code action} at each of its own. */
  static Dataset<Row> through(SparkSession spark, Dataset<Row> rows, AtRow action) {
    return spark.createDataFrame(
        rows.toJavaRDD().mapPartitions(new Passing(action)), rows.schema());
  }

  /** The first task of all that comes to row {@code row} has its process killed. */
  static AtRow killOnce(Path mark, int row) {
    String path = mark.toString();
    return at -> {
      if (at == row && leave(Path.of(path))) {
        Executors.kill(ProcessHandle.current().pid());
        TimeUnit.SECONDS.sleep(LIMIT_SECONDS); // the signal is on its way
      }
    };
  }

  /** Makes an empty file; false if it is there already. */
  static boolean leave(Path mark) throws IOException {
    try {
      Files.createFile(mark);
      return true;
    } catch (FileAlreadyExistsException e) {
      return false;
    }
  }

  /** Waits until somebody has made the file. */
  static void await(Path mark) throws InterruptedException {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
    while (!Files.exists(mark)) {
      if (System.nanoTime() > deadline) {
        throw new IllegalStateException("nobody made " + mark);
      }
      TimeUnit.MILLISECONDS.sleep(20);
    }
  }

  private record Passing(AtRow action) implements FlatMapFunction<Iterator<Row>, Row> {
    @Override
    public Iterator<Row> call(Iterator<Row> rows) {
      return new Iterator<>() {
        private int row;

        @Override
        public boolean hasNext() {
          return rows.hasNext();
        }

        @Override
        public Row next() {
          Row next = rows.next();
          try {
            action.at(row++);
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted, as a task is that is killed", e);
          }
          return next;
        }
      };
    }
  }
}
