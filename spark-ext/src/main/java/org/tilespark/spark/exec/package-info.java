/** Physical nodes and the iterators that run inside tasks. */
package org.tilespark.spark.exec;
