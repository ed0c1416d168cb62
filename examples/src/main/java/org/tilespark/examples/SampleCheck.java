package org.tilespark.examples;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Random;

/**
 * Compares random elements of a file with those of its permutation, bit for bit.
 *
 * <p>Uses the JDK and nothing of tilespark, so that the check does not share a defect.
 *
 * @param elements how many elements were compared
 * @param seed seed of the random elements
 * @param defect the first difference, or null
 */
record SampleCheck(int elements, long seed, String defect) {
  private static final int SAMPLE = 4096;

  /**
   * Compares random elements.
   *
   * @param axes for each output axis the letter of its input axis: {@code "yx"}, {@code "yzx"}
   */
  static SampleCheck run(Path input, Path output, String axes, long seed) throws IOException {
    int[] permutation =
        axes.toLowerCase(java.util.Locale.ROOT).trim().chars().map(c -> c - 'x').toArray();
    try (NpyElements in = NpyElements.open(input);
        NpyElements out = NpyElements.open(output)) {
      long[] expected = new long[permutation.length];
      long[] shape = in.shape();
      for (int axis = 0; axis < expected.length; axis++) {
        expected[axis] = shape[permutation[axis]];
      }
      if (!Arrays.equals(expected, out.shape()) || !in.type().equals(out.type())) {
        return new SampleCheck(
            0,
            seed,
            "the output is "
                + out.type()
                + Arrays.toString(out.shape())
                + ", expected "
                + in.type()
                + Arrays.toString(expected));
      }
      return compare(in, out, permutation, seed);
    }
  }

  private static SampleCheck compare(NpyElements in, NpyElements out, int[] permutation, long seed)
      throws IOException {
    if (Arrays.stream(out.shape()).anyMatch(extent -> extent == 0)) {
      return new SampleCheck(0, seed, null);
    }
    Random random = new Random(seed);
    long[] shape = out.shape();
    int rank = permutation.length;
    int corners = 1 << rank;
    long[] inIndex = new long[rank];
    long[] outIndex = new long[rank];
    for (int i = 0; i < SAMPLE; i++) {
      for (int axis = 0; axis < rank; axis++) {
        long last = shape[axis] - 1;
        outIndex[axis] =
            i < corners ? (i >> axis & 1) * last : random.nextLong(Math.addExact(last, 1));
        inIndex[permutation[axis]] = outIndex[axis];
      }
      byte[] expected = in.element(inIndex);
      byte[] found = out.element(outIndex);
      if (!Arrays.equals(expected, found)) {
        return new SampleCheck(
            i + 1,
            seed,
            "output"
                + Arrays.toString(outIndex)
                + " holds the bytes "
                + HexFormat.of().formatHex(found)
                + ", expected those of input"
                + Arrays.toString(inIndex)
                + ": "
                + HexFormat.of().formatHex(expected));
      }
    }
    return new SampleCheck(SAMPLE, seed, null);
  }

  boolean isRight() {
    return defect == null;
  }

  @Override
  public String toString() {
    return isRight()
        ? "right: " + elements + " elements of the files are equal bit for bit (seed " + seed + ")"
        : "WRONG: " + defect + " (seed " + seed + ")";
  }
}
