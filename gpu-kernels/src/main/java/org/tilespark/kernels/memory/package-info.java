/**
 * Host memory by address, huge pages, and pools of memory that is slow to make. Pools do not
 * allocate; their owners do. Start from {@link org.tilespark.kernels.memory.HostMemory}.
 */
package org.tilespark.kernels.memory;
