package org.tilespark.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.options.Metric;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.transfer.Transfers;

/** Operators that need all blocks of an array at once are refused on a stream, by name. */
class StreamingTest extends SparkTest {
  @Test
  void operatorsThatCombineBlocksRefuseStreams() {
    Dataset<Row> m = stream("0L AS row", "0L AS col", "1 AS rows", "1 AS cols");
    Dataset<Row> stated = MatrixBlocks.withExtents(m, 1, 1);
    Dataset<Row> v = stream("0L AS x", "0L AS y", "0L AS z", "1 AS nx", "1 AS ny", "1 AS nz");
    Map<String, Supplier<Dataset<Row>>> operators = new LinkedHashMap<>();
    operators.put("MatrixBlocks.reblock", () -> MatrixBlocks.reblock(m, 1, 1));
    operators.put("MatrixBlocks.pad", () -> MatrixBlocks.pad(stated, "1"));
    operators.put("MatrixBlocks.halo", () -> MatrixBlocks.halo(stated, "1"));
    operators.put("MatrixBlocks.reshape", () -> MatrixBlocks.reshape(m, "1,1,1"));
    operators.put("MatrixBlocks.roll", () -> MatrixBlocks.roll(m, "1,0"));
    operators.put("MatrixBlocks.multiply", () -> MatrixBlocks.multiply(m, m));
    operators.put(
        "MatrixBlocks.multiply ", // extents need not be looked up
        () -> MatrixBlocks.multiply(stated, stated));
    operators.put("MatrixBlocks.knn", () -> MatrixBlocks.knn(m, m, 1, Metric.INNER));
    operators.put("MatrixBlocks.gram", () -> MatrixBlocks.gram(m));
    operators.put("MatrixBlocks.add", () -> MatrixBlocks.add(m, m));
    operators.put("MatrixBlocks.center", () -> MatrixBlocks.center(m));
    operators.put("MatrixBlocks.fromRows", () -> MatrixBlocks.fromRows(m, "values"));
    operators.put(
        "MatrixBlocks.fromCells",
        () -> MatrixBlocks.fromCells(m.selectExpr("row", "col", "1D AS value"), 1, 1));
    operators.put("VolumeBlocks.reblock", () -> VolumeBlocks.reblock(v, 1, 1, 1));
    operators.put("VolumeBlocks.slabs", () -> VolumeBlocks.slabs(v, "x"));
    operators.put("VolumeBlocks.pencils", () -> VolumeBlocks.pencils(v, "x"));
    operators.put("MatrixBlocks.validate", () -> MatrixBlocks.validate(m));
    operators.put("VolumeBlocks.validate", () -> VolumeBlocks.validate(v));
    operators.put("VolumeBlocks.add", () -> VolumeBlocks.add(v, v));
    operators.put("VolumeBlocks.multiplyPointwise", () -> VolumeBlocks.multiplyPointwise(v, v));
    operators.forEach(
        (name, operator) -> {
          String reason = reasonOf(operator::get);
          assertTrue(reason.startsWith(name.trim() + " of a streaming DataFrame: "), reason);
        });
    m.createOrReplaceTempView("streamed_blocks");
    assertFails(
        () -> spark.sql("SELECT * FROM matrix_gram(TABLE(streamed_blocks))"),
        "matrix_gram of a streaming DataFrame");
    // Block by block there is nothing to wait for.
    assertEquals(m.schema().length(), MatrixBlocks.transpose(m).schema().length());
    assertEquals(m.schema().length(), MatrixBlocks.scale(m, 2).schema().length());
    assertEquals(v.schema().length(), VolumeBlocks.scale(v, 2).schema().length());
    Dataset<Row> packed = Transfers.pack(BlockKind.MATRIX, m);
    assertTrue(packed.isStreaming());
    assertEquals(m.schema().length(), Transfers.unpack(BlockKind.MATRIX, packed).schema().length());
  }

  private static Dataset<Row> stream(String... places) {
    String[] columns = java.util.Arrays.copyOf(places, places.length + 1);
    columns[places.length] = "array(1D) AS values";
    return spark.readStream().format("rate").load().selectExpr(columns);
  }
}
