/**
 * Host memory by address, huge pages, and pools of memory that is slow to allocate. Start from
 * {@link org.tilespark.kernels.memory.HostMemory}.
 */
package org.tilespark.kernels.memory;
