package org.tilespark.spark.source.npy;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tilespark.spark.error.ErrorCondition;
import org.tilespark.spark.error.TileSparkException;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.testing.SparkTest;

class NpySourceTest extends SparkTest {
  @TempDir static Path dir;

  @BeforeAll
  static void registerFileSystem() {
    spark
        .sparkContext()
        .hadoopConfiguration()
        .set("fs.plain.impl", PlainTestFileSystem.class.getName());
  }

  private static Dataset<Row> load(Object path, String... options) {
    var reader = spark.read().format("npy");
    for (int i = 0; i < options.length; i += 2) {
      reader = reader.option(options[i], options[i + 1]);
    }
    return reader.load(path.toString());
  }

  private static String refusal(Object path, String... options) {
    return reasonOf(() -> load(path, options));
  }

  /** A u1 file of 0, 1, 2, ... */
  private static String counting(String name, boolean fortran, long... shape) {
    long count = Arrays.stream(shape).reduce(1, (a, b) -> a * b);
    byte[] header =
        NpyFixture.header(
            "{'descr': '|u1', 'fortran_order': "
                + (fortran ? "True" : "False")
                + ", 'shape': "
                + NpyFixture.tuple(shape)
                + ", }",
            1);
    byte[] file = Arrays.copyOf(header, header.length + (int) count);
    for (int i = 0; i < count; i++) {
      file[header.length + i] = (byte) i;
    }
    return NpyFixture.write(dir.resolve(name), file);
  }

  @Tag("versions")
  @Test
  void blocksOfAMatrixInBothOrders() {
    Dataset<Row> c = load(counting("c.npy", false, 3, 5), "blockShape", "2,3");
    assertEquals(
        "row BIGINT NOT NULL,col BIGINT NOT NULL,rows INT NOT NULL,cols INT NOT NULL,"
            + "values ARRAY<SMALLINT> NOT NULL",
        c.schema().toDDL());
    assertEquals(
        List.of(
            "[0,0,2,3,[0, 1, 2, 5, 6, 7]]",
            "[0,3,2,2,[3, 4, 8, 9]]",
            "[2,0,1,3,[10, 11, 12]]",
            "[2,3,1,2,[13, 14]]"),
        rows(c.orderBy("row", "col")));
    Dataset<Row> fortran = load(counting("f.npy", true, 3, 5), "BLOCKSHAPE", " 2, 3 ");
    assertEquals(
        List.of(
            "[0,0,2,3,[0, 3, 6, 1, 4, 7]]",
            "[0,3,2,2,[9, 12, 10, 13]]",
            "[2,0,1,3,[2, 5, 8]]",
            "[2,3,1,2,[11, 14]]"),
        rows(fortran.orderBy("row", "col")));
  }

  @Test
  void blocksOfAVolume() {
    Dataset<Row> v = load(counting("v.npy", false, 2, 3, 4), "blockShape", "2,2,3");
    assertEquals("[0,2,3,2,1,1,[11, 23]]", rows(v.where("y = 2 and z = 3")).get(0));
    Dataset<Row> f = load(counting("vf.npy", true, 2, 3, 4), "blockShape", "2,2,3");
    assertEquals("[0,2,3,2,1,1,[22, 23]]", rows(f.where("y = 2 and z = 3")).get(0));
    assertEquals(
        List.of("[0,0,0,2,3,4]"),
        rows(load(dir.resolve("v.npy")).select("x", "y", "z", "nx", "ny", "nz")));
  }

  /** numpy takes every byte but 0 for True. */
  @Test
  void bytesOfBool() {
    byte[] header =
        NpyFixture.header("{'descr': '|b1', 'fortran_order': False, 'shape': (2, 3), }", 1);
    byte[] file = Arrays.copyOf(header, header.length + 6);
    System.arraycopy(new byte[] {0, 1, 2, -1, -128, 0}, 0, file, header.length, 6);
    Dataset<Row> m = load(NpyFixture.write(dir.resolve("bool.npy"), file));
    assertEquals(List.of("[0,0,2,3,[0, 1, 1, 1, 1, 0]]"), rows(m));
    assertEquals("|b1", m.schema().apply("values").metadata().getString("tilespark.fileType"));
    Dataset<Row> floats = load(dir.resolve("bool.npy"), "as", "float");
    assertEquals(List.of("[0,0,2,3,[0.0, 1.0, 1.0, 1.0, 1.0, 0.0]]"), rows(floats));
  }

