/**
 * What happens to a whole volume in a Fourier transform, told without regard to how it is cut:
 * {@link org.tilespark.spark.fourier.FourierProgram} makes of it what happens to one part. Knows
 * neither plans nor rows.
 */
package org.tilespark.spark.fourier;
