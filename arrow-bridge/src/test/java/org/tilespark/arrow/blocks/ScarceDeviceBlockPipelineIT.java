package org.tilespark.arrow.blocks;

import org.tilespark.arrow.memory.AllocationFaults;
import org.tilespark.arrow.memory.MemoryGovernor;

/** The same, where one request in two is refused and no part comes down before it is asked for. */
class ScarceDeviceBlockPipelineIT extends DeviceBlockPipelineIT {
  @Override
  MemoryGovernor governor() {
    return new MemoryGovernor(2L << 30, new AllocationFaults(2, 3), "none");
  }

  @Override
  long aheadBytes() {
    return 0;
  }
}
