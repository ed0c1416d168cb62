package org.tilespark.kernels.device;

import java.util.concurrent.atomic.AtomicBoolean;

/**
 * An object of a {@link CudaDevice}, closed by the code that requested it. The device reports
 * objects that are still open when it is closed itself.
 */
abstract sealed class Owned implements AutoCloseable
    permits CudaStream, CudaEvent, DeviceBuffer, PinnedBuffer, PinnedPool {
  static final boolean TRACE = Boolean.getBoolean(CudaDevice.TRACE_PROPERTY);

  final CudaDevice device;
  private final Throwable madeAt;
  private final AtomicBoolean closed = new AtomicBoolean();

  Owned(CudaDevice device) {
    this.device = device;
    this.madeAt = TRACE ? new Throwable("made here") : null;
  }

  /**
   * Releases the object; may be called twice, and from any thread once no other thread uses the
   * object.
   */
  @Override
  public final void close() {
    if (closed.compareAndSet(false, true)) {
      device.forget(this);
      release();
    }
  }

  /** Releases what the object holds on the device; called once, by {@link #close}. */
  abstract void release();

  /**
   * The rank of this class when a device closes objects that are still open: the lowest comes
   * first.
   */
  abstract int closingOrder();

  /** The stack at the object's creation, or null if that is not traced. */
  final Throwable madeAt() {
    return madeAt;
  }

  /** Throws {@link IllegalStateException} if the object is closed. */
  final void requireOpen() {
    if (closed.get()) {
      throw new IllegalStateException("Used after close: " + this);
    }
  }

  /** Throws if the object belongs to another device. */
  final void requireDevice(CudaDevice other) {
    requireOpen();
    if (device != other) {
      throw new IllegalArgumentException(this + " is not of " + other.where());
    }
  }
}
