package org.tilespark.arrow.blocks;

import java.util.Optional;
import org.apache.arrow.memory.ArrowBuf;
import org.tilespark.kernels.memory.HostMemory;

/**
 * One plane of a block or of a part of an array: its values, or real or imaginary parts.
 *
 * @param values the elements, row-major
 * @param owner the Arrow buffer that holds {@code values}; empty if the memory is only valid for
 *     the time that the receiving method states. With an owner, a device can read a pinned buffer
 *     without a copy
 */
public record Plane(HostMemory values, Optional<ArrowBuf> owner) {
  /** A plane in memory that is only valid for a while. */
  public Plane(HostMemory values) {
    this(values, Optional.empty());
  }
}
