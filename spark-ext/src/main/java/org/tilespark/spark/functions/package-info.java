/**
 * SQL functions, from name to plan. Start from {@link
 * org.tilespark.spark.functions.TableFunctions}.
 */
package org.tilespark.spark.functions;
