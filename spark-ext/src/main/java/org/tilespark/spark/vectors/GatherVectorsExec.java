package org.tilespark.spark.vectors;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.InputAdapter;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.WholeStageCodegenExec;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import org.tilespark.spark.cache.CachedRows;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ChildColumns;
import org.tilespark.spark.catalyst.EagerQuery;
import org.tilespark.spark.catalyst.ExchangeInput;
import org.tilespark.spark.catalyst.MadeAnewExec;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.catalyst.ScalaInterop.SerializableFunction;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.rows.BlockCursor;
import org.tilespark.spark.rows.ReadsBlocks;
import scala.collection.immutable.Seq;

/**
 * Runs {@link GatherVectors}. If there are several partitions, a first job counts their rows before
 * the gathering tasks start. It is not needed if places are not used, or for a cached table whose
 * rows were counted before.
 */
public final class GatherVectorsExec extends MadeAnewExec<GatherSpec> implements ReadsBlocks {
  private static final long serialVersionUID = 1;

  static final String BLOCKS = "numOutputRows";
  static final String ROWS = "numVectors";
  static final String SKIPPED = "numSkipped";

  private static final int ROWS_ORDINAL = 2;

  private final Seq<SparkPlan> counted;
  private transient Places places; // places of the partitions' rows; null until needed

  /**
   * The node over {@code child}.
   *
   * @param inputs columns of the child, in the order that the spec has
   * @param produced columns of the blocks in their usual order, and of ids
   * @param counted a plan with the child's rows in the same partitions, to be counted; or none
   */
  public GatherVectorsExec(
      GatherSpec spec,
      Seq<Attribute> inputs,
      Seq<Attribute> produced,
      SparkPlan child,
      Seq<SparkPlan> counted) {
    super(spec, inputs, produced, child);
    this.counted = counted;
  }

  /** The child with the vectors. */
  @Override
  public List<SparkPlan> blocks() {
    return List.of(child);
  }

  @Override
  public GatherVectorsExec withBlocks(List<SparkPlan> newChild) {
    return new GatherVectorsExec(spec, inputs, produced, newChild.get(0), counted);
  }

  @Override
  protected Map<String, SQLMetric> newMetrics() {
    Map<String, SQLMetric> map = new LinkedHashMap<>();
    map.put(BLOCKS, SQLMetrics.createMetric(sparkContext(), "number of output rows"));
    map.put(ROWS, SQLMetrics.createMetric(sparkContext(), "number of vectors"));
    map.put(SKIPPED, SQLMetrics.createMetric(sparkContext(), "number of rows left out"));
    return map;
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return ErrorBoundary.BLOCKS.call(
        () -> {
          return gathered(places(), metrics(BLOCKS, ROWS, SKIPPED));
        });
  }

  private GatherTask.Metrics metrics(String blocks, String rows, String skipped) {
    return new GatherTask.Metrics(
        metrics().apply(blocks), metrics().apply(rows), metrics().apply(skipped));
  }

  private RDD<InternalRow> gathered(Places known, GatherTask.Metrics counts) {
    // For numbers, Spark's cache is faster with its own rows: read in place, each number would be
    // an object.
    boolean isInPlace = spec.vector().form() != VectorColumn.Form.NUMBER;
    return gathered(Input.of(child, isInPlace), known, counts);
  }

  private <T> RDD<InternalRow> gathered(Input<T> input, Places known, GatherTask.Metrics counts) {
    GatherTask<T> task =
        new GatherTask<>(
            spec,
            Attributes.schema(ScalaInterop.list(inputs)),
            ChildColumns.ordinals(this, child, inputs),
            input.source,
            known,
            counts);
    return ExchangeInput.marked(
        input.partitions.mapPartitionsWithIndex(
            task, false, ScalaInterop.classTag(InternalRow.class)),
        InternalRow.class);
  }

