/**
 * All operators by the names of their SQL functions, from arguments to plan; the facade calls them,
 * too. Start from {@link org.tilespark.spark.functions.TableFunctions}.
 */
package org.tilespark.spark.functions;
