package org.tilespark.spark.transfer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.Metadata;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.error.ErrorCondition;
import org.tilespark.spark.error.TileSparkException;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.testing.SparkTest;

/** Requests that packing and unpacking refuse, with the words. */
class TransferErrorsTest extends SparkTest {
  /** Packed blocks given as SQL rows {@code (row, col, rows, cols, data)}. */
  private static Dataset<Row> packed(String... rows) {
    return spark.sql(
        "SELECT bigint(row) row, bigint(col) col, int(rows) rows, int(cols) cols, data FROM VALUES "
            + String.join(", ", rows)
            + " AS t(row, col, rows, cols, data)");
  }

  private static Dataset<Row> blocks(String type, String... rows) {
    return spark.sql(
        "SELECT bigint(row) row, bigint(col) col, int(rows) rows, int(cols) cols, CAST(values AS"
            + " ARRAY<"
            + type
            + ">) values FROM VALUES "
            + String.join(", ", rows)
            + " AS t(row, col, rows, cols, values)");
  }

  private static Dataset<Row> unpack(Dataset<Row> df, String... arguments) {
    return Transfers.unpack(BlockKind.MATRIX, df, arguments);
  }

  private static Dataset<Row> pack(Dataset<Row> df, String... arguments) {
    return Transfers.pack(BlockKind.MATRIX, df, arguments);
  }

  /** The reason of an error before any row is looked at. */
  private static String refusal(Supplier<Dataset<Row>> call) {
    TileSparkException thrown = assertThrows(TileSparkException.class, call::get);
    assertEquals(ErrorCondition.INVALID_ARGUMENT, thrown.condition());
    return thrown.reason();
  }

  private static void assertRuns(Dataset<Row> df, String... parts) {
    assertFails(df::collectAsList, parts);
  }

  @Test
  void bytesThatAreNoBlock() {
    assertRuns(
        unpack(packed("(4, 6, 2, 3, X'0102030405')"), "'int8'"),
        "block at row 4, col 6: data has 5 bytes; expected rows x cols x 1 = 2 x 3 x 1 = 6 of int8"
            + " (in matrix_unpack)");
    assertRuns(
        unpack(packed("(0, 0, 1, 1, X'0102030405')"), "'int32'"),
        "data has 5 bytes; expected rows x cols x 4 = 1 x 1 x 4 = 4 of int32");
    assertRuns(
        unpack(packed("(0, 0, 1, 2, X'0102030405060708')"), "'complex64'"),
        "data has 8 bytes; expected rows x cols x 8 = 1 x 2 x 8 = 16 of complex64");
    assertRuns(unpack(packed("(0, 0, 1, 1, X'')"), "'bool'"), "data has 0 bytes; expected");
    assertRuns(
        unpack(packed("(0, 0, 1, 1, X'00')", "(0, 1, 1, 2, NULL)"), "'bool'"),
        "block at row 0, col 1: data is null; expected rows x cols x 1 = 1 x 2 x 1 = 2 bytes");
    assertRuns(
        unpack(packed("(0, 0, 2147483647, 2147483647, X'00')"), "'complex128'"),
        "x 16 = 73786976226118729744 of complex128");
    assertRuns(
        unpack(packed("(0, 7, 0, 3, X'')"), "'int8'"),
        "block at row 0, col 7: rows is 0; expected");
    assertRuns(
        unpack(packed("(0, NULL, 1, 3, X'')"), "'int8'"), "a matrix block has a null col", "row 0");
    assertRuns(unpack(packed("(0, -7, 1, 3, X'')"), "'int8'"), "col is -7; expected 0 or more");
  }

  /** The check is by the row alone, so also where the part that is read is not the wrong one. */
  @Test
  void wrongBlocksFailWhateverIsRead() {
    // Of a checkpoint: Spark computes projections of an inline table as it plans.
    Dataset<Row> wrong = unpack(packed("(0, 0, 1, 1, X'00')").localCheckpoint(), "'complex64'");
    assertRuns(wrong.select("imag"), "data has 1 bytes");
    assertRuns(wrong.select("values"), "data has 1 bytes");
    assertEquals(1, wrong.select("row").collectAsList().size()); // nobody reads it
    Dataset<Row> joined =
        wrong
            .join(packed("(0, 1, 1, 1, NULL)").selectExpr("row", "col"), "row")
            .where("imag[0] > 1");
    assertRuns(joined, "data has 1 bytes");
  }

