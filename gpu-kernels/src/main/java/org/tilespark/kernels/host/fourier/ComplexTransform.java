package org.tilespark.kernels.host.fourier;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Forward transforms of complex lines of one length, several lines at a time; sums are not
 * normalised. If the length has a large prime factor, lines are convolved with a chirp, by
 * transforms of a length without large prime factors (L. I. Bluestein, "A linear filtering approach
 * to the computation of discrete Fourier transform", 1970). Tables are immutable.
 *
 * @param <A> {@code float[]} or {@code double[]}
 */
final class ComplexTransform<A> {
  /** The largest prime factor that has butterflies: for larger primes a chirp is faster. */
  static final int LARGEST_PRIME = 31;

  private final FourierKernels<A> kernels;
  private final int n;
  private final List<RadixPass<A>> passes; // empty with a chirp
  private final ComplexTransform<A> padded; // of the padded length; null without a chirp
  private final A chirp; // (n, 2): exp(-pi i k k / n)
  private final A filter; // (padded, 2): transform of the chirp's conjugates, divided by length

  private ComplexTransform(
      FourierKernels<A> kernels,
      int n,
      List<RadixPass<A>> passes,
      ComplexTransform<A> padded,
      double[] chirp,
      double[] filter) {
    this.kernels = kernels;
    this.n = n;
    this.passes = passes;
    this.padded = padded;
    this.chirp = chirp == null ? null : kernels.rounded(chirp);
    this.filter = filter == null ? null : kernels.rounded(filter);
  }

  /** The transform of lines of {@code n} numbers. */
  static <A> ComplexTransform<A> of(FourierKernels<A> kernels, int n) {
    return hasButterflies(n) ? byButterflies(kernels, n, 1) : byChirp(kernels, n);
  }

  /** A transform by butterflies, of {@code stride} interleaved transforms of each line. */
  static <A> ComplexTransform<A> byButterflies(FourierKernels<A> kernels, int n, int stride) {
    return new ComplexTransform<>(kernels, n, passes(kernels, n, stride), null, null, null);
  }

  /** A transform by a chirp, for any length. */
  static <A> ComplexTransform<A> byChirp(FourierKernels<A> kernels, int n) {
    int length = chirpLength(n);
    double[] chirp = new double[2 * n];
    double[] filter = new double[2 * length];
    for (int k = 0; k < n; k++) {
      long angle = (long) k * k % (2L * n); // in units of 1 / (2 n) of a turn
      chirp[2 * k] = Roots.cos(angle, 2L * n);
      chirp[2 * k + 1] = -Roots.sin(angle, 2L * n);
      for (int at : new int[] {k, k == 0 ? 0 : length - k}) {
        filter[2 * at] = chirp[2 * k] / length;
        filter[2 * at + 1] = -chirp[2 * k + 1] / length;
      }
    }
    return new ComplexTransform<>(
        kernels, n, List.of(), byButterflies(kernels, length, 1), chirp, transformed(filter));
  }

  /**
   * The transform of one line in double precision, real and imaginary parts interleaved, whose
   * length has no prime factor above {@link #LARGEST_PRIME}.
   */
  private static double[] transformed(double[] line) {
    FourierKernels<double[]> kernels = FourierKernels.DOUBLE;
    int n = line.length / 2;
    ComplexTransform<double[]> transform = byButterflies(kernels, n, 1);
    Workspace<double[]> work = new Workspace<>(kernels);
    Rows<double[]> x = work.first(transform.rows(), 1).chunked(transform.inChunk());
    for (int k = 0; k < n; k++) {
      x.re()[x.at(k, kernels.pad())] = line[2 * k];
      x.im()[x.at(k, kernels.pad())] = line[2 * k + 1];
    }
    Rows<double[]> y = transform.run(x, work.second(transform.rows(), 1), 1);
    double[] result = new double[line.length];
    for (int k = 0; k < n; k++) {
      result[2 * k] = y.re()[y.at(k, kernels.pad())];
      result[2 * k + 1] = y.im()[y.at(k, kernels.pad())];
    }
    return result;
  }

  /** True if no prime factor of {@code n} is above {@link #LARGEST_PRIME}. */
  static boolean hasButterflies(int n) {
    return radices(n) != null;
  }

  /**
   * The radices of the passes for a length, small ones first: their butterflies are the faster ones
   * where a row is one vector. Null if a prime factor is too large.
   */
  private static List<Integer> radices(int n) {
    List<Integer> radices = new ArrayList<>();
    int twos = Integer.numberOfTrailingZeros(n);
    int left = n >> twos;
    // Takes eights, and fours for the remaining twos; the radix 2 only if n has a single factor 2.
    int eights = twos == 1 ? 0 : twos % 3 == 1 ? twos / 3 - 1 : twos / 3;
    int fours = twos == 1 ? 0 : (twos - 3 * eights) / 2;
    radices.addAll(java.util.Collections.nCopies(eights, 8));
    radices.addAll(java.util.Collections.nCopies(fours, 4));
    if (twos == 1) {
      radices.add(2);
    }
    for (int p = 3; p <= LARGEST_PRIME; p += 2) {
      while (left % p == 0) {
        radices.add(p);
        left /= p;
      }
    }
    if (left > 1) {
      return null;
    }
    if (radices.isEmpty()) {
      radices.add(1);
    }
    radices.sort(null);
    return radices;
  }

  private static <A> List<RadixPass<A>> passes(FourierKernels<A> kernels, int n, int stride) {
    List<RadixPass<A>> passes = new ArrayList<>();
    List<Integer> radices = radices(n);
    int left = n;
    int side = stride;
    for (int i = 0; i < radices.size(); i++) {
      int radix = radices.get(i);
      int next = i + 1 < radices.size() ? left / radix / radices.get(i + 1) : 1;
      passes.add(pass(kernels, left, radix, side, next));
      left /= radix;
      side *= radix;
    }
    return passes;
  }

  /** The pass that splits {@code radix} off the remaining length {@code left}. */
  static <A> RadixPass<A> pass(
      FourierKernels<A> kernels, int left, int radix, int stride, int next) {
    int count = left / radix;
    double[] twiddles = new double[2 * count * Math.max(1, radix - 1)];
    for (int p = 0; p < count; p++) {
      for (int j = 1; j < radix; j++) {
        int at = 2 * (p * (radix - 1) + j - 1);
        twiddles[at] = Roots.cos((long) p * j, left);
        twiddles[at + 1] = -Roots.sin((long) p * j, left);
      }
    }
    double[] roots = new double[2 * radix];
    for (int j = 0; j < radix; j++) {
      roots[2 * j] = Roots.cos(j, radix);
      roots[2 * j + 1] = Roots.sin(j, radix);
    }
    return new RadixPass<>(
        radix, count, stride, next, kernels.rounded(twiddles), kernels.rounded(roots));
  }

  /**
   * The length without large prime factors, at least 2 n - 1, whose transform takes the least time.
   */
  private static int chirpLength(int n) {
    long least = 2L * n - 1;
    long best = 0;
    double bestCost = 0;
    for (long odd : new long[] {1, 3, 5, 9, 15, 25, 27, 45, 75, 81, 125}) {
      long length = odd;
      while (length < least) {
        length *= 2;
      }
      double cost = cost(Math.toIntExact(length));
      if (best == 0 || cost < bestCost) {
        best = length;
        bestCost = cost;
      }
    }
    return Math.toIntExact(best);
  }

  /**
   * Estimated time of transforming a line of {@code n} numbers; the unit is the time for moving one
   * number through a pass.
   */
  private static double cost(int n) {
    double passes = 0;
    for (int radix : radices(n)) {
      passes += 1 + radix / 16.0;
    }
    return n * passes;
  }

  /** The largest number of rows of the arrays that {@link #run} works in. */
  int rows() {
    return padded == null ? n * passes.get(0).stride() : padded.n;
  }

  /** The number of rows between two gaps of the input. */
  int inChunk() {
    return padded == null ? passes.get(0).count() * passes.get(0).stride() : n;
  }

  /** The number of rows between two gaps of the result. */
  int outChunk() {
    return padded == null ? passes.get(passes.size() - 1).stride() : n;
  }

  /**
   * Transforms lines.
   *
   * @param x the input, with a gap after every {@link #inChunk} rows; overwritten
   * @param y rows of as many numbers to work in
   * @return {@code x} or {@code y}, which holds the result, with a gap after every {@link
   *     #outChunk} rows
   */
  Rows<A> run(Rows<A> x, Rows<A> y, double scale) {
    if (padded != null) {
      return chirp(x, y, scale);
    }
    Rows<A> from = x;
    Rows<A> to = y;
    for (int i = 0; i < passes.size(); i++) {
      kernels.pass(passes.get(i), i + 1 == passes.size() ? scale : 1, from, to);
      Rows<A> swap = from;
      from = to;
      to = swap;
    }
    return from.chunked(outChunk());
  }

  private Rows<A> chirp(Rows<A> x, Rows<A> y, double scale) {
    Rows<A> in = y.chunked(padded.inChunk());
    kernels.multiply(chirp, n, x, in);
    int start = in.at(n, kernels.pad());
    int end = in.at(padded.n - 1, kernels.pad()) + in.lanes();
    clear(in.re(), start, end);
    clear(in.im(), start, end);
    Rows<A> spectrum = padded.run(in, x, 1);
    Rows<A> other = spectrum.re() == x.re() ? y : x;
    Rows<A> product = other.chunked(padded.inChunk());
    kernels.multiply(filter, padded.n, spectrum, product);
    Rows<A> convolved = padded.run(product.swapped(), spectrum.swapped(), scale).swapped();
    Rows<A> result = (convolved.re() == x.re() ? y : x).chunked(n);
    kernels.multiply(chirp, n, convolved, result);
    return result;
  }

  private static void clear(Object array, int from, int to) {
    if (array instanceof float[] floats) {
      Arrays.fill(floats, from, to, 0);
    } else {
      Arrays.fill((double[]) array, from, to, 0);
    }
  }
}
