package org.tilespark.spark.conf;

import org.apache.spark.internal.config.ConfigBuilder;
import org.apache.spark.internal.config.ConfigEntry;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.command.ResetCommand;
import org.apache.spark.sql.execution.command.SetCommand;
import org.apache.spark.sql.internal.SQLConf;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.conf.ConfigKey.Reach;
import org.tilespark.spark.error.ErrorBoundary;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Declares tilespark's keys to Spark's sessions. A session then checks their values, refuses to
 * change keys that are read once, and lists them in {@code SET -v}; a rule of the analyzer refuses
 * undeclared keys.
 */
public final class SessionSettings extends AbstractFunction1<LogicalPlan, BoxedUnit> {
  /** Declares the keys to Spark, once in each JVM. */
  public static synchronized void declare() {
    for (ConfigKey<?> key : TileSparkConf.all()) {
      if (ConfigEntry.findEntry(key.name()) == null) {
        declare(key);
      }
    }
  }

  private static void declare(ConfigKey<?> key) {
    ConfigBuilder builder =
        key.reach() == Reach.SESSION
            ? SQLConf.buildConf(key.name())
            : SQLConf.buildStaticConf(key.name());
    builder
        .doc(key.doc())
        .version("")
        .stringConf()
        .transform(
            ScalaInterop.function(
                text -> {
                  ErrorBoundary.PLANNING.call(() -> key.read(name -> text));
                  return text;
                }))
        .createWithDefault(key.defaultText());
  }

  /**
   * Refuses {@code SET} of an unknown key, and any query of a session that has one. {@code SET} of
   * other keys and {@code RESET}, which can remove the unknown one, still work there.
   */
  @Override
  public BoxedUnit apply(LogicalPlan plan) {
    return ErrorBoundary.PLANNING.call(
        () -> {
          if (plan instanceof SetCommand set) {
            checkName(set);
          } else if (!(plan instanceof ResetCommand)) {
            TileSparkConf.check(ScalaInterop.javaMap(SQLConf.get().getAllConfs()));
          }
          return BoxedUnit.UNIT;
        });
  }

  /** Checks the key only; Spark checks the value, since the key is declared. */
  private static void checkName(SetCommand set) {
    if (set.kv().isDefined() && set.kv().get()._2().isDefined()) {
      TileSparkConf.checked(set.kv().get()._1());
    }
  }
}
