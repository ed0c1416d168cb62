package org.tilespark.spark.block;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.command.CreateDataSourceTableAsSelectCommand;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.error.ErrorBoundary;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Refuses to insert rows into a table whose column metadata states a spectrum, unless the rows'
 * metadata states the same one: the parameters of a Fourier transform. The table keeps its
 * metadata, so a reader of other rows would invert the wrong transform. Rows of other extents may
 * be inserted, since readers check stated extents against the rows.
 */
public final class InsertedSpectra extends AbstractFunction1<LogicalPlan, BoxedUnit> {
  private final SparkSession session;

  /** The check of a session's plans, which runs when they are analysed. */
  public InsertedSpectra(SparkSession session) {
    this.session = session;
  }

  @Override
  public BoxedUnit apply(LogicalPlan plan) {
    plan.foreach(
        ScalaInterop.function(
            node ->
                ErrorBoundary.PLANNING.call(
                    () -> {
                      check(node);
                      return null;
                    })));
    return BoxedUnit.UNIT;
  }

  private void check(LogicalPlan node) throws AnalysisException {
    if (node instanceof V2WriteCommand write
        && write.table() instanceof DataSourceV2Relation table) {
      check(write.table().name(), table.schema(), table.table().properties(), write.query());
    } else if (node instanceof InsertIntoHadoopFsRelationCommand insert
        && insert.catalogTable().isDefined()) {
      check(insert.catalogTable().get(), insert.query());
    } else if (node instanceof CreateDataSourceTableAsSelectCommand save
        && save.mode() == SaveMode.Append
        && catalog().tableExists(save.table().identifier())) {
      check(catalog().getTableMetadata(save.table().identifier()), save.query());
    }
  }

  private SessionCatalog catalog() {
    return ((org.apache.spark.sql.classic.SparkSession) session).sessionState().catalog();
  }

  private static void check(CatalogTable table, LogicalPlan query) {
    check(
        table.identifier().unquotedString(),
        table.schema(),
        ScalaInterop.javaMap(table.properties()),
        query);
  }

  private static void check(
      String table, StructType columns, Map<String, String> properties, LogicalPlan query) {
    for (StructField column : columns.fields()) {
      ArrayMetadata stored =
          StoredMetadata.stated(
              ArrayMetadata.of(column.metadata()), properties, List.of(columns.fieldNames()));
      if (stored.spectrum().isPresent()) {
        inserted(query).stream()
            .filter(each -> each.name().equalsIgnoreCase(column.name()))
            .forEach(each -> check("INSERT", table, stored, rows(each, column)));
      }
    }
  }

  private static List<? extends NamedExpression> inserted(LogicalPlan query) {
    return query instanceof Project project
        ? ScalaInterop.<NamedExpression>list(project.projectList())
        : ScalaInterop.<Attribute>list(query.output());
  }

  /**
   * Metadata of one of the rows' columns before they are inserted: Spark may have added a
   * projection that gives it the metadata of the table's column.
   */
  private static ArrayMetadata rows(NamedExpression inserted, StructField column) {
    return inserted instanceof Alias alias && alias.explicitMetadata().contains(column.metadata())
        ? Attributes.usedBy(alias.child()).stream()
            .map(read -> ArrayMetadata.of(read.metadata()))
            .findFirst()
            .orElse(ArrayMetadata.empty())
        : ArrayMetadata.of(inserted.metadata());
  }

  /**
   * The check for rows that MERGE inserts. It must run before Spark rewrites MERGE to other
   * commands.
   */
  public static final class Merged extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      if (plan instanceof Command && plan.children().size() == 2 && plan.resolved()) {
        ErrorBoundary.PLANNING.run(
            () -> check(plan, plan.children().apply(0), plan.children().apply(1)));
      }
      return plan;
    }

    private static void check(LogicalPlan merge, LogicalPlan target, LogicalPlan source) {
      List<Attribute> given = ScalaInterop.list(source.output());
      List<Attribute> merged =
          ScalaInterop.<Expression>list(merge.expressions()).stream()
              .flatMap(each -> Attributes.usedBy(each).stream())
              .filter(each -> Attributes.indexOf(given, each) >= 0)
              .toList();
      for (Attribute column : ScalaInterop.<Attribute>list(target.output())) {
        ArrayMetadata stored = ArrayMetadata.of(column.metadata());
        if (stored.spectrum().isPresent()) {
          merged.stream()
              .filter(each -> each.name().equalsIgnoreCase(column.name()))
              .forEach(
                  each ->
                      InsertedSpectra.check(
                          "MERGE",
                          StoredMetadata.name(target),
                          stored,
                          ArrayMetadata.of(each.metadata())));
        }
      }
    }
  }

  private static void check(
      String command, String table, ArrayMetadata stored, ArrayMetadata rows) {
    if (stored.spectrum().isPresent() && !stored.isSameSpectrum(rows)) {
      throw new IllegalArgumentException(
          ("%s INTO %s: the table holds the spectrum %s by its column metadata %s, the rows are"
                  + " %s; whoever reads the table would undo the wrong transform. Insert what the"
                  + " same transform made, replace the table (CREATE OR REPLACE TABLE ... AS, or"
                  + " DROP TABLE before), or let it forget the transform: ALTER TABLE %s SET"
                  + " TBLPROPERTIES ('%s' = '%s')")
              .formatted(
                  command,
                  table,
                  text(stored),
                  ArrayMetadata.SPECTRUM,
                  rows.spectrum().isPresent() ? text(rows) : "none",
                  table,
                  ArrayMetadata.SPECTRUM,
                  ArrayMetadata.UNKNOWN));
    }
  }

  private static String text(ArrayMetadata known) {
    return String.join(
        " of axes ",
        List.of("'" + known.spectrum().orElseThrow() + "'", known.axes().orElse("xyz")));
  }
}
