package org.tilespark.spark.source.npy;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.spark.error.ErrorCondition;
import org.tilespark.spark.error.TileSparkException;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.source.HiddenFiles;
import org.tilespark.spark.source.PosixTarget;
import org.tilespark.spark.testing.SparkTest;

/** Paths of .npy files: names, links, files of others in their directory, and places to refuse. */
class NpyPathsTest extends SparkTest {
  private static final NpyFixture FIRST = new NpyFixture("i4", 7, 5);
  private static final NpyFixture SECOND = new NpyFixture("f8", 4, 9);

  @TempDir Path dir;

  private static Dataset<Row> read(Object path) {
    return spark.read().format("npy").option("blockShape", "3,3").load(path.toString());
  }

  private Dataset<Row> blocks(NpyFixture fixture) {
    return read(NpyFixture.write(dir.resolve("source.npy"), fixture.canonical()));
  }

  private void save(NpyFixture fixture, Object path, SaveMode mode) {
    blocks(fixture).write().format("npy").mode(mode).save(path.toString());
  }

  private void overwrite(NpyFixture fixture, Object path) {
    save(fixture, path, SaveMode.Overwrite);
  }

  private static void assertHolds(NpyFixture fixture, Path path) throws IOException {
    assertArrayEquals(fixture.canonical(), Files.readAllBytes(path), path::toString);
  }

