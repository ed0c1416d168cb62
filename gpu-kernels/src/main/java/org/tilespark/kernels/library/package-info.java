/** Finds native libraries that a machine may have. Start from {@code LibraryFinder}. */
package org.tilespark.kernels.library;
