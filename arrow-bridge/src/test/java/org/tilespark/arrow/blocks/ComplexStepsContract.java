package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.ComplexOfParts.Operand;
import org.tilespark.layout.AxisRange;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/** Complex numbers as real ones, and the complex products of real ones. */
abstract class ComplexStepsContract extends PipelineFixture {
  private static final List<ElementType> TYPES = List.of(ElementType.FLOAT32, ElementType.FLOAT64);
  private static final List<Shape> SHAPES =
      List.of(Shape.of(1, 1), Shape.of(3, 1), Shape.of(1, 5), Shape.of(37, 41), Shape.of(64, 33));

  private static double[] random(Shape shape, Random random) {
    return random
        .ints(shape.elements(), -1000, 1000) // whole, so that sums are exact
        .asDoubleStream()
        .toArray();
  }

  @Test
  void partsFollowEachOther() {
    for (ElementType type : TYPES) {
      for (Shape shape : SHAPES) {
        Random random = new Random(shape.elements());
        double[] re = random(shape, random);
        double[] im = random(shape, random);
        for (int axis = 0; axis < 2; axis++) {
          OracleArray found =
              run(new OracleArray(shape, re, im), type, List.of(new Interleave(axis)));
          assertEquals(null, found.im());
          assertArrayEquals(interleaved(shape, re, im, axis), found.re(), shape + " along " + axis);
        }
      }
    }
  }

  /** As {@link Interleave}, element by element. */
  private static double[] interleaved(Shape shape, double[] re, double[] im, int axis) {
    int rows = (int) shape.extent(0);
    int cols = (int) shape.extent(1);
    double[] all = new double[2 * rows * cols];
    for (int row = 0; row < rows; row++) {
      for (int col = 0; col < cols; col++) {
        for (int part = 0; part < 2; part++) {
          int at = axis == 0 ? (2 * row + part) * cols + col : row * 2 * cols + 2 * col + part;
          all[at] = (part == 0 ? re : im)[row * cols + col];
        }
      }
    }
    return all;
  }

  @Test
  void complexProductsOfRealOnes() {
    for (ElementType type : TYPES) {
      for (Shape shape : SHAPES) {
        for (Operand a : Operand.values()) {
          for (Operand b : Operand.values()) {
            if (a != Operand.REAL || b != Operand.REAL) {
              product(shape, type, new ComplexOfParts(a, b));
            }
          }
        }
      }
    }
    assertThrows(
        IllegalArgumentException.class, () -> new ComplexOfParts(Operand.REAL, Operand.REAL));
  }

  /** Each element of S is that of an A of one column, times that of a B of one row. */
  private void product(Shape shape, ElementType type, ComplexOfParts step) {
    int rows = (int) shape.extent(0);
    int cols = (int) shape.extent(1);
    int ofA = step.a().parts();
    int ofB = step.b().parts();
    Random random = new Random(7);
    double[] a = random(Shape.of(rows, ofA), random);
    double[] b = random(Shape.of(cols, ofB), random);
    double[] products = new double[ofA * rows * ofB * cols];
    double[] re = new double[rows * cols];
    double[] im = new double[rows * cols];
    for (int i = 0; i < ofA * rows; i++) {
      for (int j = 0; j < ofB * cols; j++) {
        products[i * ofB * cols + j] = a[i] * b[j];
      }
    }
    for (int i = 0; i < rows; i++) {
      for (int j = 0; j < cols; j++) {
        double reA = a[i * ofA];
        double reB = b[j * ofB];
        double imA = ofA == 1 ? 0 : step.a() == Operand.COMPLEX ? a[2 * i + 1] : -a[2 * i + 1];
        double imB = ofB == 1 ? 0 : step.b() == Operand.COMPLEX ? b[2 * j + 1] : -b[2 * j + 1];
        re[i * cols + j] = reA * reB - imA * imB;
        im[i * cols + j] = reA * imB + imA * reB;
      }
    }
    OracleArray found =
        run(
            new OracleArray(Shape.of((long) ofA * rows, (long) ofB * cols), products, null),
            type,
            List.of(step));
    String what = step.a() + " and " + step.b() + " of " + shape;
    for (int i = 0; i < re.length; i++) {
      assertEquals(re[i], found.re()[i], 0.0, what); // but for the sign of zero
      assertEquals(im[i], found.im()[i], 0.0, what);
    }
  }

