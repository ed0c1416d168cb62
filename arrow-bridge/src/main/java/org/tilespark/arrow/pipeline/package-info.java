/**
 * Classes that all pipelines share: listeners, clocks of device time, a task's use of a device,
 * closing of resources.
 */
package org.tilespark.arrow.pipeline;
