package org.tilespark.spark.reduce;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.aggregate.Covariances;
import org.tilespark.spark.aggregate.PerArray;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.vectors.GatherVectors;
import scala.Option;

/**
 * Covariances and correlations of the columns of one matrix by one aggregate, which reads the
 * values once. If rows of a table become the blocks, these rows are not counted first, since a sum
 * needs no places.
 */
public final class CovariancePlans {
  /** Most columns: one task adds up the covariances of all tasks, 1 MiB from each. */
  private static final int MOST_COLUMNS = 512;

  private CovariancePlans() {}

  /**
   * The covariances, if there are few columns and each block is known to have all of them; extents
   * are not looked up.
   *
   * @param ddof number that is subtracted from the count of rows before the division by it
   * @param operator operator's name, for messages
   * @throws IllegalArgumentException if there are no matrix blocks
   */
  public static Optional<LogicalPlan> covariances(LogicalPlan input, double ddof, String operator) {
    return inOnePass(input, false, ddof, operator);
  }

  /**
   * The correlations of the columns, under the conditions of {@link #covariances}.
   *
   * @throws IllegalArgumentException if there are no matrix blocks
   */
  public static Optional<LogicalPlan> correlations(LogicalPlan input, String operator) {
    return inOnePass(input, true, 0, operator);
  }

  private static Optional<LogicalPlan> inOnePass(
      LogicalPlan input, boolean correlated, double ddof, String operator) {
    BlockFrame frame = BlockFrame.of(input, BlockKind.MATRIX, operator);
    ElementType type = frame.blocks().elementType();
    boolean isReal =
        !frame.blocks().isComplex() && (type == ElementType.FLOAT32 || type == ElementType.FLOAT64);
    return isReal && frame.further().isEmpty()
        ? columns(frame)
            .filter(cols -> cols > 0 && cols <= MOST_COLUMNS)
            .map(cols -> plan(frame, Math.toIntExact(cols), correlated, ddof))
        : Optional.empty();
  }

  /**
   * The count of the matrix's columns, if each block is known to have all of them; otherwise empty.
   */
  private static Optional<Long> columns(BlockFrame frame) {
    Optional<Long> stated =
        frame
            .extents()
            .map(extents -> extents.extent(1))
            .filter(
                cols -> frame.blockShape().filter(blocks -> blocks.extent(1) >= cols).isPresent());
    return stated.or(
        () -> GatherVectors.columnsOf(frame.plan(), frame.block()).map(Integer::longValue));
  }

  private static LogicalPlan plan(BlockFrame frame, int cols, boolean correlated, double ddof) {
    BlockArguments arguments =
        BlockArguments.of(frame.blocks(), frame.operator(), frame.extents(), Missing.ERROR);
    Optional<LogicalPlan> rows = GatherVectors.withoutPlaces(frame.plan(), frame.block());
    PerArray covariances =
        PerArray.of(
            rows.orElse(frame.plan()),
            List.of(),
            new Covariances(
                arguments,
                new Covariances.Rows(cols, rows.isEmpty()),
                correlated ? ScalaInterop.none() : Option.apply(ddof),
                TileSparkConf.BACKEND.read(TileSparkConf.session()),
                ScalaInterop.<Expression>seq(frame.block()),
                0,
                0),
            BlockKind.VALUES);
    List<NamedExpression> block = new ArrayList<>();
    for (String offset : BlockKind.MATRIX.offsetColumns()) {
      block.add(Attributes.alias(new Literal(0L, DataTypes.LongType), offset));
    }
    for (String size : BlockKind.MATRIX.sizeColumns()) {
      block.add(Attributes.alias(new Literal(cols, DataTypes.IntegerType), size));
    }
    Shape square = Shape.of(cols, cols);
    ArrayMetadata known = ArrayMetadata.empty().withExtents(square).withBlockShape(square);
    block.add(Attributes.alias(covariances.facts().get(0), BlockKind.VALUES, known.toMetadata()));
    return new Project(ScalaInterop.<NamedExpression>seq(block), covariances.plan());
  }
}
