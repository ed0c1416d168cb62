package org.tilespark.kernels.pointwise;

import org.tilespark.layout.ElementType;

/**
 * A function of one or two values on the device: the device's half of {@link UnaryFunction} and
 * {@link BinaryFunction}. It is PTX text in which {@code $t} stands for the type (s32 for INT8,
 * INT16 and INT32), {@code $w} for the type's number of bits, {@code $x} and {@code $y} for the
 * registers of the operands and {@code $r} for that of the result. Functions that {@code
 * elementwise_functions.cu} defines are called by their name.
 *
 * @param integers for integers
 * @param floats for floating-point numbers
 */
record PtxFunction(String integers, String floats) {
  /** Prefix of the names of functions in {@code elementwise_functions.cu}. */
  static final String PREFIX = "tilespark_";

  /** A function with one text for all types. */
  static PtxFunction of(String text) {
    return new PtxFunction(text, text);
  }

  /** A test, which gives 1 if {@code setp} with these comparisons holds, else 0. */
  static PtxFunction test(String integers, String floats) {
    String text = "{ .reg .pred p; setp.%s.$t p, $x, $y; selp.s32 $r, 1, 0, p; }";
    return new PtxFunction(text.formatted(integers), text.formatted(floats));
  }

  /**
   * The {@code and} or {@code or} of two truths, of which any number but 0 is true: gives 1 or 0.
   */
  static PtxFunction truth(String operation) {
    String text =
        "{ .reg .pred p, q; setp.ne.$t p, $x, 0; setp.ne.$t q, $y, 0; %s.pred p, p, q;"
            + " selp.s32 $r, 1, 0, p; }";
    return of(text.formatted(operation));
  }

  /**
   * The text for the lesser or the greater of two floating-point numbers; NaN if one is NaN. Only
   * zeros of different sign are equal and have different bits.
   *
   * @param comparison comparison that holds if the first number is the result: {@code lt} or {@code
   *     gt}
   * @param ofZeros {@code or} to give -0 for zeros of different sign, {@code and} to give 0
   */
  static String orNan(String comparison, String ofZeros) {
    String text =
        "{ .reg .pred p; .reg .b$w m, o; .reg .$t s; setp.%s.$t p, $x, $y; selp.b$w m, $x, $y, p;"
            + " setp.eq.$t p, $x, $y; %s.b$w o, $x, $y; selp.b$w m, o, m, p;"
            + " add.rn.$t s, $x, $y; setp.nan.$t p, $x, $y; selp.b$w $r, s, m, p; }";
    return text.formatted(comparison, ofZeros);
  }

  /** A function that calls {@code tilespark_NAME_TYPE} with one argument. */
  static PtxFunction call(String name) {
    return of(
        """
        { .param .b$w a; .param .b$w o; st.param.$t [a], $x; \
        call.uni (o), %s%s_$t, (a); ld.param.$t $r, [o]; }\
        """
            .formatted(PREFIX, name));
  }

  /** A function that calls {@code tilespark_NAME_TYPE} with two arguments. */
  static PtxFunction call2(String name) {
    return of(
        """
        { .param .b$w a; .param .b$w b; .param .b$w o; st.param.$t [a], $x; st.param.$t [b], $y; \
        call.uni (o), %s%s_$t, (a, b); ld.param.$t $r, [o]; }\
        """
            .formatted(PREFIX, name));
  }

  /** The text for operands of a type, which are in the registers {@code x} and {@code y}. */
  String text(ElementType operand, String x, String y, String result) {
    PtxType type = PtxType.of(operand);
    return (type.isFloat() ? floats : integers)
        .replace("$t", type.toString())
        .replace("$w", Integer.toString(type.bits()))
        .replace("$x", x)
        .replace("$y", y)
        .replace("$r", result);
  }
}
