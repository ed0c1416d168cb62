/**
 * Which columns of a matrix's rows may be among what is sought, by estimates and bounds of their
 * errors. Start from {@link org.tilespark.kernels.select.ColumnSelection}. Pure; no device.
 */
package org.tilespark.kernels.select;
