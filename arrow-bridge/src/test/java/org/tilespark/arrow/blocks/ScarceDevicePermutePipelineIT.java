package org.tilespark.arrow.blocks;

import org.tilespark.arrow.memory.AllocationFaults;
import org.tilespark.arrow.memory.MemoryGovernor;

/** The same, with so little device memory that every batch goes in pieces. */
class ScarceDevicePermutePipelineIT extends DevicePermutePipelineIT {
  @Override
  MemoryGovernor governor() {
    return new MemoryGovernor(64 << 10, new AllocationFaults(3, 2), "none");
  }
}
