/** What will run where, and why. */
package org.tilespark.spark.planner;
