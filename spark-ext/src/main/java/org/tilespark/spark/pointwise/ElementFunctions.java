package org.tilespark.spark.pointwise;

import static org.tilespark.spark.pointwise.ElementFunction.floating;
import static org.tilespark.spark.pointwise.ElementFunction.number;
import static org.tilespark.spark.pointwise.ElementFunction.of;
import static org.tilespark.spark.pointwise.ElementFunction.ofAll;
import static org.tilespark.spark.pointwise.ElementFunction.rounding;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.tilespark.kernels.pointwise.BinaryFunction;
import org.tilespark.kernels.pointwise.RandomNumbers;
import org.tilespark.kernels.pointwise.UnaryFunction;
import org.tilespark.layout.ElementType;

/**
 * The functions that an elementwise expression may call by name. A new function needs one line
 * here.
 */
final class ElementFunctions {
  /** The largest exponent up to which all powers of ten are exact in double. */
  private static final int MOST_DECIMALS = 22;

  private static final Map<String, ElementFunction> ALL =
      byName(
          of("abs", 1, ElementFunctions::abs),
          of("arg", 1, ElementFunctions::arg),
          floating("atan2", BinaryFunction.ATAN2),
          of("between", 3, Operators::between),
          rounding("ceil", UnaryFunction.CEIL),
          rounding("ceiling", UnaryFunction.CEIL),
          of("clip", 3, ElementFunctions::clip),
          of("complex", 2, ElementFunctions::complex),
          of("conj", 1, ElementFunctions::conj),
          floating("cos", UnaryFunction.COS),
          floating("exp", UnaryFunction.EXP),
          floating("expm1", UnaryFunction.EXPM1),
          rounding("floor", UnaryFunction.FLOOR),
          ofAll("greatest", BinaryFunction.MAXIMUM),
          floating("hypot", BinaryFunction.HYPOT),
          of("if", 3, ElementFunctions::choose),
          of("imag", 1, ElementFunctions::imag),
          number("inf", Double.POSITIVE_INFINITY),
          of("isnan", 1, ElementFunctions::isNan),
          ofAll("least", BinaryFunction.MINIMUM),
          floating("log", UnaryFunction.LOG),
          floating("log1p", UnaryFunction.LOG1P),
          number("nan", Double.NaN),
          of("nanvl", 2, ElementFunctions::nanvl),
          number("pi", Math.PI),
          of("pow", 2, ElementFunctions::power),
          of("power", 2, ElementFunctions::power),
          of("rand", 1, call -> Term.of(uniform(call))),
          of("randn", 1, ElementFunctions::normal),
          of("real", 1, ElementFunctions::real),
          new ElementFunction("round", 1, 2, ElementFunctions::round),
          floating("sigmoid", UnaryFunction.SIGMOID),
          of("sign", 1, ElementFunctions::sign),
          of("signum", 1, ElementFunctions::sign),
          floating("sin", UnaryFunction.SIN),
          floating("sqrt", UnaryFunction.SQRT),
          floating("tan", UnaryFunction.TAN),
          floating("tanh", UnaryFunction.TANH));

  private ElementFunctions() {}

  /** The functions by name, in the order of the alphabet. */
  static Map<String, ElementFunction> all() {
    return ALL;
  }

  private static Map<String, ElementFunction> byName(ElementFunction... functions) {
    Map<String, ElementFunction> map = new TreeMap<>();
    for (ElementFunction function : functions) {
      map.put(function.name(), function);
    }
    return Collections.unmodifiableMap(map);
  }

  private static Term abs(Call call) {
    Term x = call.argument(0);
    if (x.isComplex()) {
      return call.result(ComplexArithmetic.abs(x));
    }
    return x.isBool() ? x : call.apply(UnaryFunction.ABS);
  }

  private static Term arg(Call call) {
    Term x = call.floating().argument(0);
    return call.result(Value.of(BinaryFunction.ATAN2, x.imag(), x.real()));
  }

