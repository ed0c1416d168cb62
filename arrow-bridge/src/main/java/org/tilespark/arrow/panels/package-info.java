/**
 * Accumulates tiles of C from a stream of panels, and shares panels among tasks. Start from {@link
 * org.tilespark.arrow.panels.PanelMultiplier}.
 */
package org.tilespark.arrow.panels;
