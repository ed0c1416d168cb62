/** Optimizer and columnar rules. */
package org.tilespark.spark.rules;
