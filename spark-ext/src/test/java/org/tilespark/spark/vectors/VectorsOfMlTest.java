package org.tilespark.spark.vectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.UserDefinedType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.options.RowOptions;
import org.tilespark.spark.options.RowPolicy;

/** Vectors of spark.ml, which these tests do not have: a type that Spark keeps in the same form. */
class VectorsOfMlTest extends VectorTestBase {
  private static final RowOptions SMALL = RowOptions.defaults().withBlockRows(2);

  /** A vector of a size, with all values, or with those at some indices. */
  record Vector(int size, int[] indices, double[] values) {
    static Vector dense(double... values) {
      return new Vector(values.length, null, values);
    }
  }

  /** As VectorUDT of spark.ml and of spark.mllib. */
  public static final class VectorType extends UserDefinedType<Vector> {
    @Override
    public DataType sqlType() {
      return new StructType()
          .add("type", DataTypes.ByteType, false)
          .add("size", DataTypes.IntegerType)
          .add("indices", DataTypes.createArrayType(DataTypes.IntegerType, false))
          .add("values", DataTypes.createArrayType(DataTypes.DoubleType, false));
    }

    @Override
    public InternalRow serialize(Vector vector) {
      boolean isDense = vector.indices() == null;
      return new GenericInternalRow(
          new Object[] {
            (byte) (isDense ? 1 : 0),
            isDense ? null : (Object) vector.size(),
            isDense ? null : UnsafeArrayData.fromPrimitiveArray(vector.indices()),
            UnsafeArrayData.fromPrimitiveArray(vector.values())
          });
    }

    @Override
    public Vector deserialize(Object datum) {
      InternalRow row = (InternalRow) datum;
      return row.getByte(0) == 1
          ? Vector.dense(row.getArray(3).toDoubleArray())
          : new Vector(
              row.getInt(1), row.getArray(2).toIntArray(), row.getArray(3).toDoubleArray());
    }

    @Override
    public Class<Vector> userClass() {
      return Vector.class;
    }
  }

  static List<Map<String, String>> modes() {
    return sampledModes();
  }

  private static Dataset<Row> table(Metadata metadata, Vector... vectors) {
    List<Row> rows = new ArrayList<>();
    for (Vector vector : vectors) {
      rows.add(RowFactory.create(rows.size(), vector));
    }
    return spark.createDataFrame(
        rows,
        new StructType(
            new StructField[] {
              new StructField("id", DataTypes.IntegerType, false, Metadata.empty()),
              new StructField("features", new VectorType(), true, metadata)
            }));
  }

  private static final Vector[] VECTORS = {
    Vector.dense(1, 2, 3),
    new Vector(3, new int[] {2}, new double[] {9}),
    new Vector(3, new int[0], new double[0]),
    Vector.dense(-0.0, Double.POSITIVE_INFINITY, 5)
  };
  private static final List<String> ROWS =
      List.of("[1.0, 2.0, 3.0]", "[0.0, 0.0, 9.0]", "[0.0, 0.0, 0.0]", "[-0.0, Infinity, 5.0]");

  @ParameterizedTest
  @MethodSource("modes")
  void denseAndSparseVectors(Map<String, String> mode) {
    with(
        mode,
        () -> {
          Dataset<Row> table = table(Metadata.empty(), VECTORS);
          assertEquals(ROWS, rows(MatrixBlocks.fromRows(table, "features", SMALL)));
          Dataset<Row> cached = table.repartition(2).persist();
          try {
            assertEquals(
                ROWS,
                rows(
                    MatrixBlocks.fromRows(
                        cached, "features", SMALL.withId("id").withOrderBy("id"))));
          } finally {
            cached.unpersist();
          }
        });
  }

  @Test
  void lengthsOfVectors() {
    Metadata of4 =
        new MetadataBuilder()
            .putMetadata("ml_attr", new MetadataBuilder().putLong("num_attrs", 4).build())
            .build();
    assertFails(
        MatrixBlocks.fromRows(table(of4, VECTORS), "features", SMALL)::collectAsList,
        "has 3 elements; expected 4");
    Vector[] ragged = Arrays.copyOf(VECTORS, 6);
    ragged[4] = new Vector(2, new int[] {1}, new double[] {7});
    ragged[5] = null;
    Dataset<Row> blocks =
        MatrixBlocks.fromRows(
            table(Metadata.empty(), ragged),
            "features",
            SMALL.withRagged(RowPolicy.ZERO).withNulls(RowPolicy.ZERO));
    assertEquals("[0.0, 7.0, 0.0]", rows(blocks).get(4));
    assertEquals("[0.0, 0.0, 0.0]", rows(blocks).get(5));
    assertTrue(
        reasonOf(
                () ->
                    MatrixBlocks.fromRows(
                        table(Metadata.empty(), VECTORS), List.of("id", "features")))
            .contains("column features is"));
  }
}