  private static List<String> rows(Dataset<Row> data) {
    List<String> rows = new ArrayList<>();
    for (Row row : data.collectAsList()) {
      rows.add(row.toString().replaceAll("ArraySeq\\(([^)]*)\\)", "[$1]"));
    }
    return rows;
  }

  @Tag("versions")
  @Test
  void saysWhatIsKnownOfTheWhole() {
    Dataset<Row> m = load(counting("known.npy", true, 3, 5), "blockShape", "2,300");
    Metadata metadata = m.schema().apply("values").metadata();
    assertEquals("3,5", metadata.getString("tilespark.extents"));
    assertEquals("2,5", metadata.getString("tilespark.blockShape"));
    assertEquals("xy", metadata.getString("tilespark.axes"));
    assertEquals("|u1", metadata.getString("tilespark.fileType"));
    Metadata converted =
        load(dir.resolve("known.npy"), "as", "Double").schema().apply("values").metadata();
    assertEquals("<f8", converted.getString("tilespark.fileType"));
  }

  @ParameterizedTest
  @CsvSource({
    "i1,TINYINT",
    "i2,SMALLINT",
    "i4,INT",
    "i8,BIGINT",
    "u1,SMALLINT",
    "u2,INT",
    "u4,BIGINT",
    "f2,FLOAT",
    "f4,FLOAT",
    "f8,DOUBLE",
    "c8,FLOAT",
    "c16,DOUBLE",
    "b1,TINYINT"
  })
  void converts(String code, String type) {
    NpyFixture fixture = new NpyFixture(code, 7, 5);
    boolean complex = code.startsWith("c");
    String path = NpyFixture.write(dir.resolve(code + ".npy"), fixture.file('>', true, 2));
    Dataset<Row> own = load(path, "blockShape", "3,4");
    String ddl = own.schema().toDDL();
    assertTrue(ddl.contains("values ARRAY<" + type + ">"), ddl);
    assertEquals(complex, ddl.contains("imag ARRAY<" + type + ">"));
    for (String as : List.of("float", "double")) {
      // What Spark's CAST makes of the file's own values is what reading with `as` must give.
      String cast = "cast(values as array<" + as + ">) values";
      String imag = complex ? ", cast(imag as array<" + as + ">) imag" : "";
      Dataset<Row> expected = own.selectExpr(("row, col, " + cast + imag).split(", (?![^(]*\\))"));
      Dataset<Row> actual = load(path, "blockShape", "3,4", "as", as).drop("rows", "cols");
      assertEquals(rows(expected.orderBy("row", "col")), rows(actual.orderBy("row", "col")));
    }
    assertEquals(35, own.selectExpr("explode(values)").count());
    if (complex) {
      assertEquals(35, own.selectExpr("explode(imag)").count());
    }
  }

