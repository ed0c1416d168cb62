/**
 * The CUDA driver as JCuda and JNA bind it: calls, handles, addresses, and how the native libraries
 * are loaded.
 */
package org.tilespark.kernels.device.driver;
