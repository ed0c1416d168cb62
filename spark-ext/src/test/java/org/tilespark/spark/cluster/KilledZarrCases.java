package org.tilespark.spark.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.apache.commons.io.FileUtils;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.tilespark.spark.cluster.ZarrWrites.Layout;

/**
 * Executors that are killed at each stage of a write of format zarr, to a store of objects and to
 * files, of new arrays and over others: what is left is what a write leaves that nothing disturbs.
 */
final class KilledZarrCases {
  /** A stage of a write to a store of objects; the names are those of the cases. */
  private enum Stage {
    BEFORE_SHUFFLE(Layout.SHARDS, ""),
    BEFORE_FIRST_OBJECT(Layout.SHARDS, "create .*/c/.*"),
    IN_OBJECT(Layout.SHARDS, "write .*/c/1/1"),
    BEFORE_CLOSE(Layout.SHARDS, "close .*/c/2/0"),
    AFTER_OBJECT(Layout.SHARDS, "closed .*/c/0/2"),
    IN_FINEST_LEVEL(Layout.IMAGE, "write .*/0/c/2/1"),
    BEFORE_COARSER_LEVEL(Layout.SHARDED_IMAGE, "create .*/1/c/.*"),
    IN_COARSER_LEVEL(Layout.SHARDED_IMAGE, "write .*/1/c/1/0"),
    AFTER_COARSER_OBJECT(Layout.IMAGE, "closed .*/2/c/0/1");

    private final Layout layout;
    private final String event;

    Stage(Layout layout, String event) {
      this.layout = layout;
      this.event = event;
    }
  }

  /** A stage of a write to files. */
  private enum FileStage {
    BEFORE_SHUFFLE(Layout.SHARDS),
    IN_FILE(Layout.LARGE),
    AFTER_FILE(Layout.LARGE),
    IN_COARSER_LEVEL(Layout.LARGE_IMAGE);

    private final Layout layout;

    FileStage(Layout layout) {
      this.layout = layout;
    }
  }

  /** Writes until a process is met while it writes a file: mostly the first one. */
  private static final int TRIES = 5;

  private final SparkSession spark;
  private final Killing killing;
  private final Path shared;
  private final ZarrWrites writes;
  private final Map<Layout, Map<String, String>> right = new EnumMap<>(Layout.class);

  KilledZarrCases(SparkSession spark, Killing killing, Path shared) {
    this.spark = spark;
    this.killing = killing;
    this.shared = shared;
    this.writes = new ZarrWrites(spark);
  }

  /** The names of the cases. */
  static List<String> names(boolean all) {
    List<String> names = new ArrayList<>();
    for (boolean overwrites : new boolean[] {false, true}) {
      for (Stage stage : Stage.values()) {
        names.add(name("zarr objects", stage, overwrites));
      }
      for (FileStage stage : FileStage.values()) {
        names.add(name("zarr files", stage, overwrites));
      }
    }
    List<String> sample =
        List.of(
            name("zarr objects", Stage.IN_OBJECT, true),
            name("zarr files", FileStage.IN_FILE, false),
            name("zarr files", FileStage.IN_COARSER_LEVEL, true));
    return all ? names : sample;
  }

  private static String name(String store, Enum<?> stage, boolean overwrites) {
    return store + ", " + stage + (overwrites ? ", over another" : ", new");
  }

  void run(Cases cases, boolean all) {
    List<String> names = names(all);
    for (boolean overwrites : new boolean[] {false, true}) {
      for (Stage stage : Stage.values()) {
        String name = name("zarr objects", stage, overwrites);
        if (names.contains(name)) {
          cases.run(name, () -> objects(name.replaceAll("\\W+", "-"), stage, overwrites));
        }
      }
      for (FileStage stage : FileStage.values()) {
        String name = name("zarr files", stage, overwrites);
        if (names.contains(name)) {
          cases.run(name, () -> files(name.replaceAll("\\W+", "-"), stage, overwrites));
        }
      }
    }
  }

  private void objects(String name, Stage stage, boolean overwrites) throws Exception {
    Path target = target(name, overwrites);
    Map<String, String> expected = right(stage.layout);
    if (stage.event.isEmpty()) {
      killing.atRow(
          name,
          3,
          killer ->
              ZarrWrites.write(
                  Interference.through(spark, writes.blocks(stage.layout), killer),
                  stage.layout,
                  ZarrWrites.killing(target)));
    } else {
      killing.anExecutor(
          name,
          mark -> {
            ZarrWrites.killAt(spark, stage.event, mark, 0);
            ZarrWrites.write(writes.blocks(stage.layout), stage.layout, ZarrWrites.killing(target));
          });
    }
    writes.assertSame(expected, target, stage.layout);
  }

  /** A new place, or one with an array of other chunks and values. */
  private Path target(String name, boolean overwrites) throws IOException {
    Path place = Files.createDirectory(shared.resolve(name));
    ZarrWrites.killAt(spark, "", place.resolve("mark"), 0);
    Path target = place.resolve("array");
    if (overwrites) {
      ZarrWrites.write(writes.oldBlocks(), Layout.OLD, target.toString());
    }
    return target;
  }

  private Map<String, String> right(Layout layout) throws IOException {
    if (!right.containsKey(layout)) {
      Path target = shared.resolve("right-" + layout).resolve("array");
      ZarrWrites.write(writes.blocks(layout), layout, target.toString());
      right.put(layout, ZarrWrites.everything(target));
      writes.assertSame(right.get(layout), target, layout);
    }
    return right.get(layout);
  }

  private void files(String name, FileStage stage, boolean overwrites) throws Exception {
    Path target = target(name, overwrites);
    Map<String, String> expected = right(stage.layout);
    String path = target.toString();
    if (stage == FileStage.BEFORE_SHUFFLE) {
      killing.atRow(
          name,
          3,
          killer ->
              ZarrWrites.write(
                  Interference.through(spark, writes.blocks(stage.layout), killer),
                  stage.layout,
                  path));
    } else {
      killing.anExecutor(name, mark -> inTries(target, stage, overwrites, mark));
    }
    writes.assertSame(expected, target, stage.layout);
  }

  /** Writes until a process is met at the right moment. */
  private void inTries(Path target, FileStage stage, boolean overwrites, Path mark)
      throws IOException {
    String path = target.toString();
    OpenFiles.Moment moment =
        stage == FileStage.AFTER_FILE ? OpenFiles.Moment.NAMED : OpenFiles.Moment.OPEN;
    int before = stage == FileStage.IN_COARSER_LEVEL ? count(stage.layout, "0/c/") : 0;
    for (int i = 0; i < TRIES && !Files.exists(mark); i++) {
      if (!overwrites) {
        FileUtils.deleteDirectory(target.toFile());
      }
      String each = mark + "." + i;
      Dataset<Row> watched =
          Interference.through(
              spark,
              writes.blocks(stage.layout),
              row -> OpenFiles.haltWriter(Path.of(path), moment, before, Path.of(each)));
      ZarrWrites.write(watched, stage.layout, path);
      if (Files.exists(Path.of(each))) {
        Files.createFile(mark);
      }
    }
  }

  private int count(Layout layout, String prefix) {
    return (int)
        right.get(layout).keySet().stream().filter(name -> name.startsWith(prefix)).count();
  }

  /** Files of chunks or shards that have their names. */
  static long chunks(Path target) throws IOException {
    return Killing.filesBelow(target, name -> name.matches("\\d+")).size();
  }
}
