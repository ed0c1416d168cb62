/**
 * Fourier transforms of lines on the CPU: Stockham passes over several lines side by side, one in
 * each lane of a vector. {@link org.tilespark.kernels.host.fourier.HostFourier} is the class to
 * start from. The build writes the implementations of {@link
 * org.tilespark.kernels.host.fourier.FourierArithmetic} from {@code
 * src/main/generator/FourierArithmetic.template}. Of other packages it knows {@link
 * org.tilespark.kernels.host.HostProfile}, {@link org.tilespark.kernels.host.Fma} and host memory.
 */
package org.tilespark.kernels.host.fourier;
