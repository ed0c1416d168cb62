package org.tilespark.spark.source.raw;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.zip.GZIPOutputStream;
import org.apache.spark.sql.DataFrameReader;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.source.npy.NpyFixture;
import org.tilespark.spark.testing.SparkTest;

/** Files of numbers only are the .npy files of the same numbers. */
class RawFormatTest extends SparkTest {
  @TempDir Path dir;

  private static Dataset<Row> load(Path path, String... options) {
    DataFrameReader reader = spark.read().format("raw");
    for (int i = 0; i < options.length; i += 2) {
      reader = reader.option(options[i], options[i + 1]);
    }
    return reader.load(path.toString());
  }

  private byte[] npy(Dataset<Row> df) throws IOException {
    Path file = dir.resolve("back.npy");
    df.write().format("npy").mode("overwrite").save(file.toString());
    return Files.readAllBytes(file);
  }

  /** The bytes of a .npy file from the end of its header on, after some others. */
  private Path numbers(byte[] file, int offset) throws IOException {
    int header = 10 + (file[8] & 0xff) + ((file[9] & 0xff) << 8);
    byte[] bytes = new byte[offset + file.length - header];
    Arrays.fill(bytes, 0, offset, (byte) 7);
    System.arraycopy(file, header, bytes, offset, file.length - header);
    return Files.write(dir.resolve("in.raw"), bytes);
  }

  @Tag("versions")
  @ParameterizedTest
  @CsvSource({"i2,<,false,0", "u2,>,false,512", "f4,>,true,3", "c16,<,true,0", "u1,<,false,1"})
  void theNumbersAreThoseOfAnNpyFile(String type, char endian, boolean fortran, int offset)
      throws IOException {
    NpyFixture fixture = new NpyFixture(type, 7, 9, 5);
    Path path = numbers(fixture.file(endian, fortran, 1), offset);
    Dataset<Row> df =
        load(
            path,
            "shape",
            "7,9,5",
            "dtype",
            endian + type,
            "order",
            fortran ? "F" : "C",
            "offset",
            Integer.toString(offset),
            "blockShape",
            "3,4,5");
    assertArrayEquals(fixture.canonical(), npy(df));
    assertEquals(1, df.where("x = 3 AND y = 4").count());
  }

  @Test
  void axesBeforeAVolumeAreColumns() throws IOException {
    NpyFixture fixture = new NpyFixture("i4", 2, 3, 4, 5);
    Dataset<Row> df = load(numbers(fixture.canonical(), 0), "shape", "2,3,4,5", "dtype", "int32");
    assertArrayEquals(fixture.canonical(), npy(df));
    assertEquals(1, df.where("axis0 = 1").count());
  }

  @Test
  void compressedFilesAreReadForward() throws IOException {
    NpyFixture fixture = new NpyFixture("i4", 60, 70);
    Path path = numbers(fixture.canonical(), 4);
    Path packed = dir.resolve("in.raw.gz");
    try (var out = new GZIPOutputStream(Files.newOutputStream(packed))) {
      Files.copy(path, out);
    }
    String[] options = {"shape", "60,70", "dtype", "i4", "offset", "4", "blockShape", "7,70"};
    Dataset<Row> df = load(packed, options);
    assertArrayEquals(fixture.canonical(), npy(df.repartition(3)));
    assertArrayEquals(fixture.canonical(), npy(MatrixBlocks.transpose(MatrixBlocks.transpose(df))));
    assertArrayEquals(fixture.canonical(), npy(MatrixBlocks.reblock(df, 20, 20)));
    options[7] = "7,30";
    String cut = reasonOf(() -> load(packed, options));
    assertTrue(cut.contains("can only be read forward; expected some whole planes"), cut);
    options[1] = "61,70";
    options[7] = "61,70";
    String end = reasonOf(() -> load(packed, options).collectAsList());
    assertTrue(end.contains("the gzip stream has 16804 bytes; expected 17084 or more"), end);
    Files.write(packed, Arrays.copyOf(Files.readAllBytes(packed), 500));
    String torn = reasonOf(() -> load(packed, options).collectAsList());
    assertTrue(torn.contains("the gzip stream is damaged or cut off after"), torn);
  }

  /** The first two bytes are those of a gzip file. */
  @Test
  void numbersThatLookCompressedAreNumbers() throws IOException {
    byte[] bytes = new byte[600];
    bytes[0] = 0x1f;
    bytes[1] = (byte) 0x8b;
    Path path = Files.write(dir.resolve("in.raw"), bytes);
    Dataset<Row> df = load(path, "shape", "20,30", "dtype", "u1");
    assertEquals(
        0x1f + 0x8b, df.selectExpr("aggregate(values, 0, (a, b) -> a + b)").head().getInt(0));
    String npy = reasonOf(() -> spark.read().format("npy").load(path.toString()));
    assertTrue(npy.contains("not a .npy file"), npy);
  }

  @Test
  void wrongOptionsAreNamed() throws IOException {
    Path path = numbers(new NpyFixture("i4", 3, 4).canonical(), 0);
    String none = reasonOf(() -> load(path, "dtype", "i4"));
    assertTrue(none.contains("format raw needs the option shape, such as 512,512,300"), none);
    String type = reasonOf(() -> load(path, "shape", "3,4", "dtype", "u8"));
    assertTrue(type.contains("Option dtype is 'u8' (unsigned, wider than BIGINT"), type);
    String length = reasonOf(() -> load(path, "shape", "3,5", "dtype", "i4"));
    assertTrue(
        length.contains("expected 60 bytes (0 of option offset, then (3, 5) of int32), found 48"),
        length);
    String rank = reasonOf(() -> load(path, "shape", "12", "dtype", "i4"));
    assertTrue(rank.contains("for a vector 1,12"), rank);
    String write =
        reasonOf(
            () ->
                load(path, "shape", "3,4", "dtype", "i4")
                    .write()
                    .format("raw")
                    .option("shape", "3,4")
                    .option("dtype", "i4")
                    .save(dir.resolve("out").toString()));
    assertTrue(write.contains("format raw only reads; write with format zarr or npy"), write);
  }

  @Test
  void otherReadersNameTheFormatThatTheyFind() throws IOException {
    record Case(String bytes, String format, String found) {}
    for (Case each :
        new Case[] {
          new Case("\u0089HDF\r\n\u001a\n", "npy", "an HDF5 file; h5py or xarray can write it"),
          new Case("II*\0", "nifti", "a TIFF file; tifffile or bioformats2raw"),
          new Case("PK\3\4", "npy", "a zip file, such as .npz"),
          new Case("\u0093NUMPY", "zarr", "a .npy file; format npy reads it"),
          new Case("<!DOCTYPE html>", "npy", "XML or HTML text, perhaps an error page"),
        }) {
      Path path = dir.resolve("other");
      Files.write(
          path,
          (each.bytes + "x".repeat(600)).getBytes(java.nio.charset.StandardCharsets.ISO_8859_1));
      String reason = reasonOf(() -> spark.read().format(each.format).load(path.toString()));
      assertTrue(reason.contains("it is " + each.found), reason);
    }
    Path store = Files.createDirectory(dir.resolve("store"));
    Files.writeString(store.resolve("zarr.json"), "{}");
    String zarr = reasonOf(() -> spark.read().format("npy").load(store.toString()));
    assertTrue(zarr.contains("is a directory, a Zarr store, which format zarr reads"), zarr);
  }
}
