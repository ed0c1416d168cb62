package org.tilespark.spark.catalyst.compat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.plans.physical.ClusteredDistribution;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.tilespark.spark.catalyst.ScalaInterop;

/** Constructors that gained parameters, as Scala compiles them. */
@Tag("versions")
class NewestConstructorTest {
  /** {@code class Grown(val name: String, val count: Int = 7)}. */
  public static final class Grown {
    final String name;
    final int count;

    public Grown(String name, int count) {
      if (name.isEmpty()) {
        throw new IllegalArgumentException("no name");
      }
      this.name = name;
      this.count = count;
    }
  }

  /** Its companion object. */
  @SuppressWarnings("checkstyle:TypeName") // as Scala names it
  public static final class Grown$ {
    public static final Grown$ MODULE$ = new Grown$();

    public int $lessinit$greater$default$2() {
      return 7;
    }
  }

  @Test
  void furtherParametersTakeTheirDefaults() {
    Grown grown = new NewestConstructor<>(Grown.class, String.class).make("a");
    assertEquals("a", grown.name);
    assertEquals(7, grown.count);
  }

  @Test
  void allParametersMayBeGiven() {
    assertEquals(
        3, new NewestConstructor<>(Grown.class, String.class, int.class).make("a", 3).count);
  }

  @Test
  void whatTheConstructorThrowsIsThrown() {
    NewestConstructor<Grown> constructor = new NewestConstructor<>(Grown.class, String.class);
    IllegalArgumentException thrown =
        assertThrows(IllegalArgumentException.class, () -> constructor.make(""));
    assertEquals("no name", thrown.getMessage());
  }

  /** Each time, not once as from a static initializer. */
  @Test
  void aConstructorThatIsNotThereIsNamedWithTheVersionOfSpark() {
    NewestConstructor<Grown> removed = new NewestConstructor<>(Grown.class, Integer.class);
    NewestConstructor<Grown> noDefault = new NewestConstructor<>(Grown.class);
    for (int i = 0; i < 2; i++) {
      for (NewestConstructor<Grown> each : List.of(removed, noDefault)) {
        String message =
            assertThrows(UnsupportedOperationException.class, () -> each.make(1)).getMessage();
        assertTrue(message.startsWith("Spark " + SparkVersion.running() + " has no"), message);
        assertTrue(message.contains("Grown[String, int]"), message);
        assertTrue(message.contains(SparkVersion.NEWEST_TESTED), message);
      }
    }
  }

  @Test
  void distributionsAreAsAsked() {
    List<Expression> keys = List.of(Literal$.MODULE$.apply(1), Literal$.MODULE$.apply(2));
    ClusteredDistribution some = ClusteredDistributions.of(keys);
    assertEquals(keys, ScalaInterop.<Expression>list(some.clustering()));
    assertEquals(false, some.requireAllClusterKeys());
    assertTrue(some.requiredNumPartitions().isEmpty());
    ClusteredDistribution all = ClusteredDistributions.ofAll(keys, 5);
    assertEquals(true, all.requireAllClusterKeys());
    assertEquals(5, all.requiredNumPartitions().get());
  }
}
