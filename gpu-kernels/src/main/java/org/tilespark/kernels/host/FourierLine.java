package org.tilespark.kernels.host;

import java.util.Arrays;
import org.jtransforms.fft.DoubleFFT_1D;
import org.jtransforms.utils.CommonUtils;
import pl.edu.icm.jlargearrays.ConcurrencyUtils;

/**
 * Discrete Fourier transforms of lines of one length, in double precision, in place, on the calling
 * thread; sums are not normalised. For one thread at a time.
 *
 * <p>JTransforms does them, in a time that grows with the prime factors of the length. From {@link
 * #LARGE_PRIME} on a line is instead convolved with a chirp by transforms of a power of two (L. I.
 * Bluestein, "A linear filtering approach to the computation of discrete Fourier transform", 1970).
 */
final class FourierLine {
  /**
   * The least prime factor for which the chirp is faster: lines of 31, 127 and 181 take JTransforms
   * 40, 124 and 174 nanoseconds an element, and the chirp 25, 21 and 27.
   */
  static final int LARGE_PRIME = 31;

  /**
   * Longest line: two doubles an element, and a chirp of up to four times as many, in one array.
   */
  static final int MOST = 1 << 28;

  static {
    // A task has one core. The static state is our own copy's in the jar that users get.
    ConcurrencyUtils.setNumberOfThreads(1);
    CommonUtils.setThreadsBeginN_1D_FFT_2Threads(Long.MAX_VALUE);
    CommonUtils.setThreadsBeginN_1D_FFT_4Threads(Long.MAX_VALUE);
  }

  private final int n;
  private final DoubleFFT_1D transform; // of a line, or of the chirp's padded length
  private final int padded; // 0 without a chirp
  private final double[] chirp; // (n, 2): exp(-pi i k k / n)
  private final double[] filter; // (padded, 2)
  private final double[] work; // (padded, 2)

  /**
   * Transforms of lines of {@code length} complex numbers.
   *
   * @throws IllegalArgumentException if that is less than 1 or more than {@link #MOST}
   */
  FourierLine(long length) {
    this(length, largestPrimeFactor(length) >= LARGE_PRIME);
  }

  /** The same, and how. */
  FourierLine(long length, boolean byChirp) {
    if (length < 1 || length > MOST) {
      throw new IllegalArgumentException(
          "A Fourier transform on the host along an axis of "
              + length
              + " elements; expected 1 to "
              + MOST);
    }
    n = (int) length;
    if (!byChirp || n == 1 || n > MOST / 4) {
      padded = 0;
      chirp = null;
      filter = null;
      work = null;
      transform = n == 1 ? null : new DoubleFFT_1D(n);
      return;
    }
    padded = Integer.highestOneBit(2 * n - 2) * 2; // at least 2 n - 1
    chirp = new double[2 * n];
    filter = new double[2 * padded];
    work = new double[2 * padded];
    transform = new DoubleFFT_1D(padded);
    for (int k = 0; k < n; k++) {
      double angle = Math.PI * (double) ((long) k * k % (2L * n)) / n;
      chirp[2 * k] = Math.cos(angle);
      chirp[2 * k + 1] = -Math.sin(angle);
      int mirrored = k == 0 ? 0 : padded - k;
      for (int at : new int[] {k, mirrored}) {
        filter[2 * at] = Math.cos(angle) / padded;
        filter[2 * at + 1] = Math.sin(angle) / padded;
      }
    }
    transform.complexForward(filter);
  }

  /** Elements of a line. */
  int length() {
    return n;
  }

  /**
   * Transforms a line.
   *
   * @param line complex numbers, parts interleaved
   * @param start index of the first number's real part
   * @param inverse true for a positive exponent
   */
  void transform(double[] line, int start, boolean inverse) {
    if (n == 1) {
      return;
    }
    if (padded > 0) {
      chirp(line, start, inverse);
    } else if (inverse) {
      transform.complexInverse(line, start, false);
    } else {
      transform.complexForward(line, start);
    }
  }

  private void chirp(double[] line, int start, boolean inverse) {
    // The inverse is the forward one of the conjugates, conjugated.
    double sign = inverse ? -1 : 1;
    for (int k = 0; k < n; k++) {
      double re = line[start + 2 * k];
      double im = sign * line[start + 2 * k + 1];
      work[2 * k] = re * chirp[2 * k] - im * chirp[2 * k + 1];
      work[2 * k + 1] = re * chirp[2 * k + 1] + im * chirp[2 * k];
    }
    Arrays.fill(work, 2 * n, 2 * padded, 0);
    transform.complexForward(work);
    for (int k = 0; k < padded; k++) {
      double re = work[2 * k];
      double im = work[2 * k + 1];
      work[2 * k] = re * filter[2 * k] - im * filter[2 * k + 1];
      work[2 * k + 1] = re * filter[2 * k + 1] + im * filter[2 * k];
    }
    transform.complexInverse(work, false);
    for (int k = 0; k < n; k++) {
      double re = work[2 * k];
      double im = work[2 * k + 1];
      line[start + 2 * k] = re * chirp[2 * k] - im * chirp[2 * k + 1];
      line[start + 2 * k + 1] = sign * (re * chirp[2 * k + 1] + im * chirp[2 * k]);
    }
  }

  static long largestPrimeFactor(long number) {
    long left = number;
    long largest = 1;
    for (long p = 2; p * p <= left; p++) {
      while (left % p == 0) {
        left /= p;
        largest = p;
      }
    }
    return left > 1 ? left : largest;
  }
}
