package org.tilespark.spark.linalg;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.GroupingColumns;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;

/**
 * A table of several factors: blocks with a further column {@value #FACTOR}, which names the factor
 * of each block. The metadata of that column states known facts of each factor.
 */
public final class FactorTable {
  /** The name of the column of the factors' names. */
  public static final String FACTOR = "factor";

  /**
   * The key in the metadata of {@link #FACTOR}: one entry for each factor, with the metadata of the
   * factor's values.
   */
  public static final String FACTORS = "tilespark.factors";

  private FactorTable() {}

  /** The metadata of the column of names, which states that of the factors. */
  static Metadata describing(Map<String, ArrayMetadata> factors) {
    MetadataBuilder each = new MetadataBuilder();
    factors.forEach((name, known) -> each.putMetadata(name, known.toMetadata()));
    return new MetadataBuilder().putMetadata(FACTORS, each.build()).build();
  }

  /** The metadata of a factor that is one block of these extents. */
  static ArrayMetadata oneBlock(Shape extents) {
    return ArrayMetadata.empty()
        .withExtents(extents)
        .withBlockShape(Shape.of(Math.max(1, extents.extent(0)), Math.max(1, extents.extent(1))));
  }

  /**
   * A table of factors with a separate plan for each; reading one factor runs only its plan.
   *
   * @param factors blocks of one type with the same further columns, by their names
   * @param operator operator's name, for messages
   */
  static LogicalPlan of(Map<String, LogicalPlan> factors, String operator) {
    Map<String, BlockFrame> frames = new LinkedHashMap<>();
    Map<String, ArrayMetadata> known = new LinkedHashMap<>();
    factors.forEach(
        (name, plan) -> {
          frames.put(name, BlockFrame.of(plan, BlockKind.MATRIX, operator));
          known.put(name, frames.get(name).metadata());
        });
    List<Attribute> further = frames.values().iterator().next().further();
    List<LogicalPlan> branches = new ArrayList<>();
    frames.forEach(
        (name, frame) -> {
          List<NamedExpression> columns = new ArrayList<>();
          for (Attribute own : frame.block().subList(0, 2 * BlockKind.MATRIX.rank())) {
            columns.add(Attributes.alias(own, own.name()));
          }
          columns.add(
              Attributes.alias(
                  frame.values(),
                  BlockKind.VALUES,
                  ArrayMetadata.empty().withoutExtents().toMetadata()));
          for (Attribute column : further) {
            Attribute own = GroupingColumns.named(frame.further(), column).orElseThrow();
            columns.add(Attributes.alias(own, own.name()));
          }
          columns.add(
              Attributes.alias(
                  Literal.create(name, DataTypes.StringType), FACTOR, describing(known)));
          branches.add(new Project(ScalaInterop.seq(columns), frame.plan()));
        });
    GroupingColumns.requireNames(ScalaInterop.list(branches.get(0).output()), operator);
    return new Union(ScalaInterop.seq(branches), false, false);
  }

  /**
   * The blocks of one factor, without the column of names.
   *
   * @param operator operator's name, for messages
   * @throws IllegalArgumentException if {@code table} has no matrix blocks, no column of that name,
   *     or states factors without this name
   */
  public static LogicalPlan factor(LogicalPlan table, String name, String operator) {
    BlockFrame frame = BlockFrame.of(table, BlockKind.MATRIX, operator);
    Attribute names =
        frame.further().stream()
            .filter(column -> column.name().equalsIgnoreCase(FACTOR))
            .filter(column -> column.dataType().sameType(DataTypes.StringType))
            .findFirst()
            .orElseThrow(
                () ->
                    new IllegalArgumentException(
                        "%s: there is no column %s STRING; expected the table of an operator with"
                                .formatted(operator, FACTOR)
                            + " several factors, as matrix_qr or matrix_svd"));
    Map<String, ArrayMetadata> known = known(names.metadata());
    if (!known.isEmpty() && !known.containsKey(name)) {
      throw new IllegalArgumentException(
          "%s: factor is '%s'; expected one of %s"
              .formatted(operator, name, String.join(", ", known.keySet())));
    }
    LogicalPlan blocks =
        new Filter(new EqualTo(names, Literal.create(name, DataTypes.StringType)), frame.plan());
    Attribute values = frame.values();
    ArrayMetadata metadata =
        known.containsKey(name) ? known.get(name) : ArrayMetadata.of(values.metadata());
    List<NamedExpression> columns = new ArrayList<>();
    for (Attribute column : frame.columns()) {
      if (column == values) {
        columns.add(Attributes.alias(values, values.name(), metadata.toMetadata()));
      } else if (column != names) {
        columns.add(column);
      }
    }
    return new Project(ScalaInterop.seq(columns), blocks);
  }

  /**
   * The metadata of each factor by its name, from the metadata of the column of names; empty if
   * nothing is stated.
   */
  static Map<String, ArrayMetadata> known(Metadata ofNames) {
    if (!ofNames.contains(FACTORS)) {
      return Map.of();
    }
    Metadata all = ofNames.getMetadata(FACTORS);
    return ScalaInterop.javaMap(all.map()).keySet().stream()
        .sorted()
        .collect(
            Collectors.toMap(
                name -> name,
                name -> ArrayMetadata.of(all.getMetadata(name)),
                (one, two) -> one,
                LinkedHashMap::new));
  }
}
