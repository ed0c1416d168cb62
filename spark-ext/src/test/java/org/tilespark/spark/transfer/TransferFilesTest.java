package org.tilespark.spark.transfer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.tilespark.kernels.Sampling;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.testing.SparkTest;

/** Packed bytes are those of .npy files: what the sink writes and the source reads. */
class TransferFilesTest extends SparkTest {
  private static final Shape EXTENTS = Shape.of(9, 14);
  private static final Pattern MISFIT =
      Pattern.compile("((values|imag) has \\S+ at \\([^)]*\\), which \\w+.*?); expected");

  @TempDir Path dir;

  /** One block of a matrix whose values are chosen so that most types hold most of them. */
  private Dataset<Row> blocks(ElementType type, boolean complex, int wildness) {
    String sql = BlockSchema.sparkType(type).sql();
    String value =
        switch (wildness) {
          case 0 -> "e % 2"; // of every type
          case 1 -> "e"; // below 127
          case 2 -> "(e - 60) * 2.5D"; // negative and broken
          default -> "e * e * e * 70000000000D"; // beyond the narrow ones
        };
    String values = "transform(sequence(0, 125), e -> try_cast(" + value + " AS " + sql + "))";
    String no = "transform(" + values + ", e -> coalesce(e, CAST(1 AS " + sql + ")))";
    List<String> columns =
        new ArrayList<>(
            List.of("0L AS row", "0L AS col", "9 AS rows", "14 AS cols", no + " AS values"));
    if (complex) {
      columns.add("reverse(" + no + ") AS imag");
    }
    return spark.range(1).selectExpr(columns.toArray(new String[0])).localCheckpoint();
  }

  /** The error or file of the sink, without the header; the error or result of packing. */
  @ParameterizedTest
  @EnumSource
  void packsWhatTheSinkWrites(NpyType to) throws IOException {
    int held = 0;
    int refused = 0;
    for (ElementType from : ElementType.values()) {
      for (int wildness = 0; wildness < 4; wildness++) {
        if (Sampling.skips(from.ordinal() + to.ordinal() + wildness, 3)) {
          continue;
        }
        Dataset<Row> blocks = blocks(from, to.isComplex(), wildness);
        Path file = dir.resolve("out.npy");
        Optional<String> misfit = written(blocks, to, file);
        Dataset<Row> packed = Transfers.pack(BlockKind.MATRIX, blocks, "'" + to.descr() + "'");
        String what = from + " as " + to + ", " + wildness;
        if (misfit.isPresent()) {
          refused++;
          assertFails(packed::collectAsList, misfit.get());
        } else {
          held++;
          byte[] whole = Files.readAllBytes(file);
          int bytes = Math.toIntExact(EXTENTS.elements() * to.elementBytes());
          assertArrayEquals(
              Arrays.copyOfRange(whole, whole.length - bytes, whole.length),
              packed.head().<byte[]>getAs("data"),
              what);
        }
      }
    }
    assertTrue(held >= (Sampling.FULL ? 6 : 2), to + " held " + held);
    assertEquals(to.isInteger() || to == NpyType.FLOAT16, refused > 0, to + " refused " + refused);
  }

  /** The error of the sink, or empty if it wrote the file. */
  private static Optional<String> written(Dataset<Row> blocks, NpyType to, Path file) {
    try {
      blocks
          .write()
          .format("npy")
          .mode("overwrite")
          .option("dtype", to.numpyName())
          .save(file.toString());
      return Optional.empty();
    } catch (Exception e) { // Spark's own are checked, and Scala does not declare them
      return Optional.of(misfit(e));
    }
  }

  private static String misfit(Throwable failure) {
    Matcher matcher = MISFIT.matcher(String.valueOf(failure.getMessage()));
    assertTrue(matcher.find(), failure::toString);
    return matcher.group(1);
  }

  @ParameterizedTest
  @EnumSource
  void unpacksWhatTheSourceReads(NpyType type) {
    Shape extents = Shape.of(9, 14);
    PackedArray array =
        PackedArray.random(type, extents, extents, new Random(31L * type.ordinal()));
    Dataset<Row> unpacked = TransferTest.unpack(array, array.frame(spark));
    unpacked
        .drop("weight", "label", "tags")
        .write()
        .format("npy")
        .save(dir.resolve("a.npy").toString());
    Dataset<Row> read =
        spark.read().format("npy").option("blockShape", "9,14").load(dir + "/a.npy");
    assertEquals(
        read.schema().apply("values").metadata(), unpacked.schema().apply("values").metadata());
    for (String part : type.isComplex() ? List.of("values", "imag") : List.of("values")) {
      assertEquals(read.schema().apply(part).dataType(), unpacked.schema().apply(part).dataType());
      assertEquals(
          read.select(part).head().getList(0), unpacked.select(part).head().getList(0), part);
    }
    Dataset<Row> packed = Transfers.pack(BlockKind.MATRIX, read);
    assertArrayEquals(
        array.rows().get(0).<byte[]>getAs(array.schema().fieldIndex("data")),
        packed.head().<byte[]>getAs("data"));
  }

  /** From a scan in columns, through a transpose, to bytes: no element is copied alone. */
  @Test
  void packsBlocksOfFilesAndOfOperatorsInBulk() {
    PackedArray array = PackedArray.random(NpyType.INT16, EXTENTS, Shape.of(4, 5), new Random(3));
    Dataset<Row> blocks = TransferTest.unpack(array, array.frame(spark));
    blocks.drop("weight", "label", "tags").write().format("npy").save(dir + "/b.npy");
    Dataset<Row> read = spark.read().format("npy").option("blockShape", "4,5").load(dir + "/b.npy");
    read.createOrReplaceTempView("pack_of_file");
    Dataset<Row> packed =
        spark.sql(
            "SELECT * FROM matrix_pack(TABLE(SELECT * FROM"
                + " matrix_transpose(TABLE(pack_of_file))))");
    String plan = packed.queryExecution().executedPlan().toString();
    assertTrue(!plan.contains("BatchesToRows"), plan);
    assertTrue(!plan.contains("ColumnarToRow") && !plan.contains("RowToColumnar"), plan);
    long bytes = 0;
    for (Row row : packed.collectAsList()) {
      bytes += row.<byte[]>getAs("data").length;
    }
    assertEquals(2 * EXTENTS.elements(), bytes);
    Dataset<Row> plain = Transfers.pack(BlockKind.MATRIX, read);
    String plainPlan = plain.queryExecution().executedPlan().toString();
    assertTrue(plainPlan.contains("BlockBatchesToRows"), plainPlan);
    assertTrue(!plainPlan.contains("ColumnarToRow"), plainPlan);
    assertEquals(array.rows().size(), plain.collectAsList().size());
  }
}
