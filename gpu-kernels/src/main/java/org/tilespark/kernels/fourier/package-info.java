/**
 * Plans of Fourier transforms on a device: passes of cuFFT, and boxes between planes and an array
 * of complex numbers. Start from {@link org.tilespark.kernels.fourier.FourierPlanner}.
 */
package org.tilespark.kernels.fourier;
