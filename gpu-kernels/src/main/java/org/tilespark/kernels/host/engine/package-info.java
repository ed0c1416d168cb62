/**
 * The engines that multiply and factorize on the CPU: this project's own kernels and LAPACK in
 * plain Java, or the machine's OpenBLAS. Start with {@link
 * org.tilespark.kernels.host.engine.HostEngine}.
 */
package org.tilespark.kernels.host.engine;
