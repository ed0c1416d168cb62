package org.tilespark.kernels.device;

import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import jcuda.driver.CUmodule;
import jcuda.driver.JCudaDriver;
import org.tilespark.kernels.device.driver.FunctionHandle;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.pointwise.PtxKernel;
import org.tilespark.kernels.pointwise.PtxLibrary;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/**
 * Elementwise programs on a device. Arrays are dense and row-major; complex numbers have their
 * parts side by side. The driver compiles each program at its first use, once for all values of its
 * constants, and keeps the machine code on disk. This class keeps the last programs loaded.
 *
 * <p>All work is queued on the caller's stream and uses the caller's memory. Safe for several
 * threads.
 */
public final class DeviceElementwise implements AutoCloseable {
  /** The largest number of programs that stay loaded: each takes some ten KiB on the device. */
  private static final int MOST_LOADED = 512;

  private final CudaDevice device;
  private final Availability<PtxLibrary> library;
  private final Map<PtxKernel, Loaded> kernels =
      new LinkedHashMap<>(16, 0.75f, true); // guarded by this

  private record Loaded(CUmodule module, FunctionHandle function) {}

  /**
   * The place in device memory where an array or a vector begins.
   *
   * @param buffer the buffer, which is borrowed
   * @param offset bytes from the buffer's start; a multiple of the width of an element, and of 16
   *     for full speed
   */
  public record At(DeviceBuffer buffer, long offset) {}

  /** Runs programs on a device, which must stay open longer than this object. */
  public DeviceElementwise(CudaDevice device) {
    this.device = device;
    this.library = device.kernels().index().functions(PtxLibrary.SOURCE).map(PtxLibrary::parse);
  }

  /** The program, or why this device cannot run it: the build lacks a function that it calls. */
  public Availability<ElementwiseProgram> check(ElementwiseProgram program) {
    return library.isPresent() || !new PtxKernel(program, 1).needsLibrary()
        ? Availability.of(program)
        : Availability.not(library.whyNot());
  }

  /**
   * Queues a program on one block; returns before the work is done.
   *
   * @param program program that {@link #check} finds possible
   * @param shape shape of the outputs, and of inputs but for the axes along which these are
   *     broadcast
   * @param origin index of the block's first element in the whole array, from which {@code Place}
   *     counts
   * @param vectors one for each vector of the program: doubles, as many as the block has elements
   *     along the vector's axis; borrowed until the work is done, as are the inputs and outputs
   * @param inputs one for each input of the program
   * @param outputs one for each output of the program; an output may be in the place of an input
   *     that has the same width and is not broadcast; otherwise it must not overlap any other array
   * @throws IllegalArgumentException if an array is missing or superfluous, or an offset is no
   *     multiple of the width of an element
   * @throws IndexOutOfBoundsException if an array does not fit its buffer
   */
  public void run(
      ElementwiseProgram program,
      Shape shape,
      long[] origin,
      List<At> vectors,
      List<At> inputs,
      List<At> outputs,
      CudaStream stream) {
    requireCount("axes", program.rank(), shape.rank());
    requireCount("places of the first element", program.rank(), origin.length);
    requireCount("vectors", program.vectors().size(), vectors.size());
    requireCount("inputs", program.inputs().size(), inputs.size());
    requireCount("outputs", program.outputs().size(), outputs.size());
    long[] arrays = addresses(program, shape, inputs, outputs);
    LongStream ofVectors =
        Stream.iterate(0, v -> v < vectors.size(), v -> v + 1)
            .mapToLong(
                v -> address(vectors.get(v), shape.extent(program.vectors().get(v)), Double.BYTES));
    long[] pointers = LongStream.concat(LongStream.of(arrays), ofVectors).toArray();
    if (shape.elements() == 0) {
      return;
    }
    device.enter();
    PtxKernel kernel = PtxKernel.of(program, shape, arrays);
    synchronized (this) { // no other thread unloads it before the launch
      FunctionHandle function = load(kernel).function();
      device
          .kernels()
          .launch(
              function, kernel.launch(program, shape, origin, device.limits()), pointers, stream);
    }
  }

  private static void requireCount(String what, int expected, int found) {
    if (expected != found) {
      throw new IllegalArgumentException(
          "An elementwise program with %s %s; expected %s".formatted(found, what, expected));
    }
  }

  private long[] addresses(
      ElementwiseProgram program, Shape shape, List<At> inputs, List<At> outputs) {
    List<ElementType> types = program.types();
    long[] addresses = new long[inputs.size() + outputs.size()];
    for (int i = 0; i < inputs.size(); i++) {
      ElementwiseProgram.Input input = program.inputs().get(i);
      addresses[i] =
          address(
              inputs.get(i),
              input.shape(shape).elements(),
              input.type().bytes() * (input.isComplex() ? 2 : 1));
    }
    for (int o = 0; o < outputs.size(); o++) {
      ElementwiseProgram.Output output = program.outputs().get(o);
      addresses[inputs.size() + o] =
          address(
              outputs.get(o),
              shape.elements(),
              types.get(output.real()).bytes() * (output.isComplex() ? 2 : 1));
    }
    return addresses;
  }

  private long address(At at, long elements, int width) {
    if (at.offset() % width != 0) {
      throw new IllegalArgumentException(
          "Elements of %s bytes at offset %s; expected a multiple of the width"
              .formatted(width, at.offset()));
    }
    return at.buffer().address(device, at.offset(), Math.multiplyExact(elements, (long) width));
  }

  private Loaded load(PtxKernel kernel) {
    Loaded known = kernels.get(kernel);
    if (known != null) {
      return known;
    }
    String ptx = kernel.ptx(kernel.needsLibrary() ? library.get() : PtxLibrary.NONE);
    CUmodule module = new CUmodule();
    device.check(
        JCudaDriver.cuModuleLoadData(module, (ptx + '\0').getBytes(StandardCharsets.US_ASCII)),
        "cuModuleLoadData",
        kernel.toString());
    FunctionHandle function = new FunctionHandle(false);
    device.check(
        JCudaDriver.cuModuleGetFunction(function, module, PtxKernel.NAME),
        "cuModuleGetFunction",
        kernel.toString());
    Loaded loaded = new Loaded(module, function);
    if (kernels.size() == MOST_LOADED) {
      Iterator<Loaded> oldest = kernels.values().iterator();
      Loaded old = oldest.next();
      device.check(JCudaDriver.cuCtxSynchronize(), "cuCtxSynchronize", ""); // it may be running
      oldest.remove();
      unload(old);
    }
    kernels.put(kernel, loaded);
    return loaded;
  }

  private void unload(Loaded loaded) {
    device.check(JCudaDriver.cuModuleUnload(loaded.module()), "cuModuleUnload", "");
  }

  /** Unloads all programs; nothing may be queued any more. */
  @Override
  public synchronized void close() {
    device.enter();
    kernels.values().forEach(this::unload);
    kernels.clear();
  }

  @Override
  public String toString() {
    return "elementwise programs on " + device.description();
  }
}
