package org.tilespark.spark.multiply.scores;

import java.util.Arrays;

/** The neighbours of one query: keys, of which a larger one is nearer, and places. */
public final class Neighbours {
  /** No neighbours; never changed. */
  public static final Neighbours NONE = new Neighbours();

  private double[] keys = new double[0];
  private long[] places = new long[0];
  private int count;

  /** Count of neighbours. */
  public int count() {
    return count;
  }

  /** The key of a neighbour. */
  public double key(int index) {
    return keys[index];
  }

  /** The place of a neighbour. */
  public long place(int index) {
    return places[index];
  }

  /** Forgets all neighbours, and makes room for {@code newCount}, which the caller sets. */
  void resize(int newCount) {
    grow(newCount);
    count = newCount;
  }

  void set(int index, double key, long place) {
    keys[index] = key;
    places[index] = place;
  }

  void add(double key, long place) {
    grow(count + 1);
    set(count++, key, place);
  }

  private void grow(int size) {
    if (keys.length < size) {
      int length = Math.max(size, 2 * keys.length);
      keys = Arrays.copyOf(keys, length);
      places = Arrays.copyOf(places, length);
    }
  }
}
