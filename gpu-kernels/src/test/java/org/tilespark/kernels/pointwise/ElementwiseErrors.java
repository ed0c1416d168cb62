package org.tilespark.kernels.pointwise;

import static java.util.Map.entry;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.BiFunction;
import java.util.function.DoubleBinaryOperator;
import java.util.function.Function;
import org.tilespark.kernels.pointwise.ElementwiseCases.Block;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/**
 * Errors of the functions that are not correctly rounded, in units in the last place from the
 * correctly rounded result, of either twin.
 */
public final class ElementwiseErrors {
  private static final int ARGUMENTS = 1500;

  /** Bound of every FLOAT32 function, in units in the last place. */
  private static final long FLOAT_BOUND = 2;

  private static final double[] SPECIAL = {
    0.0,
    -0.0,
    1,
    -1,
    2,
    -2,
    3,
    0.5,
    -0.5,
    Double.POSITIVE_INFINITY,
    Double.NEGATIVE_INFINITY,
    Double.NaN
  };

  /**
   * How a function is checked.
   *
   * @param exact the function
   * @param plain the function at special values
   * @param doubleBound most units of FLOAT64: what CUDA states for its own
   * @param isPositive whether the first argument must be above 0
   * @param most the largest argument
   */
  private record Check(
      BiFunction<BigDecimal, BigDecimal, BigDecimal> exact,
      DoubleBinaryOperator plain,
      long doubleBound,
      boolean isPositive,
      double most) {}

  private static final Map<UnaryFunction, Check> UNARY =
      Map.ofEntries(
          entry(UnaryFunction.EXP, unary(ManyDigits::exp, StrictMath::exp, 1, false, 700)),
          entry(UnaryFunction.EXPM1, unary(ManyDigits::expm1, StrictMath::expm1, 1, false, 700)),
          entry(UnaryFunction.LOG, unary(ManyDigits::log, StrictMath::log, 1, true, 1e300)),
          entry(UnaryFunction.LOG1P, unary(ManyDigits::log1p, StrictMath::log1p, 1, true, 1e300)),
          entry(UnaryFunction.SIN, unary(ManyDigits::sin, StrictMath::sin, 2, false, 1e30)),
          entry(UnaryFunction.COS, unary(ManyDigits::cos, StrictMath::cos, 2, false, 1e30)),
          entry(UnaryFunction.TAN, unary(ManyDigits::tan, StrictMath::tan, 2, false, 1e30)),
          entry(UnaryFunction.TANH, unary(ManyDigits::tanh, StrictMath::tanh, 2, false, 50)),
          entry(
              UnaryFunction.SIGMOID, unary(ManyDigits::sigmoid, HostMath::sigmoid, 2, false, 740)));

  private static final Map<BinaryFunction, Check> BINARY =
      Map.of(
          BinaryFunction.POW, new Check(ManyDigits::pow, HostMath::pow, 2, true, 30),
          BinaryFunction.ATAN2, new Check(ManyDigits::atan2, StrictMath::atan2, 2, false, 1e30),
          BinaryFunction.HYPOT, new Check(ManyDigits::hypot, StrictMath::hypot, 2, false, 1e150));

  private ElementwiseErrors() {}

  private static Check unary(
      Function<BigDecimal, BigDecimal> exact,
      java.util.function.DoubleUnaryOperator plain,
      long bound,
      boolean isPositive,
      double most) {
    return new Check(
        (x, y) -> exact.apply(x), (x, y) -> plain.applyAsDouble(x), bound, isPositive, most);
  }

  /** How many functions and types are checked: each for FLOAT32 and FLOAT64. */
  public static int count() {
    return 2 * (UNARY.size() + BINARY.size());
  }

  /** Whether both twins promise equal bits. */
  public static boolean isExact(ElementwiseProgram program) {
    return UNARY.keySet().stream().noneMatch(each -> uses(program, each))
        && BINARY.keySet().stream().noneMatch(each -> uses(program, each));
  }

  private static boolean uses(ElementwiseProgram program, Enum<?> function) {
    return program.code().toString().contains("function=" + function + ",");
  }

  /** Runs a program on one block. */
  public interface Runner {
    List<List<long[]>> run(ElementwiseProgram program, Block block);
  }

  /** Takes the largest error of a function. */
  public interface Report {
    void accept(String function, String ulps);
  }

