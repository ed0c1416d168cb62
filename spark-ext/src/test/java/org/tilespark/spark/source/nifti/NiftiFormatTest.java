package org.tilespark.spark.source.nifti;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.zip.GZIPOutputStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tilespark.spark.source.AxisLabels;
import org.tilespark.spark.testing.SparkTest;

/** Files in the layout of nifti1.h and nifti2.h, written here. */
class NiftiFormatTest extends SparkTest {
  private static final int X = 5;
  private static final int Y = 4;
  private static final int Z = 3;
  private static final int T = 2;

  @TempDir Path dir;

  private static short number(int x, int y, int z, int t) {
    return (short) (((t * Z + z) * Y + y) * X + x - 50);
  }

  private static ByteBuffer header(int version, ByteOrder order, double slope, double intercept) {
    ByteBuffer header = ByteBuffer.allocate(version == 1 ? 352 : 544).order(order);
    int[] dim = {4, X, Y, Z, T, 1, 1, 1};
    double[] spacing = {1, 2, 2, 3.5, 0.72, 0, 0, 0};
    header.putInt(0, version == 1 ? 348 : 540);
    for (int i = 0; i < 8; i++) {
      if (version == 1) {
        header.putShort(40 + 2 * i, (short) dim[i]).putFloat(76 + 4 * i, (float) spacing[i]);
      } else {
        header.putLong(16 + 8 * i, dim[i]).putDouble(104 + 8 * i, spacing[i]);
      }
    }
    byte[] magic = ("n+" + version + "\0").getBytes(StandardCharsets.US_ASCII);
    if (version == 1) {
      header.putShort(70, (short) 4).putShort(72, (short) 16).putFloat(108, 352);
      header.putFloat(112, (float) slope).putFloat(116, (float) intercept).put(344, magic);
    } else {
      header.putShort(12, (short) 4).putShort(14, (short) 16).putLong(168, 544);
      header.putDouble(176, slope).putDouble(184, intercept).put(4, magic);
    }
    return header;
  }

  private Path file(String name, ByteBuffer header) throws IOException {
    ByteBuffer data = ByteBuffer.allocate(2 * X * Y * Z * T).order(header.order());
    for (int t = 0; t < T; t++) {
      for (int z = 0; z < Z; z++) {
        for (int y = 0; y < Y; y++) {
          for (int x = 0; x < X; x++) {
            data.putShort(number(x, y, z, t));
          }
        }
      }
    }
    Path path = dir.resolve(name);
    try (OutputStream file = Files.newOutputStream(path);
        OutputStream out = name.endsWith(".gz") ? new GZIPOutputStream(file) : file) {
      out.write(header.array());
      out.write(data.array());
    }
    return path;
  }

  private static Dataset<Row> load(Path path, String... options) {
    var reader = spark.read().format("nifti");
    for (int i = 0; i < options.length; i += 2) {
      reader = reader.option(options[i], options[i + 1]);
    }
    return reader.load(path.toString());
  }

  private static int check(Dataset<Row> df, double slope, double intercept) {
    int seen = 0;
    for (Row row : df.collectAsList()) {
      int t = (int) row.getLong(0);
      List<Number> values = row.getList(7);
      for (int i = 0; i < values.size(); i++) {
        int nz = row.getInt(6);
        int z = (int) row.getLong(3) + i % nz;
        int y = (int) row.getLong(2) + i / nz % row.getInt(5);
        int x = (int) row.getLong(1) + i / nz / row.getInt(5);
        assertEquals(number(x, y, z, t) * slope + intercept, values.get(i).doubleValue(), 1e-6);
        seen++;
      }
    }
    return seen;
  }

