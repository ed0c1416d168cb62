/** Every conversion between Java's and Scala's collections and functions; nowhere else. */
package org.tilespark.spark.interop;
