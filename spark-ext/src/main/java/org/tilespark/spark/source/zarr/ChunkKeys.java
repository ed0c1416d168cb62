package org.tilespark.spark.source.zarr;

import java.io.Serializable;

/**
 * The names of an array's chunks. Immutable.
 *
 * @param prefix the text before the numbers of a chunk: {@code "c"} and the separator, or nothing
 * @param separator the text between the numbers of a chunk
 * @param scalar the name of the single chunk of an array without axes
 */
record ChunkKeys(String prefix, String separator, String scalar) implements Serializable {
  /** The default names of version 3: {@code "c/0/1"}. */
  static ChunkKeys ofDefault(String separator) {
    return new ChunkKeys("c" + separator, separator, "c");
  }

  /** The names of version 2: {@code "0.1"}. */
  static ChunkKeys ofVersion2(String separator) {
    return new ChunkKeys("", separator, "0");
  }

  /** The name of a chunk, after the array's path. */
  String of(long[] place) {
    if (place.length == 0) {
      return scalar;
    }
    StringBuilder key = new StringBuilder(prefix);
    for (int axis = 0; axis < place.length; axis++) {
      key.append(axis == 0 ? "" : separator).append(place[axis]);
    }
    return key.toString();
  }
}
