package org.tilespark.spark.source;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.functions;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.Bytes;
import org.tilespark.spark.block.ColumnNames;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.AssembleBlocks;
import org.tilespark.spark.exchange.CutBlocks;
import org.tilespark.spark.exchange.Exchange;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.reblock.ReblockPlans;

/**
 * The query whose blocks a write stores. It is that of the DataFrame, without a re-block (a change
 * of the block shape) at its end if the blocks below it can be written directly. A stored array
 * that the query reads block by block is read in blocks that suit its file and the written one
 * ({@link LongRuns}).
 *
 * <p>The re-block stays if a cache has its result, or if it fills missing blocks with zeros. It
 * also stays if it makes contiguous runs in the file longer, and they would be shorter than {@value
 * #LEAST_RUN_BYTES} bytes without it.
 */
final class WriteQuery {
  /** Contiguous bytes in the file beyond which longer runs are hardly faster to write. */
  private static final long LEAST_RUN_BYTES = LongRuns.ENOUGH_BYTES;

  private final BlockSchema schema;
  private final Shape extents;

  private WriteQuery(BlockSchema schema, Shape extents) {
    this.schema = schema;
    this.extents = extents;
  }

  /**
   * The query to write, with the columns of the DataFrame.
   *
   * @param schema schema of the DataFrame
   * @param extents extents of the array that is stored
   */
  static QueryExecution of(Dataset<Row> data, BlockSchema schema, Shape extents) {
    var classic = (org.apache.spark.sql.classic.Dataset<Row>) data;
    QueryExecution query = classic.queryExecution();
    LogicalPlan given = query.withCachedData();
    LogicalPlan direct = new WriteQuery(schema, extents).belowReblock(given).orElse(given);
    LogicalPlan plan = LongRuns.in(direct, schema, extents).orElse(direct);
    return plan == given
        ? query
        : org.apache.spark.sql.classic.Dataset$.MODULE$
            .ofRows(classic.sparkSession(), plan)
            .queryExecution();
  }

  /**
   * The query in blocks that begin and end at the boundaries of parts: the blocks of the DataFrame
   * if they are known to do so, otherwise blocks of whole parts. Blocks of a part that is longer
   * than 1 along leading axes come one after the other in one task.
   *
   * @param stored extents of the array that is stored, which override those in the metadata
   * @param part elements of a part along each axis
   */
  static QueryExecution inParts(
      Dataset<Row> data, WrittenBlocks written, Shape stored, Shape part, BlockFormat format) {
    var classic = (org.apache.spark.sql.classic.Dataset<Row>) data;
    if (stored.elements() == 0) {
      return classic.queryExecution();
    }
    BlockSchema schema = written.schema();
    Shape extents = Shape.of(written.axes().own(stored.toArray()));
    Shape own = Shape.of(written.axes().own(part.toArray()));
    boolean isGathered = own.elements() != part.elements();
    String operator = "format " + format.name();
    BlockFrame frame = BlockFrame.of(classic.logicalPlan(), schema.kind(), operator);
    if (!frame.extents().equals(Optional.of(extents))) {
      frame = frame.stating(frame.metadata().withExtents(extents).withoutBlockShape());
    }
    ChunkGrid parts = new ChunkGrid(extents, own);
    int bytes = schema.elementType().bytes() * schema.planes().size();
    Shape blocks =
        frame
            .blockShape()
            .filter(shape -> isGathered ? shape.equals(own) : !parts.isCutBy(shape))
            .orElseGet(() -> isGathered ? own : parts.usualBlock(own, bytes));
    LogicalPlan plan =
        ReblockPlans.reblock(
            frame.plan(), schema.kind(), blocks.toArray(), Missing.ERROR, operator);
    var query = org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(classic.sparkSession(), plan);
    if (!isGathered) {
      return query.queryExecution();
    }
    List<String> offsets = written.axes().offsetColumns();
    Column[] places =
        IntStream.range(0, offsets.size())
            .mapToObj(
                axis ->
                    functions.expr(
                        "%s div %sL"
                            .formatted(ColumnNames.quoted(offsets.get(axis)), part.extent(axis))))
            .toArray(Column[]::new);
    int tasks =
        Exchange.partitions(
            classic.sparkSession().sparkContext(),
            Bytes.product(stored.elements(), bytes),
            Optional.empty());
    Dataset<Row> gathered = query.repartition(tasks, places).sortWithinPartitions(places);
    return ((org.apache.spark.sql.classic.Dataset<Row>) gathered).queryExecution();
  }

  private Optional<LogicalPlan> belowReblock(LogicalPlan plan) {
    List<Attribute> written = ScalaInterop.list(plan.output());
    Attributes.Source end = Attributes.belowProjections(plan, written).orElse(null);
    if (end == null
        || !(end.plan() instanceof AssembleBlocks assembled)
        || assembled.spec().missing() != Missing.ERROR) {
      return Optional.empty();
    }
    return assembled
        .sameArray()
        .filter(cut -> hasLongRuns(cut, assembled.spec().blockShape()))
        .flatMap(
            cut ->
                Attributes.counterparts(
                        end.columns(),
                        ScalaInterop.list(assembled.produced()),
                        ScalaInterop.list(cut.inputs()))
                    .map(columns -> renamed(cut.child(), columns, written)));
  }

  /**
   * A projection to {@code columns} under the names of {@code names}; the plan itself if its output
   * is just that.
   */
  static LogicalPlan renamed(LogicalPlan plan, List<Attribute> columns, List<Attribute> names) {
    if (ScalaInterop.<Attribute>list(plan.output()).equals(columns)
        && names(columns).equals(names(names))) {
      return plan; // a projection would copy every row
    }
    return new Project(
        ScalaInterop.seq(
            IntStream.range(0, columns.size())
                .mapToObj(i -> Attributes.as(columns.get(i), names.get(i)))
                .toList()),
        plan);
  }

  private static List<String> names(List<Attribute> columns) {
    return columns.stream().map(Attribute::name).toList();
  }

  private boolean hasLongRuns(CutBlocks cut, Shape assembled) {
    return BlockFrame.of(cut.child(), schema.kind(), cut.spec().operator())
        .blockShape()
        .filter(blocks -> runBytes(blocks) >= Math.min(LEAST_RUN_BYTES, runBytes(assembled)))
        .isPresent();
  }

  /** Bytes in the value columns for one contiguous run that a full block has in the file. */
  private long runBytes(Shape blocks) {
    long[] size = blocks.toArray();
    Arrays.setAll(size, axis -> Math.min(size[axis], extents.extent(axis)));
    long run = new BoxRuns(extents.toArray(), new long[size.length], size).elements();
    return run * schema.elementType().bytes() * schema.planes().size();
  }
}
