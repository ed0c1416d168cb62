package org.tilespark.spark.options;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.options.MultiplyOptions.Strategy;

class MultiplyOptionsTest {
  @Test
  void textsAndBack() {
    MultiplyOptions options =
        MultiplyOptions.of(
            Map.of(
                "TRANSPOSEA", "True",
                "conjugateB", "true",
                "precision", "TF32",
                "strategy", " cuboid( 3 , 2,1 ) ",
                "blockShape", "128, 64",
                "missing", "ZERO"));
    assertTrue(options.transposeA() && options.conjugateB());
    assertFalse(options.transposeB() || options.conjugateA());
    assertEquals(new Strategy.Cuboid(3, 2, 1), options.strategy());
    assertEquals(Shape.of(128, 64), options.blockShape().orElseThrow());
    assertEquals(Missing.ZERO, options.missing());
    assertEquals(Precision.TF32, options.precision(ElementType.FLOAT32));
    assertEquals(options, MultiplyOptions.of(options.toMap()));
    assertEquals(options.hashCode(), MultiplyOptions.of(options.toMap()).hashCode());
    assertEquals(MultiplyOptions.defaults(), MultiplyOptions.of(Map.of()));
    assertEquals(
        MultiplyOptions.defaults(), MultiplyOptions.of(MultiplyOptions.defaults().toMap()));
    assertEquals(
        options,
        MultiplyOptions.defaults()
            .withTransposeA(true)
            .withConjugateB(true)
            .withPrecision("tf32")
            .withStrategy(new Strategy.Cuboid(3, 2, 1))
            .withBlockShape(128, 64)
            .withMissing(Missing.ZERO));
  }

  @Test
  void badTextsAreNamed() {
    refused("missing; did you mean 'precision'?", "precison", "full");
    refused("There is no option colour; expected transposeA, transposeB", "colour", "red");
    refused("transposeB is 'yes'; expected true or false", "transposeB", "yes");
    refused("precision is 'float8'; expected full, float32, tf32", "precision", "float8");
    refused("strategy is 'cuboid(1,2)'; expected auto", "strategy", "cuboid(1,2)");
    refused("strategy is cuboid(0,2,1); expected parts of 1 or more", "strategy", "cuboid(0,2,1)");
    refused("expected less than 2^31 tasks", "strategy", "cuboid(99999,99999,99)");
    refused("blockShape is '0,4'; expected rows and columns of 1", "blockShape", "0,4");
    refused("less than 2^31 elements", "blockShape", "100000,100000");
    refused("missing is 'maybe'; expected error or zero", "missing", "maybe");
    IllegalArgumentException e =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                MultiplyOptions.defaults().withPrecision("float32").precision(ElementType.FLOAT64));
    assertTrue(e.getMessage().contains("values are ARRAY<DOUBLE>; expected full"), e.getMessage());
  }

  private static void refused(String message, String name, String text) {
    IllegalArgumentException e =
        assertThrows(IllegalArgumentException.class, () -> MultiplyOptions.of(Map.of(name, text)));
    assertTrue(e.getMessage().contains(message), e.getMessage());
  }
}
