/**
 * Host memory by address, and pools of memory that is slow to make: slabs, free lists. They do not
 * allocate; their owners do. Start from {@link org.tilespark.kernels.memory.HostMemory}.
 */
package org.tilespark.kernels.memory;
