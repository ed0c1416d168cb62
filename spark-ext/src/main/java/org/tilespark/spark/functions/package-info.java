/** SQL functions, from name to plan. */
package org.tilespark.spark.functions;
