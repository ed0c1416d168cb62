package org.tilespark.kernels.multiply;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;
import org.tilespark.layout.ElementType;

/** Element types of matrices, and precisions of products. */
public enum ProductKind {
  /** FLOAT, as exactly as FLOAT is. */
  FLOAT(ElementType.FLOAT32, Precision.FULL),
  /** FLOAT, rounded to tf32. */
  TF32(ElementType.FLOAT32, Precision.TF32),
  /** FLOAT, rounded to bfloat16. */
  BFLOAT16(ElementType.FLOAT32, Precision.BFLOAT16),
  /** FLOAT, rounded to float16. */
  FLOAT16(ElementType.FLOAT32, Precision.FLOAT16),
  /** DOUBLE. */
  DOUBLE(ElementType.FLOAT64, Precision.FULL);

  private final ElementType type;
  private final Precision precision;

  ProductKind(ElementType type, Precision precision) {
    this.type = type;
    this.precision = precision;
  }

  /** The element type of the matrices. */
  public ElementType type() {
    return type;
  }

  /** How exactly they are multiplied. */
  public Precision precision() {
    return precision;
  }

  /** The name on a command line, for instance {@code float16}. */
  public String word() {
    return name().toLowerCase(Locale.ROOT);
  }

  /**
   * The kind written as {@code word}.
   *
   * @throws IllegalArgumentException if there is none; the message lists all
   */
  public static ProductKind of(String word) {
    return Arrays.stream(values())
        .filter(kind -> kind.word().equals(word))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "Kind of products '"
                        + word
                        + "'; expected one of "
                        + Arrays.stream(values())
                            .map(ProductKind::word)
                            .collect(Collectors.joining(", "))));
  }
}
