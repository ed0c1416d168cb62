package org.tilespark.spark.multiply;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.RowProjections;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.CutSpec;
import org.tilespark.spark.multiply.MultiplyBlocks.Column;
import scala.Option;

/**
 * The columns of pieces of operands and of partial products in a shuffle, and their heads: rows in
 * which only the grouping columns are set. Grouping columns come last everywhere.
 */
public final class PieceColumns {
  // A piece of an operand.
  static final int KEY = 0;
  static final int INNER = 1;
  static final int SIDE = 2;
  static final int ROW = 3;
  static final int COL = 4;
  static final int ROWS = 5;
  static final int COLS = 6;
  static final int VALUES = 7;

  /** Columns of a piece before its grouping columns. */
  static final int COUNT = 8;

  // A partial block of C: Column's order, then the place of its block, and the range of K that was
  // summed.
  static final int CELL_ROW = Column.COUNT;
  static final int CELL_COL = Column.COUNT + 1;
  static final int PART = Column.COUNT + 2;
  static final int PART_EXTENT = Column.COUNT + 3;

  /** Columns of a partial block before its grouping columns. */
  static final int PARTIAL_COUNT = Column.COUNT + 4;

  /**
   * The columns with a piece's cuboid and side.
   *
   * @param keyAt ordinal of the cuboid's key
   * @param sideAt ordinal of the side: 0 for A, 1 for B
   */
  record Labels(int keyAt, int sideAt) implements Serializable {
    /**
     * The ordinals of the labels: in a piece's own columns, or after them if cuboids share pieces.
     */
    static Labels of(MultiplySpec spec, Cuboids cuboids) {
      int behind = COUNT + spec.groups();
      return cuboids.isShared() ? new Labels(behind, behind + 1) : new Labels(KEY, SIDE);
    }

    int key(InternalRow piece) {
      return piece.getInt(keyAt);
    }

    int side(InternalRow piece) {
      return piece.getInt(sideAt);
    }

    /** The order by cuboid, place along K and side. */
    Comparator<InternalRow> order() {
      return Comparator.<InternalRow>comparingInt(this::key)
          .thenComparingLong(piece -> piece.getLong(INNER))
          .thenComparingInt(this::side);
    }
  }

  /**
   * Value of {@link #PART} in a mark: a row without values, by which {@link SumBlocksExec} notices
   * blocks of C without any partial product.
   */
  static final long MARK = -1;

  private PieceColumns() {}

  /**
   * Attributes of pieces.
   *
   * @param groups grouping columns, which get fresh ids
   */
  public static List<Attribute> pieces(ElementType type, List<Attribute> groups) {
    return withGroups(
        groups,
        column("cuboid", DataTypes.IntegerType),
        column("inner", DataTypes.LongType),
        column("side", DataTypes.IntegerType),
        column("row", DataTypes.LongType),
        column("col", DataTypes.LongType),
        column("rows", DataTypes.IntegerType),
        column("cols", DataTypes.IntegerType),
        column("values", arrayOf(type)));
  }

  /** The keys among the attributes of pieces: cuboid, place along K and side. */
  public static List<Attribute> keys(List<Attribute> pieces) {
    return pieces.subList(0, ROW);
  }

  /** Specifies the cut of an operand's blocks into pieces. */
  public static CutSpec cut(MultiplySpec spec, Cuboids cuboids, boolean right) {
    CuboidKeys keys = new CuboidKeys(cuboids, right, spec.innerIsRow(right) ? 0 : 1);
    String side = spec.gram() ? "" : right ? ", matrix B" : ", matrix A";
    return new CutSpec(
        BlockKind.MATRIX,
        keys.cuts(),
        keys,
        Option.apply(spec.extents(right)),
        ScalaInterop.none(),
        ScalaInterop.none(),
        spec.operator() + side);
  }

  /** The schema of an operand's block columns, from the positions of {@link Column}s. */
  static BlockSchema blocks(List<Integer> ordinals, ElementType type) {
    return new BlockSchema(
        BlockKind.MATRIX,
        List.of(ordinals.get(Column.ROW.ordinal()), ordinals.get(Column.COL.ordinal())),
        List.of(ordinals.get(Column.ROWS.ordinal()), ordinals.get(Column.COLS.ordinal())),
        List.of(ordinals.get(Column.VALUES.ordinal())),
        type);
  }

