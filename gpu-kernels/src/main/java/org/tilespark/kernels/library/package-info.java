/** Libraries that a machine may have: how they are found. Start from {@code LibraryFinder}. */
package org.tilespark.kernels.library;
