package org.tilespark.kernels.device;

import org.tilespark.kernels.device.DeviceElementwise.At;
import org.tilespark.kernels.select.ColumnSelection;
import org.tilespark.kernels.select.SelectionPlan;
import org.tilespark.layout.ElementType;

/**
 * Selections of columns on a device. All columns that {@link
 * org.tilespark.kernels.host.HostSelection} must find are found here too, perhaps with further
 * ones. All work is queued on the caller's stream and uses the caller's memory. Safe for several
 * threads.
 */
public final class DeviceSelector {
  private final CudaDevice device;

  /** Runs selections on a device, which is borrowed. */
  public DeviceSelector(CudaDevice device) {
    this.device = device;
  }

  /** True if this jar can select columns of tiles of a type on this device. */
  public boolean supports(ElementType type) {
    return SelectionPlan.kernel(type, device.ownKernels()).isPresent();
  }

  /**
   * Queues a selection; returns before the selection is done.
   *
   * @param tile the tile (rows, columns), row-major; borrowed until the selection is done, as are
   *     {@code bounds} and {@code found}
   * @param bounds bounds as {@link SelectionPlan#putBounds} writes them; at a multiple of 8
   * @param found {@link SelectionPlan#foundBytes} bytes for the result, which overlap neither of
   *     the others; at a multiple of 8
   * @throws IndexOutOfBoundsException if the tile, the bounds or the result does not fit its buffer
   * @throws UnsupportedOperationException if this jar has no kernel for the selection on the device
   */
  public void select(
      ColumnSelection selection,
      SelectionPlan plan,
      At tile,
      At bounds,
      At found,
      CudaStream stream) {
    long elements = (long) plan.rows() * plan.cols();
    long[] pointers = {
      tile.buffer().address(device, tile.offset(), elements * selection.type().bytes()),
      bounds.buffer().address(device, bounds.offset(), plan.boundsBytes()),
      found.buffer().address(device, found.offset(), plan.foundBytes())
    };
    device.enter();
    stream.fill(found.buffer(), found.offset(), Long.BYTES, (byte) 0);
    device.kernels().launch(plan.launch(selection, device.ownKernels()), pointers, stream);
  }

  @Override
  public String toString() {
    return "selections on " + device.description();
  }
}
