package org.tilespark.kernels.launch;

import java.util.Arrays;
import java.util.Objects;

/**
 * One kernel launch, which lacks only its pointers.
 *
 * <p>Every kernel takes one struct of 64-bit fields by value: the pointers, inputs first (one input
 * and one output for a kernel that only moves data), then {@link #words()}. Immutable.
 */
public final class KernelLaunch {
  /** The largest number of bytes of a kernel's struct, including pointers and tensor maps. */
  public static final int MOST_STRUCT_BYTES = 16 << 10;

  private final String kernel;
  private final LaunchConfig config;
  private final long[] words;

  /**
   * A launch of {@code kernel}.
   *
   * @param kernel name of the entry point, such as {@code transpose_vector_w4_64x64x256}
   * @param config shape of the launch
   * @param words the struct's fields after the pointers; copied
   */
  public KernelLaunch(String kernel, LaunchConfig config, long... words) {
    this.kernel = Objects.requireNonNull(kernel, "kernel");
    this.config = Objects.requireNonNull(config, "config");
    this.words = words.clone();
  }

  /** Name of the kernel's entry point. */
  public String kernel() {
    return kernel;
  }

  /** Shape of the launch. */
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
