package org.tilespark.kernels.device;

import java.util.concurrent.atomic.AtomicReferenceArray;
import org.tilespark.kernels.multiply.MultiplyStep.TensorMap;

/**
 * One tensor map with the driver's encodings of it for the addresses used last: encoding takes
 * longer than filling in the rest of a launch's struct. Safe for several threads.
 */
final class EncodedMaps {
  /**
   * The largest number of encodings that are kept: more than the number of buffers that the streams
   * of a few tasks alternate between.
   */
  static final int KEPT = 16;

  /**
   * Factor that spreads addresses, which are multiples of 16 and mostly of 256, over the {@link
   * #KEPT} places.
   */
  private static final long FACTOR = 0x9e3779b97f4a7c15L;

  private final TensorMap map;
  private final Encoder encoder;
  private final AtomicReferenceArray<Encoded> kept = new AtomicReferenceArray<>(KEPT);

  /** Encodes tensor maps, as the driver does. */
  interface Encoder {
    /**
     * The {@value org.tilespark.kernels.device.driver.LibCudaTensor#MAP_BYTES} bytes of a map whose
     * first element is at an address.
     */
    long[] encode(TensorMap map, long address);
  }

  private record Encoded(long address, long[] words) {}

  EncodedMaps(TensorMap map, Encoder encoder) {
    this.map = map;
    this.encoder = encoder;
  }

  /** The tensor map without an address. */
  TensorMap map() {
    return map;
  }

  /** The encoding of the map for {@code address}, which the caller must not change. */
  long[] at(long address) {
    int place = (int) (address * FACTOR >>> -Integer.numberOfTrailingZeros(KEPT));
    Encoded known = kept.get(place);
    if (known == null || known.address() != address) {
      known = new Encoded(address, encoder.encode(map, address));
      kept.set(place, known);
    }
    return known.words();
  }
}
