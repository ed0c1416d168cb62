/**
 * What nodes and expressions of Catalyst share that are written in Java. Start from {@link
 * org.tilespark.spark.catalyst.BlockExpression}.
 */
package org.tilespark.spark.catalyst;
