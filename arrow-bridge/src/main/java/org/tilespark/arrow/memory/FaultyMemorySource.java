package org.tilespark.arrow.memory;

/**
 * Host memory that refuses some requests on purpose, as {@link AllocationFaults} decide, so that
 * tests cover the handling of short memory. Thread-safe.
 */
public final class FaultyMemorySource implements HostMemorySource {
  private final HostMemorySource source;
  private final AllocationFaults faults;

  private FaultyMemorySource(HostMemorySource source, AllocationFaults faults) {
    this.source = source;
    this.faults = faults;
  }

  /** Memory from {@code source}, which is borrowed; {@code faults} decide which requests fail. */
  public static HostMemorySource of(HostMemorySource source, AllocationFaults faults) {
    return faults.none() ? source : new FaultyMemorySource(source, faults);
  }

  @Override
  public Allocation allocate(long bytes) {
    if (faults.strikes()) {
      throw new OutOfHostMemoryException(
          ("A request for %s bytes of %s host memory was refused on purpose, as the"
                  + " configuration says")
              .formatted(bytes, isPinned() ? "pinned" : "plain"));
    }
    return source.allocate(bytes);
  }

  @Override
  public boolean isPinned() {
    return source.isPinned();
  }

  @Override
  public boolean pins(long address, long bytes) {
    return source.pins(address, bytes);
  }
}
