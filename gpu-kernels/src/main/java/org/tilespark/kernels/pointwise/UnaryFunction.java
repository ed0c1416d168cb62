package org.tilespark.kernels.pointwise;

import org.tilespark.layout.ElementType;

/**
 * A function of one value in an {@link ElementwiseProgram}, with its implementations on the host
 * and on the device. Functions of floating-point numbers take FLOAT32 and FLOAT64.
 */
public enum UnaryFunction {
  /** {@code -x}; of integers, modulo 2 to the power of their bits. */
  NEGATE(
      HostFunction.numbers((x, y) -> -x, (x, y) -> -x, (x, y) -> -x, (x, y) -> -x),
      PtxFunction.of("neg.$t $r, $x;")),
  /** The absolute value; the least integer stays as it is. */
  ABS(
      HostFunction.numbers(
          (x, y) -> Math.abs(x),
          (x, y) -> Math.abs(x),
          (x, y) -> Math.abs(x),
          (x, y) -> Math.abs(x)),
      new PtxFunction("{ .reg .$t n; neg.$t n, $x; max.$t $r, $x, n; }", "abs.$t $r, $x;")),
  /** The sign: -1, 0 or 1 in the operand's type; NaN for NaN. */
  SIGN(
      HostFunction.numbers(
          (x, y) -> Integer.signum(x),
          (x, y) -> Long.signum(x),
          (x, y) -> (float) HostMath.sign(x),
          (x, y) -> HostMath.sign(x)),
      PtxFunction.call("sign")),
  /** The greatest whole number that is not above the operand. */
  FLOOR(HostFunction.inDouble(Math::floor), PtxFunction.of("cvt.rmi.$t.$t $r, $x;")),
  /** The least whole number that is not below the operand. */
  CEIL(HostFunction.inDouble(Math::ceil), PtxFunction.of("cvt.rpi.$t.$t $r, $x;")),
  /** The whole number nearest to the operand; halves are rounded to the even one. */
  ROUND(HostFunction.inDouble(Math::rint), PtxFunction.of("cvt.rni.$t.$t $r, $x;")),
  /** Square root. */
  SQRT(
      HostFunction.floats((x, y) -> (float) Math.sqrt(x), (x, y) -> Math.sqrt(x)),
      PtxFunction.of("sqrt.rn.$t $r, $x;")),
  /** {@code e^x}. */
  EXP(HostFunction.inDouble(Math::exp), PtxFunction.call("exp")),
  /** {@code e^x - 1}. */
  EXPM1(HostFunction.inDouble(Math::expm1), PtxFunction.call("expm1")),
  /** Natural logarithm. */
  LOG(HostFunction.inDouble(Math::log), PtxFunction.call("log")),
  /** Natural logarithm of {@code 1 + x}. */
  LOG1P(HostFunction.inDouble(Math::log1p), PtxFunction.call("log1p")),
  /** Sine of an angle in radians. */
  SIN(HostFunction.inDouble(Math::sin), PtxFunction.call("sin")),
  /** Cosine of an angle in radians. */
  COS(HostFunction.inDouble(Math::cos), PtxFunction.call("cos")),
  /** Tangent of an angle in radians. */
  TAN(HostFunction.inDouble(Math::tan), PtxFunction.call("tan")),
  /** Hyperbolic tangent. */
  TANH(HostFunction.inDouble(Math::tanh), PtxFunction.call("tanh")),
  /** {@code 1 / (1 + e^-x)}. */
  SIGMOID(HostFunction.inDouble(HostMath::sigmoid), PtxFunction.call("sigmoid")),
  /** The quantile of the standard normal distribution; see {@link RandomNumbers}. */
  NORMAL_QUANTILE(
      HostFunction.inDouble(RandomNumbers::quantile), PtxFunction.call("normal_quantile")),
  /** The bits of a BIGINT, mixed; see {@link RandomNumbers}. */
  MIX(
      HostFunction.longs(RandomNumbers::mix),
      PtxFunction.of(
          "{ .reg .b64 h, g; shr.u64 h, $x, 30; xor.b64 h, h, $x; mul.lo.s64 h, h, %s;"
                  .formatted(0xBF58476D1CE4E5B9L)
              + " shr.u64 g, h, 27; xor.b64 h, h, g; mul.lo.s64 h, h, %s;"
                  .formatted(0x94D049BB133111EBL)
              + " shr.u64 g, h, 31; xor.b64 $r, h, g; }")),
  /** The upper 53 bits of a BIGINT, as a number from 0. */
  UPPER_BITS(HostFunction.longs(x -> x >>> 11), PtxFunction.of("shr.u64 $r, $x, 11;")),
  /** A truth: 1 if the operand is NaN, else 0. */
  IS_NAN(
      HostFunction.test((x, y) -> Double.isNaN(x)),
      PtxFunction.of("{ .reg .pred p; setp.nan.$t p, $x, $x; selp.s32 $r, 1, 0, p; }")),
  /** A truth: 1 if the operand is 0, else 0. */
  NOT(
      HostFunction.truth((x, y) -> x == 0),
      PtxFunction.of("{ .reg .pred p; setp.eq.$t p, $x, 0; selp.s32 $r, 1, 0, p; }"));

  private final HostFunction host;
  private final PtxFunction ptx;

  UnaryFunction(HostFunction host, PtxFunction ptx) {
    this.host = host;
    this.ptx = ptx;
  }

  /**
   * Type of the result for an operand of a type.
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