  @Test
  void staleExtents() {
    Dataset<Row> outside = packed("(4, 6, 1, 2, X'0001')");
    assertRuns(
        unpack(outside, "'int8'", "'5,7'"),
        "block at row 4, col 6: it ends at col 8, the column metadata tilespark.extents says [5,"
            + " 7]",
        "option extents");
    Dataset<Row> stated = unpack(outside, "'int8'", "'5,8'");
    Dataset<Row> stale =
        stated.withMetadata(
            "values",
            ArrayMetadata.of(stated.schema().apply("values").metadata())
                .withExtents(Shape.of(4, 4))
                .toMetadata());
    assertRuns(pack(stale), "block at row 4, col 6: it ends at row 5", "[4, 4]");
    assertEquals(1, pack(stale, "extents => '5,8'").count());
    Dataset<Row> known = pack(stale, "extents => 'unknown'");
    assertEquals(1, known.collectAsList().size());
    assertEquals(1, pack(MatrixBlocks.withoutExtents(stale)).collectAsList().size());
    assertEquals(1, unpack(known).collectAsList().size());
    // What the metadata says is a hint; an argument is above it.
    Dataset<Row> staleData =
        known.withMetadata(
            "data",
            Metadata.fromJson(
                "{\"tilespark.extents\":\"1,1\",\"tilespark.fileType\":\"<f8\","
                    + "\"tilespark.blockShape\":3}"));
    assertEquals(
        List.of((byte) 0, (byte) 1),
        unpack(staleData, "'int8'", "extents => '9,9'").collectAsList().get(0).getList(4));
    Dataset<Row> unreadable =
        known.withMetadata("data", Metadata.fromJson("{\"tilespark.extents\":7}"));
    assertTrue(
        refusal(() -> unpack(unreadable, "'int8'"))
            .contains("Column metadata tilespark.extents is Long 7; expected a string"));
    assertEquals(1, unpack(unreadable, "'int8'", "'unknown'").collectAsList().size());
  }

  @Test
  void valuesThatTheTypeCannotHold() {
    Dataset<Row> ints = blocks("INT", "(2, 0, 2, 2, array(1, 2, 3, 300))");
    assertRuns(
        pack(ints, "'uint8'"),
        "block at row 2, col 0: values has 300 at (3, 1), which uint8 does not hold; expected whole"
            + " numbers 0 to 255, or another dtype, such as int32; in Python tilespark.astype(x,"
            + " dtype) truncates and wraps, as numpy does (in matrix_pack)");
    assertRuns(pack(ints, "'bool'"), "values has 2 at (2, 1), which bool does not hold", "0 to 1");
    assertRuns(pack(blocks("TINYINT", "(0, 0, 1, 2, array(1, -1))"), "'bool'"), "values has -1 at");
    assertRuns(
        pack(blocks("DOUBLE", "(0, 0, 1, 2, array(1, 1e300))"), "'f4'"), "1.0E300", "finite");
    assertRuns(pack(blocks("DOUBLE", "(0, 0, 1, 1, array(0.5))"), "'i8'"), "values has 0.5");
    assertRuns(
        pack(blocks("FLOAT", "(0, 0, 1, 2, array(1, double('NaN')))"), "'int16'"),
        "values has NaN at (0, 1)");
    // The metadata's type is restored exactly or not at all.
    Dataset<Row> halves =
        blocks("FLOAT", "(0, 0, 1, 2, array(1, 0.1))")
            .withMetadata("values", ArrayMetadata.empty().withFileType("<f2").toMetadata());
    assertRuns(pack(halves), "float16 (the type of the file that was read)", "exactly");
    assertEquals(1, pack(halves, "'float16'").collectAsList().size());
    Dataset<Row> bools =
        blocks("TINYINT", "(0, 0, 1, 2, array(1, 2))")
            .withMetadata("values", ArrayMetadata.empty().withFileType("|b1").toMetadata());
    assertRuns(pack(bools), "values has 2 at (0, 1), which bool (the type of the file");
    Dataset<Row> complex =
        blocks("DOUBLE", "(0, 0, 1, 2, array(1, 2))").selectExpr("*", "array(3D, 1e200D) AS imag");
    assertRuns(pack(complex, "'complex64'"), "imag has 1.0E200 at (0, 1)", "such as complex128");
  }

  @Test
  void blocksThatAreNone() {
    assertRuns(pack(blocks("INT", "(0, 0, 1, 2, array(1))")), "values has 1 elements; expected");
    assertRuns(pack(blocks("INT", "(0, 0, 1, 2, array(1, NULL))")), "a null at element 1");
    assertRuns(pack(blocks("INT", "(0, 0, 1, 2, NULL)")), "values is null; expected 2 elements");
    assertRuns(pack(blocks("INT", "(0, 0, 0, 2, array())")), "rows is 0; expected 1 or more");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '#',
      quoteCharacter = '`',
      value = {
        "uint64#a.astype('int64')",
        "<u8#else a.astype('float64')",
        "float128#a.astype('float64')",
        "longdouble#a.astype('float64')",
        "<f16#a.astype('float64')",
        "complex256#a.astype('complex128')",
        "bfloat16#a.astype('float32')",
        "object#Python objects",
        "|O#Python objects",
        "datetime64[ns]#a.astype('int64')",
        "<M8[us]#a.astype('int64')",
        "<U12#strings",
        "str32#strings",
        "bytes8#strings",
        "|V16#a['name']",
        "flot32#did you mean 'float32'?",
        ">f4#big-endian; expected '<f4'",
        ">c16#a.astype('<c16')",
        "``#expected one of int8",
      })
  void typesThatBlocksCannotHold(String dtype, String says) {
    String pack = refusal(() -> pack(blocks("INT", "(0, 0, 1, 1, array(1))"), "'" + dtype + "'"));
    assertTrue(pack.startsWith("matrix_pack: dtype is '" + dtype + "'"), pack);
    assertTrue(pack.contains(says), pack);
    String unpack = refusal(() -> unpack(packed("(0, 0, 1, 1, X'00')"), "'" + dtype + "'"));
    assertEquals(pack.replace("matrix_pack", "matrix_unpack"), unpack);
    if (!dtype.startsWith(">")) {
      assertTrue(pack.contains("complex64, complex128, bool"), pack);
    }
  }