  private static Term clip(Call call) {
    ValueType type = call.real().commonType();
    Call all = call.in(type);
    Term raised = all.with(all.arguments().subList(0, 2)).apply(BinaryFunction.MAXIMUM);
    return all.with(List.of(raised, all.argument(2)))
        .apply(BinaryFunction.MINIMUM)
        .asBool(type.isBool());
  }

  /** {@code complex(re, im)}: parts of integers are DOUBLE, as in numpy's {@code re + 1j * im}. */
  private static Term complex(Call call) {
    ValueType type = call.real().commonType();
    ElementType part = type.isFloating() ? type.element() : ElementType.FLOAT64;
    Call both = call.in(ValueType.real(part));
    return both.result(both.argument(0).real(), both.argument(1).real());
  }

  private static Term conj(Call call) {
    Term x = call.numbers().argument(0);
    return x.isComplex() ? call.result(x.real(), Value.of(UnaryFunction.NEGATE, x.imag())) : x;
  }

  /** {@code if(condition, yes, no)}. */
  static Term choose(Call call) {
    Value condition = call.with(call.arguments().subList(0, 1)).bools().argument(0).real();
    Call values = call.with(call.arguments().subList(1, 3));
    ValueType type = values.commonType();
    Term chosen = values.in(type).applyToParts((yes, no) -> Value.select(condition, yes, no));
    return chosen.asBool(type.isBool());
  }

  private static Term imag(Call call) {
    Term x = call.argument(0);
    return call.result(x.imag()).asBool(x.isBool());
  }

  private static Term isNan(Call call) {
    Term x = call.argument(0);
    if (!x.type().isFloating()) {
      return Term.bool(Value.integer(ElementType.INT8, 0));
    }
    return Term.bool(
        x.parts().stream()
            .map(part -> Value.of(UnaryFunction.IS_NAN, part))
            .reduce((re, im) -> Value.of(BinaryFunction.OR, re, im))
            .orElseThrow());
  }

  private static Term nanvl(Call call) {
    Call both = call.real().common();
    Value x = both.argument(0).real();
    if (!both.argument(0).type().isFloating()) {
      return both.argument(0);
    }
    return both.result(Value.select(Value.of(UnaryFunction.IS_NAN, x), both.argument(1).real(), x));
  }

  /**
   * The first value to the power of the second; for integers the exponent must be a literal, since
   * numpy refuses negative ones.
   */
  private static Term power(Call call) {
    Call both = call.real().numbers();
    Value base = both.argument(0).real();
    if (ValueType.isFloating(base.type())) {
      Optional<Double> exponent = both.argument(1).real().constant().map(Folding::doubleOf);
      return exponent
          .flatMap(y -> shortPower(base, y))
          .map(power -> both.result(power))
          .orElseGet(() -> both.apply(BinaryFunction.POW));
    }
    return both.result(integerPower(base, exponent(call)));
  }

  /** Powers for which numpy has a separate, correctly rounded operation. */
  private static Optional<Value> shortPower(Value base, double exponent) {
    if (exponent == 2) {
      return Optional.of(times(base, base));
    }
    if (exponent == 0.5) {
      return Optional.of(Value.of(UnaryFunction.SQRT, base));
    }
    return exponent == -1
        ? Optional.of(Value.of(BinaryFunction.DIVIDE, Value.number(base.type(), 1), base))
        : Optional.empty();
  }

  private static long exponent(Call call) {
    return call.argument(1)
        .literalInteger()
        .filter(exponent -> exponent >= 0)
        .orElseThrow(
            () ->
                call.wrong(
                    "powers of integers have literal exponents of 0 or more;"
                        + " CAST one of the two to DOUBLE"));
  }

  private static Value integerPower(Value base, long exponent) {
    Value square = base;
    Value product = Value.integer(base.type(), 1);
    for (long rest = exponent; rest > 0; rest >>= 1) {
      if ((rest & 1) != 0) {
        product = product.constant().isPresent() ? square : times(product, square);
      }
      square = times(square, square);
    }
    return product;
  }

