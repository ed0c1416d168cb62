package org.tilespark.kernels.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.tilespark.kernels.multiply.MultiplyProblem.Batch;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.MultiplyProblem.Stored;
import org.tilespark.layout.ElementType;

class MultiplyProblemTest {
  private static final Factors OVERWRITE = Factors.OVERWRITE;

  private static MultiplyProblem padded(Batch batch) {
    return new MultiplyProblem(
        new Extents(3, 4, 5),
        ElementType.FLOAT32,
        Precision.FULL,
        new Stored(false, 10),
        new Stored(true, 20),
        30,
        OVERWRITE,
        batch);
  }

  @Test
  void bytesOfABatch() {
    MultiplyProblem one = padded(Batch.ONE);
    assertEquals(4 * (2 * 10 + 4), one.bytesA());
    assertEquals(4 * (4 * 20 + 4), one.bytesB());
    assertEquals(4 * (2 * 30 + 5), one.bytesC());
    MultiplyProblem three = padded(new Batch(3, 100, 0, 90));
    assertEquals(4 * (2 * 100 + 2 * 10 + 4), three.bytesA());
    assertEquals(one.bytesB(), three.bytesB());
    assertEquals(4 * (2 * 90 + 2 * 30 + 5), three.bytesC());
    assertEquals(one, three.first());
    assertSame(one, one.first());
    assertEquals(three, one.withBatch(new Batch(3, 100, 0, 90)));
    // Strides of one product say nothing.
    assertEquals(one, padded(new Batch(1, 7, 8, 9)));
    assertEquals(
        0,
        MultiplyProblem.dense(0, 4, 5, ElementType.FLOAT64, false, false)
            .withBatch(new Batch(3, 1, 1, 0))
            .bytesC());
  }

  @Test
  void withoutGaps() {
    assertEquals(
        MultiplyProblem.dense(3, 4, 5, ElementType.FLOAT32, false, true)
            .withBatch(new Batch(3, 12, 0, 15)),
        padded(new Batch(3, 100, 0, 90)).dense());
    MultiplyProblem beside =
        new MultiplyProblem(
            new Extents(3, 4, 5),
            ElementType.FLOAT32,
            Precision.TF32,
            new Stored(true, 6),
            new Stored(false, 10),
            10,
            new Factors(3, -1),
            new Batch(2, 3, 5, 5));
    assertEquals(
        new MultiplyProblem(
            new Extents(3, 4, 5),
            ElementType.FLOAT32,
            Precision.TF32,
            new Stored(true, 3),
            new Stored(false, 5),
            5,
            new Factors(3, -1),
            new Batch(2, 12, 20, 15)),
        beside.dense());
    assertEquals(beside.dense(), beside.dense().dense());
    MultiplyProblem empty = MultiplyProblem.dense(0, 0, 0, ElementType.FLOAT64, false, false);
    assertEquals(empty, empty.dense());
  }

  @Test
  void precisions() {
    MultiplyProblem full = padded(new Batch(3, 100, 0, 90));
    MultiplyProblem half = full.withPrecision(Precision.FLOAT16);
    assertEquals(Precision.FLOAT16, half.precision());
    assertNotEquals(full, half);
    assertEquals(full, half.withPrecision(Precision.FULL));
    assertThrows(
        IllegalArgumentException.class,
        () ->
            MultiplyProblem.dense(1, 1, 1, ElementType.FLOAT64, false, false)
                .withPrecision(Precision.TF32));
  }

