/**
 * Rows of blocks outside the heap that outlive the task that made them: the outputs of map tasks,
 * in memory as long as there is room, else in files of the same bytes. {@link
 * org.tilespark.arrow.store.StoredOutputs} is the class to start from. The package knows no Spark.
 */
package org.tilespark.arrow.store;
