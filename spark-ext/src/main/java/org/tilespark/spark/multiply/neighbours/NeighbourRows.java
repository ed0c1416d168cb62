package org.tilespark.spark.multiply.neighbours;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.multiply.scores.Neighbours;
import org.tilespark.spark.multiply.scores.Reduction;
import org.tilespark.spark.multiply.scores.TileSearch;
import org.tilespark.spark.rows.ArrayRowWriter;
import sun.misc.Unsafe;

/**
 * Writes the results for the queries of one matrix. The result has a row for each neighbour. If
 * vectors are distributed over several tasks, each gives <em>candidates</em>, a row for each query,
 * which {@link MergeNeighboursExec} merges. Grouping columns come last.
 */
public abstract class NeighbourRows {
  static final int QUERY = 0;
  private static final int NEIGHBOUR = 1;

  /** Ordinal of the array of a row's candidates: for each the place, then the bits of its key. */
  static final int CANDIDATES = 1;

  /** Columns of a row of candidates before its grouping columns. */
  static final int CANDIDATE_COLUMNS = 2;

  /** The columns of a result. */
  public static List<Attribute> neighbours(Reduction reduction, List<Attribute> groups) {
    List<Attribute> columns = new ArrayList<>();
    columns.add(column("query", DataTypes.LongType));
    columns.add(column("neighbour", DataTypes.LongType));
    if (reduction instanceof Reduction.Nearest) {
      columns.add(column("rank", DataTypes.IntegerType));
    }
    columns.add(column("score", DataTypes.DoubleType));
    return withGroups(columns, groups);
  }

  /** The columns of candidates. */
  public static List<Attribute> candidates(List<Attribute> groups) {
    List<Attribute> columns = new ArrayList<>();
    columns.add(column("query", DataTypes.LongType));
    columns.add(column("candidates", DataTypes.createArrayType(DataTypes.LongType, false)));
    return withGroups(columns, groups);
  }

  /** The keys of candidates in a shuffle: the query and the grouping columns. */
  public static List<Attribute> key(List<Attribute> candidates) {
    List<Attribute> key = new ArrayList<>();
    key.add(candidates.get(QUERY));
    key.addAll(candidates.subList(CANDIDATE_COLUMNS, candidates.size()));
    return key;
  }

  private static List<Attribute> withGroups(List<Attribute> columns, List<Attribute> groups) {
    groups.forEach(group -> columns.add(group.newInstance().withNullability(true)));
    return columns;
  }

  private static Attribute column(String name, DataType type) {
    return Attributes.column(name, type, Metadata.empty());
  }

  /**
   * The writer of one matrix.
   *
   * @param merged false to write candidates
   * @param head a row of the output that has the matrix's grouping columns; ownership passes to the
   *     writer
   */
  public static NeighbourRows of(Reduction reduction, boolean merged, UnsafeRow head) {
    return merged ? new OfNeighbours(reduction, head) : new OfCandidates(head);
  }

  /**
   * Writes a row.
   *
   * @param index index in {@code found} of the next neighbour
   * @return the index of the neighbour after those written
   */
  public abstract int write(long query, Neighbours found, int index);

  /** The row that was written last; valid until the next one is written. */
  public abstract InternalRow row();

  /** Exchanges query and neighbour in a row. */
  public static void mirror(InternalRow row) {
    long query = row.getLong(QUERY);
    row.setLong(QUERY, row.getLong(NEIGHBOUR));
    row.setLong(NEIGHBOUR, query);
  }

  /** Writes one row for each neighbour. */
  private static final class OfNeighbours extends NeighbourRows {
    private final Reduction reduction;
    private final boolean hasRank;
    private final UnsafeRow row;

    OfNeighbours(Reduction reduction, UnsafeRow head) {
      this.reduction = reduction;
      this.hasRank = reduction instanceof Reduction.Nearest;
      this.row = head;
    }

    @Override
    public int write(long query, Neighbours found, int index) {
      row.setLong(QUERY, query);
      row.setLong(NEIGHBOUR, found.place(index));
      int column = NEIGHBOUR + 1;
      if (hasRank) {
        row.setInt(column++, index + 1);
      }
      row.setDouble(column, TileSearch.score(reduction.metric(), found.key(index)));
      return index + 1;
    }

    @Override
    public InternalRow row() {
      return row;
    }
  }

  /** Writes one row of candidates for each query. */
  private static final class OfCandidates extends NeighbourRows {
    private final UnsafeRow head;
    private final ArrayRowWriter writer;

    OfCandidates(UnsafeRow head) {
      this.head = head;
      this.writer = new ArrayRowWriter(head.numFields(), CANDIDATES, ElementType.INT64);
    }

    @Override
    public int write(long query, Neighbours found, int index) {
      HostMemory values = writer.start(head, 2L * found.count());
      Unsafe unsafe = HostMemory.unsafe();
      for (int i = 0; i < found.count(); i++) {
        long at = values.offset() + 2L * i * Long.BYTES;
        unsafe.putLong(values.base(), at, found.place(i));
        unsafe.putLong(values.base(), at + Long.BYTES, Double.doubleToRawLongBits(found.key(i)));
      }
      writer.row().setLong(QUERY, query);
      return found.count();
    }

    @Override
    public InternalRow row() {
      return writer.row();
    }
  }
}
