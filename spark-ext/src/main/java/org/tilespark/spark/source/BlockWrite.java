package org.tilespark.spark.source;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskKilledException;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.StructField;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.ColumnNames;
import org.tilespark.spark.block.Coverage;
import org.tilespark.spark.block.IdColumn;
import org.tilespark.spark.catalyst.EagerQuery;
import org.tilespark.spark.catalyst.LogicalBlockNode;
import org.tilespark.spark.catalyst.PartitionBoundary;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.error.ErrorCondition;
import org.tilespark.spark.error.TileSparkException;
import org.tilespark.spark.rows.BlockCursor;
import org.tilespark.spark.rows.PlannedBlocks;
import org.tilespark.spark.runtime.ExecutorRuntime;
import scala.Option;
import scala.runtime.AbstractFunction2;

/**
 * Writes a DataFrame of blocks into one stored array: tasks write blocks at their places in a
 * hidden array, and the driver checks that they tile the array and then gives it its name. Runs on
 * the driver.
 */
public final class BlockWrite {
  /**
   * Most elements of an array for each element in the blocks: if the array's measured extents give
   * more, a block is at a wrong place and the write is refused at once.
   */
  private static final double LARGEST_HOLE = 4;

  /**
   * Elements of an array up to which {@link #LARGEST_HOLE} does not matter: holes are searched
   * after the write.
   */
  private static final double SMALL_ARRAY = 1 << 24;

  /** Most elements whose bytes, in the widest type and with a header, can be counted in a long. */
  private static final double MOST_ELEMENTS = 0x1p58;

  private final Dataset<Row> data;
  private final BlockSink sink;
  private final WrittenBlocks blocks;

  private BlockWrite(Dataset<Row> data, BlockSink sink) {
    this.data = data;
    this.sink = sink;
    this.blocks = WrittenBlocks.of(data.schema(), sink.format());
  }

  /**
   * Writes the array; returns when it has its name; after a failure it is removed.
   *
   * @param data blocks of one array; other columns are its leading axes. Ids of rows are dropped
   * @param sink target of the array
   * @param replace true to replace an existing array
   * @throws IllegalArgumentException if the blocks do not tile one array, or hold values that the
   *     stored type cannot represent; the message names the block
   * @throws UncheckedIOException if it cannot be written
   */
  public static void write(Dataset<Row> data, BlockSink sink, boolean replace) {
    String[] ids =
        Arrays.stream(data.schema().fields())
            .filter(IdColumn::isIds)
            .map(StructField::name)
            .toArray(String[]::new);
    new BlockWrite(data.drop(ids), sink).write(replace);
  }

  private void write(boolean replace) {
    String extentsSource =
        sink.statedExtents(blocks.rank()).isPresent()
            ? "option " + BlockFormat.EXTENTS
            : blocks.extents().isPresent()
                ? "column metadata " + ArrayMetadata.EXTENTS
                : "the blocks";
    sink.check(blocks);
    BlockSink.Extents array = new BlockSink.Extents(extents(), extentsSource);
    BlockSchema schema = blocks.schema();
    Shape own = own(array.shape());
    QueryExecution query =
        sink.wholeParts(blocks, array.shape())
            .map(part -> WriteQuery.inParts(data, blocks, array.shape(), part, sink.format()))
            .orElseGet(() -> WriteQuery.of(data, schema, own));
    if (replace && sink.removesFirst() && sink.exists()) {
      requireOthersRead();
      try {
        requireTiling(array);
      } catch (IllegalArgumentException e) {
        throw ErrorBoundary.thrown(failed(e, false));
      }
    }
    try (BlockSink.Pending pending = sink.begin(blocks, array, replace)) {
      try {
        requireTiled(run(pending.target(), query), array);
        pending.commit(replace);
      } catch (Exception e) { // undeclared, as some are Scala's
        throw ErrorBoundary.thrown(failed(e, pending.hasRemoved()));
      }
    } catch (IOException e) {
      throw cannotWrite(e, "");
    }
  }

  /** The extents without those of leading axes. */
  private Shape own(Shape extents) {
    return Shape.of(blocks.axes().own(extents.toArray()));
  }

  /** The error of a failed write, which says what the failure leaves. */
  private Exception failed(Exception failure, boolean removed) {
    String leaves =
        removed
            ? ". Nothing was written, and the array that was there is gone: it was removed before"
                + " the first write"
            : ". Nothing was written";
    if (failure instanceof TileSparkException ours
        && (removed || ours.condition() == ErrorCondition.INVALID_BLOCK)) {
      return new TileSparkException(ours.condition(), ours.reason() + leaves, ours);
    }
    if (failure instanceof IllegalArgumentException) {
      return new IllegalArgumentException(failure.getMessage() + leaves, failure);
    }
    if (!removed || failure instanceof InterruptedException) {
      return failure;
    }
    return failure instanceof IOException io
        ? cannotWrite(io, leaves)
        : new TileSparkException(
            ErrorCondition.IO,
            "Cannot write " + sink.location().getPath() + ": " + failure.getMessage() + leaves,
            failure);
  }

