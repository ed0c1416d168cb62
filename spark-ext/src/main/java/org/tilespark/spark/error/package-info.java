/**
 * The exceptions that users of Spark see: each carries a Spark error condition and a reason, and
 * Spark throws it on the driver in place of its own "Job aborted due to stage failure". Most of our
 * code throws the JDK's exceptions and those of the modules that know no Spark; {@link
 * org.tilespark.spark.error.ErrorBoundary} replaces them where they leave our code. Start from
 * {@link org.tilespark.spark.error.ErrorCondition}.
 *
 * <p>Depends on Spark, on the exceptions of arrow-bridge and gpu-kernels, and on interop only. Of
 * these a Spark Connect client loads {@link org.tilespark.spark.error.InvalidInputException} and
 * {@link org.tilespark.spark.error.UnsupportedRequestException}, which refer to no class of
 * Catalyst.
 */
package org.tilespark.spark.error;
