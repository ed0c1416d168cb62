/**
 * Factorisations of one dense matrix by LAPACK's methods: QR, singular values, eigenvalues, LU and
 * Cholesky. Start from {@link org.tilespark.kernels.factor.Factorizer}. May depend on {@code
 * kernels.memory} and {@code kernels.multiply}.
 */
package org.tilespark.kernels.factor;
