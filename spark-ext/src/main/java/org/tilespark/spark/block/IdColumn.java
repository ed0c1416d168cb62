package org.tilespark.spark.block;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;

/**
 * The column {@code ids ARRAY<T>} of blocks that were made from rows, with one id for each row of
 * the block. Column metadata distinguishes it from further columns. It does not distinguish arrays:
 * operators that do not use it read blocks without it.
 */
public final class IdColumn {
  /** The name of the column of ids. */
  public static final String NAME = "ids";

  /**
   * The key in the metadata of this column; its value is the name of the column from which the ids
   * come.
   */
  public static final String KEY = "tilespark.ids";

  private IdColumn() {}

  /** A new column of ids that come from {@code source}. */
  public static Attribute of(Attribute source) {
    return Attributes.column(
        NAME,
        DataTypes.createArrayType(source.dataType(), source.nullable()),
        new MetadataBuilder().putString(KEY, source.name()).build());
  }

  /** Position of the column of ids among {@code columns}; empty if there is none. */
  public static OptionalInt position(List<Attribute> columns) {
    return IntStream.range(0, columns.size()).filter(i -> isIds(columns.get(i))).findFirst();
  }

  private static boolean isIds(Attribute column) {
    return isIds(column.dataType(), column.metadata());
  }

  /** True if a column is one of ids. */
  public static boolean isIds(StructField column) {
    return isIds(column.dataType(), column.metadata());
  }

  private static boolean isIds(DataType type, Metadata metadata) {
    return type instanceof ArrayType && metadata.contains(KEY);
  }

  /** The name of the column from which these ids were taken. */
  public static String source(Attribute ids) {
    return ids.metadata().getString(KEY);
  }

  /** The type of one id of a column of ids. */
  public static DataType type(Attribute ids) {
    return ((ArrayType) ids.dataType()).elementType();
  }

  /** The plan without its column of ids, if it has one. */
  public static LogicalPlan dropped(LogicalPlan plan) {
    List<Attribute> columns = plan.resolved() ? ScalaInterop.list(plan.output()) : List.of();
    return position(columns).isEmpty()
        ? plan
        : new Project(
            ScalaInterop.seq(
                columns.stream()
                    .filter(column -> !isIds(column))
                    .<NamedExpression>map(column -> column)
                    .toList()),
            plan);
  }

  /** The column of ids among {@code columns}, if there is one. */
  public static Optional<Attribute> find(List<Attribute> columns) {
    return position(columns).stream().mapToObj(columns::get).findFirst();
  }
}
