/**
 * All operators: their declarations, their SQL functions, and the way from arguments to plans.
 * Start from {@link org.tilespark.spark.functions.TableFunctions}.
 */
package org.tilespark.spark.functions;