  /**
   * The partitions of a plan's rows, and how a cursor over one is opened.
   *
   * @param <T> type of a partition's elements: rows, or batches of several rows
   * @param size gives the number of rows of an element
   */
  private record Input<T>(
      RDD<T> partitions, BlockCursor.Source<T> source, SerializableFunction<T, Long> size) {
    /** The rows of a plan, in batches if it has them; in place if Spark has them in its cache. */
    static Input<?> of(SparkPlan plan) {
      return of(plan, true);
    }

    static Input<?> of(SparkPlan plan, boolean isInPlace) {
      if (plan.supportsColumnar()) {
        return new Input<>(
            plan.executeColumnar(), BlockCursor::overBatches, batch -> (long) batch.numRows());
      }
      Optional<CachedRows> cached = isInPlace ? CachedRows.of(plan) : Optional.empty();
      return cached.isPresent()
          ? new Input<>(
              cached.get().batches(), cached.get().source(), batch -> (long) batch.numRows())
          : new Input<>(plan.execute(), BlockCursor::overRows, row -> 1L);
    }

    int count() {
      return partitions.getNumPartitions();
    }

    /** The rows of each partition, by a job. */
    long[] sizes() {
      return RowCounts.of(partitions, size);
    }
  }

  // ---- counts

  private synchronized Places places() {
    if (places == null) {
      int partitions = Input.of(child).count();
      if (!spec.isPlaced()) {
        places = Places.unknown(partitions);
        return places;
      }
      places =
          new Places(
              partitions == 1
                  ? new long[] {spec.rows()}
                  : EagerQuery.run(
                      sparkContext(),
                      spec.operator() + " counts the rows of each partition",
                      () -> counts(partitions)));
      checkTotal(places.total());
    }
    return places;
  }

  private void checkTotal(long total) {
    if (total == 0) {
      throw spec.empty();
    }
    if (spec.rows() >= 0 && total != spec.rows()) {
      throw new IllegalArgumentException(
          ("%s: the table has %s rows; it had %s when the query was made; make the query again, or"
                  + " persist() the table")
              .formatted(spec.operator(), total, spec.rows()));
    }
  }

  private long[] counts(int partitions) {
    if (spec.skips()) {
      return RowCounts.of(
          gathered(Places.unknown(partitions), unseen()),
          block -> (long) block.getInt(ROWS_ORDINAL));
    }
    Optional<long[]> cached = CachedTable.of(belowSort(child)).map(CachedTable::counts);
    if (cached.filter(counts -> counts.length == partitions).isPresent()) {
      return cached.get();
    }
    Input<?> rows = Input.of(counted.isEmpty() ? belowSort(child) : counted.head());
    return (rows.count() == partitions ? rows : Input.of(child)).sizes();
  }

  /** Metrics that are not shown. */
  private GatherTask.Metrics unseen() {
    SQLMetric nobody = SQLMetrics.createMetric(sparkContext(), "rows that are counted");
    return new GatherTask.Metrics(nobody, nobody, nobody);
  }

  /**
   * The plan below a sort: it has as many rows in each partition, before they are sorted there and
   * projected.
   */
  private static SparkPlan belowSort(SparkPlan plan) {
    return plan instanceof WholeStageCodegenExec
            || plan instanceof InputAdapter
            || plan instanceof ProjectExec
            || plan instanceof SortExec
        ? belowSort(plan.children().head())
        : plan;
  }

  @Override
  public String verboseStringWithOperatorId() {
    return verbose("\nRows: %s\nCounted: %s".formatted(spec, howCounted()));
  }

  private String howCounted() {
    if (!spec.isPlaced()) {
      return "not at all, since the blocks need no places";
    }
    if (spec.skips()) {
      return "by the policies, in a first pass over the vectors";
    }
    return counted.isEmpty() ? "in the child" : "in a plan without columns";
  }

  @Override
  protected List<Object> fields() {
    return List.of(spec, inputs, produced, child, counted);
  }
}
