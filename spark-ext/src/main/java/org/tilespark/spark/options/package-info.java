/**
 * Options that users set: immutable, the same in Java, in a map and in SQL; and the declarations of
 * these and of operators' parameters. Of this module it imports {@code error} only.
 */
package org.tilespark.spark.options;