  @Tag("versions")
  @Test
  void coordinatesNeedNoData() throws IOException {
    Path path = Path.of(counting("pruned.npy", false, 30, 50));
    Dataset<Row> m = load(path, "blockShape", "7,11");
    FileTime time = Files.getLastModifiedTime(path);
    try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
      file.setLength(128);
    }
    Files.setLastModifiedTime(path, time); // a change that its time does not show
    assertEquals(25, m.count());
    assertEquals(1500, m.selectExpr("sum(rows * cols)").head().getLong(0));
    assertEquals(5, m.select("col").distinct().count());
    Exception failure = assertThrows(Exception.class, () -> m.select("values").collectAsList());
    assertTrue(causes(failure).contains("expected 1628 bytes"), causes(failure));
    assertTrue(causes(failure).contains("found 128 of"), causes(failure));
  }

  private static String causes(Throwable failure) {
    StringBuilder text = new StringBuilder();
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      text.append(cause.getMessage()).append('\n');
    }
    return text.toString();
  }

  @Tag("versions")
  @ParameterizedTest
  @CsvSource(
      delimiter = '#',
      value = {
        "row = 7 and col = 22",
        "row <=> 7L",
        "row < 7 or col >= 44",
        "row in (0, 14, 3) and not col in (11)",
        "row > 7 and rows <= 2",
        "not (row between 7 and 21)",
        "row is not null and values is not null",
        "row is null",
        "col in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)",
        "7 = row",
        "row = cast(14 as int) and cols > 6",
      })
  void filtersOnPlacesReadNothingElse(String filter) {
    Dataset<Row> m = load(counting("filtered.npy", false, 30, 50), "blockShape", "7,11");
    String plan = m.where(filter).queryExecution().executedPlan().toString();
    assertFalse(plan.contains("Filter ("), plan);
    List<Row> all = m.persist().where(filter).orderBy("row", "col").collectAsList();
    m.unpersist();
    assertEquals(all, m.where(filter).orderBy("row", "col").collectAsList());
  }

  @Tag("versions")
  @Test
  void otherFiltersStay() {
    Dataset<Row> m = load(counting("mixed.npy", false, 30, 50), "blockShape", "7,11");
    assertEquals(
        2,
        m.where("row < 14 and values[0] % 2 = 1 and col = 11").count()
            + m.where("row < 14 and values[0] % 2 = 0 and col = 11").count());
    assertEquals(10, m.where("row % 14 = 0 and row < 28").count());
    assertEquals(5, m.where("row + col = 0 or row = 28").count() - 1);
  }

  @Test
  void filesBeyond32Bits() throws IOException {
    long side = 70_000; // 4.9e9 elements
    Path path = dir.resolve("sparse.npy");
    byte[] header = NpyHeader.forWriting(NpyType.UINT8, shape(side, side)).encode();
    try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
      file.write(header);
      file.setLength(header.length + side * side);
      file.seek(header.length + (side - 1) * side + side - 3);
      file.write(new byte[] {1, (byte) 200, 3});
    }
    Dataset<Row> m = load(path, "blockShape", "4096,4096");
    assertEquals(18 * 18, m.count());
    List<Row> last = m.where("row = 69632 and col = 69632").collectAsList();
    assertEquals(1, last.size());
    short[] values = shorts(last.get(0).getList(4));
    assertEquals(368 * 368, values.length);
    assertArrayEquals(
        new short[] {0, 1, 200, 3}, Arrays.copyOfRange(values, values.length - 4, values.length));
    int partitions = m.rdd().getNumPartitions();
    assertTrue(partitions > 30 && partitions < 18 * 18, "partitions " + partitions);
    String message = refusal(path, "blockShape", "50000,50000");
    assertTrue(message.contains("below 2 GiB") && message.contains("blockShape"), message);
    assertTrue(refusal(path, "blockShape", "1,1").contains("expected at most"));
  }

  private static short[] shorts(List<?> values) {
    short[] out = new short[values.size()];
    for (int i = 0; i < out.length; i++) {
      out[i] = (Short) values.get(i);
    }
    return out;
  }

  private static org.tilespark.layout.Shape shape(long... extents) {
    return org.tilespark.layout.Shape.of(extents);
  }

  @Tag("versions")
  @Test
  void readsThroughHadoop() {
    for (boolean fortran : new boolean[] {false, true}) {
      NpyFixture fixture = new NpyFixture("c16", 23, 31);
      String path = NpyFixture.write(dir.resolve("h.npy"), fixture.file('>', fortran, 3));
      Dataset<Row> local = load(path, "blockShape", "5,9").orderBy("row", "col");
      Dataset<Row> remote = load("plain:" + path, "blockShape", "5,9").orderBy("row", "col");
      assertEquals(rows(local), rows(remote));
    }
    long opened = PlainTestFileSystem.OPENED.get();
    Dataset<Row> m = load("plain:" + dir.resolve("h.npy"));
    assertEquals(opened + 2, PlainTestFileSystem.OPENED.get()); // the header: schema, table
    assertEquals(1, m.count());
    assertEquals(opened + 2, PlainTestFileSystem.OPENED.get());
  }

  @Test
  void arraysWithoutElements() {
    for (long[] extents : new long[][] {{0, 5}, {5, 0}, {0, 0}, {3, 0, 4}}) {
      String path =
          NpyFixture.write(dir.resolve("empty.npy"), new NpyFixture("f4", extents).canonical());
      Dataset<Row> m = load(path);
      assertEquals(0, m.count());
      assertEquals(
          NpyFixture.tuple(extents).replaceAll("[() ]", ""),
          m.schema().apply("values").metadata().getString("tilespark.extents"));
    }
  }

  @Tag("versions")
  @Test
  void sqlViews() {
    String path = counting("sql.npy", false, 30, 50);
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW v USING npy OPTIONS (path '"
            + path
            + "', blockShape '7,11')");
    assertEquals(25, spark.sql("SELECT * FROM v").collectAsList().size());
    assertEquals(1500, spark.sql("SELECT sum(size(values)) FROM v").head().getLong(0));
    assertEquals(25, spark.sql("SELECT a.row FROM v a JOIN v b USING (row, col)").count());
  }

  @Tag("versions")
  @Test
  void equalReadsShareTheCache() {
    String path = counting("cached.npy", false, 30, 50);
    Dataset<Row> first = load(path, "blockShape", "7,11").cache();
    assertTrue(
        load(path, "blockShape", "7,11")
            .queryExecution()
            .executedPlan()
            .toString()
            .contains("InMemoryTableScan"));
    assertFalse(
        load(path, "blockShape", "7,12")
            .queryExecution()
            .executedPlan()
            .toString()
            .contains("InMemoryTableScan"));
    first.unpersist();
  }

  @Test
  void abandonedReadsReleaseTheirMemory() {
    Dataset<Row> m = load(counting("limit.npy", false, 30, 50), "blockShape", "7,11");
    assertEquals(3, m.limit(3).collectAsList().size());
    assertThrows(
        Exception.class, () -> m.selectExpr("raise_error(string(values[0]))").collectAsList());
    var rows = m.toLocalIterator();
    rows.next();
    assertEquals(2, m.takeAsList(2).size());
  }

  @Test
  void noticesThatTheFileWasReplaced() {
    Path path = dir.resolve("replaced.npy");
    NpyFixture.write(path, new NpyFixture("f4", 30, 50).canonical());
    Dataset<Row> m = load(path);
    NpyFixture.write(path, new NpyFixture("f4", 50, 30).canonical());
    assertFails(m::collectAsList, "was changed since the DataFrame was made", "Load it again");
    NpyFixture.write(path, new byte[200]);
    assertFails(m::collectAsList, "was changed since", "expected 6128 bytes of", "found 200 of");
  }

  @Test
  void noticesThatTheFileWasWrittenAnewInItsShape() throws IOException {
    Path path = dir.resolve("anew.npy");
    byte[] bytes = new NpyFixture("f4", 30, 50).canonical();
    NpyFixture.write(path, bytes);
    FileTime time = Files.getLastModifiedTime(path);
    Dataset<Row> m = load(path);
    bytes[bytes.length - 1] ^= 1;
    Files.write(path, bytes); // in place
    Files.setLastModifiedTime(path, FileTime.fromMillis(time.toMillis() + 1));
    assertFails(m::collectAsList, "was changed since", "expected 6128 bytes of", "Load it again");
    assertFails(m.select("values")::collectAsList, "was changed since");
    assertEquals(1, load(path).where("row = 0 AND col = 0").count());
    Files.setLastModifiedTime(path, time);
    m.collectAsList();
  }

  @Test
  void batchesKeepToTheirSize() {
    String path = counting("batches.npy", false, 30, 50);
    List<String> expected = rows(load(path, "blockShape", "7,11").orderBy("row", "col"));
    with(
        java.util.Map.of("spark.tilespark.memory.batchSize", "1b"),
        () -> assertEquals(expected, rows(load(path, "blockShape", "7,11").orderBy("row", "col"))));
  }

  @Tag("versions")
  @Test
  void withoutCodegenAndAqe() {
    Dataset<Row> m = load(counting("plain.npy", true, 30, 50), "blockShape", "7,11");
    List<String> expected = rows(m.orderBy("row", "col"));
    for (String key : List.of("spark.sql.codegen.wholeStage", "spark.sql.adaptive.enabled")) {
      spark.conf().set(key, false);
      try {
        assertEquals(
            expected,
            rows(load(dir.resolve("plain.npy"), "blockShape", "7,11").orderBy("row", "col")));
      } finally {
        spark.conf().unset(key);
      }
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '#',
      value = {
        "-2,4",
        "0,4",
        "4",
        "4,4,4",
        "a,b",
        "'4,'",
        "4;4",
        "''",
        "1.5,2",
        "99999999999999999999,1"
      })
  void refusesBlockShapes(String blockShape) {
    String message = refusal(counting("shape.npy", false, 30, 50), "blockShape", blockShape);
    assertTrue(message.startsWith("Option blockShape is '" + blockShape + "'"), message);
    assertTrue(message.contains("2 whole numbers of 1 or more"), message);
  }

  @Test
  void aWrongOptionAndAWrongFileHaveConditionsOfTheirOwn() {
    String path = counting("whose.npy", false, 30, 50);
    StructType columns = load(path).schema();
    var stated = spark.read().format("npy").schema(columns).option("blockShape", "4");
    assertEquals(ErrorCondition.INVALID_ARGUMENT, condition(() -> load(path, "blockShape", "4")));
    assertEquals(ErrorCondition.INVALID_ARGUMENT, condition(() -> stated.load(path).count()));
    assertEquals(ErrorCondition.INVALID_FILE, condition(() -> load(dir)));
    assertEquals(ErrorCondition.INVALID_FILE, condition(() -> load(dir.resolve("no.npy"))));
  }

  private static ErrorCondition condition(Executable action) {
    return assertThrows(TileSparkException.class, action).condition();
  }

  @Test
  void refusesFilesThatAreNoneBeforeAnyJob() throws IOException {
    byte[] good = new NpyFixture("f4", 30, 50).canonical();
    Path path = dir.resolve("bad.npy");
    NpyFixture.write(path, Arrays.copyOf(good, good.length - 1));
    assertTrue(
        refusal(path)
            .contains(
                "truncated: expected 6128 bytes (128 of header, then (30, 50) of"
                    + " float32), found 6127"),
        refusal(path));
    NpyFixture.write(path, Arrays.copyOf(good, good.length + 1));
    assertTrue(refusal(path).contains("bytes after its array"), refusal(path));
    NpyFixture.write(path, Arrays.copyOf(good, 100));
    assertTrue(refusal(path).contains("truncated header: expected 128"), refusal(path));
    NpyFixture.write(path, new byte[0]);
    assertTrue(refusal(path).contains("not a .npy file"), refusal(path));
    NpyFixture.write(
        path, "PK\3\4 something else".getBytes(java.nio.charset.StandardCharsets.UTF_8));
    assertTrue(refusal(path).contains("found 50 4B 03 04"), refusal(path));
    byte[] version = good.clone();
    version[6] = 4;
    NpyFixture.write(path, version);
    assertTrue(refusal(path).contains("version 4.0; expected 1.0, 2.0 or 3.0"), refusal(path));
    byte[] length = new NpyFixture("f4", 30, 50).file('<', false, 2);
    length[11] = (byte) 0xff;
    NpyFixture.write(path, length);
    assertTrue(refusal(path).contains("header of 427"), refusal(path));
    NpyFixture.write(path, NpyFixture.header("{'descr': '<u8', 'shape': (2,2)}", 1));
    assertTrue(refusal(path).contains("no key 'fortran_order'"), refusal(path));
    NpyFixture.write(path, new NpyFixture("f4", 30).canonical());
    assertTrue(refusal(path).contains("an array of 1 axes, shape (30)"), refusal(path));
    NpyFixture.write(path, new NpyFixture("f4", 2, 2, 2, 2).file('<', true, 1));
    assertTrue(refusal(path).contains("an array of 4 axes in Fortran order"), refusal(path));
    assertTrue(refusal(dir.resolve("no.npy")).startsWith("Path does not exist"));
    assertTrue(refusal(dir).contains("is a directory"), refusal(dir));
  }

  @Test
  void refusesOptions() {
    String path = counting("options.npy", false, 30, 50);
    assertTrue(refusal(path, "as", "int").contains("expected 'float' or 'double'"));
    String several = reasonOf(() -> spark.read().format("npy").load(path, path));
    assertTrue(several.contains("several paths"), several);
    assertTrue(reasonOf(() -> spark.read().format("npy").load()).contains("needs the path"));
    StructType other =
        new StructType().add("values", DataTypes.createArrayType(DataTypes.FloatType));
    String schema = reasonOf(() -> spark.read().format("npy").schema(other).load(path));
    assertTrue(schema.contains("the stated schema is (values ARRAY<FLOAT>)"), schema);
    StructType same = load(path).schema();
    assertEquals(1, spark.read().format("npy").schema(same).load(path).count());
    assertTrue(Files.exists(Path.of(path)));
  }
}