  /** Many arrays are one of a further axis. */
  @Test
  void repeated() {
    Shape shape = Shape.of(4, 6, 10);
    Random random = new Random(9);
    double[] re = random(shape, random);
    double[] im = random(shape, random);
    for (int axis = 0; axis < 2; axis++) {
      Interleave one = new Interleave(axis);
      OracleArray all =
          run(
              new OracleArray(shape, re, im),
              ElementType.FLOAT64,
              List.of(one.repeated(4).orElseThrow()));
      ComplexOfParts sums = new ComplexOfParts(Operand.CONJUGATED, Operand.COMPLEX);
      OracleArray products =
          run(
              new OracleArray(shape, re, null),
              ElementType.FLOAT64,
              List.of(sums.repeated(4).orElseThrow()));
      for (int i = 0; i < 4; i++) {
        OracleArray alone =
            run(
                new OracleArray(Shape.of(6, 10), part(re, i, 60), part(im, i, 60)),
                ElementType.FLOAT64,
                List.of(one));
        assertArrayEquals(alone.re(), part(all.re(), i, 120));
        OracleArray product =
            run(
                new OracleArray(Shape.of(6, 10), part(re, i, 60), null),
                ElementType.FLOAT64,
                List.of(sums));
        assertArrayEquals(product.re(), part(products.re(), i, 15));
        assertArrayEquals(product.im(), part(products.im(), i, 15));
      }
    }
  }

  private static double[] part(double[] of, int number, int length) {
    return java.util.Arrays.copyOfRange(of, number * length, (number + 1) * length);
  }

  @Test
  void placesOfParts() {
    State complex = new State(Shape.of(10, 20), ElementType.FLOAT64, true);
    Interleave step = new Interleave(1);
    assertEquals(new State(Shape.of(10, 40), ElementType.FLOAT64, false), step.after(complex));
    assertEquals(Set.of(1), step.sliced(complex));
    assertEquals(
        Box.at(new long[] {3, 10}, new long[] {4, 14}),
        step.place(complex, Box.at(new long[] {3, 5}, new long[] {4, 7})));
    assertEquals(Shape.of(4, 14), step.blockShape(complex, Shape.of(4, 7)));
    assertEquals(
        Optional.of(new AxisRange(1, 1, 3)), step.needed(complex, 1, new AxisRange(3, 1, 4)));
    assertEquals(
        Optional.of(new AxisRange(3, 1, 4)), step.needed(complex, 0, new AxisRange(3, 1, 4)));
    State real = new State(Shape.of(10, 20), ElementType.FLOAT64, false);
    assertThrows(IllegalArgumentException.class, () -> step.after(real));

    ComplexOfParts sums = new ComplexOfParts(Operand.REAL, Operand.COMPLEX);
    assertEquals(new State(Shape.of(10, 10), ElementType.FLOAT64, true), sums.after(real));
    assertEquals(Set.of(1), sums.sliced(real));
    assertEquals(
        Box.at(new long[] {3, 5}, new long[] {4, 7}),
        sums.place(real, Box.at(new long[] {3, 10}, new long[] {4, 14})));
    assertThrows(
        IllegalArgumentException.class,
        () -> sums.place(real, Box.at(new long[] {3, 9}, new long[] {4, 4})));
    assertEquals(
        Optional.of(new AxisRange(6, 1, 8)), sums.needed(real, 1, new AxisRange(6, -1, 4)));
    assertThrows(IllegalArgumentException.class, () -> sums.after(complex));
  }
}
