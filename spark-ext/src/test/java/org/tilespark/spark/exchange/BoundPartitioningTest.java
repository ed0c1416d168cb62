package org.tilespark.spark.exchange;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Random;
import java.util.function.ToIntFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.tilespark.spark.catalyst.ScalaInterop;

/** The partition of a row is the one that Spark's expression says. */
class BoundPartitioningTest {
  private static final BoundReference LONG = new BoundReference(2, DataTypes.LongType, true);
  private static final BoundReference INT = new BoundReference(0, DataTypes.IntegerType, true);
  private static final BoundReference TEXT = new BoundReference(1, DataTypes.StringType, true);

  @Test
  void partitionsAreSparks() {
    Random random = new Random(5);
    for (List<Expression> columns :
        List.of(
            List.<Expression>of(LONG),
            List.<Expression>of(INT),
            List.<Expression>of(LONG, INT, LONG),
            List.<Expression>of(INT, TEXT, LONG))) {
      HashPartitioning bound = new HashPartitioning(ScalaInterop.seq(columns), 7);
      ToIntFunction<InternalRow> found = new BoundPartitioning(bound).partitionOf();
      Expression expected = bound.partitionIdExpression();
      for (int i = 0; i < 500; i++) {
        InternalRow row =
            new GenericInternalRow(
                new Object[] {
                  random.nextInt(9) == 0 ? null : (Object) random.nextInt(),
                  random.nextInt(9) == 0 ? null : UTF8String.fromString("t" + random.nextInt()),
                  random.nextInt(9) == 0 ? null : (Object) random.nextLong()
                });
        assertEquals(expected.eval(row), found.applyAsInt(row), row::toString);
      }
    }
  }
}
