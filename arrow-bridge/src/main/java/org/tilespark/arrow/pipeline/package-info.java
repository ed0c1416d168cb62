/** What all pipelines share: who listens, device time, the turn of a task, closing. */
package org.tilespark.arrow.pipeline;
