package org.tilespark.spark;

import org.apache.spark.sql.SparkSessionExtensions;
import org.tilespark.spark.block.InsertedSpectra;
import org.tilespark.spark.block.ReconcileMetadata;
import org.tilespark.spark.catalyst.HideCounts;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.catalyst.compat.SparkVersion;
import org.tilespark.spark.conf.SessionSettings;
import org.tilespark.spark.exchange.PlannedExchanges;
import org.tilespark.spark.functions.CommonTables;
import org.tilespark.spark.functions.TableFunctions;
import org.tilespark.spark.linalg.ChooseFactorizers;
import org.tilespark.spark.multiply.rules.MapProducts;
import org.tilespark.spark.multiply.rules.SimplifyMultiply;
import org.tilespark.spark.multiply.rules.WatchPlaces;
import org.tilespark.spark.nearest.PlanNearest;
import org.tilespark.spark.nearest.SimplifyNearest;
import org.tilespark.spark.permute.ComposePermutations;
import org.tilespark.spark.reblock.CheapChecks;
import org.tilespark.spark.reblock.ReadInBlocks;
import org.tilespark.spark.rows.BulkTransitions;
import org.tilespark.spark.rows.ParquetBatches;
import org.tilespark.spark.slice.PushSlices;
import org.tilespark.spark.slice.ReadSlices;
import org.tilespark.spark.stage.PruneCarriedColumns;
import org.tilespark.spark.stage.PushFilterThroughStage;
import org.tilespark.spark.stage.PushThroughUnion;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Adds tilespark's rules, functions and strategies to a Spark session: {@code
 * spark.sql.extensions=org.tilespark.spark.TileSparkExtensions}.
 */
public final class TileSparkExtensions
    extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    SparkVersion.warnIfUntested();
    SessionSettings.declare();
    extensions.injectCheckRule(ScalaInterop.function(session -> new SessionSettings()));
    // Rules of analysis, which keep known facts of arrays, and SQL functions.
    extensions.injectResolutionRule(ScalaInterop.function(session -> new ReconcileMetadata()));
    extensions.injectResolutionRule(ScalaInterop.function(session -> new CommonTables()));
    extensions.injectResolutionRule(ScalaInterop.function(session -> new InsertedSpectra.Merged()));
    extensions.injectCheckRule(ScalaInterop.function(InsertedSpectra::new));
    for (TableFunctions function : TableFunctions.values()) {
      function.inject(extensions);
    }
    extensions.injectPlanNormalizationRule(ScalaInterop.function(session -> new PlanNearest()));
    // Rules of optimization, which remove work before it starts.
    extensions.injectOptimizerRule(ScalaInterop.function(session -> new ComposePermutations()));
    extensions.injectOptimizerRule(ScalaInterop.function(session -> new SimplifyMultiply()));
    extensions.injectOptimizerRule(ScalaInterop.function(session -> new WatchPlaces()));
    extensions.injectOptimizerRule(ScalaInterop.function(session -> new MapProducts()));
    extensions.injectOptimizerRule(ScalaInterop.function(session -> new PruneCarriedColumns()));
    extensions.injectOptimizerRule(ScalaInterop.function(session -> new PushFilterThroughStage()));
    extensions.injectOptimizerRule(ScalaInterop.function(session -> new PushSlices()));
    extensions.injectOptimizerRule(ScalaInterop.function(session -> new PushThroughUnion()));
    extensions.injectOptimizerRule(ScalaInterop.function(session -> new SimplifyNearest()));
    extensions.injectPreCBORule(ScalaInterop.function(session -> new ReadInBlocks()));
    extensions.injectPreCBORule(ScalaInterop.function(CheapChecks::new));
    extensions.injectPreCBORule(ScalaInterop.function(session -> new ReadSlices()));
    extensions.injectPreCBORule(ScalaInterop.function(session -> new ParquetBatches()));
    extensions.injectPreCBORule(ScalaInterop.function(session -> new HideCounts()));
    extensions.injectPreCBORule(ScalaInterop.function(ChooseFactorizers::new));
    // Rules of planning and execution.
    extensions.injectPlannerStrategy(ScalaInterop.function(PlanBlocks::new));
    extensions.injectQueryStagePrepRule(
        ScalaInterop.function(session -> PlannedExchanges.ofEqualPlaces()));
    extensions.injectColumnar(ScalaInterop.function(session -> new PlannedExchanges()));
    extensions.injectColumnar(ScalaInterop.function(session -> new BulkTransitions()));
    return BoxedUnit.UNIT;
  }
}
