package org.tilespark.kernels.pointwise;

import org.tilespark.layout.ElementType;

/**
 * A function of two values of the same type in an {@link ElementwiseProgram}, with its
 * implementations on the host and on the device.
 */
public enum BinaryFunction {
  /** The sum; of integers, modulo 2 to the power of their bits. */
  ADD(
      HostFunction.numbers((x, y) -> x + y, (x, y) -> x + y, (x, y) -> x + y, (x, y) -> x + y),
      new PtxFunction("add.$t $r, $x, $y;", "add.rn.$t $r, $x, $y;")),
  /** The difference; of integers, modulo 2 to the power of their bits. */
  SUBTRACT(
      HostFunction.numbers((x, y) -> x - y, (x, y) -> x - y, (x, y) -> x - y, (x, y) -> x - y),
      new PtxFunction("sub.$t $r, $x, $y;", "sub.rn.$t $r, $x, $y;")),
  /** The product; of integers, modulo 2 to the power of their bits. */
  MULTIPLY(
      HostFunction.numbers((x, y) -> x * y, (x, y) -> x * y, (x, y) -> x * y, (x, y) -> x * y),
      new PtxFunction("mul.lo.$t $r, $x, $y;", "mul.rn.$t $r, $x, $y;")),
  /** The quotient of floating-point numbers. */
  DIVIDE(
      HostFunction.floats((x, y) -> x / y, (x, y) -> x / y),
      PtxFunction.of("div.rn.$t $r, $x, $y;")),
  /** The quotient rounded down, as in numpy; an integer divided by 0 gives 0. */
  FLOOR_DIVIDE(
      HostFunction.numbers(
          (x, y) -> y == 0 ? 0 : Math.floorDiv(x, y),
          (x, y) -> y == 0 ? 0 : Math.floorDiv(x, y),
          HostMath::floorDivide,
          HostMath::floorDivide),
      PtxFunction.call2("floor_divide")),
  /**
   * The remainder of {@link #FLOOR_DIVIDE}, with the divisor's sign; an integer divided by 0 gives
   * 0.
   */
  REMAINDER(
      HostFunction.numbers(
          (x, y) -> y == 0 ? 0 : Math.floorMod(x, y),
          (x, y) -> y == 0 ? 0 : Math.floorMod(x, y),
          HostMath::remainder,
          HostMath::remainder),
      PtxFunction.call2("remainder")),
  /** {@code x^y}; 1 if {@code y = 0} or {@code x = 1}, even if the other operand is NaN. */
  POW(HostFunction.inDouble(HostMath::pow), PtxFunction.call2("pow")),
  /** The angle of the point {@code (y, x)}: the first operand is the ordinate. */
  ATAN2(HostFunction.inDouble((y, x) -> Math.atan2(y, x)), PtxFunction.call2("atan2")),
  /** {@code sqrt(x^2 + y^2)}; infinite if one operand is infinite, even if the other is NaN. */
  HYPOT(HostFunction.inDouble((x, y) -> Math.hypot(x, y)), PtxFunction.call2("hypot")),
  /** The lesser operand; NaN if one is NaN; -0 is less than 0. */
  MINIMUM(
      HostFunction.numbers(Math::min, Math::min, Math::min, Math::min),
      new PtxFunction("min.$t $r, $x, $y;", PtxFunction.orNan("lt", "or"))),
  /** The greater operand; NaN if one is NaN; -0 is less than 0. */
  MAXIMUM(
      HostFunction.numbers(Math::max, Math::max, Math::max, Math::max),
      new PtxFunction("max.$t $r, $x, $y;", PtxFunction.orNan("gt", "and"))),
  /** A truth: 1 if the first operand is less than the second, else 0. */
  LESS(HostFunction.test((x, y) -> x < y, (x, y) -> x < y), PtxFunction.test("lt", "lt")),
  /** A truth: 1 if the first operand is less than or equal to the second, else 0. */
  LESS_EQUAL(HostFunction.test((x, y) -> x <= y, (x, y) -> x <= y), PtxFunction.test("le", "le")),
  /** A truth: 1 if both operands are equal, else 0. */
  EQUAL(HostFunction.test((x, y) -> x == y, (x, y) -> x == y), PtxFunction.test("eq", "eq")),
  /** A truth: 1 if the operands are not equal or one is NaN, else 0. */
  NOT_EQUAL(HostFunction.test((x, y) -> x != y, (x, y) -> x != y), PtxFunction.test("ne", "neu")),
  /** A truth: 1 if neither operand, a truth itself, is 0, else 0. */
  AND(HostFunction.truth((x, y) -> x != 0 && y != 0), PtxFunction.truth("and")),
  /** A truth: 1 if one of the operands, truths themselves, is not 0, else 0. */
  OR(HostFunction.truth((x, y) -> (x | y) != 0), PtxFunction.truth("or"));

  private final HostFunction host;
  private final PtxFunction ptx;

  BinaryFunction(HostFunction host, PtxFunction ptx) {
    this.host = host;
    this.ptx = ptx;
  }

  /**
   * Type of the result for operands of a type.
   *
   * @throws IllegalArgumentException if the function does not take operands of this type
   */
  public ElementType type(ElementType operand) {
    return host.type(operand);
  }

  /** The host's loop for operands of a type that the function takes. */
  public HostLoop hostLoop(ElementType operand) {
    return host.loop(operand);
  }

  /** The function's implementation on the device. */
  PtxFunction ptx() {
    return ptx;
  }
}
