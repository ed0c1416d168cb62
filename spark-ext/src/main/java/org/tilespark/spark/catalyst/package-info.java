/**
 * Base classes and helpers for Catalyst nodes and expressions that are written in Java. Every
 * conversion between collections of Java and Scala is in {@link
 * org.tilespark.spark.catalyst.ScalaInterop}.
 */
package org.tilespark.spark.catalyst;
