package org.tilespark.kernels.host.fourier;

/**
 * One pass of T. G. Stockham's transform ("High-speed convolution and correlation", 1966), which
 * needs no reordering. It takes {@code radix * count} rows of {@code stride} numbers and computes
 * {@code count} butterflies: the rows p, p + count, p + 2 count and so on become the rows radix p,
 * radix p + 1, ..., times roots of unity. After that a transform of length {@code count} is left
 * for each of {@code radix * stride} numbers. The input has a gap after each {@code count} rows,
 * the output where the next pass expects gaps.
 *
 * @param radix numbers of a butterfly
 * @param count butterflies, and what is left of the transform's length
 * @param stride interleaved transforms, each of as many numbers as there are lines
 * @param next count of the next pass; 1 in the last
 * @param twiddles (count, radix - 1, 2), the powers 1 and higher of the roots; unused in the last
 * @param roots (radix, 2), cosines and sines of full turns
 */
record RadixPass<A>(int radix, int count, int stride, int next, A twiddles, A roots) {}
