package org.tilespark.bench.kernels;

import java.util.Optional;
import org.tilespark.kernels.launch.Ceil;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;
import org.tilespark.kernels.transpose.TransposeStrategy;

/**
 * Alternately multiplies by one number and adds another, by the interpreter kernel ({@code
 * interpreter.cu}). Launched as a transpose, since it has one input and one output.
 *
 * @param elements number of elements of the array
 * @param operations number of multiplications and additions
 * @param kernel one of the interpreter kernels
 */
record InterpreterRung(long elements, int operations, KernelIndex.Kernel kernel)
    implements TransposeStrategy {
  /** The family of the interpreter kernels. */
  static final String FAMILY = "interpreter";

  /** Equals {@code MAX_CODE} in the kernel. */
  private static final int MOST_CODE = 32;

  /** Equals {@code SLOTS} in the kernel. */
  private static final int SLOTS = 4;

  /** The first constants of the enum {@code Operation} in interpreter.cu, in the same order. */
  private enum Operation {
    LOAD,
    CONSTANT,
    ADD,
    SUBTRACT,
    MULTIPLY
  }

  private static long word(Operation operation, int result, int left, int right) {
    return operation.ordinal() | ((long) result << 8) | ((long) left << 16) | ((long) right << 24);
  }

  @Override
  public Optional<KernelLaunch> launch(DeviceLimits limits) {
    long[] words = new long[2 + MOST_CODE + SLOTS];
    words[0] = elements;
    words[1] = operations + 3L;
    words[2] = word(Operation.CONSTANT, 1, 0, 0);
    words[3] = word(Operation.CONSTANT, 2, 1, 0);
    words[4] = word(Operation.LOAD, 0, 0, 0);
    for (int i = 0; i < operations; i++) {
      boolean even = i % 2 == 0;
      words[5 + i] = word(even ? Operation.MULTIPLY : Operation.ADD, 0, 0, even ? 1 : 2);
    }
    words[2 + MOST_CODE] = Double.doubleToRawLongBits(ElementwiseBenchmark.FACTOR);
    words[2 + MOST_CODE + 1] = Double.doubleToRawLongBits(ElementwiseBenchmark.TERM);
    long pieces = Ceil.div(elements, (long) kernel.shape().cols() * kernel.shape().threads());
    return Optional.of(
        new KernelLaunch(
            kernel.name(),
            LaunchConfig.forPieces(pieces, kernel.shape().threads(), 0, limits),
            words));
  }

  @Override
  public String describe() {
    return operations + " operations by " + kernel.name();
  }
}
