package org.tilespark.kernels.device;

import java.io.IOException;
import java.util.Locale;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdevice_attribute;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;
import org.tilespark.kernels.device.driver.DriverRelease;
import org.tilespark.kernels.device.driver.NativeLibraries;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.launch.KernelIndex;

/**
 * The CUDA device that this process can use, or the reason why there is none. A plain value: no
 * context is created and no device is held.
 *
 * @param count number of devices that the driver shows
 * @param description the first device and the driver's version, such as {@code NVIDIA H200, sm_90,
 *     driver 580 (CUDA 13.0)}
 */
public record DeviceProbe(int count, String description) {
  /** The CUDA version of driver R580, the oldest that loads what nvcc 13 makes. */
  private static final int OLDEST_DRIVER = 13000;

  /**
   * Looks for a device, once per process; later calls return the same answer. Never throws, and is
   * cheap where there is no driver.
   *
   * @return the device that {@link CudaDevice#open} can open, or why there is none, and what helps
   */
  public static Availability<DeviceProbe> run() {
    return Once.RESULT;
  }

  /** The number of devices that the driver shows; 0 if none can be used. */
  public static int deviceCount() {
    return run().thing().map(DeviceProbe::count).orElse(0);
  }

  /**
   * All memory of a device, in bytes; opens no device.
   *
   * @param ordinal number of a device that the driver shows
   * @throws CudaFailure if there is none of that number
   */
  public static long totalBytes(int ordinal) {
    CUdevice device = new CUdevice();
    CudaDevice.requireSuccess(JCudaDriver.cuDeviceGet(device, ordinal), "cuDeviceGet", ordinal);
    long[] bytes = new long[1];
    CudaDevice.requireSuccess(
        JCudaDriver.cuDeviceTotalMem(bytes, device), "cuDeviceTotalMem", ordinal);
    return bytes[0];
  }

  private static final class Once {
    static final Availability<DeviceProbe> RESULT = look(KernelIndex::ofThisJar);
  }

  /** Source of the index of kernels; a test gives another index. */
  interface IndexSource {
    KernelIndex read();
  }

  static Availability<DeviceProbe> look(IndexSource index) {
    try {
      return lookUnguarded(index);
    } catch (IOException e) {
      return Availability.not(
          ("cannot unpack JCuda's native library into '%s' (%s); set -Djava.io.tmpdir to"
                  + " a directory that can be written")
              .formatted(System.getProperty("java.io.tmpdir"), e));
    } catch (LinkageError e) {
      return Availability.not(whyNotLoaded(e));
    } catch (RuntimeException e) {
      return Availability.not("looking for a CUDA device failed: " + e);
    }
  }

  private static Availability<DeviceProbe> lookUnguarded(IndexSource source) throws IOException {
    String os = System.getProperty("os.name", "").toLowerCase(Locale.ROOT);
    String arch = System.getProperty("os.arch", "").toLowerCase(Locale.ROOT);
    if (!os.contains("linux") || !(arch.equals("amd64") || arch.equals("x86_64"))) {
      return Availability.not("CUDA is supported on linux x86_64 only, this is " + os + " " + arch);
    }
    NativeLibraries.load();
    int code = JCudaDriver.cuInit(0);
    if (code == CUresult.CUDA_ERROR_NO_DEVICE) {
      return Availability.not(
          "the NVIDIA driver is installed but shows no device (check nvidia-smi and"
              + " CUDA_VISIBLE_DEVICES)");
    }
    if (code != CUresult.CUDA_SUCCESS) {
      return Availability.not("cuInit failed with " + CUresult.stringFor(code));
    }
    int[] version = new int[1];
    code = JCudaDriver.cuDriverGetVersion(version);
    if (code != CUresult.CUDA_SUCCESS) {
      return Availability.not("cuDriverGetVersion failed with " + CUresult.stringFor(code));
    }
    if (version[0] < OLDEST_DRIVER) {
      return Availability.not(
          "the NVIDIA driver is too old: it speaks CUDA "
              + cudaVersion(version[0])
              + ", device kernels need driver R580 or newer (CUDA 13.0)");
    }
    int[] count = new int[1];
    code = JCudaDriver.cuDeviceGetCount(count);
    if (code != CUresult.CUDA_SUCCESS || count[0] == 0) {
      return Availability.not(
          code == CUresult.CUDA_SUCCESS
              ? "the NVIDIA driver shows no device (check CUDA_VISIBLE_DEVICES)"
              : "cuDeviceGetCount failed with " + CUresult.stringFor(code));
    }
    KernelIndex index = source.read(); // a long text that only a device needs
    if (index.isEmpty()) {
      return Availability.not(
          "this jar has no device kernels; 'mvn -DskipTests package' builds it with them");
    }
    CUdevice device = new CUdevice();
    code = JCudaDriver.cuDeviceGet(device, 0);
    if (code != CUresult.CUDA_SUCCESS) {
      return Availability.not("cuDeviceGet failed with " + CUresult.stringFor(code));
    }
    int major = attribute(device, CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    int minor = attribute(device, CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    String description = describe(name(device), major, minor, version[0]);
    if (index.kernels().stream().noneMatch(kernel -> kernel.runsOn(major, minor))) {
      return Availability.not("no kernel of this jar (" + index + ") runs on " + description);
    }
    return Availability.of(new DeviceProbe(count[0], description));
  }

  private static String whyNotLoaded(LinkageError e) {
    String message = String.valueOf(e.getMessage());
    if (message.contains("libcuda.so.1") && message.contains("No such file")) {
      return "no NVIDIA driver on this machine (libcuda.so.1 not found)";
    }
    return "a native library failed to load: " + message.lines().findFirst().orElse(e.toString());
  }

  static String describe(String name, int major, int minor, int driverVersion) {
    String release = DriverRelease.read();
    return "%s, sm_%s%s, driver %s(CUDA %s)"
        .formatted(
            name, major, minor, release.isEmpty() ? "" : release + " ", cudaVersion(driverVersion));
  }

  static String name(CUdevice device) {
    byte[] text = new byte[256];
    int code = JCudaDriver.cuDeviceGetName(text, text.length, device);
    if (code != CUresult.CUDA_SUCCESS) {
      return "unnamed device";
    }
    int length = 0;
    while (length < text.length && text[length] != 0) {
      length++;
    }
    return new String(text, 0, length, java.nio.charset.StandardCharsets.UTF_8);
  }

  static int attribute(CUdevice device, int which) {
    int[] value = new int[1];
    int code = JCudaDriver.cuDeviceGetAttribute(value, which, device);
    if (code != CUresult.CUDA_SUCCESS) {
      throw CudaFailure.of("cuDeviceGetAttribute(" + which + ")", code, "", name(device));
    }
    return value[0];
  }

  private static String cudaVersion(int version) {
    return version / 1000 + "." + version % 1000 / 10;
  }
}
