package org.tilespark.examples;

import java.io.Serializable;
import java.util.Random;

/**
 * Genotypes of a made population: for each individual how many copies (0, 1 or 2) of each variant
 * it has, or that nobody knows. Founders come first. Each later individual is a child of two
 * founders, from each of whom it has one of two copies.
 *
 * <p>A function of the individual's number alone, so that any task can make any rows, again.
 *
 * @param founders at least 2
 * @param variants how many are counted
 * @param missing the part of genotypes that are not known
 */
record Genotypes(int founders, int variants, double missing, long seed) implements Serializable {
  /** Value of an unknown genotype. */
  static final byte UNKNOWN = -1;

  /** The genotypes of an individual, as they were read. */
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

  /** The two founders that are an individual's parents; none of a founder. */
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

  /** Numbers that differ by what they are for. */
  private Random random(String use, int individual) {
    return new Random(
        seed ^ (use.hashCode() * 0x9E3779B97F4A7C15L + individual) * 0x5851F42D4C957F2DL);
  }
}
