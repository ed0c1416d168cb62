package org.tilespark.bench.arrow;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.tilespark.kernels.device.RequiresGpu;

@RequiresGpu
class FourierBenchmarkIT extends FourierBenchmarkTest {
  @BeforeAll
  static void needsCufft() {
    FourierMachine.Opened opened = FourierMachine.ofDevice(List.of());
    opened.machine().ifPresent(FourierMachine::close);
    assumeTrue(opened.machine().isPresent(), opened.reason());
  }

  @Override
  String backend() {
    return "gpu";
  }
}
