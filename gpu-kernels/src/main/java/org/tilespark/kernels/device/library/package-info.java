/** cuBLAS and cuFFT as JNA binds them, and how they are found. Start from {@code LibraryFinder}. */
package org.tilespark.kernels.device.library;