  @Test
  void factors() {
    MultiplyProblem plain = padded(Batch.ONE);
    assertEquals(OVERWRITE, plain.factors());
    assertEquals(new Factors(0, 0), new Factors(-0.0, -0.0));
    // What is added to C later leaves it as it is.
    assertEquals(new Factors(3, 1), new Factors(3, -2).next());
    assertSame(Factors.ADD, Factors.ADD.next());
    MultiplyProblem scaling = plain.withFactors(new Factors(3, -2));
    assertEquals(new Factors(3, -2), scaling.factorsFrom(0));
    assertEquals(new Factors(3, 1), scaling.factorsFrom(8192));
    assertTrue(new Factors(1, Double.NaN).readsC());
    assertTrue(
        new MultiplyProblem(
                new Extents(1, 1, 1),
                ElementType.FLOAT64,
                Precision.FULL,
                new Stored(false, 1),
                new Stored(false, 1),
                1,
                Factors.ADD,
                Batch.ONE)
            .factors()
            .readsC());

    // Floats, as the kernels and cuBLAS take them.
    MultiplyProblem tenth = plain.withFactors(new Factors(0.1, -0.1));
    assertEquals(new Factors(0.1f, -0.1f), tenth.factors());
    assertEquals(Float.floatToRawIntBits(0.1f), tenth.alphaWord(tenth.factors()));
    assertEquals(Float.floatToRawIntBits(-0.1f), (int) tenth.betaWord(tenth.factors()));
    Factors small = new Factors(1e-60, 1e60);
    MultiplyProblem doubles = MultiplyProblem.dense(3, 4, 5, ElementType.FLOAT64, false, true);
    assertEquals(small, doubles.withFactors(small).factors());
    assertEquals(Double.doubleToRawLongBits(1e-60), doubles.alphaWord(small));
    Exception e = assertThrows(IllegalArgumentException.class, () -> plain.withFactors(small));
    assertEquals(
        "Alpha is 1.0E-60, which is 0.0 as a float; expected one in range", e.getMessage());
    e =
        assertThrows(
            IllegalArgumentException.class, () -> plain.withFactors(new Factors(1, -1e60)));
    assertEquals(
        "Beta is -1.0E60, which is -Infinity as a float; expected one in range", e.getMessage());
    plain.withFactors(new Factors(Double.NaN, Double.NEGATIVE_INFINITY));

    assertTrue(plain.readsOperands());
    assertFalse(plain.withFactors(new Factors(0, 2)).readsOperands());
    assertFalse(MultiplyProblem.dense(3, 0, 5, ElementType.FLOAT64, false, true).readsOperands());
  }

  /** Of K in chunks, infinity times 1 and infinity times -2 are NaN, not -infinity. */
  @Test
  void infiniteAlphaIsRefused() {
    for (double alpha : new double[] {Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY}) {
      Exception e = assertThrows(IllegalArgumentException.class, () -> new Factors(alpha, 0));
      assertEquals(
          "Alpha is "
              + alpha
              + "; expected a finite number or NaN, because K may be summed in chunks, each of"
              + " which is multiplied by alpha",
          e.getMessage());
    }
  }

  @Test
  void productsThatOverlapInC() {
    padded(new Batch(2, 0, 0, 65)); // from the end of the last row on
    padded(new Batch(6, 1, 1, 5)); // six of five columns, side by side
    long[][] overlapping = {{2, 64}, {2, 0}, {7, 5}, {2, 4}, {2, 26}};
    for (long[] each : overlapping) {
      Exception e =
          assertThrows(
              IllegalArgumentException.class, () -> padded(new Batch(each[0], 1, 1, each[1])));
      assertEquals(
          "Products in C lie "
              + each[1]
              + " elements apart and overlap; expected at least the 65 that 3 x 5 elements with"
              + " leading dimension 30 reach over, or rows of all products beside each other",
          e.getMessage());
    }
  }

  @Test
  void batchesThatCannotBe() {
    Exception e = assertThrows(IllegalArgumentException.class, () -> new Batch(0, 1, 1, 1));
    assertEquals("Batch of 0 products; expected at least 1", e.getMessage());
    e = assertThrows(IllegalArgumentException.class, () -> new Batch(2, 1, -1, 1));
    assertEquals(
        "Batch of products 1, -1 and 1 elements apart; expected 0 or more", e.getMessage());
    e =
        assertThrows(
            IllegalArgumentException.class, () -> padded(new Batch(1L << 40, 0, 1L << 40, 65)));
    assertTrue(e.getMessage().endsWith(" elements apart, exceed 2^63 - 1 bytes"), e.getMessage());
  }
}
