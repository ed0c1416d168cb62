package org.tilespark.arrow.blocks;

import org.tilespark.arrow.memory.DevicePlace;
import org.tilespark.kernels.device.DeviceFourier;
import org.tilespark.kernels.device.DeviceTransposer;

/** What the arrays of a pipeline have in common; borrowed. */
record DeviceMachine(DevicePlace place, DeviceFourier fourier, DeviceTransposer transposer) {}
