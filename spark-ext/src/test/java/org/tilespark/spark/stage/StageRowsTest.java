package org.tilespark.spark.stage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.blocks.ArrayProgram;
import org.tilespark.arrow.memory.HostMemorySource;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Extents;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.ExchangeInput;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.rows.RowSink;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestField;
import scala.Option;

/** Rows that are made where an exchange keeps them. */
class StageRowsTest extends SparkTest {
  /** Memory of an exchange, and how often it is held. */
  private static final class Room implements RowSink.Room {
    private final HostMemorySource.Allocation memory;
    private int holds;

    Room(HostMemorySource.Allocation memory) {
      this.memory = memory;
    }

    @Override
    public long room(long bytes, int fields) {
      return memory.address();
    }

    @Override
    public Runnable hold() {
      holds++;
      return () -> holds--;
    }
  }

  private static final class FailingSource extends ArraySource {
    FailingSource() {
      super(null);
    }

    @Override
    boolean next() {
      return false;
    }

    @Override
    Box box() {
      throw new UnsupportedOperationException();
    }

    @Override
    InternalRow row() {
      throw new UnsupportedOperationException();
    }

    @Override
    void walk(Taker parts) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void close() {
      throw new IllegalStateException("closed on purpose");
    }
  }

  /** Else the output of a map task stays for as long as the executor lives. */
  @Test
  void theExchangesMemoryIsLetGoAlsoIfSomethingCannotBeClosed() {
    StructType schema =
        TestField.random(1, true, 4, 4, 4)
            .blocks(spark, ElementType.FLOAT64, false, 4, 4, 4)
            .schema();
    JavaRDD<InternalRow> holds =
        new JavaSparkContext(spark.sparkContext())
            .parallelize(List.of(1), 1)
            .mapPartitions(numbers -> holdsAfterClose(schema));
    RDD<InternalRow> node = ExchangeInput.marked(holds.rdd(), InternalRow.class);
    assertEquals(
        List.of(List.of(1, 0)),
        node.toJavaRDD().map(row -> List.of(row.getInt(0), row.getInt(1))).collect());
  }

  /** How often the exchange's memory is held when a row is made, and once all is closed. */
  private static Iterator<InternalRow> holdsAfterClose(StructType schema) {
    BlockSchema blocks = BlockSchema.find(schema, BlockKind.VOLUME, "test");
    StageSpec spec =
        new StageSpec(
            new ArrayProgram(Extents.unknown(3), ElementType.FLOAT32, false, List.of()),
            List.of(
                new StageInput(
                    blocks,
                    List.of(),
                    List.of(),
                    -1,
                    Option.empty(),
                    List.of(),
                    Missing.ERROR,
                    "test")),
            blocks,
            Option.empty());
    StageResults.Job job =
        new StageResults.Job(
            spec,
            new StageResults.Output(null, null, schema, 1 << 20),
            new StageArrays(
                spec, List.of(new FailingSource()), List.of(schema), List.of(List.of())),
            null,
            -1,
            null);
    StageRows rows = new StageRows(job, null);
    try (NativeMemorySource source = new NativeMemorySource(0)) {
      HostMemorySource.Allocation memory = source.allocate(4096);
      Room room = new Room(memory);
      Box place = Box.between(new long[] {0, 0, 0}, new long[] {4, 4, 4});
      RowSink.<RuntimeException>to(
          room,
          () -> rows.rooms(List.of(new StageResults.Label(place, place, List.of(), null))).of(0));
      int held = room.holds;
      assertThrows(IllegalStateException.class, rows::close);
      memory.free();
      return List.<InternalRow>of(new GenericInternalRow(new Object[] {held, room.holds}))
          .iterator();
    }
  }
}
