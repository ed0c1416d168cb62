package org.tilespark.spark.linalg;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.Inner$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SHUFFLE_MERGE$;
import org.apache.spark.sql.catalyst.plans.logical.SHUFFLE_REPLICATE_NL$;
import org.tilespark.spark.aggregate.PerArray;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.GroupingColumns;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.reblock.SameArrays;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.runtime.BackendChoice;

/**
 * Plans linear equations with many right sides: the matrix is factorised once, and its factor is
 * sent between executors to strips of the right side. No data goes to the driver.
 *
 * @param factor blocks of {@link Factoring#LU} or {@link Factoring#LOWER}, with A's further
 *     columns; rows that are {@link Kept}, since they are read for each strip
 * @param a the matrix A
 */
record StripSolve(String operator, LogicalPlan factor, BlockFrame a) {
  /**
   * The plan of the solution X of A X = B.
   *
   * @param b strips of B that have all rows; if both A and B have further columns, these must be
   *     the same
   */
  LogicalPlan plan(BlockFrame b, FactorSpec spec) {
    BlockFrame blocks = BlockFrame.of(factor, BlockKind.MATRIX, operator);
    List<NamedExpression> columns = new ArrayList<>();
    blocks.further().forEach(column -> columns.add(Attributes.alias(column, column.name())));
    columns.add(Attributes.alias(blocks.values(), "factor"));
    Project facts = new Project(ScalaInterop.seq(columns), factor);
    List<Attribute> given = ScalaInterop.list(facts.output());
    List<Attribute> further = given.subList(0, given.size() - 1);
    boolean arePairs = !further.isEmpty() && !b.further().isEmpty();
    List<Attribute> partners =
        arePairs ? further.stream().map(column -> partner(b, column)).toList() : List.of();
    LogicalPlan joined =
        new PerArray(facts, arePairs ? further : List.of(), given)
            .joinedTo(
                b.plan(),
                partners,
                Inner$.MODULE$,
                Optional.empty(),
                arePairs ? SHUFFLE_MERGE$.MODULE$ : SHUFFLE_REPLICATE_NL$.MODULE$);
    List<Expression> children = new ArrayList<>(b.block());
    children.add(given.get(given.size() - 1));
    BlockArguments arguments = BlockArguments.of(b.blocks(), operator, b.extents(), Missing.ERROR);
    ArrayMetadata metadata = ArrayMetadata.empty();
    metadata = b.extents().map(metadata::withExtents).orElse(metadata);
    metadata = b.blockShape().map(metadata::withBlockShape).orElse(metadata);
    List<NamedExpression> result = new ArrayList<>(b.block().subList(0, 4));
    result.add(
        Attributes.alias(
            new SolvedBlock(
                spec, arguments, BackendChoice.NOT_YET, ScalaInterop.<Expression>seq(children)),
            BlockKind.VALUES,
            metadata.toMetadata()));
    result.addAll(b.further().isEmpty() ? further : b.further());
    LogicalPlan solved = new Project(ScalaInterop.seq(result), joined);
    return arePairs ? SameArrays.required(solved, a, b, operator) : solved;
  }

  private Attribute partner(BlockFrame b, Attribute column) {
    return GroupingColumns.named(b.further(), column)
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "%s: A has the further column %s, B has not; expected the same further columns,"
                            .formatted(operator, column.name())
                        + " or none of one of them"));
  }
}
