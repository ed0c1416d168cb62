/**
 * Kernels on the CPU in plain Java, each the twin of a class of {@code kernels.device}: they are
 * the oracles of its tests and run without a GPU. Start from {@link
 * org.tilespark.kernels.host.HostTransposer}. The build writes each class {@code Double*} from its
 * twin {@code Float*} ({@code src/main/generator/HostKernels.java}).
 */
package org.tilespark.kernels.host;
