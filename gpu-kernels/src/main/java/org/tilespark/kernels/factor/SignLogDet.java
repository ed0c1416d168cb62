package org.tilespark.kernels.factor;

/**
 * A determinant as numpy's {@code slogdet} gives it: {@code sign * exp(logAbsDet)}.
 *
 * @param sign 1, -1, or 0 if the matrix is singular
 * @param logAbsDet natural logarithm of the determinant's absolute value; negative infinity if the
 *     matrix is singular
 */
public record SignLogDet(double sign, double logAbsDet) {}