  @Test
  void byteOrderOfSingleBytesIsNone() {
    assertEquals(1, unpack(packed("(0, 0, 1, 1, X'07')"), "'>u1'").collectAsList().size());
  }

  @Test
  void argumentsAndColumns() {
    Dataset<Row> data = packed("(0, 0, 1, 1, X'00')");
    assertTrue(
        refusal(() -> unpack(data))
            .contains("dtype is not given, and column data has no metadata tilespark.fileType"));
    Dataset<Row> foreign =
        data.withMetadata("data", Metadata.fromJson("{\"tilespark.fileType\":\"<q4\"}"));
    assertTrue(
        refusal(() -> unpack(foreign))
            .startsWith(
                "matrix_unpack: dtype is not given, and the column metadata tilespark.fileType is"
                    + " '<q4'; expected one of"));
    assertTrue(
        refusal(() -> pack(blocks("INT", "(0, 0, 1, 1, array(1))"), "'complex64'"))
            .contains("matrix_pack: dtype is complex64, and the blocks have no column imag"));
    Dataset<Row> complex =
        blocks("FLOAT", "(0, 0, 1, 1, array(1))").selectExpr("*", "array(1F) AS imag");
    assertTrue(refusal(() -> pack(complex, "'float32'")).contains("the blocks have a column imag"));
    Dataset<Row> integers =
        blocks("INT", "(0, 0, 1, 1, array(1))").selectExpr("*", "array(1) AS imag");
    assertTrue(refusal(() -> pack(integers)).contains("dtype is not given"));
    assertEquals(1, pack(integers, "'complex64'").collectAsList().size());
    assertTrue(
        refusal(() -> unpack(data.selectExpr("*", "1 AS `Values`"), "'int8'"))
            .contains("the input has a column Values already"));
    assertTrue(
        refusal(() -> unpack(data.selectExpr("*", "1 AS imag"), "'int8'")).contains("column imag"));
    assertTrue(
        refusal(() -> pack(blocks("INT", "(0, 0, 1, 1, array(1))").selectExpr("*", "1 AS DATA")))
            .contains("the input has a column DATA already"));
    assertTrue(
        refusal(() -> unpack(data.withColumn("data", data.col("data").cast("string")), "'int8'"))
            .contains("column data is STRING; expected BINARY (CAST it)"));
    assertTrue(
        refusal(() -> unpack(data.drop("data"), "'int8'"))
            .contains(
                "the input has no column data; matrix blocks are (row BIGINT, col BIGINT, rows INT,"
                    + " cols INT, data BINARY), found (row BIGINT"));
    assertTrue(
        refusal(() -> unpack(data.withColumn("row", data.col("row").cast("int")), "'int8'"))
            .contains("column row is INT; expected BIGINT (CAST it)"));
    for (String shape : List.of("0,1", "1", "a,b", "-1,2", "1,2,3")) {
      assertTrue(
          refusal(() -> unpack(data, "'int8'", "blockShape => '" + shape + "'"))
              .startsWith(
                  "matrix_unpack: blockShape is '" + shape + "'; expected 2 whole numbers"));
    }
    assertTrue(
        refusal(() -> unpack(data, "'int8'", "extents => '1'"))
            .startsWith("matrix_unpack: extents is '1'; expected 2 whole numbers"));
    assertFalse(
        unpack(data, "dtype => 'bool'", "blockShape => '7,7'").schema().apply("values").nullable());
  }

  /** Sizes that no test can allocate, by the arithmetic alone. */
  @Test
  void blocksOfTwoGibibytes() {
    PackedBlocks blocks =
        PackedBlocks.of(
            new BlockSchema(
                BlockKind.MATRIX, List.of(0, 1), List.of(2, 3), List.of(4), ElementType.INT16),
            NpyType.UINT8,
            "matrix_unpack",
            Optional.empty());
    InternalRow row = new GenericInternalRow(new Object[] {5L, 6L, 40_000, 30_000});
    assertEquals(1_200_000_000, blocks.bytes(1_200_000_000, 1, row));
    for (long count : new long[] {1_200_000_000, Long.MAX_VALUE, (1L << 30) - 1}) {
      String message =
          assertThrows(IllegalArgumentException.class, () -> blocks.bytes(count, 2, row))
              .getMessage();
      assertTrue(message.startsWith("block at row 5, col 6: it would take "), message);
      assertTrue(message.contains("below 2 GiB") && message.contains("matrix_reblock"), message);
    }
    assertEquals(List.of(40_000L, 30_000L), Arrays.stream(blocks.size(row)).boxed().toList());
  }
}
