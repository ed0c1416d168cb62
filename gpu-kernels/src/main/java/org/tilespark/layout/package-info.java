/**
 * Values that describe arrays: shapes, permutations, element types, boxes. Start from {@link
 * org.tilespark.layout.Shape} and {@link org.tilespark.layout.Permutation}.
 *
 * <p>Pure Java: this package depends on nothing but the JDK.
 */
package org.tilespark.layout;
