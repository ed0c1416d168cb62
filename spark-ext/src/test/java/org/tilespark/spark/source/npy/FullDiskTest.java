package org.tilespark.spark.source.npy;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.spark.testing.SmallDisk;
import org.tilespark.spark.testing.SparkTest;

/**
 * A write into a file system with less room than the file takes: 4 MiB of memory, mounted for each
 * test. Skipped where this process may not mount.
 */
class FullDiskTest extends SparkTest {
  @TempDir Path directory;
  private SmallDisk disk;

  @BeforeEach
  void mount() throws Exception {
    disk = SmallDisk.mount(directory, 4);
  }

  @AfterEach
  void unmount() throws Exception {
    if (disk != null) {
      disk.close();
    }
  }

  @Test
  void theWriteFailsAndLeavesWhatWasThere() throws Exception {
    Path target = disk.path().resolve("out.npy");
    NpyFixture small = new NpyFixture("i4", 100, 100);
    read("small.npy", small, "30,30").write().format("npy").save(target.toString());

    Dataset<Row> large = read("large.npy", new NpyFixture("i4", 1500, 1000), "100,1000");
    Throwable failure =
        assertThrows(
            Exception.class,
            () -> large.write().format("npy").mode(SaveMode.Overwrite).save(target.toString()));

    StringBuilder messages = new StringBuilder();
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      messages.append(cause.getMessage()).append('\n');
    }
    assertTrue(messages.toString().contains("No space left on device"), messages::toString);
    assertTrue(
        messages.toString().contains("the whole file takes 6000128 bytes"), messages::toString);
    assertArrayEquals(small.canonical(), Files.readAllBytes(target));
    try (Stream<Path> files = Files.list(disk.path())) {
      assertEquals(List.of(target), files.toList());
    }
    awaitNoTasks(); // one that is being killed may hold the file that was removed
    // There is room again.
    read("small.npy", small, "7,100")
        .write()
        .format("npy")
        .mode(SaveMode.Overwrite)
        .save(target.toString());
    assertArrayEquals(small.canonical(), Files.readAllBytes(target));
  }

  private Dataset<Row> read(String name, NpyFixture array, String blockShape) {
    return spark
        .read()
        .format("npy")
        .option("blockShape", blockShape)
        .load(NpyFixture.write(directory.resolve(name), array.canonical()));
  }
}
