/** The data source for files of numbers without a description of their own. */
package org.tilespark.spark.source.raw;
