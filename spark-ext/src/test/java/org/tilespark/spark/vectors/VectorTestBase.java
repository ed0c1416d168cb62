package org.tilespark.spark.vectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.tilespark.spark.block.IdColumn;
import org.tilespark.spark.testing.SparkTest;

/** Tables with a vector in each row, and what matrices of blocks hold. */
abstract class VectorTestBase extends SparkTest {
  /** Row i of 5 numbers has element j of i * 5 + j; {@code id} is i, {@code name} its text. */
  static Dataset<Row> table(int rows, int partitions, String type) {
    String elements = "transform(sequence(0L, 4L), j -> CAST(id * 5 + j AS %s))".formatted(type);
    return spark
        .range(0, rows, 1, partitions)
        .selectExpr(elements + " AS features", "id", "concat('r', id) AS name");
  }

  /** A matrix's rows, as texts, by their places; blocks may be any that tile it. */
  static List<String> rows(Dataset<Row> blocks) {
    Map<Long, Map<Long, Object>> cells = new TreeMap<>();
    for (Row block : blocks.collectAsList()) {
      List<?> values = block.getList(block.fieldIndex("values"));
      int cols = block.getInt(block.fieldIndex("cols"));
      assertEquals(block.getInt(block.fieldIndex("rows")) * cols, values.size());
      for (int i = 0; i < values.size(); i++) {
        Object before =
            cells
                .computeIfAbsent(block.getLong(0) + i / cols, row -> new TreeMap<>())
                .put(block.getLong(1) + i % cols, values.get(i));
        assertNull(before, "an element in two blocks");
      }
    }
    List<String> rows = new ArrayList<>();
    cells.forEach(
        (row, values) -> {
          assertEquals(rows.size(), row.intValue(), "rows without a hole");
          rows.add(values.values().toString());
        });
    return rows;
  }

  /** The ids of a matrix's rows, by their places. */
  static List<String> ids(Dataset<Row> blocks) {
    Map<Long, List<Object>> all = new TreeMap<>();
    for (Row block : blocks.collectAsList()) {
      List<Object> ids = block.getList(block.fieldIndex(IdColumn.NAME));
      assertEquals(block.getInt(block.fieldIndex("rows")), ids.size());
      all.put(block.getLong(0), ids);
    }
    return all.values().stream().flatMap(List::stream).map(String::valueOf).toList();
  }

  /** The rows that {@link #table} has for these i. */
  static List<String> expected(IntStream rows, String format) {
    return rows.mapToObj(
            i ->
                IntStream.range(0, 5)
                    .mapToObj(j -> String.valueOf(number(i * 5 + j, format)))
                    .toList()
                    .toString())
        .toList();
  }

  static Object number(int value, String type) {
    return switch (type) {
      case "FLOAT" -> (float) value;
      case "DOUBLE" -> (double) value;
      default -> value;
    };
  }

  static void assertPlanned(Dataset<Row> blocks) {
    assertTrue(explained(blocks).contains("GatherVectors"), () -> explained(blocks));
  }
}
