package org.tilespark.kernels.pointwise;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;

/**
 * Elementary functions to some 50 digits, from their series and from what they satisfy: oracles for
 * the errors of others. Arguments are numbers, not 0, where the function is a finite number that is
 * not 0.
 */
final class ManyDigits {
  private static final MathContext DIGITS = new MathContext(70, RoundingMode.HALF_EVEN);
  private static final MathContext REDUCTION = new MathContext(140, RoundingMode.HALF_EVEN);
  private static final BigDecimal ONE = BigDecimal.ONE;
  private static final BigDecimal TWO = BigDecimal.valueOf(2);
  private static final BigDecimal TINY = new BigDecimal("1e-65");
  private static final BigDecimal SMALL = new BigDecimal("1e-20");

  /** Machin's formula. */
  private static final BigDecimal PI =
      arcCotangent(5)
          .multiply(BigDecimal.valueOf(16))
          .subtract(arcCotangent(239).multiply(BigDecimal.valueOf(4)), REDUCTION);

  private ManyDigits() {}

  private static BigDecimal arcCotangent(int x) {
    BigDecimal square = BigDecimal.valueOf((long) -x * x);
    BigDecimal power = ONE.divide(BigDecimal.valueOf(x), REDUCTION);
    BigDecimal sum = power;
    for (int n = 3; power.abs().compareTo(new BigDecimal("1e-150")) > 0; n += 2) {
      power = power.divide(square, REDUCTION);
      sum = sum.add(power.divide(BigDecimal.valueOf(n), REDUCTION), REDUCTION);
    }
    return sum;
  }

  static BigDecimal exp(BigDecimal x) {
    int halvings = 0;
    BigDecimal r = x;
    while (r.abs().compareTo(new BigDecimal("0.01")) > 0) {
      r = r.divide(TWO, DIGITS);
      halvings++;
    }
    BigDecimal term = ONE;
    BigDecimal sum = ONE;
    for (int n = 1; term.abs().compareTo(TINY) > 0; n++) {
      term = term.multiply(r, DIGITS).divide(BigDecimal.valueOf(n), DIGITS);
      sum = sum.add(term, DIGITS);
    }
    for (int i = 0; i < halvings; i++) {
      sum = sum.multiply(sum, DIGITS);
    }
    return sum;
  }

  static BigDecimal expm1(BigDecimal x) {
    return x.abs().compareTo(SMALL) < 0
        ? x.add(x.multiply(x, DIGITS).divide(TWO, DIGITS), DIGITS)
        : exp(x).subtract(ONE, DIGITS);
  }

  static BigDecimal log(BigDecimal x) {
    return log(x, Math.log(x.doubleValue()));
  }

  static BigDecimal log1p(BigDecimal x) {
    return x.abs().compareTo(SMALL) < 0
        ? x.subtract(x.multiply(x, DIGITS).divide(TWO, DIGITS), DIGITS)
        : log(x.add(ONE), Math.log1p(x.doubleValue()));
  }

  /** Halley's steps on the exponential function; each has three times the digits. */
  private static BigDecimal log(BigDecimal x, double guess) {
    BigDecimal y = new BigDecimal(guess);
    for (int i = 0; i < 2; i++) {
      BigDecimal e = exp(y);
      BigDecimal step = x.subtract(e, DIGITS).divide(x.add(e, DIGITS), DIGITS);
      y = y.add(TWO.multiply(step, DIGITS), DIGITS);
    }
    return y;
  }

  static BigDecimal pow(BigDecimal x, BigDecimal y) {
    return exp(y.multiply(log(x), DIGITS));
  }

  static BigDecimal sin(BigDecimal x) {
    return sine(x, BigDecimal.ZERO);
  }

  static BigDecimal cos(BigDecimal x) {
    return sine(x, PI.divide(TWO, REDUCTION));
  }

  static BigDecimal tan(BigDecimal x) {
    return sin(x).divide(cos(x), DIGITS);
  }

  /** The sine of x + shift. */
  private static BigDecimal sine(BigDecimal x, BigDecimal shift) {
    BigDecimal sum = x.add(shift, REDUCTION);
    BigDecimal turns = sum.divide(PI, REDUCTION).setScale(0, RoundingMode.HALF_EVEN);
    BigDecimal r = sum.subtract(turns.multiply(PI, REDUCTION), REDUCTION).round(DIGITS);
    BigDecimal square = r.multiply(r, DIGITS);
    BigDecimal term = r;
    BigDecimal sine = r;
    BigDecimal least = r.abs().multiply(TINY, DIGITS);
    for (int n = 2; term.abs().compareTo(least) > 0; n += 2) {
      BigDecimal factor = BigDecimal.valueOf((long) n * (n + 1)).negate();
      term = term.multiply(square, DIGITS).divide(factor, DIGITS);
      sine = sine.add(term, DIGITS);
    }
    return turns.toBigInteger().testBit(0) ? sine.negate() : sine;
  }

  static BigDecimal tanh(BigDecimal x) {
    BigDecimal twice = x.multiply(TWO);
    if (twice.compareTo(BigDecimal.valueOf(200)) > 0) {
      return ONE.subtract(TINY, DIGITS);
    }
    if (twice.compareTo(BigDecimal.valueOf(-200)) < 0) {
      return TINY.subtract(ONE, DIGITS);
    }
    BigDecimal e = expm1(twice);
    return e.divide(e.add(TWO, DIGITS), DIGITS);
  }

  static BigDecimal sigmoid(BigDecimal x) {
    return ONE.divide(ONE.add(exp(x.negate()), DIGITS), DIGITS);
  }

  static BigDecimal hypot(BigDecimal x, BigDecimal y) {
    return x.multiply(x).add(y.multiply(y)).sqrt(DIGITS);
  }

  /** A guess is turned on by the angle that is left, whose tangent is tiny. */
  static BigDecimal atan2(BigDecimal y, BigDecimal x) {
    BigDecimal guess = new BigDecimal(Math.atan2(y.doubleValue(), x.doubleValue()));
    BigDecimal sin = sin(guess);
    BigDecimal cos = cos(guess);
    BigDecimal tangent =
        y.multiply(cos, DIGITS)
            .subtract(x.multiply(sin, DIGITS), DIGITS)
            .divide(x.multiply(cos, DIGITS).add(y.multiply(sin, DIGITS), DIGITS), DIGITS);
    BigDecimal cube = tangent.pow(3, DIGITS).divide(BigDecimal.valueOf(3), DIGITS);
    return guess.add(tangent.subtract(cube, DIGITS), DIGITS);
  }
}
