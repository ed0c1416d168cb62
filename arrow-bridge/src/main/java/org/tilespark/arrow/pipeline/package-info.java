/** Parts that all pipelines share: listeners, device time, the turn of a task, closing. */
package org.tilespark.arrow.pipeline;
