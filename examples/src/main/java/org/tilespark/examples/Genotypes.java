package org.tilespark.examples;

import java.io.Serializable;
import java.util.Random;

/**
 * Genotypes of a simulated population: for each individual the number of copies (0, 1 or 2) of each
 * variant, or {@link #UNKNOWN}. Founders come first. Each later individual is a child of two
 * founders and inherits one of the two copies of each parent.
 *
 * <p>Genotypes depend only on the seed and the individual's number, so any task can generate any
 * rows again.
 *
 * @param founders at least 2
 * @param variants number of variants
 * @param missing the fraction of genotypes that are unknown
 */
record Genotypes(int founders, int variants, double missing, long seed) implements Serializable {
  /** The value of an unknown genotype. */
  static final byte UNKNOWN = -1;

  /** The genotypes of an individual, some of them unknown. */
  byte[] of(int individual) {
    byte[] known = inherited(individual);
    Random holes = random("hole", individual);
    for (int variant = 0; variant < variants; variant++) {
      if (holes.nextDouble() < missing) {
        known[variant] = UNKNOWN;
      }
    }
    return known;
  }

  /** The two founders that are an individual's parents; empty for a founder. */
  int[] parents(int individual) {
    if (individual < founders) {
      return new int[0];
    }
    Random random = random("parents", individual);
    int first = random.nextInt(founders);
    return new int[] {first, (first + 1 + random.nextInt(founders - 1)) % founders};
  }

  private byte[] inherited(int individual) {
    byte[] copies = new byte[variants];
    int[] parents = parents(individual);
    if (parents.length == 0) {
      Random frequencies = random("frequencies", 0);
      Random own = random("founder", individual);
      for (int variant = 0; variant < variants; variant++) {
        double frequency = 0.05 + 0.9 * frequencies.nextDouble();
        int first = own.nextDouble() < frequency ? 1 : 0;
        copies[variant] = (byte) (own.nextDouble() < frequency ? first + 1 : first);
      }
      return copies;
    }
    Random halves = random("child", individual);
    for (int parent : parents) {
      byte[] of = inherited(parent);
      for (int variant = 0; variant < variants; variant++) {
        if (halves.nextDouble() < of[variant] / 2.0) {
          copies[variant]++;
        }
      }
    }
    return copies;
  }

  /** A random generator for one use and one individual. */
  private Random random(String use, int individual) {
    return new Random(
        seed ^ (use.hashCode() * 0x9E3779B97F4A7C15L + individual) * 0x5851F42D4C957F2DL);
  }
}
