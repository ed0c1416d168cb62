/**
 * The memory of Arrow buffers, and the sharing of device memory among tasks. Start from {@link
 * org.tilespark.arrow.memory.ArrowMemory} and {@link org.tilespark.arrow.memory.MemoryGovernor}.
 */
package org.tilespark.arrow.memory;
