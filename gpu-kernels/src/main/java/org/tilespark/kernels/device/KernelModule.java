package org.tilespark.kernels.device;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import jcuda.driver.CUfunction_attribute;
import jcuda.driver.CUmodule;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;
import org.tilespark.kernels.device.driver.FunctionHandle;
import org.tilespark.kernels.device.driver.LibCudaLaunch;
import org.tilespark.kernels.device.driver.LibCudaTensor;
import org.tilespark.kernels.device.driver.StreamHandle;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.MultiplyStep;
import sun.misc.Unsafe;

/**
 * The kernels of an index on one device. Each source file is one fatbin, loaded when one of its
 * kernels is first launched. Safe for several threads.
 */
public final class KernelModule {
  /** Bytes that a tensor map is encoded from: its extents, strides, box and steps. */
  private static final int MAP_SOURCE_BYTES =
      MultiplyStep.TensorMap.MOST_AXES * (2 * Long.BYTES + 2 * Integer.BYTES);

  private static final Unsafe UNSAFE = HostMemory.unsafe();

  private final CudaDevice device;
  private final KernelIndex index;
  private final Map<String, FunctionHandle> functions = new ConcurrentHashMap<>(); // by kernel name
  private final Map<String, CUmodule> modules = new HashMap<>(); // by source file; guarded by this

  KernelModule(CudaDevice device, KernelIndex index) {
    this.device = device;
    this.index = index;
  }

  /** The index of the kernels. */
  public KernelIndex index() {
    return index;
  }

  /**
   * Queues one launch.
   *
   * @param launch the launch
   * @param in device address of the input
   * @param out device address of the output
   * @param stream stream to queue it on
   */
  void launch(KernelLaunch launch, long in, long out, CudaStream stream) {
    launch(launch, new long[] {in, out}, stream);
  }

  /**
   * Queues one launch of a kernel that takes any number of pointers.
   *
   * @param pointers device addresses, the first fields of the kernel's struct
   */
  void launch(KernelLaunch launch, long[] pointers, CudaStream stream) {
    launch(function(launch.kernel()), launch, pointers, stream);
  }

  /** Queues one launch of a kernel that is not in the index. */
  void launch(FunctionHandle function, KernelLaunch launch, long[] pointers, CudaStream stream) {
    long[] words = launch.words();
    if ((long) Long.BYTES * (pointers.length + words.length) > KernelLaunch.MOST_STRUCT_BYTES) {
      throw new IllegalArgumentException("Argument struct too long: " + launch);
    }
    stream.launch(
        (handle, area) -> {
          long field = area.struct();
          for (long pointer : pointers) {
            UNSAFE.putLong(field, pointer);
            field += Long.BYTES;
          }
          for (long word : words) {
            UNSAFE.putLong(field, word);
            field += Long.BYTES;
          }
          int code = launch(function, launch.config(), area, handle);
          if (code != CUresult.CUDA_SUCCESS) {
            device.check(code, "cuLaunchKernel", launch.toString());
          }
        });
  }

  /** Queues a launch whose argument struct is in {@code area}; returns the driver's code. */
  static int launch(
      FunctionHandle function, LaunchConfig config, LaunchArea area, StreamHandle stream) {
    if (function.early()) {
      return LibCudaLaunch.launchEarly(
          area.config(), function.address(), config, stream.address(), area.argumentsAddress());
    }
    return JCudaDriver.cuLaunchKernel(
        function,
        config.blocks(),
        1,
        1,
        config.threads(),
        1,
        1,
        config.sharedBytes(),
        stream,
        area.arguments(),
        null);
  }

