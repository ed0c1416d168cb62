package org.tilespark.kernels.pointwise;

import java.util.ArrayList;
import java.util.List;
import org.tilespark.kernels.launch.Ceil;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/**
 * The kernel of an elementwise program: its PTX and its arguments. Complex numbers are interleaved
 * on the device; arrays are dense and row-major. The first 256 constants are arguments, so that
 * programs that differ only in them share a kernel: a {@code PtxKernel} is a value and the key of a
 * loaded kernel.
 *
 * <p>The argument struct, in 64-bit fields: addresses of inputs, outputs and vectors; number of the
 * block's elements; for each fused axis its extent; for each axis the block's first place in the
 * whole array; for each input its strides along the fused axes; constants in the order of the code.
 *
 * @param program the program, with 0 in place of constants that are arguments
 * @param lanes neighbouring elements that a thread takes at a time: 1, 2 or 4
 */
public record PtxKernel(ElementwiseProgram program, int lanes) {
  /** Name of the entry point. */
  public static final String NAME = "elementwise";

  static final int THREADS = 256;

  /**
   * The largest number of constants that are arguments: PTX 7.5 allows 4,352 bytes of arguments in
   * all.
   */
  static final int MOST_ARGUMENTS = 256;

  private static final int LOAD_BYTES = 16;
  private static final int MOST_LANES = 4;

  /** Puts 0 in place of constants that are arguments. */
  public PtxKernel {
    List<Instruction> code = new ArrayList<>();
    int constants = 0;
    for (Instruction instruction : program.code()) {
      constants += instruction.constantBits().isPresent() ? 1 : 0;
      code.add(constants > MOST_ARGUMENTS ? instruction : instruction.withoutConstant());
    }
    program =
        new ElementwiseProgram(
            program.rank(), program.inputs(), program.vectors(), code, program.outputs());
    if (lanes != 1 && lanes != 2 && lanes != MOST_LANES) {
      throw new IllegalArgumentException(lanes + " lanes; expected 1, 2 or 4");
    }
  }

  /**
   * The kernel for a block: the kernel with the largest number of lanes with which every access has
   * at most 16 bytes and is aligned to its length, and each group of lanes is within a row.
   *
   * @param addresses addresses of the inputs and the outputs
   */
  public static PtxKernel of(ElementwiseProgram program, Shape shape, long[] addresses) {
    FusedAxes axes = FusedAxes.of(program);
    long row = axes.extents(shape)[axes.rank() - 1];
    int[] bytes = elementBytes(program);
    int lanes = MOST_LANES / (isComplex(program) ? 2 : 1);
    while (lanes > 1 && !fits(lanes, axes.rank() == 1 ? lanes : row, bytes, addresses)) {
      lanes /= 2;
    }
    return new PtxKernel(program, lanes);
  }

  private static boolean fits(int lanes, long row, int[] bytes, long[] addresses) {
    boolean fits = row % lanes == 0;
    for (int i = 0; i < bytes.length; i++) {
      fits &= lanes * bytes[i] <= LOAD_BYTES && addresses[i] % ((long) lanes * bytes[i]) == 0;
    }
    return fits;
  }

  /** Bytes of an element of each input, then of each output. */
  private static int[] elementBytes(ElementwiseProgram program) {
    List<ElementType> types = program.types();
    List<Integer> bytes = new ArrayList<>();
    program
        .inputs()
        .forEach(input -> bytes.add(input.type().bytes() * (input.isComplex() ? 2 : 1)));
    program
        .outputs()
        .forEach(
            output -> bytes.add(types.get(output.real()).bytes() * (output.isComplex() ? 2 : 1)));
    return bytes.stream().mapToInt(Integer::intValue).toArray();
  }

  private static boolean isComplex(ElementwiseProgram program) {
    return program.inputs().stream().anyMatch(ElementwiseProgram.Input::isComplex)
        || program.outputs().stream().anyMatch(ElementwiseProgram.Output::isComplex);
  }

  /** True if the kernel calls functions of {@link PtxLibrary}. */
  public boolean needsLibrary() {
    return new PtxWriter(this).kernel().contains(PtxFunction.PREFIX);
  }

  /**
   * The PTX of the kernel.
   *
   * @param library the functions that the kernel may call
   * @throws IllegalArgumentException if the kernel calls a function that the library lacks
   */
  public String ptx(PtxLibrary library) {
    String kernel = new PtxWriter(this).kernel();
    return library.header() + library.sections(kernel) + kernel;
  }

  /**
   * The launch for a block that is not empty; its pointers are the addresses of inputs, outputs and
   * vectors.
   *
   * @param program the program with its constants
   * @param origin place of the block's first element in the whole array
   */
  public KernelLaunch launch(
      ElementwiseProgram program, Shape shape, long[] origin, DeviceLimits limits) {
    FusedAxes axes = FusedAxes.of(program);
    long[] extents = axes.extents(shape);
    List<Long> words = new ArrayList<>();
    words.add(shape.elements());
    add(words, extents);
    add(words, origin);
    program.inputs().forEach(input -> add(words, axes.strides(input, extents)));
    program.code().stream()
        .flatMapToLong(instruction -> instruction.constantBits().stream())
        .limit(MOST_ARGUMENTS)
        .forEach(words::add);
    long groups = Ceil.div(shape.elements(), lanes);
    return new KernelLaunch(
        NAME,
        LaunchConfig.forPieces(Ceil.div(groups, THREADS), THREADS, 0, limits),
        words.stream().mapToLong(Long::longValue).toArray());
  }

  private static void add(List<Long> words, long[] more) {
    for (long word : more) {
      words.add(word);
    }
  }
}
