/**
 * Fourier transforms of volumes: programs of steps on a whole volume, plans, nodes and tasks. Start
 * from {@link org.tilespark.spark.fourier.FourierPlans}.
 */
package org.tilespark.spark.fourier;