  /** The driver's encoding of a tensor map whose first element is at {@code address}. */
  long[] encode(MultiplyStep.TensorMap map, long address) {
    long memory =
        UNSAFE.allocateMemory(LibCudaTensor.MAP_BYTES + LibCudaTensor.ALIGNMENT + MAP_SOURCE_BYTES);
    try {
      long to = memory + (-memory & (LibCudaTensor.ALIGNMENT - 1));
      long extents = to + LibCudaTensor.MAP_BYTES;
      long strides = extents + (long) MultiplyStep.TensorMap.MOST_AXES * Long.BYTES;
      long box = strides + (long) MultiplyStep.TensorMap.MOST_AXES * Long.BYTES;
      long steps = box + (long) MultiplyStep.TensorMap.MOST_AXES * Integer.BYTES;
      int axes = map.extents().size();
      for (int axis = 0; axis < axes; axis++) {
        UNSAFE.putLong(extents + (long) axis * Long.BYTES, map.extents().get(axis));
        UNSAFE.putInt(box + (long) axis * Integer.BYTES, map.box().get(axis));
        UNSAFE.putInt(steps + (long) axis * Integer.BYTES, 1);
      }
      for (int axis = 0; axis < axes - 1; axis++) {
        UNSAFE.putLong(strides + (long) axis * Long.BYTES, map.strideBytes().get(axis));
      }
      int code =
          LibCudaTensor.cuTensorMapEncodeTiled(
              to,
              map.element().code(),
              axes,
              address,
              extents,
              strides,
              box,
              steps,
              LibCudaTensor.CU_TENSOR_MAP_INTERLEAVE_NONE,
              swizzle(map),
              map.fetch().code(),
              LibCudaTensor.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
      if (code != CUresult.CUDA_SUCCESS) {
        device.check(code, "cuTensorMapEncodeTiled", map + " at " + address);
      }
      long[] words = new long[LibCudaTensor.MAP_BYTES / Long.BYTES];
      UNSAFE.copyMemory(null, to, words, Unsafe.ARRAY_LONG_BASE_OFFSET, LibCudaTensor.MAP_BYTES);
      return words;
    } finally {
      UNSAFE.freeMemory(memory);
    }
  }

  private static int swizzle(MultiplyStep.TensorMap map) {
    if (!map.swizzled()) {
      return LibCudaTensor.CU_TENSOR_MAP_SWIZZLE_NONE;
    }
    return map.boxRowBytes() == 64
        ? LibCudaTensor.CU_TENSOR_MAP_SWIZZLE_64B
        : LibCudaTensor.CU_TENSOR_MAP_SWIZZLE_128B;
  }

  /** A kernel by its name, loaded if it is not loaded yet. */
  FunctionHandle function(String kernel) {
    FunctionHandle known = functions.get(kernel);
    return known != null ? known : find(kernel);
  }

  private synchronized FunctionHandle find(String kernel) {
    FunctionHandle known = functions.get(kernel);
    if (known != null) {
      return known;
    }
    KernelIndex.Kernel entry =
        index.find(kernel).orElseThrow(() -> new IllegalStateException("No kernel " + kernel));
    CUmodule module = modules.get(entry.source());
    if (module == null) {
      module = load(entry.source());
      modules.put(entry.source(), module);
    }
    FunctionHandle function = new FunctionHandle(entry.traits().early());
    device.check(
        JCudaDriver.cuModuleGetFunction(function, module, kernel), "cuModuleGetFunction", kernel);
    if (entry.traits().dynamicBytes() > 0) {
      // Together with static shared memory this may exceed 48 KiB, for which the kernel needs an
      // attribute.
      device.check(
          JCudaDriver.cuFuncSetAttribute(
              function,
              CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
              entry.traits().dynamicBytes()),
          "cuFuncSetAttribute",
          kernel + ", " + entry.traits().dynamicBytes() + " bytes of shared memory");
    }
    functions.put(kernel, function);
    return function;
  }

  private CUmodule load(String source) {
    CUmodule module = new CUmodule();
    device.check(
        JCudaDriver.cuModuleLoadData(module, index.fatbin(source)), "cuModuleLoadData", source);
    return module;
  }

  /** Unloads all kernels; the context must be current. */
  synchronized void unload() {
    functions.clear();
    for (Map.Entry<String, CUmodule> module : modules.entrySet()) {
      device.check(
          JCudaDriver.cuModuleUnload(module.getValue()), "cuModuleUnload", module.getKey());
    }
    modules.clear();
  }
}
