package org.tilespark.spark.multiply;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.plans.physical.Distribution;
import org.apache.spark.sql.execution.SparkPlan;
import org.tilespark.spark.block.BoxList;
import org.tilespark.spark.block.Coverage;
import org.tilespark.spark.catalyst.ChildColumns;
import org.tilespark.spark.catalyst.MadeAnewExec;
import org.tilespark.spark.catalyst.PartitionTask;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.Exchange;
import org.tilespark.spark.multiply.MultiplyBlocks.PlaceColumn;
import org.tilespark.spark.options.Missing;
import scala.collection.immutable.Seq;

/**
 * Checks, before the multiply, that the coordinates of an operand's blocks tile each matrix. Emits
 * one row with an empty range for each matrix, so that it is known to exist, and with missing=zero
 * one row for each range of M or N that no block covers.
 */
public final class CheckPlacesExec extends MadeAnewExec<MultiplySpec> {
  // The output, before grouping columns: a range along M or N.
  static final int START = 0;
  static final int END = 1;
  static final int COUNT = 2;

  private final boolean right;

  /**
   * The check.
   *
   * @param right true if the places are those of B's blocks
   * @param places columns of the child, in {@link PlaceColumn}'s order, then grouping columns
   * @param produced columns of the output: start and end of a range, two BIGINT, then the grouping
   *     columns
   */
  public CheckPlacesExec(
      MultiplySpec spec,
      boolean right,
      Seq<Attribute> places,
      Seq<Attribute> produced,
      SparkPlan child) {
    super(spec, places, produced, child);
    this.right = right;
  }

  @Override
  public Seq<Distribution> requiredChildDistribution() {
    List<Attribute> columns = ScalaInterop.list(inputs);
    List<Attribute> groups = columns.subList(PlaceColumn.COUNT, columns.size());
    return ScalaInterop.<Distribution>seq(Exchange.together(groups));
  }

  @Override
  public RDD<InternalRow> doExecute() {
    List<Integer> ordinals = ChildColumns.ordinals(this, child, inputs);
    Check check = new Check(PanelTask.Job.of(spec, false, produced), right, ordinals);
    return check.over(child.execute(), InternalRow.class, false);
  }

  /** Checks the places of one partition, which holds all those of each of its matrices. */
  private record Check(PanelTask.Job job, boolean right, List<Integer> ordinals)
      implements PartitionTask<InternalRow, InternalRow> {
    private static final int RANK = 2; // axes of a place: outer and inner

    @Override
    public Iterator<InternalRow> open(Iterator<InternalRow> rows) {
      UnsafeProjection groupOf = job.groups(ordinals.subList(PlaceColumn.COUNT, ordinals.size()));
      Map<UnsafeRow, BoxList> matrices = new LinkedHashMap<>();
      while (rows.hasNext()) {
        InternalRow row = rows.next();
        int outerExtent = size(row, PlaceColumn.OUTER_EXTENT);
        int innerExtent = size(row, PlaceColumn.INNER_EXTENT);
        int outer = ordinals.get(PlaceColumn.OUTER.ordinal());
        int inner = ordinals.get(PlaceColumn.INNER.ordinal());
        if (row.isNullAt(outer) || row.isNullAt(inner) || Math.min(outerExtent, innerExtent) < 1) {
          continue; // the product's tasks name the block in an error
        }
        matrices
            .computeIfAbsent(groupOf.apply(row).copy(), group -> new BoxList(RANK))
            .add(
                new long[] {row.getLong(outer), row.getLong(inner)},
                new long[] {outerExtent, innerExtent});
      }
      UnsafeProjection heads = job.heads(0);
      List<InternalRow> found = new ArrayList<>();
      matrices.forEach((group, boxes) -> check(group, boxes.toArray(), heads, found));
      return found.iterator();
    }

    private int size(InternalRow row, PlaceColumn column) {
      int ordinal = ordinals.get(column.ordinal());
      return row.isNullAt(ordinal) ? 0 : row.getInt(ordinal);
    }

    private void check(
        UnsafeRow group, long[] boxes, UnsafeProjection heads, List<InternalRow> found) {
      MultiplySpec spec = job.spec();
      found.add(range(heads, group, 0, 0));
      Coverage.check(
          new long[RANK],
          new long[] {right ? spec.n() : spec.m(), spec.k()},
          boxes,
          new Coverage.Findings() {
            @Override
            public boolean hole(long[] low, long[] high) {
              if (spec.result().missing() == Missing.ERROR) {
                throw OperandDefects.holeAt(spec, right, job.groupText(group), low[0], low[1]);
              }
              found.add(range(heads, group, low[0], high[0]));
              return true;
            }

            @Override
            public boolean overlap(int first, int second) {
              long[] shared = Coverage.sharedElement(RANK, boxes, first, second);
              throw OperandDefects.twiceAt(spec, right, job.groupText(group), shared[0], shared[1]);
            }
          });
    }

    private static InternalRow range(UnsafeProjection heads, UnsafeRow group, long from, long to) {
      UnsafeRow range = heads.apply(group).copy();
      range.setLong(START, from);
      range.setLong(END, to);
      return range;
    }
  }

  @Override
  public String simpleString(int maxFields) {
    return "CheckPlaces of matrix " + (right ? "B" : "A") + ", missing=" + spec.result().missing();
  }

  @Override
  public String verboseStringWithOperatorId() {
    return formattedNodeName() + "\n" + simpleString(Integer.MAX_VALUE) + "\n";
  }

  @Override
  protected List<Object> fields() {
    return List.of(spec, right, inputs, produced, child);
  }
}
