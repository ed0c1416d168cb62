package org.tilespark.spark.conf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.spark.error.TileSparkThrowable;
import org.tilespark.spark.testing.SparkTest;

/** Settings that a session refuses, each way in which it may be given them. */
@Tag("versions")
class SessionSettingsTest extends SparkTest {
  private static final String MISSPELT = "spark.tilespark.bakend";
  private static final String SUGGESTED =
      MISSPELT + " is no setting of tilespark; did you mean 'spark.tilespark.backend'?";

  @Test
  void unknownKeysInSet() {
    assertRefuses(SUGGESTED, () -> spark.sql("SET " + MISSPELT + "=cpu"));
    assertEquals(1, spark.range(1).count()); // it was not set
    spark.sql("SET spark.tilesparks.other=1"); // not ours
    spark.sql("RESET spark.tilesparks.other");
  }

  /** No hook of Spark's sees the key before a query does. */
  @Test
  void unknownKeysInTheConfigurationFailQueriesUntilTheyAreGone() {
    SparkSession session = spark.newSession();
    session.conf().set(MISSPELT, "gpu");
    assertRefuses(SUGGESTED, () -> session.range(3).count());
    assertRefuses(SUGGESTED, () -> session.sql("SELECT 1"));
    session.sql("SET spark.tilespark.backend=cpu");
    session.sql("RESET " + MISSPELT);
    assertEquals(3, session.range(3).count());

    session.conf().set(MISSPELT, "gpu");
    session.conf().unset(MISSPELT);
    assertEquals(3, session.range(3).count());
  }

  @Test
  void unknownKeysOfABuilderThatFindsASession() {
    try {
      SparkSession session = SparkSession.builder().config(MISSPELT, "gpu").getOrCreate();
      assertRefuses(SUGGESTED, () -> session.range(3).count());
    } finally {
      spark.conf().unset(MISSPELT);
    }
  }

  @Test
  void valuesOfAnotherTypeAreRefusedWhenTheyAreGiven() {
    String why =
        "spark.tilespark.memory.batchSize is '64'; a unit is missing, as in 64m or 64b;"
            + " expected size in bytes, with unit (b, k, m, g) (default 64m)";
    String key = TileSparkConf.BATCH_SIZE.name();
    assertRefuses(why, () -> spark.sql("SET " + key + "=64"));
    assertRefuses(why, () -> spark.conf().set(key, "64"));
    assertRefuses(why, () -> SparkSession.builder().config(key, "64").getOrCreate());
    assertEquals("64m", spark.conf().get(key));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "spark.tilespark.memory.storeSize",
        "spark.tilespark.memory.deviceFraction",
        "spark.tilespark.cache.mode",
        "spark.tilespark.multiply.cpuEngine"
      })
  void keysThatAreReadOnceCannotBeSet(String key) {
    for (Executable set :
        List.<Executable>of(
            () -> spark.conf().set(key, "auto"),
            () -> spark.conf().unset(key),
            () -> spark.sql("SET " + key + "=auto"))) {
      Exception e = assertThrows(Exception.class, set);
      Exception ofSpark =
          assertThrows(
              Exception.class, () -> spark.conf().set("spark.sql.warehouse.dir", "elsewhere"));
      assertEquals(ofSpark.getMessage().replace("spark.sql.warehouse.dir", key), e.getMessage());
    }
  }

  @Test
  void keysOfSessionsCanBeSetAndReset() {
    for (ConfigKey<?> key : TileSparkConf.all()) {
      if (key.reach() == ConfigKey.Reach.SESSION) {
        SparkSession session = spark.newSession();
        session.conf().set(key.name(), key.defaultText());
        session.conf().unset(key.name());
      }
    }
  }

  @Test
  void sparkListsTheKeys() {
    List<Row> listed =
        spark.sql("SET -v").where("key LIKE 'spark.tilespark.%'").orderBy("key").collectAsList();
    assertEquals(
        TileSparkConf.all().stream().map(ConfigKey::name).sorted().toList(),
        listed.stream().map(row -> row.getString(0)).toList());
    assertTrue(listed.get(2).getString(2).startsWith("Who computes: "), listed.toString());
  }

  @Test
  void declaringTwiceIsDeclaringOnce() {
    SessionSettings.declare();
    SessionSettings.declare();
  }

  @Test
  void theSettingsOfAnApplication() {
    SparkConf conf = new SparkConf(false).set("a", "b").set(MISSPELT, "gpu");
    Map<String, String> settings = TileSparkConf.settings(conf);
    assertEquals(Map.of("a", "b", MISSPELT, "gpu"), settings);
    assertRefuses(SUGGESTED, () -> TileSparkConf.check(settings));
  }

  private static void assertRefuses(String reason, Executable call) {
    Exception e = assertThrows(Exception.class, call);
    assertEquals(reason, ((TileSparkThrowable) e).reason());
  }
}
