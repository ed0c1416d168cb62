package org.tilespark.arrow.blocks;

import java.util.Optional;
import org.tilespark.arrow.memory.DevicePlace;
import org.tilespark.kernels.device.DeviceElementwise;
import org.tilespark.kernels.device.DeviceFourier;
import org.tilespark.kernels.device.DevicePasses;
import org.tilespark.kernels.device.DeviceReducer;
import org.tilespark.kernels.device.DeviceTransposer;

/**
 * Resources that the arrays of a pipeline share; borrowed.
 *
 * @param transforms cuFFT's transforms; empty if there is no cuFFT
 */
record DeviceMachine(
    DevicePlace place,
    DevicePasses passes,
    DeviceTransposer transposer,
    DeviceElementwise elementwise,
    DeviceReducer reducer,
    Optional<DeviceFourier> transforms) {
  /** The transforms of the device. */
  DeviceFourier fourier() {
    return transforms.orElseThrow(() -> new IllegalStateException("There is no cuFFT"));
  }
}
