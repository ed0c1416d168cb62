package org.tilespark.bench.spark;

import java.util.SplittableRandom;
import org.tilespark.examples.BlockPlace;

/** A Java bean for one block of a matrix of FLOAT. */
public final class FloatBlock extends BlockPlace {
  private static final long serialVersionUID = 1;

  private float[] values; // (rows, cols), row-major

  /** For Spark's bean encoder. */
  public FloatBlock() {}

  /** Creates block {@code index} of a column of blocks, filled with zeros. */
  private FloatBlock(long index, int rows, int cols) {
    super(Math.multiplyExact(index, (long) rows), 0, rows, cols);
    values = new float[Math.multiplyExact(rows, cols)];
  }

  /** Returns block {@code index} of a column of blocks, filled with {@link #value}. */
  static FloatBlock numbered(long index, int rows, int cols) {
    FloatBlock block = new FloatBlock(index, rows, cols);
    for (int place = 0; place < block.values.length; place++) {
      block.values[place] = value(index, place);
    }
    return block;
  }

  /** Returns a block of random fractions in [0, 1), which compress as badly as measured data. */
  static FloatBlock random(long index, int rows, int cols) {
    FloatBlock block = new FloatBlock(index, rows, cols);
    SplittableRandom random = new SplittableRandom(index);
    for (int place = 0; place < block.values.length; place++) {
      block.values[place] = (random.nextInt() >>> 8) * 0x1p-24f;
    }
    return block;
  }

  /**
   * The element at {@code place} of block {@code index}: a whole number that FLOAT represents
   * exactly.
   */
  static float value(long index, int place) {
    return (float) ((index * 1_000_003 + place) & 0xFFFFFF);
  }

  public float[] getValues() {
    return values;
  }

  public void setValues(float[] values) {
    this.values = values;
  }
}