  private UncheckedIOException cannotWrite(IOException e, String leaves) {
    return new UncheckedIOException(
        "Cannot write " + sink.location().getPath() + ": " + IoReasons.reason(e) + leaves, e);
  }

  private void requireTiled(long[] boxes, BlockSink.Extents array) {
    Coverage.defect(blocks.axes(), array.shape().toArray(), boxes)
        .ifPresent(
            defect -> {
              throw new IllegalArgumentException(
                  "%s (the extents are %s (from %s); the option %s overrides them)"
                      .formatted(
                          defect,
                          Arrays.toString(array.shape().toArray()),
                          array.source(),
                          BlockFormat.EXTENTS));
            });
  }

  /** Refuses to remove an array that the query reads. */
  private void requireOthersRead() {
    var location = new org.apache.hadoop.fs.Path(sink.location());
    LogicalPlan plan =
        ((org.apache.spark.sql.classic.Dataset<Row>) data).queryExecution().analyzed();
    for (LogicalPlan leaf : ScalaInterop.<LogicalPlan>list(plan.collectLeaves())) {
      if (leaf instanceof DataSourceV2Relation relation
          && relation.table() instanceof BlockTable table
          && table.isBelow(location)) {
        throw new IllegalArgumentException(
            ("Cannot write %s: the query reads it, and format %s removes what is there before"
                    + " it writes. Write to another path. Nothing was written")
                .formatted(sink.location().getPath(), sink.format().name()));
      }
    }
  }

  /** Checks all places before anything is removed, if they can be read without the values. */
  private void requireTiling(BlockSink.Extents array) {
    var classic = (org.apache.spark.sql.classic.Dataset<Row>) data;
    BlockFrame frame = BlockFrame.of(classic.logicalPlan(), blocks.kind(), who());
    LogicalPlan places =
        frame.places(
            plan ->
                org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(classic.sparkSession(), plan));
    if (!LogicalBlockNode.coordinatesAreCheap(places)) {
      return;
    }
    List<NamedExpression> read = new ArrayList<>();
    blocks.leading().forEach(each -> read.add(frame.columns().get(each.ordinal())));
    read.addAll(frame.block().subList(0, 2 * blocks.kind().rank()));
    LogicalPlan columns = new Project(ScalaInterop.seq(read), places);
    List<Row> rows =
        EagerQuery.run(
            org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(classic.sparkSession(), columns),
            "write of " + sink.location().getPath() + " checks places before it removes an array",
            Dataset<Row>::collectAsList);
    requireTiled(boxes(rows, array), array);
  }

  private long[] boxes(List<Row> rows, BlockSink.Extents array) {
    int rank = blocks.rank();
    int before = blocks.leading().size();
    long[] boxes = new long[Math.multiplyExact(2 * rank, rows.size())];
    int at = 0;
    for (Row row : rows) {
      if (row.anyNull()) {
        throw new IllegalArgumentException(
            "A block's place has a null; expected numbers (see validate)");
      }
      long[] offset = new long[rank];
      long[] size = new long[rank];
      for (int axis = 0; axis < rank; axis++) {
        offset[axis] = ((Number) row.get(axis)).longValue();
        size[axis] = axis < before ? 1 : row.getInt(rank + axis - before);
      }
      BlockColumns.requireInside(
          blocks.axes(), offset, size, array.shape().toArray(), array.source());
      System.arraycopy(offset, 0, boxes, at, rank);
      System.arraycopy(size, 0, boxes, at + rank, rank);
      at += 2 * rank;
    }
    return boxes;
  }

  /** Runs the tasks; returns the offset and size of each block that they wrote. */
  private static long[] run(BlockSink.Target target, QueryExecution query) {
    // Under a separate SQL execution, so that the Spark UI shows the query's plan and metrics.
    Object results =
        SQLExecution.withNewExecutionId(
            query,
            Option.apply("write " + target.place()),
            ScalaInterop.supplier(() -> boxes(target, PlannedBlocks.of(query))));
    return Arrays.stream((long[][]) results).flatMapToLong(Arrays::stream).toArray();
  }

  private static <T> Object boxes(BlockSink.Target target, PlannedBlocks<T> blocks) {
    RDD<T> partitions = blocks.partitions();
    return partitions
        .sparkContext()
        .runJob(
            partitions,
            new WriteTask<>(target, blocks.source()),
            ScalaInterop.classTag(long[].class));
  }

  private Shape extents() {
    return sink.statedExtents(blocks.rank()).or(blocks::extents).orElseGet(this::measuredExtents);
  }

