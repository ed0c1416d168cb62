package org.tilespark.spark.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.testing.TestArray;

/**
 * An application that writes a file of the npy sink, or an array of the Zarr sink. Arguments: the
 * target; and, where the driver is to be killed during the write, the path of a file. A task makes
 * that file in the middle of the write, and waits.
 */
public final class KilledDriverJob {
  private KilledDriverJob() {}

  public static void main(String[] args) throws IOException {
    try (SparkSession spark = SparkSession.builder().getOrCreate()) {
      TestArray array = TestArray.matrix(ElementType.FLOAT32, 120, 90, 20, 15);
      Dataset<Row> blocks =
          MatrixBlocks.transpose(
              MatrixBlocks.reblock(array.toDataFrame(spark, 6).drop("tag"), 13, 17));
      if (args.length > 1) {
        String mark = args[1];
        blocks =
            Interference.through(
                spark,
                blocks,
                row -> {
                  if (row == 3) {
                    Interference.leave(Path.of(mark));
                    TimeUnit.SECONDS.sleep(300);
                  }
                });
      }
      if (args[0].endsWith(".zarr")) {
        writeZarr(blocks, "17,13", args[0]);
        System.out.println("wrote " + args[0]);
        return;
      }
      // With the extents, nothing but the write looks at the blocks.
      blocks
          .write()
          .format("npy")
          .option("extents", "90,120")
          .mode(SaveMode.Overwrite)
          .save(args[0]);
      System.out.println("wrote " + args[0]);
    }
  }

  /** Writes an array in chunks that are the blocks, each as its row comes. */
  static void writeZarr(Dataset<Row> blocks, String chunks, String target) {
    blocks
        .write()
        .format("zarr")
        .option("extents", "90,120")
        .option("chunks", chunks)
        .mode(SaveMode.Overwrite)
        .save(target);
  }

  /** The bytes of all objects of an array, by their names, without what killed processes left. */
  static Map<String, String> contents(Path target) throws IOException {
    Map<String, String> contents = new TreeMap<>();
    try (Stream<Path> files = Files.walk(target)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        if (!file.getFileName().toString().startsWith(".")) {
          contents.put(
              target.relativize(file).toString(), Arrays.toString(Files.readAllBytes(file)));
        }
      }
    }
    return contents;
  }
}