  @Tag("versions")
  @ParameterizedTest
  @CsvSource({
    "1,a.nii,LITTLE",
    "1,a.nii,BIG",
    "2,a.nii,LITTLE",
    "2,a.nii.gz,BIG",
    "1,a.nii.gz,BIG"
  })
  void aSeriesOfVolumes(int version, String name, String order) throws IOException {
    ByteOrder bytes = order.equals("BIG") ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
    Path path = file(name, header(version, bytes, 0, 0));
    Dataset<Row> df = load(path);
    assertArrayEquals(new String[] {"t", "x", "y", "z", "nx", "ny", "nz", "values"}, df.columns());
    var known = df.schema().apply("values").metadata();
    assertEquals("5,4,3", known.getString("tilespark.extents"));
    assertArrayEquals(new String[] {"t", "x", "y", "z"}, known.getStringArray(AxisLabels.NAMES));
    assertArrayEquals(
        new double[] {0.72, 2, 2, 3.5}, known.getDoubleArray(AxisLabels.SPACING), 1e-6);
    assertEquals(X * Y * Z * T, check(df, 1, 0));
    assertEquals(X * Y * Z, check(df.where("t = 1"), 1, 0));
    String blocks = name.endsWith("gz") ? "5,4,2" : "2,3,2";
    assertEquals(X * Y * Z * T, check(load(path, "blockShape", blocks), 1, 0));
  }

  @Test
  void timesAreInSeconds() throws IOException {
    for (int version : new int[] {1, 2}) {
      ByteBuffer head = header(version, ByteOrder.LITTLE_ENDIAN, 0, 0);
      head.put(version == 1 ? 123 : 500, (byte) (16 + 2)); // milliseconds and millimetres
      Dataset<Row> df = load(file("ms" + version + ".nii", head));
      double[] spacing = df.schema().apply("values").metadata().getDoubleArray(AxisLabels.SPACING);
      assertArrayEquals(new double[] {0.00072, 2, 2, 3.5}, spacing, 1e-6);
    }
  }

  @Test
  void numbersAreScaled() throws IOException {
    Path path = file("s.nii", header(1, ByteOrder.LITTLE_ENDIAN, 0.5, 100));
    Dataset<Row> df = load(path);
    assertEquals(
        DataTypes.createArrayType(DataTypes.DoubleType, false),
        df.schema().apply("values").dataType());
    assertEquals(X * Y * Z * T, check(df, 0.5, 100));
    assertEquals(X * Y * Z * T, check(load(path, "as", "float"), 0.5, 100));
    Path store = dir.resolve("store");
    load(path, "as", "float").write().format("zarr").save(store.toString());
    Dataset<Row> back = spark.read().format("zarr").load(store.toString());
    assertEquals(X * Y * Z * T, check(back, 0.5, 100));
    assertArrayEquals(
        new String[] {"t", "x", "y", "z"},
        back.schema().apply("values").metadata().getStringArray(AxisLabels.NAMES));
  }

  @Test
  void otherHeadersAreRefused() throws IOException {
    ByteBuffer pair = header(1, ByteOrder.LITTLE_ENDIAN, 0, 0);
    pair.put(344, "ni1".getBytes(StandardCharsets.US_ASCII));
    refused(pair, "the header of a pair of files (.hdr, .img)");
    refused(
        header(1, ByteOrder.LITTLE_ENDIAN, 0, 0).putShort(70, (short) 128), "datatype 128 (RGB");
    refused(header(1, ByteOrder.LITTLE_ENDIAN, 0, 0).putShort(40, (short) 9), "dim[0] is 9");
    refused(header(1, ByteOrder.LITTLE_ENDIAN, 0, 0).putShort(44, (short) -1), "dim[2] is -1");
    refused(header(1, ByteOrder.LITTLE_ENDIAN, 0, 0).putFloat(108, Float.NaN), "vox_offset is NaN");
    refused(
        header(1, ByteOrder.LITTLE_ENDIAN, 0, 0).putShort(44, (short) 400), "truncated: expected");
    refused(
        header(2, ByteOrder.LITTLE_ENDIAN, 0, 0).putLong(24, Long.MAX_VALUE), "more than 2^63 - 1");
    refused(ByteBuffer.allocate(352), "no NIfTI file: its first number is not 348 or 540");
    Path cut = Files.write(dir.resolve("cut.nii"), new byte[] {0x5c, 1, 0, 0, 0, 0});
    String reason = reasonOf(() -> load(cut));
    assertTrue(reason.contains("truncated header: expected 348 bytes, found 6"), reason);
    assertFalse(reason.contains("reads it"), reason);
    assertFalse(Files.exists(dir.resolve("none")));
  }

  private void refused(ByteBuffer header, String what) throws IOException {
    Path path = file("bad.nii", header);
    String reason = reasonOf(() -> load(path));
    assertTrue(reason.contains(what) && reason.contains("bad.nii"), reason);
  }
}
