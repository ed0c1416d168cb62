package org.tilespark.kernels.device.library;

import java.util.function.IntFunction;

/**
 * The results of a library's calls, of which 0 is success.
 *
 * @param library the library's name
 * @param allocFailed the result that says that memory was missing
 * @param names NVIDIA's name of each result
 */
public record LibraryStatuses(String library, int allocFailed, IntFunction<String> names) {
  public static final int SUCCESS = 0;
}
