package org.tilespark.bench.soak;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.tilespark.examples.ExampleJob;
import org.tilespark.kernels.InTurn;
import org.tilespark.kernels.Sampling;

@InTurn
class OperatorSoakTest {
  /** As examples/run has it: the heap grows until Spark has as many records of what ran. */
  private static final Map<String, String> FEW_RECORDS =
      Map.of(
          "spark.ui.retainedJobs", "50",
          "spark.ui.retainedStages", "50",
          "spark.ui.retainedTasks", "1000",
          "spark.sql.ui.retainedExecutions", "50");

  @Test
  void aFewQueriesAreRight() {
    String text = run("--minutes=0.2", "--every=20", "--seed=3");
    assertTrue(text.contains("right: every element, no growth, nothing alive"), text);
    assertTrue(text.contains("alive 0 bytes"), text);
  }

  /**
   * Every operator with filters and joins above, nothing below, values that group alike in several
   * bit patterns, and columns of one name.
   */
  @ParameterizedTest
  @EnumSource
  void everyOperatorInEverySetting(Setting setting) throws IOException {
    int seeds = setting == Setting.EMPTY ? 4 : 1;
    List<String> wrong = new ArrayList<>();
    try (SparkSession spark = ExampleJob.session("operators", Map.of())) {
      for (Operator operator : Operator.values()) {
        if (Sampling.skips(operator.ordinal() + setting.ordinal(), 2)) {
          continue;
        }
        for (long seed = 0; seed < seeds; seed++) {
          RandomQuery query = RandomQuery.of(seed, operator, setting);
          query.run(spark).ifPresent(text -> wrong.add(query + ": " + text));
        }
      }
    }
    assertTrue(wrong.isEmpty(), String.join("\n", wrong));
  }

  @Test
  void oneQueryIsRunAgainBySeed() {
    String text = run("--only=-4962768465676381896");
    assertTrue(text.contains("right"), text);
    assertTrue(text.contains(RandomQuery.of(-4962768465676381896L).toString()), text);
  }

  @Tag("full")
  @Test
  void manyQueriesAreRight() {
    FEW_RECORDS.forEach(System::setProperty);
    try {
      String text = run("--minutes=20", "--every=200");
      assertTrue(text.contains("right: every element, no growth, nothing alive"), text);
    } finally {
      FEW_RECORDS.keySet().forEach(System::clearProperty);
    }
  }

  private static String run(String... args) {
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    PrintStream stream = new PrintStream(printed, true, StandardCharsets.UTF_8);
    int status = OperatorSoak.run(args, stream, stream);
    String text = printed.toString(StandardCharsets.UTF_8);
    assertEquals(0, status, text);
    return text;
  }
}