  /** The errors found, if any: results too far away, zeros of the other sign, no NaN. */
  public static List<String> check(Runner runner, Report report) {
    List<String> wrong = new ArrayList<>();
    for (ElementType type : List.of(ElementType.FLOAT32, ElementType.FLOAT64)) {
      UNARY.forEach(
          (function, check) ->
              check(
                  function + " " + type,
                  type,
                  check,
                  ElementwiseCases.of(function, type),
                  runner,
                  report,
                  wrong));
      BINARY.forEach(
          (function, check) ->
              check(
                  function + " " + type,
                  type,
                  check,
                  ElementwiseCases.of(function, type),
                  runner,
                  report,
                  wrong));
    }
    return wrong;
  }

  private static void check(
      String name,
      ElementType type,
      Check check,
      ElementwiseProgram program,
      Runner runner,
      Report report,
      List<String> wrong) {
    boolean isBinary = program.inputs().size() == 2;
    List<double[]> pairs = new ArrayList<>();
    for (double x : SPECIAL) {
      for (double y : isBinary ? SPECIAL : new double[] {0}) {
        pairs.add(new double[] {x, y});
      }
    }
    int special = pairs.size();
    Random random = new Random(name.hashCode());
    while (pairs.size() < special + ARGUMENTS) {
      double x = argument(type, check, random);
      double y = isBinary ? argument(type, check, random) : 1;
      pairs.add(new double[] {check.isPositive() ? Math.abs(x) : x, y});
    }
    List<List<long[]>> inputs = new ArrayList<>();
    for (int i = 0; i < program.inputs().size(); i++) {
      int which = i;
      inputs.add(
          List.of(
              pairs.stream()
                  .mapToLong(pair -> ElementwiseCases.bits(type, pair[which]))
                  .toArray()));
    }
    Block block = new Block(Shape.of(pairs.size()), new long[1], List.of(), inputs);
    long[] found = runner.run(program, block).get(0).get(0);
    long bound = type == ElementType.FLOAT32 ? FLOAT_BOUND : check.doubleBound();
    long largest = 0;
    for (int i = 0; i < found.length; i++) {
      double x = pairs.get(i)[0];
      double y = pairs.get(i)[1];
      long expected =
          i < special
              ? ElementwiseCases.bits(type, check.plain().applyAsDouble(x, y))
              : rounded(type, check.exact().apply(new BigDecimal(x), new BigDecimal(y)));
      long distance = distance(type, expected, found[i]);
      if (distance > bound) {
        wrong.add(
            "%s(%s, %s) is %x, expected %x and at most %s units from it"
                .formatted(name, x, y, found[i], expected, bound));
      }
      largest = Math.max(largest, distance);
    }
    report.accept(name, largest + " of " + bound);
  }

  /** A number of the type, of any size up to the most. */
  private static double argument(ElementType type, Check check, Random random) {
    double most = Math.min(check.most(), type == ElementType.FLOAT32 ? 1e35 : check.most());
    if (type == ElementType.FLOAT32 && most > 80 && most < 1000) {
      most = 85;
    }
    double exponent = -12 + random.nextDouble() * (Math.log10(most) + 12);
    double value =
        random.nextInt(3) == 0 ? random.nextDouble() * Math.min(most, 30) : Math.pow(10, exponent);
    double signed = random.nextBoolean() ? value : -value;
    return type == ElementType.FLOAT32 ? (float) signed : signed;
  }

  private static long rounded(ElementType type, BigDecimal value) {
    return type == ElementType.FLOAT32
        ? Float.floatToRawIntBits(value.floatValue())
        : Double.doubleToRawLongBits(value.doubleValue());
  }

  /** Numbers of the type between two; many if one is NaN alone, or zeros differ in sign. */
  private static long distance(ElementType type, long a, long b) {
    long one = ElementwiseCases.comparable(type, a);
    long other = ElementwiseCases.comparable(type, b);
    if (one == other) {
      return 0;
    }
    double x = value(type, one);
    double y = value(type, other);
    if (Double.isNaN(x) || Double.isNaN(y) || x == 0 || x < 0 != y < 0) {
      return Long.MAX_VALUE;
    }
    return Math.abs(one - other);
  }

  private static double value(ElementType type, long bits) {
    return type == ElementType.FLOAT32
        ? Float.intBitsToFloat((int) bits)
        : Double.longBitsToDouble(bits);
  }
}
