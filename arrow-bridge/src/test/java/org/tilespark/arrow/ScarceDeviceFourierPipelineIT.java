package org.tilespark.arrow;

/** The same, where one request in two is refused and no part comes down before it is asked for. */
class ScarceDeviceFourierPipelineIT extends DeviceFourierPipelineIT {
  @Override
  MemoryGovernor governor() {
    return new MemoryGovernor(2L << 30, new AllocationFaults(2, 3), "none");
  }

  @Override
  long aheadBytes() {
    return 0;
  }
}
