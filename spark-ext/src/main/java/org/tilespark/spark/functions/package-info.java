/**
 * All operators: their declarations, their SQL functions, and the binding of arguments to plans.
 * Start from {@link org.tilespark.spark.functions.TableFunctions}.
 */
package org.tilespark.spark.functions;
