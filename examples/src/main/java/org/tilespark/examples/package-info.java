/**
 * Jobs for spark-submit: {@link org.tilespark.examples.TransposeMatrixJob} and {@link
 * org.tilespark.examples.PermuteVolumeJob}, each one {@code main} that checks its own answer. Start
 * from the first. They use what any user of tilespark has, and may depend on everything.
 */
package org.tilespark.examples;
