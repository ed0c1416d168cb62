/** cuBLAS and cuFFT as JNA binds them. */
package org.tilespark.kernels.device.library;
