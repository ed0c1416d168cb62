/**
 * Finds the columns of a matrix's rows that a search may need, by estimates and bounds of their
 * errors. Start from {@link org.tilespark.kernels.select.ColumnSelection}. Pure; no device.
 */
package org.tilespark.kernels.select;
