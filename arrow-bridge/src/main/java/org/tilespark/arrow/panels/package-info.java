/**
 * Computes a matrix product C = A B one tile of C at a time, from a stream of panels (parts of A
 * and B along the inner dimension), and shares panels in device memory among the tasks of an
 * executor. Start from {@link org.tilespark.arrow.panels.PanelMultiplier}.
 */
package org.tilespark.arrow.panels;
