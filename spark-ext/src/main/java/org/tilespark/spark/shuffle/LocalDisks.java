package org.tilespark.spark.shuffle;

import java.io.File;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.apache.spark.SparkEnv;
import org.tilespark.arrow.store.MapOutput;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.error.ErrorBoundary;

/** The local directories of an executor for files of outputs. */
final class LocalDisks {
  private LocalDisks() {}

  /**
   * Runs work that may write an output to files. The error message of a failure states the free
   * space of each directory.
   *
   * @return what {@code body} returns
   */
  static <T> T writing(MapOutput output, ErrorBoundary.Body<T> body) {
    return ErrorBoundary.BLOCKS.call(
        () -> {
          try {
            return body.run();
          } catch (ClosedByInterruptException killed) {
            throw killed;
          } catch (IOException e) {
            throw explained(output, e);
          }
        });
  }

  private static IOException explained(MapOutput output, IOException failure) {
    long bytes = Arrays.stream(output.wireBytes()).sum();
    File[] directories = SparkEnv.get().blockManager().diskBlockManager().localDirs();
    return new IOException(
        "Cannot write an output of shuffle "
            + output.id().shuffle()
            + " to files: "
            + failure.getMessage()
            + ". It has "
            + bytes
            + " bytes so far; free are "
            + Arrays.stream(directories)
                .map(directory -> directory.getUsableSpace() + " bytes in " + directory)
                .collect(Collectors.joining(", "))
            + ". Name larger disks by spark.local.dir, or give "
            + TileSparkConf.STORE_SIZE.name()
            + " more memory",
        failure);
  }
}
