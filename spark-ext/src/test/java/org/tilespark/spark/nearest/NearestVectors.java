package org.tilespark.spark.nearest;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.tilespark.spark.catalyst.compat.SparkVersion;
import org.tilespark.spark.options.Metric;

/** Tables of vectors, and what joins of them give by plain loops and Spark's documentation. */
final class NearestVectors {
  /** Spark 4.2 sums in FLOAT, where squares of larger elements are infinite. */
  private static final float LARGE = SparkVersion.running().startsWith("4.2.") ? 1e9f : 3e38f;

  private NearestVectors() {}

  /** Kinds of vectors other than those of small integers, which have equal scores. */
  enum Kind {
    /** No two scores are equal. */
    APART,
    PLAIN,
    NULLS,
    UNBOUNDED,
    ALL
  }

  /** Random vectors; some are null. */
  static List<Float[]> random(Random random, int count, int length, Kind kind) {
    List<Float[]> vectors = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      Float[] vector = new Float[length];
      boolean integers = random.nextBoolean() && kind != Kind.APART;
      Arrays.setAll(
          vector, k -> integers ? (float) (random.nextInt(5) - 2) : (float) random.nextGaussian());
      boolean nulls = kind == Kind.NULLS || kind == Kind.ALL;
      boolean unbounded = kind == Kind.UNBOUNDED || kind == Kind.ALL;
      switch (random.nextInt(8)) {
        case 0 -> vectors.add(nulls ? null : vector);
        case 1 -> vectors.add(nulls ? with(vector, random, null) : vector);
        case 2 -> {
          if (kind != Kind.APART) {
            Arrays.fill(vector, nulls && random.nextBoolean() ? -0f : 0f);
          }
          vectors.add(vector);
        }
        case 3 -> vectors.add(unbounded ? with(vector, random, Float.NaN) : vector);
        case 4 ->
            vectors.add(
                unbounded
                    ? with(
                        vector,
                        random,
                        random.nextBoolean() ? Float.POSITIVE_INFINITY : Float.NEGATIVE_INFINITY)
                    : vector);
        case 5 -> vectors.add(unbounded ? with(vector, random, LARGE) : vector);
        default -> vectors.add(vector);
      }
    }
    return vectors;
  }

  private static Float[] with(Float[] vector, Random random, Float element) {
    if (vector.length > 0) {
      vector[random.nextInt(vector.length)] = element;
    }
    return vector;
  }

  /** A table of vectors: the number of each, and something about it. */
  static Dataset<Row> table(SparkSession spark, List<Float[]> vectors, String id, int partitions) {
    StructType schema =
        new StructType()
            .add(id, DataTypes.IntegerType, false)
            .add(id + "v", DataTypes.createArrayType(DataTypes.FloatType, true))
            .add(id + "note", DataTypes.StringType);
    List<Row> rows = new ArrayList<>();
    for (int i = 0; i < vectors.size(); i++) {
      rows.add(RowFactory.create(i, vectors.get(i), i % 3 == 0 ? null : "note " + i));
    }
    return partitions == 0
        ? spark.createDataFrame(rows, schema)
        : spark.createDataFrame(
            org.apache.spark.api.java.JavaSparkContext.fromSparkContext(spark.sparkContext())
                .parallelize(rows, partitions),
            schema);
  }

  /** The score that Spark gives two vectors; null if there is none. */
  static Float score(Metric metric, Float[] a, Float[] b) {
    if (a == null || b == null) {
      return null;
    }
    double dot = 0;
    double squaresA = 0;
    double squaresB = 0;
    double squares = 0;
    for (int i = 0; i < a.length; i++) {
      if (a[i] == null || b[i] == null) {
        return null;
      }
      dot += (double) a[i] * b[i];
      squaresA += (double) a[i] * a[i];
      squaresB += (double) b[i] * b[i];
      squares += ((double) a[i] - b[i]) * ((double) a[i] - b[i]);
    }
    return switch (metric) {
      case INNER -> (float) dot;
      case EUCLIDEAN -> (float) Math.sqrt(squares);
      case COSINE -> {
        double norms = Math.sqrt(squaresA * squaresB);
        yield norms == 0 ? null : (Float) (float) (dot / norms);
      }
    };
  }

  /** The scores that a row's matches have, the best first. */
  static List<Float> expected(Metric metric, Float[] query, List<Float[]> vectors, int k) {
    Comparator<Float> ascending = Float::compare; // NaN is greater than every number
    return vectors.stream()
        .map(vector -> score(metric, query, vector))
        .filter(score -> score != null)
        .map(score -> score == 0 ? 0f : score)
        .sorted(metric == Metric.EUCLIDEAN ? ascending : ascending.reversed())
        .limit(k)
        .toList();
  }

  /** The numbers of the right side's rows that were found, in order, by those of the left side. */
  static Map<Integer, List<Integer>> found(List<Row> rows, String left, String right) {
    Map<Integer, List<Integer>> found = new HashMap<>();
    for (Row row : rows) {
      found
          .computeIfAbsent(row.getInt(row.fieldIndex(left)), each -> new ArrayList<>())
          .add(row.isNullAt(row.fieldIndex(right)) ? null : row.getInt(row.fieldIndex(right)));
    }
    return found;
  }
}
