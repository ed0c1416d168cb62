package org.tilespark.spark.exec;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.AttributeSet$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.BlockKind;
import org.tilespark.spark.BlockSchema;
import org.tilespark.spark.interop.ScalaInterop;
import org.tilespark.spark.planner.BackendChoice;
import org.tilespark.spark.plans.PermutedColumns;
import scala.Option;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * Runs {@link org.tilespark.spark.plans.PermuteBlocks}: takes rows or batches, gives batches whose
 * value columns are Arrow lists. Partitions stay where they are.
 */
public final class PermuteBlocksExec extends SparkPlan {
  private static final long serialVersionUID = 1;

  private final BlockKind kind;
  private final Permutation permutation;
  private final Option<Shape> extents;
  private final Seq<Attribute> inputs;
  private final Seq<Attribute> produced;
  private final BackendChoice backend;
  private final long batchBytes;
  private final SparkPlan child;
  private transient scala.collection.immutable.Map<String, SQLMetric> metrics;

  /** All parts as in the logical node, plus who computes and how much makes a batch. */
  public PermuteBlocksExec(
      BlockKind kind,
      Permutation permutation,
      Option<Shape> extents,
      Seq<Attribute> inputs,
      Seq<Attribute> produced,
      BackendChoice backend,
      long batchBytes,
      SparkPlan child) {
    this.kind = kind;
    this.permutation = permutation;
    this.extents = extents;
    this.inputs = inputs;
    this.produced = produced;
    this.backend = backend;
    this.batchBytes = batchBytes;
    this.child = child;
  }

  /** Who is expected to compute, and why. */
  public BackendChoice backend() {
    return backend;
  }

  /** Output axis {@code i} is input axis {@code permutation.axis(i)}. */
  public Permutation permutation() {
    return permutation;
  }

  /** The only child. */
  public SparkPlan child() {
    return child;
  }

  /** This node without a transition from rows between it and its child: it reads rows itself. */
  public PermuteBlocksExec withChild(SparkPlan newChild) {
    return new PermuteBlocksExec(
        kind, permutation, extents, inputs, produced, backend, batchBytes, newChild);
  }

  @Override
  public Seq<Attribute> output() {
    return produced;
  }

  @Override
  public AttributeSet producedAttributes() {
    return AttributeSet$.MODULE$.apply(
        ScalaInterop.<Expression>seq(ScalaInterop.<Attribute>list(produced)));
  }

  @Override
  public Partitioning outputPartitioning() {
    Partitioning partitioning = child.outputPartitioning();
    if (partitioning instanceof Expression expression) {
      Optional<Expression> renamed = rename(expression);
      return renamed.isPresent() && renamed.get() instanceof Partitioning kept
          ? kept
          : new UnknownPartitioning(partitioning.numPartitions());
    }
    return partitioning;
  }

  @Override
  public Seq<SortOrder> outputOrdering() {
    List<SortOrder> ordering = new ArrayList<>();
    for (SortOrder order : ScalaInterop.<SortOrder>list(child.outputOrdering())) {
      Optional<Expression> renamed = rename(order);
      if (renamed.isEmpty()) {
        break; // what follows orders only within equal values of this column
      }
      ordering.add((SortOrder) renamed.get());
    }
    return ScalaInterop.seq(ordering);
  }

  @Override
  public boolean supportsColumnar() {
    return true;
  }

  @Override
  public Option<Seq<String>> vectorTypes() {
    List<String> types = new ArrayList<>();
    BlockSchema blocks = columns().blocks();
    for (int i = 0; i < produced.size(); i++) {
      types.add(
          blocks.planes().contains(i)
              ? ArrowColumnVector.class.getName()
              : OnHeapColumnVector.class.getName());
    }
    return Option.apply(ScalaInterop.seq(types));
  }

  @Override
  public scala.collection.immutable.Map<String, SQLMetric> metrics() {
    if (metrics == null) {
      SparkContext context = sparkContext();
      Map<String, SQLMetric> map = new LinkedHashMap<>();
      map.put(TaskMetrics.BLOCKS, SQLMetrics.createMetric(context, "number of blocks"));
      map.put(TaskMetrics.BATCHES, SQLMetrics.createMetric(context, "number of batches"));
      map.put(TaskMetrics.BYTES_UP, SQLMetrics.createSizeMetric(context, "bytes up", -1));
      map.put(TaskMetrics.BYTES_DOWN, SQLMetrics.createSizeMetric(context, "bytes down", -1));
      map.put(
          TaskMetrics.DEVICE_TIME,
          SQLMetrics.createNanoTimingMetric(context, "time on the device", -1));
      map.put(
          TaskMetrics.HOST_TIME,
          SQLMetrics.createNanoTimingMetric(context, "time transposing on the CPU", -1));
      map.put(
          TaskMetrics.WAIT_TIME,
          SQLMetrics.createNanoTimingMetric(context, "time waiting for the device", -1));
      map.put(
          TaskMetrics.RETRIES, SQLMetrics.createMetric(context, "device memory asked for again"));
      map.put(
          TaskMetrics.SPLITS,
          SQLMetrics.createMetric(context, "batches split for want of device memory"));
      metrics = ScalaInterop.map(map);
    }
    return metrics;
  }

