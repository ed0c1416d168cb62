/**
 * Arrow memory of ours: where buffers come from, and how device memory is shared among tasks. Start
 * from {@link org.tilespark.arrow.memory.ArrowMemory} and {@link
 * org.tilespark.arrow.memory.MemoryGovernor}.
 */
package org.tilespark.arrow.memory;
