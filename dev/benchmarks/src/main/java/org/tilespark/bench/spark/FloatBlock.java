package org.tilespark.bench.spark;

import java.util.SplittableRandom;
import org.tilespark.examples.BlockPlace;

/** One block of a matrix of FLOAT, as a bean. */
public final class FloatBlock extends BlockPlace {
  private static final long serialVersionUID = 1;

  private float[] values; // (rows, cols), row-major

  /** For Spark. */
  public FloatBlock() {}

  /** The block of number {@code index} in a column of blocks, of zeros. */
  private FloatBlock(long index, int rows, int cols) {
    super(Math.multiplyExact(index, (long) rows), 0, rows, cols);
    values = new float[Math.multiplyExact(rows, cols)];
  }

  /** The block of number {@code index} in a column of blocks, full of {@link #value}. */
  static FloatBlock numbered(long index, int rows, int cols) {
    FloatBlock block = new FloatBlock(index, rows, cols);
    for (int place = 0; place < block.values.length; place++) {
      block.values[place] = value(index, place);
    }
    return block;
  }

  /**
   * A block of random fractions in [0, 1): to a compressor they are like measured or computed
   * numbers.
   */
  static FloatBlock random(long index, int rows, int cols) {
    FloatBlock block = new FloatBlock(index, rows, cols);
    SplittableRandom random = new SplittableRandom(index);
    for (int place = 0; place < block.values.length; place++) {
      block.values[place] = (random.nextInt() >>> 8) * 0x1p-24f;
    }
    return block;
  }

  /** The element at {@code place} of block {@code index}; whole numbers that FLOAT holds. */
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
