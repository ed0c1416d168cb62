package org.tilespark.spark.source.zarr;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.Metadata;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.spark.source.AxisLabels;
import org.tilespark.spark.source.npy.NpyFixture;
import org.tilespark.spark.testing.SparkTest;

/** Names of axes, paths and attributes that other programs write are read, used and kept. */
class ZarrNamesTest extends SparkTest {
  @TempDir Path dir;

  private Dataset<Row> npy(long... shape) throws IOException {
    Path file = Files.write(dir.resolve("a.npy"), new NpyFixture("f8", shape).canonical());
    return spark.read().format("npy").load(file.toString());
  }

  private static void save(Dataset<Row> df, Path path, String... options) {
    var writer = df.write().format("zarr").mode("overwrite");
    for (int i = 0; i < options.length; i += 2) {
      writer = writer.option(options[i], options[i + 1]);
    }
    writer.save(path.toString());
  }

  private static Dataset<Row> load(Path path, String... options) {
    var reader = spark.read().format("zarr");
    for (int i = 0; i < options.length; i += 2) {
      reader = reader.option(options[i], options[i + 1]);
    }
    return reader.load(path.toString());
  }

  private static JsonNode document(Path array) throws IOException {
    return Json.parse(Files.readAllBytes(array.resolve("zarr.json")));
  }

  private static void edit(Path array, String found, String put) throws IOException {
    Path file = array.resolve("zarr.json");
    String text = Files.readString(file);
    assertTrue(text.contains(found), text);
    Files.writeString(file, text.replace(found, put));
  }

  private static Metadata metadata(Dataset<Row> df) {
    return df.schema().apply("values").metadata();
  }

  @ParameterizedTest
  @ValueSource(strings = {"a b", "a-b", "a.b", "é", "1t", "select", "a`b", "`a`"})
  void axesOfAnyNameAreColumns(String name) throws IOException {
    Path first = dir.resolve("first");
    String column = "`" + name.replace("`", "``") + "`";
    save(npy(3, 2, 2, 4), first, "dimension_names", "[\"" + name + "\",\"p\",\"q\",\"r\"]");
    Dataset<Row> read = load(first, "blockShape", "2,2,4");
    assertEquals(name, read.schema().fieldNames()[0]);
    List<Row> all = read.collectAsList();
    assertEquals(3, all.size());
    Dataset<Row> one = read.where(column + " = 1");
    assertEquals(1, one.rdd().getNumPartitions());
    assertEquals(all.get(1).getList(7), one.head().getList(7));
    String plan = one.queryExecution().executedPlan().toString();
    assertFalse(plan.contains(" Filter "), plan);
    for (String chunks : new String[] {"1,2,2,4", "2,2,2,4"}) {
      Path second = dir.resolve("second" + chunks);
      save(read, second, "chunks", chunks);
      assertEquals(name, document(second).path("dimension_names").path(0).textValue());
      assertEquals(3, load(second).where(column + " >= 0").count());
    }
    // Extents that nothing states are measured
    Dataset<Row> bare = read.selectExpr("*").as("t").withMetadata("values", Metadata.empty());
    save(bare, dir.resolve("measured"));
    assertEquals(3, load(dir.resolve("measured")).count());
  }

  @Test
  void namesInJsonHaveCommasAndSpaces() throws IOException {
    Path array = dir.resolve("a");
    save(npy(2, 3, 4), array, "dimension_names", "[\"y\", \"a,b\", \" c\"]");
    assertEquals("[\"y\",\"a,b\",\" c\"]", document(array).path("dimension_names").toString());
    save(npy(2, 3, 4), array, "dimension_names", "[null, \"y\", \"x\"]");
    assertEquals("[null,\"y\",\"x\"]", document(array).path("dimension_names").toString());
    for (String one : new String[] {"x", "[\"x\"]"}) {
      save(npy(1, 4), array, "extents", "4", "dimension_names", one);
      assertEquals("[\"x\"]", document(array).path("dimension_names").toString());
    }
    for (String wrong : new String[] {"[\"y\"]", "[y,x]", "[1,2]", "y"}) {
      String reason = reasonOf(() -> save(npy(3, 4), array, "dimension_names", wrong));
      assertTrue(
          reason.contains("expected 2 names separated by commas, or a JSON array of texts"),
          reason);
    }
  }

  @ParameterizedTest
  @CsvSource({"nan,NaN", "NAN,NaN", "inf,Infinity", "Infinity,Infinity", "-Inf,-Infinity"})
  void fillValuesAreWrittenAsNumpyShowsThem(String option, String stored) throws IOException {
    save(npy(2, 2), dir.resolve("a"), "fill_value", option);
    assertEquals(stored, document(dir.resolve("a")).path("fill_value").textValue());
  }

  @ParameterizedTest
  @ValueSource(strings = {"a:b", ".", "a/./b", "..", "a/../b", "a/b:c"})
  void componentsAreInsideTheStore(String component) {
    String reason = reasonOf(() -> load(dir, "component", component));
    assertTrue(reason.contains("a path inside the store, without '.', '..' and colons"), reason);
  }

  @Test
  void linksDoNotHideWhatTheQueryReads() throws IOException {
    Path store = dir.resolve("store");
    save(npy(4, 4), store);
    Path link = Files.createSymbolicLink(dir.resolve("link"), store);
    for (Path[] paths : new Path[][] {{link, store}, {store, link}}) {
      String reason = reasonOf(() -> save(load(paths[0]), paths[1]));
      assertTrue(reason.contains("the query reads it"), reason);
    }
    assertEquals(16, load(store).selectExpr("explode(values)").count());
  }

  @ParameterizedTest
  @ValueSource(strings = {"zarr", "npy", "nifti", "raw"})
  void filesWithoutLengthsAreRefused(String format) {
    var reader = spark.read().format(format);
    if (format.equals("raw")) {
      reader.option("dtype", "u2").option("shape", "2,2");
    }
    String reason = reasonOf(() -> reader.load("http://127.0.0.1:9/x"));
    assertTrue(reason.contains("has no length: the file system http does not tell it"), reason);
  }

  @Test
  void attributesOfManyKilobytesAreKept() throws IOException {
    Path array = dir.resolve("a");
    String text = "x".repeat(200_000);
    save(npy(2, 2), array, "attributes", "{\"history\": \"" + text + "\"}");
    assertTrue(metadata(load(array)).getString(AxisLabels.ATTRIBUTES).contains(text));
    edit(array, text, text + text);
    assertFalse(metadata(load(array)).contains(AxisLabels.ATTRIBUTES));
  }

  @Test
  void spacingOfAnotherMeaningIsAnAttribute() throws IOException {
    Path array = dir.resolve("a");
    save(npy(2, 2), array, "attributes", "{\"spacing\": \"wide\"}");
    assertEquals("{\"spacing\":\"wide\"}", metadata(load(array)).getString(AxisLabels.ATTRIBUTES));
    save(npy(2, 2), array, "spacing", "2,3");
    assertFalse(metadata(load(array)).contains(AxisLabels.ATTRIBUTES));
    assertTrue(metadata(load(array)).contains(AxisLabels.SPACING));
  }
}
