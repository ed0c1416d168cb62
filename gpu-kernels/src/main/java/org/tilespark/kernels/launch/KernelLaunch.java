package org.tilespark.kernels.launch;

import java.util.Arrays;
import java.util.Objects;

/**
 * One kernel launch, ready to run but for its pointers.
 *
 * <p>Every kernel takes one struct of 64-bit fields by value: the pointers, inputs first (one input
 * and one output for what only moves data), then {@link #words()}. Immutable.
 */
public final class KernelLaunch {
  /** Most bytes of a kernel's struct, including pointers and tensor maps. */
  public static final int MOST_STRUCT_BYTES = 16 << 10;

  private final String kernel;
  private final LaunchConfig config;
  private final long[] words;

  /**
   * A launch of {@code kernel}.
   *
   * @param kernel entry point, such as {@code transpose_vector_w4_64x64x256}
   * @param config launch shape
   * @param words the struct's fields after the pointers; copied
   */
  public KernelLaunch(String kernel, LaunchConfig config, long... words) {
    this.kernel = Objects.requireNonNull(kernel, "kernel");
    this.config = Objects.requireNonNull(config, "config");
    this.words = words.clone();
  }

  /** Entry point. */
  public String kernel() {
    return kernel;
  }

  /** Launch shape. */
  public LaunchConfig config() {
    return config;
  }

  /** The struct's fields after the pointers; a copy. */
  public long[] words() {
    return words.clone();
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof KernelLaunch other
        && kernel.equals(other.kernel)
        && config.equals(other.config)
        && Arrays.equals(words, other.words);
  }

  @Override
  public int hashCode() {
    return Objects.hash(kernel, config, Arrays.hashCode(words));
  }

  @Override
  public String toString() {
    return "%s<<<%s, %s>>>%s"
        .formatted(kernel, config.blocks(), config.threads(), Arrays.toString(words));
  }
}
