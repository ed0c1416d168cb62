package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.spark.sql.SparkSession;
import org.tilespark.spark.cluster.ZarrWrites.Layout;

/**
 * Writes of format zarr to a store of objects whose driver is killed. Arguments: a directory that
 * all processes share, and what to do: {@code prepare} writes the arrays that are overwritten, the
 * name of a case begins its write and is killed, {@code after} looks at what is left and writes
 * again.
 */
public final class KilledZarrDriverJob {
  /** The array that readers find after the kill. */
  private enum Left {
    OLD,
    NOTHING
  }

  /**
   * A moment at which the driver is killed.
   *
   * @param old the array that is overwritten; empty for a new one
   * @param event an expression as for {@link KillingFileSystem#AT}
   */
  private record Moment(String name, Optional<Layout> old, Layout made, String event, Left left) {}

  private static final List<Moment> MOMENTS =
      Stream.of(
              over(Layout.OLD, Layout.SHARDS, "delete .*", Left.OLD),
              over(Layout.OLD, Layout.SHARDS, "deleted .*/array/zarr.json", Left.NOTHING),
              over(Layout.OLD, Layout.SHARDS, "deleted .*/c/2/1", Left.NOTHING),
              over(Layout.OLD, Layout.IMAGE, "deleted .*/c/4/2", Left.NOTHING),
              over(Layout.IMAGE, Layout.SHARDS, "delete .*", Left.OLD),
              over(Layout.IMAGE, Layout.SHARDS, "deleted .*/3/zarr.json", Left.OLD),
              over(Layout.IMAGE, Layout.SHARDS, "deleted .*/array/zarr.json", Left.NOTHING),
              over(Layout.IMAGE, Layout.SHARDS, "deleted .*/1/c/1/1", Left.NOTHING),
              both(Layout.SHARDS, "create .*/c/.*"),
              both(Layout.SHARDS, "write .*/c/1/1"),
              both(Layout.SHARDS, "closed .*/c/2/0"),
              both(Layout.SHARDS, "create .*/array/zarr.json"),
              both(Layout.SHARDS, "write .*/array/zarr.json"),
              both(Layout.IMAGE, "closed .*/0/c/3/2"),
              both(Layout.IMAGE, "write .*/2/c/.*"),
              both(Layout.IMAGE, "create .*/0/zarr.json"),
              both(Layout.IMAGE, "closed .*/1/zarr.json"),
              both(Layout.IMAGE, "create .*/array/zarr.json"))
          .flatMap(List::stream)
          .toList();

  private final SparkSession spark;
  private final Path shared;
  private final ZarrWrites writes;
  private final Map<Layout, Map<String, String>> right = new EnumMap<>(Layout.class);

  private KilledZarrDriverJob(SparkSession spark, Path shared) {
    this.spark = spark;
    this.shared = shared;
    this.writes = new ZarrWrites(spark);
  }

  private static List<Moment> over(Layout old, Layout made, String event, Left left) {
    String name = old + " " + made + " " + event;
    return List.of(new Moment(name.replaceAll("\\W+", "-"), Optional.of(old), made, event, left));
  }

  private static List<Moment> both(Layout made, String event) {
    String name = ("new " + made + " " + event).replaceAll("\\W+", "-");
    return Stream.of(
            List.of(new Moment(name, Optional.empty(), made, event, Left.NOTHING)),
            over(Layout.OLD, made, event, Left.NOTHING))
        .flatMap(List::stream)
        .toList();
  }

  /** The names of the cases. */
  static List<String> names() {
    return MOMENTS.stream().map(Moment::name).toList();
  }

  public static void main(String[] args) throws IOException {
    Cases cases = new Cases();
    try (SparkSession spark = SparkSession.builder().getOrCreate()) {
      KilledZarrDriverJob job = new KilledZarrDriverJob(spark, Path.of(args[0]));
      for (Moment moment : MOMENTS) {
        switch (args[1]) {
          case "prepare" -> job.prepare(moment);
          case "after" -> cases.run(moment.name, () -> job.after(moment));
          default -> {
            if (moment.name.equals(args[1])) {
              job.write(moment, moment.event, ProcessHandle.current().pid());
            }
          }
        }
      }
    }
    cases.end();
  }

  private Path target(Moment moment) {
    return shared.resolve(moment.name).resolve("array");
  }

  private void prepare(Moment moment) throws IOException {
    Files.createDirectory(shared.resolve(moment.name));
    if (moment.old.isPresent()) {
      ZarrWrites.write(writes.oldBlocks(), moment.old.get(), target(moment).toString());
    }
  }

  private void write(Moment moment, String event, long pid) {
    ZarrWrites.killAt(spark, event, target(moment).resolveSibling("mark"), pid);
    ZarrWrites.write(writes.blocks(moment.made), moment.made, ZarrWrites.killing(target(moment)));
  }

  private void after(Moment moment) throws IOException {
    Path target = target(moment);
    assertTrue(Files.exists(target.resolveSibling("mark")), "nobody came to " + moment.event);
    if (moment.left == Left.OLD) {
      writes.assertOld(target, moment.old.orElseThrow());
    } else {
      writes.assertNone(target);
    }
    if (!right.containsKey(moment.made)) {
      Path undisturbed = shared.resolve("right-" + moment.made).resolve("array");
      ZarrWrites.write(writes.blocks(moment.made), moment.made, undisturbed.toString());
      right.put(moment.made, ZarrWrites.everything(undisturbed));
    }
    if (moment.left == Left.NOTHING) {
      assertWholeArrays(ZarrWrites.everything(target), right.get(moment.made));
    }
    write(moment, "", 0);
    writes.assertSame(right.get(moment.made), target, moment.made);
  }

  /** Of an image, arrays may have their metadata before their group has: each is whole then. */
  private static void assertWholeArrays(Map<String, String> found, Map<String, String> right) {
    for (String name : found.keySet()) {
      if (name.endsWith("/zarr.json")) {
        String array = name.replace("zarr.json", "");
        right.forEach(
            (object, digest) -> {
              if (object.startsWith(array)) {
                assertEquals(digest, found.get(object), object);
              }
            });
      }
    }
  }
}