  private static Value times(Value x, Value y) {
    return Value.of(BinaryFunction.MULTIPLY, x, y);
  }

  /** {@code round(v)} or {@code round(v, decimals)}; halves go to the even neighbour. */
  private static Term round(Call call) {
    Call value = call.with(call.arguments().subList(0, 1)).real();
    if (call.arguments().size() == 1) {
      return rounded(value, UnaryFunction.ROUND);
    }
    long decimals =
        call.argument(1)
            .literalInteger()
            .filter(n -> Math.abs(n) <= MOST_DECIMALS)
            .orElseThrow(
                () ->
                    call.wrong(
                        "round takes a literal count of decimals from %s to %s"
                            .formatted(-MOST_DECIMALS, MOST_DECIMALS)));
    ValueType type = value.commonType();
    if (decimals == 0 || (decimals > 0 && !type.isFloating())) {
      return rounded(value, UnaryFunction.ROUND);
    }
    ElementType computed = type.isFloating() ? type.element() : ElementType.FLOAT64;
    Value power = Value.floating(computed, Double.parseDouble("1e" + Math.abs(decimals)));
    BinaryFunction there = decimals > 0 ? BinaryFunction.MULTIPLY : BinaryFunction.DIVIDE;
    BinaryFunction back = decimals > 0 ? BinaryFunction.DIVIDE : BinaryFunction.MULTIPLY;
    Value scaled = Value.of(there, value.argument(0).real().in(computed), power);
    Value rounded = Value.of(back, Value.of(UnaryFunction.ROUND, scaled), power);
    return value.result(rounded.in(type.element()));
  }

  /**
   * {@code rand(seed)}: a DOUBLE in [0, 1) that depends on the seed and the element's place alone,
   * that of {@link RandomNumbers#uniform}.
   */
  private static Value uniform(Call call) {
    long seed =
        call.argument(0)
            .literalInteger()
            .orElseThrow(() -> call.wrong(call.name() + " takes a seed, a whole number"));
    Value bits = Value.integer(ElementType.INT64, RandomNumbers.mix(seed));
    Value step = Value.integer(ElementType.INT64, RandomNumbers.STEP);
    for (int axis = 0; axis < call.axes(); axis++) {
      Value one = Value.integer(ElementType.INT64, 1);
      Value next = Value.of(BinaryFunction.ADD, Value.place(axis), one);
      bits = Value.of(UnaryFunction.MIX, Value.of(BinaryFunction.ADD, bits, times(next, step)));
    }
    Value upper = Value.of(UnaryFunction.UPPER_BITS, bits).in(ElementType.FLOAT64);
    return times(upper, Value.floating(ElementType.FLOAT64, 0x1p-53));
  }

  /** {@code randn(seed)}: a DOUBLE of the standard normal distribution, as {@code rand}. */
  private static Term normal(Call call) {
    Value least = Value.floating(ElementType.FLOAT64, RandomNumbers.LEAST);
    Value share = Value.of(BinaryFunction.MAXIMUM, uniform(call), least);
    return Term.of(Value.of(UnaryFunction.NORMAL_QUANTILE, share));
  }

  private static Term real(Call call) {
    Term x = call.argument(0);
    return x.isComplex() ? call.result(x.real()) : x;
  }

  /** The result of a rounding function, which leaves integers and truth values unchanged. */
  static Term rounded(Call call, UnaryFunction function) {
    Term x = call.argument(0);
    return x.type().isFloating() ? call.apply(function) : x;
  }

  private static Term sign(Call call) {
    if (call.argument(0).isBool()) {
      throw call.wrong(call.name() + " of a truth value is not defined, as in numpy");
    }
    return call.real().apply(UnaryFunction.SIGN);
  }

  /** The least or greatest of two or more values; for truth values a truth value. */
  static Term extreme(Call call, BinaryFunction function) {
    ValueType type = call.commonType();
    return call.in(type).apply(function).asBool(type.isBool());
  }
}
