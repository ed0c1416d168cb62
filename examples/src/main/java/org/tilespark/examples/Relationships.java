package org.tilespark.examples;

/**
 * Computes VanRaden's relationships with plain loops, as the expected values of the check.
 *
 * @param rows genotypes of each individual, below 0 where unknown
 * @param means mean of each variant's known genotypes; 0 if none is known
 * @param variance 2 sum p (1 - p)
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record Relationships(byte[][] rows, double[] means, double variance) {
  static Relationships of(byte[][] rows) {
    int variants = rows[0].length;
    double[] means = new double[variants];
    double variance = 0;
    for (int variant = 0; variant < variants; variant++) {
      long sum = 0;
      int known = 0;
      for (byte[] row : rows) {
        if (row[variant] >= 0) {
          sum += row[variant];
          known++;
        }
      }
      means[variant] = known == 0 ? 0 : (double) sum / known;
      double p = means[variant] / 2;
      variance += 2 * p * (1 - p);
    }
    return new Relationships(rows, means, variance);
  }

  /** The relationship of two individuals. */
  double between(int i, int j) {
    double sum = 0;
    for (int variant = 0; variant < means.length; variant++) {
      if (rows[i][variant] >= 0 && rows[j][variant] >= 0) {
        sum += (rows[i][variant] - means[variant]) * (rows[j][variant] - means[variant]);
      }
    }
    return sum / variance;
  }
}
