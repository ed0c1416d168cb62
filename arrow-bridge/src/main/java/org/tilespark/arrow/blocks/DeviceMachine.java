package org.tilespark.arrow.blocks;

import java.util.Optional;
import org.tilespark.arrow.memory.DevicePlace;
import org.tilespark.kernels.device.DeviceElementwise;
import org.tilespark.kernels.device.DeviceFourier;
import org.tilespark.kernels.device.DevicePasses;
import org.tilespark.kernels.device.DeviceReducer;
import org.tilespark.kernels.device.DeviceTransposer;

/**
 * What the arrays of a pipeline have in common; borrowed.
 *
 * @param transforms what transforms; empty if there is no cuFFT
 */
record DeviceMachine(
    DevicePlace place,
    DevicePasses passes,
    DeviceTransposer transposer,
    DeviceElementwise elementwise,
    DeviceReducer reducer,
    Optional<DeviceFourier> transforms) {
  /** What transforms. */
  DeviceFourier fourier() {
    return transforms.orElseThrow(() -> new IllegalStateException("There is no cuFFT"));
  }
}
