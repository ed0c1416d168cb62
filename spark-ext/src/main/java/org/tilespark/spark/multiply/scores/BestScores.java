package org.tilespark.spark.multiply.scores;

import java.util.Arrays;

/**
 * The best candidates of each of several queries, by key: a larger key is nearer, NaN is ranked
 * last, and of equal keys the lower place is first.
 */
public final class BestScores {
  private final int most;
  // (queries, most); for each query a heap with its worst candidate first
  private final double[] keys;
  private final long[] places; // (queries, most), in the order of keys
  private final int[] counts; // number of candidates of each query

  /**
   * No candidates for {@code queries} queries of at most {@code most} candidates each, 1 or more.
   */
  public BestScores(int queries, int most) {
    this.most = most;
    this.keys = new double[Math.multiplyExact(queries, most)];
    this.places = new long[keys.length];
    this.counts = new int[queries];
  }

  /** The most candidates of a query. */
  public int most() {
    return most;
  }

  /** Forgets all candidates. */
  public void clear() {
    Arrays.fill(counts, 0);
  }

  /**
   * The key that the next candidate of a query must not be below; negative infinity as long as any
   * number would be among the best.
   */
  public double least(int query) {
    double worst = counts[query] < most ? Double.NaN : keys[query * most];
    return Double.isNaN(worst) ? Double.NEGATIVE_INFINITY : worst;
  }

  /** Keeps a candidate if it is among the best of its query. */
  public void offer(int query, double key, long place) {
    int heap = query * most;
    int count = counts[query];
    if (count < most) {
      counts[query]++;
      rise(heap, count, key, place);
    } else if (isBetter(key, place, keys[heap], places[heap])) {
      sink(heap, count, key, place);
    }
  }

  /** Moves the candidates of a query to {@code into}, the best one first. */
  public void take(int query, Neighbours into) {
    int heap = query * most;
    into.resize(counts[query]);
    for (int last = counts[query] - 1; last >= 0; last--) {
      into.set(last, keys[heap], places[heap]);
      sink(heap, last, keys[heap + last], places[heap + last]);
    }
    counts[query] = 0;
  }

  /** Appends a candidate to the {@code count} candidates of a heap. */
  private void rise(int heap, int count, double key, long place) {
    int at = count;
    while (at > 0) {
      int parent = (at - 1) / 2;
      if (!isBetter(keys[heap + parent], places[heap + parent], key, place)) {
        break;
      }
      move(heap, parent, at);
      at = parent;
    }
    put(heap, at, key, place);
  }

  /** Replaces the first of the {@code count} candidates of a heap. */
  private void sink(int heap, int count, double key, long place) {
    int at = 0;
    while (true) {
      int child = 2 * at + 1;
      if (child >= count) {
        break;
      }
      if (child + 1 < count
          && isBetter(
              keys[heap + child],
              places[heap + child],
              keys[heap + child + 1],
              places[heap + child + 1])) {
        child++;
      }
      if (!isBetter(key, place, keys[heap + child], places[heap + child])) {
        break;
      }
      move(heap, child, at);
      at = child;
    }
    put(heap, at, key, place);
  }

  private void move(int heap, int from, int to) {
    put(heap, to, keys[heap + from], places[heap + from]);
  }

  private void put(int heap, int at, double key, long place) {
    keys[heap + at] = key;
    places[heap + at] = place;
  }

  private static boolean isBetter(double key, long place, double otherKey, long otherPlace) {
    if (key == otherKey || (Double.isNaN(key) && Double.isNaN(otherKey))) {
      return place < otherPlace;
    }
    return key > otherKey || Double.isNaN(otherKey);
  }
}
