package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.device.driver.DriverRelease;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.launch.KernelIndex;

class DeviceProbeTest {
  private static final KernelIndex SOME =
      KernelIndex.parse("kernel t transpose_vector_w4_64x64x256 compute_75");

  @Test
  void aJarWithoutKernelsSaysSo() {
    Assumptions.assumeTrue(DeviceProbe.run().isPresent(), "this machine has no device");
    Availability<DeviceProbe> probe = DeviceProbe.look(() -> KernelIndex.EMPTY);
    assertFalse(probe.isPresent());
    assertEquals(
        "this jar has no device kernels; 'mvn -DskipTests package' builds it with them",
        probe.whyNot());
  }

  @Test
  void aMachineWithoutDriverSaysSo() {
    Assumptions.assumeFalse(
        Files.exists(Path.of("/proc/driver/nvidia/version")), "this machine has a driver");
    Availability<DeviceProbe> probe = DeviceProbe.look(() -> SOME);
    assertFalse(probe.isPresent());
    assertEquals("no NVIDIA driver on this machine (libcuda.so.1 not found)", probe.whyNot());
    // A second look does not stumble over a class that failed to initialise.
    assertEquals(probe, DeviceProbe.look(() -> SOME));
    // It matters more than that the jar has no kernels either, as examples/run builds it there.
    assertEquals(probe, DeviceProbe.look(() -> KernelIndex.EMPTY));
    // The index is long, and nobody needs it there.
    assertEquals(probe, DeviceProbe.look(DeviceProbeTest::badIndex));
  }

  @Test
  void theProbeNeverThrows() {
    Assumptions.assumeTrue(DeviceProbe.run().isPresent(), "this machine has no device");
    Availability<DeviceProbe> probe = DeviceProbe.look(DeviceProbeTest::badIndex);
    assertFalse(probe.isPresent());
    assertTrue(probe.whyNot().contains("bad index"), probe.whyNot());
  }

  @Test
  void theProbeLooksOnce() {
    assertSame(DeviceProbe.run(), DeviceProbe.run());
  }

  private static KernelIndex badIndex() {
    throw new IllegalArgumentException("bad index");
  }

  @Test
  void openingWithoutADeviceGivesTheReason() {
    Availability<DeviceProbe> probe = DeviceProbe.run();
    Assumptions.assumeFalse(probe.isPresent(), "this machine has a device");
    assertEquals(0, DeviceProbe.deviceCount());
    Exception e = assertThrows(CudaUnavailableException.class, () -> CudaDevice.open(0));
    assertEquals("No CUDA device: " + probe.whyNot(), e.getMessage());
  }

  @Test
  void theDriversReleaseIsFoundInItsText() {
    assertEquals(
        "580.95.05",
        DriverRelease.find(
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build"));
    assertEquals("", DriverRelease.find("nothing of the kind"));
  }

  @Test
  void failuresNameCallCodeLaunchAndDevice() {
    CudaFailure launch =
        CudaFailure.of("cuLaunchKernel", 701, "k<<<1, 2>>>[]", "device 0 (NVIDIA H200)");
    assertEquals(
        "cuLaunchKernel failed with CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701) for k<<<1, 2>>>[] on"
            + " device 0 (NVIDIA H200)",
        launch.getMessage());
    assertFalse(launch.isSticky());
    CudaFailure earlier = CudaFailure.of("cuMemcpyDtoHAsync", 700, "", "device 1 (NVIDIA A100)");
    assertTrue(earlier.isSticky());
    assertEquals(
        "cuMemcpyDtoHAsync failed with CUDA_ERROR_ILLEGAL_ADDRESS (700) on device 1 (NVIDIA A100);"
            + " the fault may be from earlier asynchronous work, and every later call in this"
            + " process will fail on this device",
        earlier.getMessage());
  }
}
