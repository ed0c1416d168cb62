package org.tilespark.kernels.reduce;

import org.tilespark.kernels.pointwise.BinaryFunction;
import org.tilespark.kernels.pointwise.ElementwiseCode;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.pointwise.UnaryFunction;
import org.tilespark.layout.ElementType;

/**
 * Reductions that can be computed in parts: each defines the state of a part and how two states are
 * merged. A state is a few numbers of one type, INT64 or FLOAT64.
 */
public enum BaseReduction {
  /** The sum of the numbers. */
  SUM(1) {
    @Override
    int[] merge(ElementwiseCode code, ElementType type, int[] one, int[] two) {
      return new int[] {code.apply(BinaryFunction.ADD, one[0], two[0])};
    }
  },
  /** The least number; NaN if one of the numbers is NaN. */
  MINIMUM(1) {
    @Override
    int[] merge(ElementwiseCode code, ElementType type, int[] one, int[] two) {
      return new int[] {code.apply(BinaryFunction.MINIMUM, one[0], two[0])};
    }
  },
  /** The greatest number; NaN if one of the numbers is NaN. */
  MAXIMUM(1) {
    @Override
    int[] merge(ElementwiseCode code, ElementType type, int[] one, int[] two) {
      return new int[] {code.apply(BinaryFunction.MAXIMUM, one[0], two[0])};
    }
  },
  /**
   * The least number and its place; the first of the places if several numbers are equally small.
   */
  ARGMIN(2) {
    @Override
    int[] merge(ElementwiseCode code, ElementType type, int[] one, int[] two) {
      int less = code.apply(BinaryFunction.LESS, two[0], one[0]);
      return better(code, type, one, two, less);
    }
  },
  /**
   * The greatest number and its place; the first of the places if several numbers are equally
   * great.
   */
  ARGMAX(2) {
    @Override
    int[] merge(ElementwiseCode code, ElementType type, int[] one, int[] two) {
      int greater = code.apply(BinaryFunction.LESS, one[0], two[0]);
      return better(code, type, one, two, greater);
    }
  },
  /**
   * The count, the mean and the sum of the squares of the distances from the mean. Two states are
   * merged as in Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing
   * sample variances" (1979), formula 2.1.
   */
  MOMENTS(3) {
    @Override
    public ElementType state(ElementType numbers) {
      return ElementType.FLOAT64;
    }

    @Override
    int[] merge(ElementwiseCode code, ElementType type, int[] one, int[] two) {
      int count = code.apply(BinaryFunction.ADD, one[0], two[0]);
      int share = code.apply(BinaryFunction.DIVIDE, two[0], count);
      int distance = code.apply(BinaryFunction.SUBTRACT, two[1], one[1]);
      int step = code.apply(BinaryFunction.MULTIPLY, distance, share);
      int mean = code.apply(BinaryFunction.ADD, one[1], step);
      int between =
          code.apply(
              BinaryFunction.MULTIPLY, code.apply(BinaryFunction.MULTIPLY, distance, one[0]), step);
      int within = code.apply(BinaryFunction.ADD, one[2], two[2]);
      return new int[] {count, mean, code.apply(BinaryFunction.ADD, within, between)};
    }
  };

  private final int numbers;

  BaseReduction(int numbers) {
    this.numbers = numbers;
  }

  /** How many numbers a state has. */
  public int numbers() {
    return numbers;
  }

  /**
   * The type that a state of numbers of a type needs; FLOAT64 can hold the states of other types
   * too.
   */
  public ElementType state(ElementType numbers) {
    return Reduction.computedIn(numbers);
  }

  /**
   * The program that merges the states of pairs of parts: its inputs are the numbers of the first
   * part's state, then of the second's; its outputs are those of the merged state. Arrays have one
   * axis.
   *
   * @param type type of the states
   */
  public ElementwiseProgram merge(ElementType type) {
    ElementwiseCode code = new ElementwiseCode();
    int[] one = new int[numbers];
    int[] two = new int[numbers];
    for (int[] part : new int[][] {one, two}) {
      for (int i = 0; i < numbers; i++) {
        part[i] = code.input(type);
      }
    }
    return code.program(1, merge(code, type, one, two));
  }

  /**
   * Adds code that merges the states {@code one} and {@code two}, given by the numbers of their
   * values; returns those of the merged state.
   */
  abstract int[] merge(ElementwiseCode code, ElementType type, int[] one, int[] two);

  /**
   * Adds code that gives the better of two numbers and its place; the lower place if the numbers
   * are equal.
   *
   * @param beats value that is 1 if the second number is the better one
   */
  private static int[] better(
      ElementwiseCode code, ElementType type, int[] one, int[] two, int beats) {
    int wins = beats;
    int ties = code.apply(BinaryFunction.EQUAL, one[0], two[0]);
    if (type == ElementType.FLOAT64) { // NaN beats every number
      int first = code.apply(UnaryFunction.IS_NAN, one[0]);
      int second = code.apply(UnaryFunction.IS_NAN, two[0]);
      int only = code.apply(BinaryFunction.AND, second, code.apply(UnaryFunction.NOT, first));
      wins = code.apply(BinaryFunction.OR, wins, only);
      ties = code.apply(BinaryFunction.OR, ties, code.apply(BinaryFunction.AND, first, second));
    }
    int before = code.apply(BinaryFunction.LESS, two[1], one[1]);
    int take = code.apply(BinaryFunction.OR, wins, code.apply(BinaryFunction.AND, ties, before));
    return new int[] {code.select(take, two[0], one[0]), code.select(take, two[1], one[1])};
  }
}
