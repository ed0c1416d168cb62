/**
 * Differences between the versions of Spark that one jar serves: one class for each difference.
 * {@link org.tilespark.spark.catalyst.compat.SparkVersion} says which Spark runs.
 *
 * <p>Classes of Spark that are no public interface gain constructor parameters from one version to
 * the next. Code elsewhere does not call these constructors but the methods here, which find the
 * constructor of the running Spark by reflection. {@code LinkageTest} finds other
 * incompatibilities.
 */
package org.tilespark.spark.catalyst.compat;
