/**
 * Products from panels that stream by into a tile of C, and panels that tasks share. Start from
 * {@link org.tilespark.arrow.panels.PanelMultiplier}.
 */
package org.tilespark.arrow.panels;
