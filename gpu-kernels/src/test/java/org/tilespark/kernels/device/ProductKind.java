package org.tilespark.kernels.device;

import org.tilespark.kernels.plan.Precision;
import org.tilespark.layout.ElementType;

/** What matrices hold and how exactly they are multiplied. */
enum ProductKind {
  FLOAT(ElementType.FLOAT32, Precision.FULL),
  TF32(ElementType.FLOAT32, Precision.TF32),
  BFLOAT16(ElementType.FLOAT32, Precision.BFLOAT16),
  FLOAT16(ElementType.FLOAT32, Precision.FLOAT16),
  DOUBLE(ElementType.FLOAT64, Precision.FULL);

  final ElementType type;
  final Precision precision;

  ProductKind(ElementType type, Precision precision) {
    this.type = type;
    this.precision = precision;
  }
}
