/**
 * Products of block matrices: node, rules, physical nodes and tasks. Start from {@link
 * org.tilespark.spark.multiply.MultiplyPlans}.
 */
package org.tilespark.spark.multiply;
