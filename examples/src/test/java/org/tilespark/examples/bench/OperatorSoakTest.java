package org.tilespark.examples.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class OperatorSoakTest {
  @Test
  void aFewQueriesAreRight() {
    String text = run("--minutes=0.2", "--every=20", "--seed=3");
    assertTrue(text.contains("right: every element, no growth, nothing alive"), text);
    assertTrue(text.contains("alive 0 bytes"), text);
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
    String text = run("--minutes=20", "--every=200");
    assertTrue(text.contains("right: every element, no growth, nothing alive"), text);
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
