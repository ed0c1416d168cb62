/** The logical node of block permutations. */
package org.tilespark.spark.plans;
