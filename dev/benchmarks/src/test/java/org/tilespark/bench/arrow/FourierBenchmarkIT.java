package org.tilespark.bench.arrow;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.tilespark.kernels.device.RequiresGpu;
import org.tilespark.kernels.launch.Availability;

@RequiresGpu
class FourierBenchmarkIT extends FourierBenchmarkTest {
  @BeforeAll
  static void needsCufft() {
    Availability<DeviceMachine> opened = DeviceMachine.ofDevice(List.of());
    opened.thing().ifPresent(DeviceMachine::close);
    assumeTrue(opened.isPresent(), opened.whyNot());
  }

  @Override
  String backend() {
    return "gpu";
  }
}