  @Override
  public RDD<ColumnarBatch> doExecuteColumnar() {
    TaskMetrics taskMetrics = new TaskMetrics(metrics());
    PermuteSpec spec = spec();
    return child.supportsColumnar()
        ? child
            .executeColumnar()
            .mapPartitions(
                PermuteTask.overBatches(spec, backend, taskMetrics),
                true,
                ScalaInterop.classTag(ColumnarBatch.class))
        : child
            .execute()
            .mapPartitions(
                PermuteTask.overRows(spec, backend, taskMetrics),
                true,
                ScalaInterop.classTag(ColumnarBatch.class));
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return new BlockBatchesToRowsExec(this).doExecute();
  }

  private PermuteSpec spec() {
    PermutedColumns columns = columns();
    List<Attribute> childOutput = ScalaInterop.list(child.output());
    List<Integer> inputOrdinals = new ArrayList<>();
    for (Attribute input : columns.inputs()) {
      int ordinal = PermutedColumns.indexOf(childOutput, input);
      if (ordinal < 0) {
        throw new IllegalStateException(
            "PermuteBlocks reads "
                + input
                + ", its child gives "
                + childOutput
                + "; please report this with the plan:\n"
                + this);
      }
      inputOrdinals.add(ordinal);
    }
    return new PermuteSpec(
        columns.blocks(),
        List.copyOf(inputOrdinals),
        PermutedColumns.schema(columns.inputs()),
        permutation,
        extents.isEmpty() ? null : extents.get(),
        batchBytes,
        kind == BlockKind.MATRIX ? "matrix_transpose" : "volume_permute");
  }

  private PermutedColumns columns() {
    return new PermutedColumns(
        kind, permutation, ScalaInterop.list(inputs), ScalaInterop.list(produced));
  }

  /** The expression in terms of the output, if all it uses has an output column of its content. */
  private Optional<Expression> rename(Expression expression) {
    PermutedColumns columns = columns();
    for (Attribute used : ScalaInterop.list(expression.references().toSeq())) {
      if (columns.target(used).isEmpty()) {
        return Optional.empty();
      }
    }
    return Optional.of(
        expression.transform(
            ScalaInterop.partialFunction(
                e -> e instanceof Attribute used ? columns.target(used).orElseThrow() : null)));
  }

  @Override
  public String simpleString(int maxFields) {
    return "PermuteBlocks "
        + kind.label()
        + " "
        + kind.axesText(permutation)
        + " ["
        + backend
        + "]";
  }

  @Override
  public String verboseStringWithOperatorId() {
    return formattedNodeName()
        + "\nAxes: "
        + kind.label()
        + " "
        + kind.axesText(permutation)
        + "\nBackend: "
        + backend
        + "\nBatch: "
        + batchBytes
        + " bytes of values"
        + "\nInput: "
        + ScalaInterop.list(child.output())
        + "\nOutput: "
        + ScalaInterop.list(output())
        + "\n";
  }

  @Override
  public Seq<SparkPlan> children() {
    return ScalaInterop.seq(child);
  }

  @Override
  public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> newChildren) {
    return withChild(newChildren.apply(0));
  }

  @Override
  public int productArity() {
    return 8;
  }

  @Override
  public Object productElement(int n) {
    return switch (n) {
      case 0 -> kind;
      case 1 -> permutation;
      case 2 -> extents;
      case 3 -> inputs;
      case 4 -> produced;
      case 5 -> backend;
      case 6 -> batchBytes;
      case 7 -> child;
      default -> throw new IndexOutOfBoundsException(n);
    };
  }

  @Override
  public boolean canEqual(Object that) {
    return that instanceof PermuteBlocksExec;
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof PermuteBlocksExec that
        && kind == that.kind
        && permutation.equals(that.permutation)
        && extents.equals(that.extents)
        && inputs.equals(that.inputs)
        && produced.equals(that.produced)
        && backend.equals(that.backend)
        && batchBytes == that.batchBytes
        && child.equals(that.child);
  }

  @Override
  public int hashCode() {
    return Objects.hash(kind, permutation, extents, inputs, produced, backend, batchBytes, child);
  }
}
