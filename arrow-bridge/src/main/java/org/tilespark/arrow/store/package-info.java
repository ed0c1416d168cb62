/**
 * Rows of blocks outside the heap that outlive their task: the outputs of map tasks, in memory
 * while there is room, otherwise in files with the same bytes. {@link
 * org.tilespark.arrow.store.StoredOutputs} is the class to start from. The package knows no Spark.
 */
package org.tilespark.arrow.store;