  private static long elements(Object path) {
    return read(path).selectExpr("explode(values)").count();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "a:b.npy",
        "12:30:00.npy",
        ":.npy",
        "with spaces .npy",
        "100%.npy",
        "%20.npy",
        "a#b.npy",
        "a?b.npy",
        "[a].npy",
        "{a,b}.npy",
        "*.npy",
        "a+b&c=d.npy",
        "quote'\".npy",
        "größe-日本-😀.npy",
        "no-ending",
      })
  void anyNameIsWrittenReadAndOverwritten(String name) throws IOException {
    Path path = Files.createDirectory(dir.resolve(name + " dir")).resolve(name);
    save(FIRST, path, SaveMode.ErrorIfExists);
    assertHolds(FIRST, path);
    assertEquals(35, elements(path));
    overwrite(SECOND, path);
    assertHolds(SECOND, path);
    assertEquals(36, elements(path));
    assertEquals(36, elements("file:" + path));
    // A file that is read while it is replaced.
    read(path).write().format("npy").mode("overwrite").save(path.toString());
    assertHolds(SECOND, path);
    try (var files = Files.list(path.getParent())) {
      assertEquals(1, files.count());
    }
  }

  @Tag("versions")
  @ParameterizedTest
  @ValueSource(strings = {"a:b.npy", "a b%20#c.npy"})
  void anyNameIsATablesLocation(String name) throws IOException {
    Path path = dir.resolve(name);
    blocks(FIRST).createOrReplaceTempView("source");
    spark.sql("DROP TABLE IF EXISTS named");
    try {
      spark.sql("CREATE TABLE named USING npy LOCATION '" + path + "' AS SELECT * FROM source");
      assertHolds(FIRST, path);
      assertEquals(35, spark.sql("SELECT explode(values) FROM named").count());
      spark.sql("INSERT OVERWRITE named SELECT * FROM source");
      assertHolds(FIRST, path);
    } finally {
      spark.sql("DROP TABLE IF EXISTS named");
    }
  }

  @Test
  void aRelativeNameWithAColonIsNoUrl() {
    String message = refusal(() -> read("a:b.npy"));
    assertTrue(message.contains("a:b.npy") && message.contains("./a:b.npy"), message);
    assertEquals(message, refusal(() -> overwrite(FIRST, "a:b.npy")));
  }

  @Test
  void aStaleChecksumIsIgnoredAndRemoved() throws IOException {
    Path path = dir.resolve("out.npy");
    overwrite(FIRST, path);
    // A file that Hadoop's local file system keeps next to files that it writes itself.
    Path checksum = dir.resolve(".out.npy.crc");
    byte[] stale = {'c', 'r', 'c', 0, 0, 0, 2, 0, 1, 2, 3, 4};
    Files.write(checksum, stale);
    assertEquals(35, elements(path)); // as after numpy.save over a copy that Hadoop made
    overwrite(SECOND, path);
    assertEquals(36, elements(path));
    assertFalse(Files.exists(checksum), "others still would read the file with its old checksum");
    byte[] content =
        spark.read().format("binaryFile").load(path.toString()).select("content").head().getAs(0);
    assertArrayEquals(SECOND.canonical(), content);
  }

  @Test
  void overwritingALinkReplacesTheFileBehindIt() throws IOException {
    Path elsewhere = Files.createDirectories(dir.resolve("else/where"));
    Path file = elsewhere.resolve("real.npy");
    Files.createDirectory(dir.resolve("links"));
    Path link = Files.createSymbolicLink(dir.resolve("links/out.npy"), Path.of("middle.npy"));
    Path middle =
        Files.createSymbolicLink(
            dir.resolve("links/middle.npy"), Path.of("../else/where/real.npy"));
    overwrite(FIRST, file);
    overwrite(SECOND, link);
    assertTrue(Files.isSymbolicLink(link) && Files.isSymbolicLink(middle));
    assertHolds(SECOND, file);
    assertEquals(36, elements(link));
    read(link).write().format("npy").mode("overwrite").save(link.toString());
    assertTrue(Files.isSymbolicLink(link));
    assertHolds(SECOND, file);
    assertThrows(Exception.class, () -> save(FIRST, link, SaveMode.ErrorIfExists));
    save(FIRST, link, SaveMode.Ignore);
    assertHolds(SECOND, file);
    try (var files = Files.list(elsewhere)) {
      assertEquals(1, files.count());
    }
  }

  @Test
  void aDanglingLinkIsWrittenThrough() throws IOException {
    Path file = dir.resolve("later.npy");
    Path link = Files.createSymbolicLink(dir.resolve("link.npy"), file);
    save(FIRST, link, SaveMode.ErrorIfExists);
    assertTrue(Files.isSymbolicLink(link));
    assertHolds(FIRST, file);
  }

  @Test
  void aLinkIntoADirectoryThatIsMissingIsRefused() throws IOException {
    Path link = Files.createSymbolicLink(dir.resolve("link.npy"), dir.resolve("unmounted/a.npy"));
    String message = refusal(() -> overwrite(FIRST, link));
    assertEquals(
        "Cannot write "
            + link
            + ": it is a link to "
            + dir.resolve("unmounted/a.npy")
            + ", and the directory "
            + dir.resolve("unmounted")
            + " does not exist; make it, or remove the link",
        message);
    assertTrue(Files.isSymbolicLink(link));
    assertFalse(Files.exists(dir.resolve("unmounted")));
    assertTrue(refusal(() -> read(link)).startsWith("Path does not exist: " + link));
  }

  @Test
  void aLinkToItselfIsRefused() throws IOException {
    Path link = dir.resolve("link.npy");
    Files.createSymbolicLink(link, Path.of("link.npy"));
    String message = refusal(() -> overwrite(FIRST, link));
    assertTrue(message.contains(link + ": it is a link that leads back to itself"), message);
  }

  @Test
  void directoriesMayBeLinks() throws IOException {
    Path real = Files.createDirectory(dir.resolve("real"));
    Path link = Files.createSymbolicLink(dir.resolve("link"), real);
    overwrite(FIRST, link.resolve("a.npy"));
    overwrite(FIRST, link.resolve("new/a.npy"));
    assertHolds(FIRST, real.resolve("a.npy"));
    assertHolds(FIRST, real.resolve("new/a.npy"));
  }

  @Test
  void aParentThatIsAFileIsNamed() throws IOException {
    Path file = Files.write(dir.resolve("file"), "text".getBytes(StandardCharsets.UTF_8));
    for (String below : new String[] {"a.npy", "b/a.npy"}) {
      String message = refusal(() -> overwrite(FIRST, file.resolve(below)));
      assertTrue(message.contains(file + " is a file; expected a directory"), message);
    }
    Path nowhere = Files.createSymbolicLink(dir.resolve("nowhere"), dir.resolve("missing"));
    String message = refusal(() -> overwrite(FIRST, nowhere.resolve("a.npy")));
    assertTrue(
        message.contains(
            nowhere + " is a link to " + dir.resolve("missing") + ", which does not exist"),
        message);
  }

  @Test
  void aPlaceThatMayNotBeWrittenToSaysSo() throws IOException {
    Path proc = Path.of("/proc/self/out.npy");
    org.junit.jupiter.api.Assumptions.assumeTrue(Files.isDirectory(proc.getParent()));
    String message = refusal(() -> overwrite(FIRST, proc));
    assertTrue(message.startsWith("Cannot write " + proc + ": "), message);
    assertTrue(message.endsWith(".tmp: no such file or directory"), message);
  }

  @Test
  void aRaceThatWasLostIsNamed() throws IOException {
    Path path = dir.resolve("raced.npy");
    NpyHeader header = NpyHeader.forWriting(NpyType.INT32, org.tilespark.layout.Shape.of(2, 2));
    try (PosixTarget.Pending slow =
        NpySink.begin(new PosixTarget(path), header, HiddenFiles.BEAT)) {
      overwrite(FIRST, path);
      String message = assertThrows(IOException.class, () -> slow.commit(false, true)).getMessage();
      assertTrue(message.contains("another write has made it meanwhile"), message);
      assertTrue(message.contains("mode overwrite"), message);
    }
    assertHolds(FIRST, path);
  }

  @Test
  void aHiddenFileThatSomebodyRemovedIsNamed() throws IOException {
    Path path = dir.resolve("gone.npy");
    NpyHeader header = NpyHeader.forWriting(NpyType.INT32, org.tilespark.layout.Shape.of(2, 2));
    for (boolean replace : new boolean[] {false, true}) {
      try (PosixTarget.Pending pending =
          NpySink.begin(new PosixTarget(path), header, HiddenFiles.BEAT)) {
        Files.delete(pending.file());
        String message =
            assertThrows(IOException.class, () -> pending.commit(replace, true)).getMessage();
        assertTrue(
            message.contains(pending.file() + ": it was removed while it was being written"),
            message);
      }
    }
  }

  @Test
  void aFileThatWasDeletedIsNamed() throws IOException {
    Path path = dir.resolve("deleted.npy");
    overwrite(FIRST, path);
    Dataset<Row> data = read(path);
    Files.delete(path);
    assertFails(data::collectAsList, path + " was deleted since the DataFrame was made");
    Files.createDirectory(path);
    assertFails(data::collectAsList, path + " was changed since the DataFrame was made");
  }

  private static String refusal(Executable action) {
    TileSparkException failure = assertThrows(TileSparkException.class, action);
    assertTrue(
        failure.condition().isWrongInput() || failure.condition() == ErrorCondition.IO,
        failure::toString);
    return failure.reason();
  }
}
