package org.tilespark.kernels.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.launch.TuningTable;
import org.tilespark.kernels.multiply.MultiplyProblem.Batch;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.MultiplyProblem.Stored;
import org.tilespark.layout.ElementType;

class MultiplyClassTest {
  private static MultiplyProblem problem(
      long m, long k, long n, ElementType type, boolean transposeA, boolean transposeB, long pad) {
    return new MultiplyProblem(
        new Extents(m, k, n),
        type,
        Precision.FULL,
        new Stored(transposeA, (transposeA ? m : k) + pad),
        new Stored(transposeB, (transposeB ? k : n) + pad),
        n + pad,
        Factors.ADD,
        Batch.ONE);
  }

  private static String text(
      long m, long k, long n, ElementType type, boolean transposeA, boolean transposeB, long pad) {
    return MultiplyClass.of(problem(m, k, n, type, transposeA, transposeB, pad)).toString();
  }

  @Test
  void extentsAreRoundedAndRowsAlignedOrNot() {
    ElementType single = ElementType.FLOAT32;
    ElementType twice = ElementType.FLOAT64;
    assertEquals("float32 NN 1024 x 512 x 2048", text(1024, 512, 2048, single, false, false, 0));
    assertEquals("float32 NN 1024 x 512 x 2048", text(516, 260, 1028, single, false, false, 0));
    assertEquals("float64 TN 1024- x 512 x 4", text(1023, 512, 4, twice, true, false, 0));
    assertEquals("float64 NT 1024- x 512- x 4", text(1023, 511, 4, twice, false, true, 0));
    assertEquals("float64 NN 1024 x 512- x 4-", text(1023, 512, 3, twice, false, false, 0));
    assertEquals(
        "float32 NT 1 x 65536 x 65536-", text(1, 1L << 40, 70_001, single, false, true, 0));
  }

  /** A lower precision stands where the type does else. */
  @Test
  void precisions() {
    MultiplyProblem one = problem(64, 63, 64, ElementType.FLOAT32, false, true, 0);
    Map<Precision, String> texts =
        Map.of(
            Precision.FULL, "float32 NT 64- x 64- x 64",
            Precision.TF32, "tf32 NT 64- x 64- x 64",
            Precision.BFLOAT16, "bfloat16 NT 64- x 64- x 64",
            Precision.FLOAT16, "float16 NT 64- x 64- x 64");
    texts.forEach(
        (precision, text) -> {
          MultiplyClass products = MultiplyClass.of(one.withPrecision(precision));
          assertEquals(text, products.toString());
          assertEquals(products, MultiplyClass.parse(text));
        });
  }

  @Test
  void batchesHaveNone() {
    MultiplyProblem batch =
        problem(9, 9, 9, ElementType.FLOAT32, false, false, 0)
            .withBatch(new MultiplyProblem.Batch(2, 81, 81, 81));
    Exception e = assertThrows(IllegalArgumentException.class, () -> MultiplyClass.of(batch));
    assertEquals("Class of 2 products; expected one, batches go by rule", e.getMessage());
  }

  @Test
  void textIsReadBack() {
    SplittableRandom random = new SplittableRandom(3);
    for (int i = 0; i < 200; i++) {
      MultiplyClass products =
          MultiplyClass.of(
              problem(
                  random.nextLong(1, 100_000),
                  random.nextLong(1, 100_000),
                  random.nextLong(1, 100_000),
                  random.nextBoolean() ? ElementType.FLOAT32 : ElementType.FLOAT64,
                  random.nextBoolean(),
                  random.nextBoolean(),
                  random.nextLong(5)));
      assertEquals(products, MultiplyClass.parse(products.toString()));
    }
    for (String text :
        List.of("", "float32 NN 1 x 1", "int32 NN 1 x 1 x 1", "float32 AB 1 x 1 x 1")) {
      Exception e = assertThrows(IllegalArgumentException.class, () -> MultiplyClass.parse(text));
      assertTrue(e.getMessage().startsWith("Class of products '" + text + "'"), e.getMessage());
    }
  }

  @Test
  void tables() {
    MultiplyClass products =
        MultiplyClass.of(problem(64, 64, 64, ElementType.FLOAT32, false, true, 0));
    MultiplyClass others = MultiplyClass.of(problem(9, 64, 64, ElementType.FLOAT64, true, true, 1));
    TuningTable<MultiplyClass, MultiplyWay> table =
        TuningTable.<MultiplyClass, MultiplyWay>empty()
            .with(products, new MultiplyWay("a_kernel"))
            .with(others, new MultiplyWay("a_kernel"))
            .with(products, MultiplyWay.CUBLAS);
    assertEquals(2, table.entries().size());
    assertEquals(Optional.of(MultiplyWay.CUBLAS), table.find(products));
    assertEquals(Optional.empty(), TuningTable.empty().find(products));
    assertEquals(table, MultiplyClass.FORMAT.parse("# chosen\n\n" + table.toText()));
    for (String text : List.of("no choice", products + " = two words", "x = cublas")) {
      assertThrows(IllegalArgumentException.class, () -> MultiplyClass.FORMAT.parse(text), text);
    }
  }
}
