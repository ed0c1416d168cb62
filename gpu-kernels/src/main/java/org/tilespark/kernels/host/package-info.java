/**
 * The host twins, in plain Java: oracles of the device twins, and what runs without a GPU. Start
 * from {@link org.tilespark.kernels.host.HostTransposer}. The build writes each class {@code
 * Double*} from its twin {@code Float*} ({@code src/main/generator/HostKernels.java}).
 */
package org.tilespark.kernels.host;
