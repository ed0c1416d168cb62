package org.tilespark.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.spark.catalyst.compat.SparkVersion;
import org.tilespark.spark.shuffle.TileShuffleManager;

/** The plugin's changes of a user's configuration. */
class PluginSettingsTest {
  private static final String OURS = TileSparkExtensions.class.getName();

  private static SparkConf added(SparkConf conf, String sparkVersion) {
    PluginSettings.add(conf, sparkVersion);
    return conf;
  }

  private static SparkConf added(String key, String value) {
    return added(new SparkConf(false).set(key, value), SparkVersion.NEWEST_TESTED);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "''; OURS",
        "' '; OURS",
        "io.delta.Ext; io.delta.Ext,OURS",
        "a.A, b.B; a.A, b.B,OURS",
        "OURS; OURS",
        "a.A,OURS; a.A,OURS",
        "'OURS , b.B'; 'OURS , b.B'",
        "OURSToo; OURSToo,OURS"
      })
  void theExtensionIsAppendedOnce(String users, String wanted) {
    assertEquals(
        wanted.replace("OURS", OURS),
        added(PluginSettings.EXTENSIONS, users.replace("OURS", OURS))
            .get(PluginSettings.EXTENSIONS));
  }

  @Test
  void bothAreAddedWhereTheUserHasNone() {
    SparkConf conf = added(new SparkConf(false), SparkVersion.NEWEST_TESTED);
    assertEquals(OURS, conf.get(PluginSettings.EXTENSIONS));
    assertEquals(TileShuffleManager.class.getName(), conf.get(PluginSettings.SHUFFLE_MANAGER));
  }

  @Test
  void theUsersShuffleManagerStays() {
    assertEquals(
        "sort", added(PluginSettings.SHUFFLE_MANAGER, "sort").get(PluginSettings.SHUFFLE_MANAGER));
  }

  @ParameterizedTest
  @ValueSource(strings = {"4.4.0", "5.0.0", "3.5.6", "main"})
  void anUntestedSparkKeepsItsShuffle(String version) {
    SparkConf conf = added(new SparkConf(false), version);
    assertFalse(conf.contains(PluginSettings.SHUFFLE_MANAGER));
    assertEquals(OURS, conf.get(PluginSettings.EXTENSIONS));
  }
}
