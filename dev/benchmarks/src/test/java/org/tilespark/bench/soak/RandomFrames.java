package org.tilespark.bench.soak;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeSet;
import java.util.UUID;
import org.apache.hadoop.fs.FileUtil;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Makes frames of random blocks, some of them in tables and caches, which it takes away at the end.
 */
final class RandomFrames implements AutoCloseable {
  private final Random random;
  private final StringBuilder details; // says what was made
  private final Map<String, Path> tables = new HashMap<>(); // with the folders of their files
  private final List<Dataset<Row>> cached = new ArrayList<>();

  RandomFrames(Random random, StringBuilder details) {
    this.random = random;
    this.details = details;
  }

  /**
   * These blocks, one time in four as a table that they are written into gives them, and one time
   * in four some of them from a cache.
   */
  Dataset<Row> maybeStored(Dataset<Row> blocks) {
    int how = random.nextInt(4);
    if (how == 0) {
      return stored(blocks);
    }
    return how == 1 ? mixed(blocks) : blocks;
  }

  /** Cached blocks and others, often in one partition. */
  private Dataset<Row> mixed(Dataset<Row> blocks) {
    String some = "pmod(hash(" + blocks.columns()[0] + ", " + blocks.columns()[1] + "), 2) = 0";
    Dataset<Row> kept = blocks.where(some).cache();
    kept.count();
    cached.add(kept);
    Dataset<Row> union = kept.union(blocks.where("not (" + some + ")"));
    int partitions = random.nextInt(4);
    details.append(" some cached, " + partitions);
    return partitions == 0 ? union : union.coalesce(partitions);
  }

  private Dataset<Row> stored(Dataset<Row> blocks) {
    String format = oneOf("parquet", "orc");
    String table = "soak_" + UUID.randomUUID().toString().replace('-', '_');
    details.append(" stored in " + format);
    try {
      tables.put(table, Files.createTempDirectory("soak"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    String files = tables.get(table).resolve(table).toString();
    blocks.write().format(format).option("path", files).saveAsTable(table);
    return blocks.sparkSession().table(table);
  }

  /**
   * The array in random blocks: the first axis is cut anywhere, and each strip anywhere along the
   * others. Sets elements of blocks that are left out to 0.
   *
   * @param share share of the blocks that are there; at least one is
   * @param key value of the column {@code g}, in any of the bit patterns that are equal to it
   */
  Dataset<Row> frame(SparkSession spark, boolean single, Dense dense, double share, double key) {
    int rank = dense.extents().length;
    List<long[][]> boxes = new ArrayList<>();
    boxes.add(new long[][] {new long[rank], dense.extents()});
    for (int axis = 0; axis < rank; axis++) {
      List<long[][]> parts = new ArrayList<>();
      for (long[][] box : boxes) {
        parts.addAll(cut(box, axis));
      }
      boxes = parts;
    }
    Collections.shuffle(boxes, random);
    List<Row> rows = new ArrayList<>();
    for (long[][] box : boxes) {
      boolean kept = rows.isEmpty() || random.nextDouble() < share;
      Row row = block(single, dense, box[0], box[1], kept, anyBitsOf(key));
      if (kept) {
        rows.add(row);
      }
    }
    StructType schema = new StructType();
    for (String column : rank == 2 ? new String[] {"row", "col"} : new String[] {"x", "y", "z"}) {
      schema = schema.add(column, DataTypes.LongType);
    }
    for (String column :
        rank == 2 ? new String[] {"rows", "cols"} : new String[] {"nx", "ny", "nz"}) {
      schema = schema.add(column, DataTypes.IntegerType);
    }
    DataType values =
        DataTypes.createArrayType(single ? DataTypes.FloatType : DataTypes.DoubleType);
    schema = schema.add("values", values);
    schema = dense.isComplex() ? schema.add("imag", values) : schema;
    schema = schema.add("g", DataTypes.DoubleType);
    int partitions = 1 + random.nextInt(4);
    details.append(" in " + rows.size() + " blocks");
    return spark.createDataFrame(rows, schema).repartition(partitions);
  }

  private List<long[][]> cut(long[][] box, int axis) {
    TreeSet<Long> cuts = new TreeSet<>();
    int count = random.nextInt(4);
    for (int i = 0; i < count; i++) {
      cuts.add(1 + (long) random.nextInt(Math.toIntExact(box[1][axis])));
    }
    cuts.add(box[1][axis]);
    List<long[][]> parts = new ArrayList<>();
    long from = 0;
    for (long cut : cuts) {
      long[] offset = box[0].clone();
      long[] size = box[1].clone();
      offset[axis] += from;
      size[axis] = cut - from;
      parts.add(new long[][] {offset, size});
      from = cut;
    }
    return parts;
  }

  private Row block(
      boolean single, Dense dense, long[] offset, long[] size, boolean kept, double key) {
    List<Object> cells = new ArrayList<>();
    for (long place : offset) {
      cells.add(place);
    }
    long length = 1;
    for (long extent : size) {
      cells.add(Math.toIntExact(extent));
      length *= extent;
    }
    for (double[] plane : dense.planes()) {
      List<Object> values = new ArrayList<>();
      long[] at = new long[size.length];
      for (long i = 0; i < length; i++) {
        BlockComparison.place(i, offset, size, at);
        int index = dense.index(at);
        if (!kept) {
          plane[index] = 0;
        }
        values.add(single ? (Object) (float) plane[index] : (Object) plane[index]);
      }
      cells.add(values);
    }
    cells.add(key);
    return RowFactory.create(cells.toArray());
  }

  /** A value that is equal to this one in SQL and may have other bits. */
  private double anyBitsOf(double key) {
    if (Double.isNaN(key)) {
      return Double.longBitsToDouble(0x7ff8000000000000L | random.nextInt(3));
    }
    return key == 0 && random.nextBoolean() ? -0.0 : key;
  }

  private String oneOf(String... words) {
    return words[random.nextInt(words.length)];
  }

  @Override
  public void close() {
    cached.forEach(Dataset::unpersist);
    tables.forEach(
        (table, files) -> {
          SparkSession.active()
              .sql("DROP TABLE IF EXISTS " + table); // an error may have come first
          FileUtil.fullyDelete(files.toFile());
        });
  }
}
