/**
 * Example jobs for spark-submit. Each has a {@code main} and checks its own answer; start from
 * {@link org.tilespark.examples.TransposeMatrixJob}. The examples use the public API, as a user's
 * application would, and may depend on every module.
 */
package org.tilespark.examples;