  /**
   * The extents, measured as the largest ends of blocks by one small aggregate over the
   * coordinates.
   */
  private Shape measuredExtents() {
    int rank = blocks.rank();
    List<Column> measures = new ArrayList<>();
    Column elements = functions.lit(1.0);
    for (int axis = 0; axis < rank; axis++) {
      measures.add(functions.max(end(axis)));
      elements = elements.multiply(functions.greatest(size(axis), functions.lit(0)).cast("double"));
    }
    measures.add(functions.sum(elements));
    Row row =
        first(
            data.select(measures.toArray(new Column[0])),
            "finds the extents, which no metadata states (the option extents does)");
    long[] extents = new long[rank];
    for (int axis = 0; axis < rank; axis++) {
      if (row.isNullAt(axis)) {
        throw new IllegalArgumentException(
            ("%s: the DataFrame has no blocks and its column values no metadata %s;"
                    + " expected either, or the option %s such as '%s'")
                .formatted(
                    who(),
                    ArrayMetadata.EXTENTS,
                    BlockFormat.EXTENTS,
                    rank == 2 ? "0,784" : "0,64,64"));
      }
      extents[axis] = Math.max(0, row.getLong(axis));
    }
    requirePlausible(extents, row.getDouble(rank));
    return Shape.of(extents);
  }

  /**
   * The end of each block along an axis; null if it is beyond 2^63 - 1, so that the block is
   * refused when it is written.
   */
  private Column end(int axis) {
    return functions.try_add(offset(axis), size(axis).cast("long"));
  }

  private Column offset(int axis) {
    int before = blocks.leading().size();
    return axis < before
        ? column(blocks.leading().get(axis).ordinal()).cast("long")
        : column(blocks.schema().offsets().get(axis - before));
  }

  private Column size(int axis) {
    int before = blocks.leading().size();
    return axis < before ? functions.lit(1) : column(blocks.schema().sizes().get(axis - before));
  }

  private Row first(Dataset<Row> query, String purpose) {
    return EagerQuery.run(
        query, "write of " + sink.location().getPath() + " " + purpose, Dataset<Row>::first);
  }

  /**
   * Refuses implausible extents, caused by a single block at a wrong place, before a file of that
   * length is created; the message names the block.
   *
   * @param held number of elements of all blocks
   */
  private void requirePlausible(long[] extents, double held) {
    double product = 1;
    int longest = 0;
    for (int axis = 0; axis < extents.length; axis++) {
      product *= extents[axis];
      longest = extents[axis] > extents[longest] ? axis : longest;
    }
    if (product <= Math.max(SMALL_ARRAY, LARGEST_HOLE * held) && product <= MOST_ELEMENTS) {
      return; // holes are found after the write
    }
    List<Column> places = new ArrayList<>();
    for (int axis = 0; axis < extents.length; axis++) {
      places.add(offset(axis));
    }
    Row farthest =
        first(
            data.orderBy(end(longest).desc_nulls_last()).select(places.toArray(new Column[0])),
            "finds the block that reaches farthest");
    List<String> columns = blocks.axes().offsetColumns();
    StringBuilder block = new StringBuilder("block at ");
    for (int axis = 0; axis < extents.length; axis++) {
      block
          .append(axis == 0 ? "" : ", ")
          .append(columns.get(axis))
          .append(' ')
          .append(farthest.get(axis));
    }
    throw new IllegalArgumentException(
        String.format(
            Locale.ROOT,
            "%s: it ends at %s %d, so the array would be of %s and have %.4g elements, of which the"
                + " blocks hold %.4g; expected blocks without holes (see validate), or the option"
                + " %s. Nothing was written",
            block,
            columns.get(longest),
            extents[longest],
            Arrays.toString(extents),
            product,
            held,
            BlockFormat.EXTENTS));
  }

  private Column column(int ordinal) {
    return data.col(ColumnNames.quoted(data.schema().fields()[ordinal].name()));
  }

  private String who() {
    return "format " + sink.format().name();
  }

  /**
   * The work of a task: it writes its blocks, and returns their offsets and sizes.
   *
   * @param <T> type of a partition's elements: rows or batches
   */
  private static final class WriteTask<T>
      extends AbstractFunction2<TaskContext, scala.collection.Iterator<T>, long[]>
      implements java.io.Serializable {
    private final BlockSink.Target target;
    private final BlockCursor.Source<T> source;

    private WriteTask(BlockSink.Target target, BlockCursor.Source<T> source) {
      this.target = target;
      this.source = source;
    }

    @Override
    public long[] apply(TaskContext task, scala.collection.Iterator<T> partition) {
      return PartitionBoundary.drain(partition, blocks -> write(task, source.open(blocks)));
    }

    private long[] write(TaskContext task, BlockCursor blocks) {
      int numbers = 2 * target.rank();
      long[] boxes = new long[numbers * 16]; // (blocks, 2, axes), grown as needed
      int filled = 0;
      String name = "write " + task.taskAttemptId();
      try (BufferAllocator allocator = ExecutorRuntime.current().memory().newChild(name);
          BlockSink.Writer writer = target.open(allocator)) {
        while (blocks.advance()) {
          if (task.isInterrupted()) {
            throw new TaskKilledException("killed while writing " + target.place());
          }
          if (filled == boxes.length) {
            boxes = Arrays.copyOf(boxes, Math.multiplyExact(boxes.length, 2));
          }
          writer.write(blocks, boxes, filled);
          filled += numbers;
        }
        writer.finish();
      } catch (IOException e) {
        throw new UncheckedIOException(IoReasons.reason(e), e);
      }
      return Arrays.copyOf(boxes, filled);
    }
  }
}
