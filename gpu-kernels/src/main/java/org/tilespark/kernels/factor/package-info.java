/**
 * Factorisations of one dense matrix by LAPACK's methods: QR, singular values, eigenvalues, LU and
 * Cholesky. Start from {@link org.tilespark.kernels.factor.Factorizer}. May depend on {@code
 * kernels.memory}, {@code kernels.launch} and {@code kernels.library}.
 */
package org.tilespark.kernels.factor;
