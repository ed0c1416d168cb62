package org.tilespark.spark.source.zarr;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.BooleanNode;
import com.fasterxml.jackson.databind.node.DoubleNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.LongNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.io.Serializable;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.numpy.NpyDecoder;
import org.tilespark.spark.numpy.NpyEncoder;
import org.tilespark.spark.numpy.NpyType;

/**
 * The element that fills missing chunks. Immutable.
 *
 * @param real bits of the number as it is stored, in the lower bits of the long; for a complex
 *     number, those of its real part
 * @param imag bits of the imaginary part of a complex number, otherwise 0
 * @param isStated true if metadata state the value; otherwise no chunk may be missing
 */
record FillValue(long real, long imag, boolean isStated) implements Serializable {
  /** The element 0. */
  static final FillValue ZERO = new FillValue(0, 0, true);

  /** The fill value of arrays that state none, as version 2 allows. */
  static final FillValue NONE = new FillValue(0, 0, false);

  /**
   * Parses the value in metadata: a number, a boolean, {@code "NaN"}, {@code "Infinity"}, {@code
   * "-Infinity"}, the bits of a floating-point number as {@code "0x7fc00000"}; of complex numbers
   * two of these.
   *
   * @throws IllegalArgumentException if it is no element of the type
   */
  static FillValue of(JsonNode node, NpyType type) {
    if (!type.isComplex()) {
      return new FillValue(part(node, type), 0, true);
    }
    if (node.isArray() && node.size() == 2) {
      return new FillValue(part(node.get(0), type), part(node.get(1), type), true);
    }
    // Version 2 may state a real number for a complex type
    return new FillValue(part(node, type), 0, true);
  }

  /** The value as metadata state it. */
  JsonNode json(NpyType type) {
    if (!isStated) {
      return JsonNodeFactory.instance.nullNode();
    }
    if (!type.isComplex()) {
      return json(real, type);
    }
    return JsonNodeFactory.instance.arrayNode().add(json(real, type)).add(json(imag, type));
  }

  private static JsonNode json(long bits, NpyType type) {
    if (type == NpyType.BOOL) {
      return BooleanNode.valueOf(bits != 0);
    }
    if (type.isInteger()) {
      return LongNode.valueOf(bits);
    }
    double value =
        switch (type.partBytes()) {
          case 2 -> ofHalf(bits);
          case 4 -> Float.intBitsToFloat((int) bits);
          default -> Double.longBitsToDouble(bits);
        };
    return Double.isNaN(value) || Double.isInfinite(value)
        ? TextNode.valueOf(Double.toString(value))
        : DoubleNode.valueOf(value);
  }

  private static double ofHalf(long bits) {
    byte[] element = {(byte) bits, (byte) (bits >> 8)};
    float[] value = new float[1];
    NpyDecoder.decode(
        NpyType.FLOAT16,
        ElementType.FLOAT32,
        HostMemory.ofArray(element),
        0,
        HostMemory.ofArray(value));
    return value[0];
  }

  /** The bytes of the element, little-endian. */
  byte[] element(NpyType type) {
    ByteBuffer element = ByteBuffer.allocate(2 * Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    element.putLong(0, real);
    if (type.isComplex()) {
      element.putLong(type.partBytes(), imag);
    }
    return Arrays.copyOf(element.array(), type.elementBytes());
  }

  private static long part(JsonNode node, NpyType type) {
    if (type == NpyType.BOOL) {
      if (node.isBoolean()) {
        return node.booleanValue() ? 1 : 0;
      }
      BigInteger number = whole(node);
      if (number == null || number.signum() < 0 || number.bitLength() > 1) {
        throw wrong(node, type);
      }
      return number.longValue();
    }
    return type.isInteger() ? integer(node, type) : floating(node, type);
  }

  private static long integer(JsonNode node, NpyType type) {
    BigInteger number = whole(node);
    boolean signed =
        switch (type) {
          case UINT8, UINT16, UINT32 -> false;
          case INT8, INT16, INT32, INT64 -> true;
          case BOOL, FLOAT16, FLOAT32, FLOAT64, COMPLEX64, COMPLEX128 ->
              throw new IllegalStateException(type + " is no integer type");
        };
    int bits = 8 * type.partBytes();
    if (number == null
        || (!signed && number.signum() < 0)
        || number.bitLength() > (signed ? bits - 1 : bits)) {
      throw wrong(node, type);
    }
    return number.longValue();
  }

  /** A whole number, which may be written as 1.0; null for other values. */
  private static BigInteger whole(JsonNode node) {
    if (node.isIntegralNumber()) {
      return node.bigIntegerValue();
    }
    double value = node.isFloatingPointNumber() ? node.doubleValue() : Double.NaN;
    return value == Math.rint(value) && Math.abs(value) < 0x1p63
        ? new BigDecimal(value).toBigInteger()
        : null;
  }

  private static long floating(JsonNode node, NpyType type) {
    String text = node.isTextual() ? node.textValue() : "";
    if (text.matches("0[xX][0-9a-fA-F]+") && text.length() == 2 + 2 * type.partBytes()) {
      return Long.parseUnsignedLong(text.substring(2), 16);
    }
    double value;
    if (node.isNumber()) {
      value = node.doubleValue();
    } else {
      switch (text) {
        case "NaN" -> value = Double.NaN;
        case "Infinity" -> value = Double.POSITIVE_INFINITY;
        case "-Infinity" -> value = Double.NEGATIVE_INFINITY;
        default -> throw wrong(node, type);
      }
    }
    return switch (type.partBytes()) {
      case 2 -> half(value);
      case 4 -> Float.floatToRawIntBits((float) value) & 0xffffffffL;
      default -> Double.doubleToRawLongBits(value);
    };
  }

  private static long half(double value) {
    byte[] element = new byte[NpyType.FLOAT16.elementBytes()];
    new NpyEncoder(ElementType.FLOAT64, NpyType.FLOAT16, false)
        .encode(HostMemory.ofArray(new double[] {value}), HostMemory.ofArray(element), 0);
    return (element[1] & 0xffL) << 8 | element[0] & 0xffL;
  }

  private static IllegalArgumentException wrong(JsonNode node, NpyType type) {
    return new IllegalArgumentException(
        "'fill_value' is %s, which is no %s".formatted(Json.shown(node), type.numpyName()));
  }
}