  /** Attributes of partial blocks of C, and of marks, which have no values. */
  public static List<Attribute> partials(ElementType type, List<Attribute> groups) {
    return withGroups(
        groups,
        column("row", DataTypes.LongType),
        column("col", DataTypes.LongType),
        column("rows", DataTypes.IntegerType),
        column("cols", DataTypes.IntegerType),
        column("values", arrayOf(type)).withNullability(true),
        column("cell_row", DataTypes.LongType),
        column("cell_col", DataTypes.LongType),
        column("inner", DataTypes.LongType),
        column("inner_extent", DataTypes.LongType));
  }

  /** Attributes of ranges along M or N, see {@link CheckPlacesExec}. */
  public static List<Attribute> ranges(List<Attribute> groups) {
    return withGroups(
        groups, column("start", DataTypes.LongType), column("end", DataTypes.LongType));
  }

  /**
   * The keys of a shuffle of pieces: the cuboid, or the part that cuboids share, then the grouping
   * columns.
   */
  public static List<Attribute> pieceKey(List<Attribute> pieces) {
    List<Attribute> key = new ArrayList<>(List.of(pieces.get(KEY)));
    key.addAll(pieces.subList(COUNT, pieces.size()));
    return key;
  }

  /**
   * The order in which a task needs pieces: by cuboid, grouping columns, place along K, side, row
   * and column.
   */
  public static List<Attribute> pieceOrder(List<Attribute> pieces) {
    List<Attribute> order = new ArrayList<>(pieceKey(pieces));
    order.addAll(List.of(pieces.get(INNER), pieces.get(SIDE), pieces.get(ROW), pieces.get(COL)));
    return order;
  }

  /** The keys of a shuffle of partial blocks: the block of C and the grouping columns. */
  public static List<Attribute> partialKey(List<Attribute> partials) {
    List<Attribute> key = new ArrayList<>(List.of(partials.get(CELL_ROW), partials.get(CELL_COL)));
    key.addAll(partials.subList(PARTIAL_COUNT, partials.size()));
    return key;
  }

  /** The order of partial blocks that the sum requires: marks come first. */
  public static List<Attribute> partialOrder(List<Attribute> partials) {
    List<Attribute> order = new ArrayList<>(partialKey(partials));
    order.add(partials.get(PART));
    order.add(partials.get(Column.ROW.ordinal()));
    order.add(partials.get(Column.COL.ordinal()));
    return order;
  }

  /**
   * Makes rows without values: zeros and a null array, then the grouping columns of the input row.
   *
   * @param types types of the columns before the grouping ones; the element type for the array
   * @param groupOrdinals ordinals of the grouping columns in the row it is applied to
   * @param groupTypes types of the grouping columns
   */
  static UnsafeProjection heads(
      List<DataType> types, List<Integer> groupOrdinals, List<DataType> groupTypes) {
    List<Expression> columns = new ArrayList<>();
    for (DataType type : types) {
      columns.add(
          type.equals(DataTypes.IntegerType)
              ? Literal$.MODULE$.create(0, type)
              : Literal$.MODULE$.create(type.equals(DataTypes.LongType) ? 0L : null, type));
    }
    for (int i = 0; i < groupOrdinals.size(); i++) {
      columns.add(new BoundReference(groupOrdinals.get(i), groupTypes.get(i), true));
    }
    return RowProjections.of(columns);
  }

  /** The given columns, then the grouping columns with fresh ids. */
  static List<Attribute> withGroups(List<Attribute> groups, Attribute... columns) {
    return Stream.concat(
            Stream.of(columns),
            groups.stream().map(group -> group.newInstance().withNullability(true)))
        .toList();
  }

  private static DataType arrayOf(ElementType type) {
    return DataTypes.createArrayType(BlockSchema.sparkType(type), false);
  }

  private static Attribute column(String name, DataType type) {
    return Attributes.column(name, type, Metadata.empty());
  }
}
