package org.tilespark.kernels.host.fourier;

import org.tilespark.kernels.fourier.FourierProblem.Kind;
import org.tilespark.kernels.host.fourier.LineMoves.Group;
import org.tilespark.kernels.memory.HostMemory;

/**
 * Transforms of lines of one length and kind, several at a time: gathered from memory into rows,
 * transformed, and scattered. The result of a line does not depend on its neighbours.
 *
 * <p>Real lines take half the work. One of even length is a complex one of half the length (W. H.
 * Press and others, "Numerical Recipes", section 12.3). In a line of odd length, nearly half of the
 * first butterfly's transforms are conjugates of others and are left out.
 *
 * @param <A> {@code float[]} or {@code double[]}
 */
final class LineTransform<A> {
  private final FourierKernels<A> kernels;
  private final Workspace<A> work;
  private final LineMoves<A> moves;
  private final Kind kind;
  private final int n;
  private final Way way;
  private final ComplexTransform<A> complex;
  private final A halves; // exp(-2 pi i k / n), for real lines of even length
  private final RadixPass<A> odd; // first or last pass for real lines of odd length
  private final int[] order; // source rows, between half spectrum and transforms

  /** The ways to transform lines that have real numbers in input or output. */
  private enum Way {
    COMPLEX,
    EVEN,
    ODD,
    /** A prime length: real lines are transformed as complex ones without imaginary parts. */
    PRIME
  }

  /**
   * Transforms lines that have {@code n} numbers in the input or the output, whichever is longer;
   * works in borrowed memory.
   */
  LineTransform(Workspace<A> work, Kind kind, int n) {
    this.work = work;
    kernels = work.kernels();
    moves = new LineMoves<>(kernels, work);
    this.kind = kind;
    this.n = n;
    if (kind == Kind.FORWARD || kind == Kind.INVERSE) {
      way = Way.COMPLEX;
    } else if (n % 2 == 0) {
      way = Way.EVEN;
    } else {
      way = ComplexTransform.hasButterflies(n) ? Way.ODD : Way.PRIME;
    }
    int radix = way == Way.ODD ? smallestFactor(n) : 1;
    complex =
        switch (way) {
          case COMPLEX, PRIME -> ComplexTransform.of(kernels, n);
          case EVEN -> ComplexTransform.of(kernels, n / 2);
          case ODD -> ComplexTransform.byButterflies(kernels, n / radix, radix / 2 + 1);
        };
    halves = way == Way.EVEN ? kernels.rounded(halves(n)) : null;
    int next = kind == Kind.REAL_TO_HALF ? complex.inChunk() : complex.outChunk();
    odd =
        way == Way.ODD
            ? ComplexTransform.pass(kernels, n, radix, 1, Math.max(1, next / (radix / 2 + 1)))
            : null;
    order = order();
  }

  private static double[] halves(int n) {
    double[] halves = new double[2 * (n / 4 + 1)];
    for (int k = 0; k <= n / 4; k++) {
      halves[2 * k] = Roots.cos(k, n);
      halves[2 * k + 1] = -Roots.sin(k, n);
    }
    return halves;
  }

  private static int smallestFactor(int odd) {
    for (int p = 3; (long) p * p <= odd; p += 2) {
      if (odd % p == 0) {
        return p;
      }
    }
    return odd;
  }

  /**
   * For each row, the number of the row that it is copied from; the bitwise complement of that
   * number if the row is its conjugate.
   */
  private int[] order() {
    if (way == Way.PRIME && kind == Kind.HALF_TO_REAL) {
      int[] rows = new int[n];
      for (int k = 0; k < n; k++) {
        rows[k] = k <= n / 2 ? k : ~(n - k);
      }
      return rows;
    }
    if (way != Way.ODD) {
      return null;
    }
    // Transform j has the frequencies radix k + j, which are in the rows k side + j.
    int radix = odd.radix();
    int side = radix / 2 + 1;
    if (kind == Kind.REAL_TO_HALF) {
      int[] rows = new int[n / 2 + 1];
      for (int f = 0; f < rows.length; f++) {
        int j = f % radix;
        rows[f] = j < side ? f / radix * side + j : ~((n - f) / radix * side + radix - j);
      }
      return rows;
    }
    int[] rows = new int[odd.count() * side];
    for (int k = 0; k < odd.count(); k++) {
      for (int j = 0; j < side; j++) {
        int f = radix * k + j;
        rows[k * side + j] = f <= n / 2 ? f : ~(n - f);
      }
    }
    return rows;
  }

  /** Transforms the lines of a group, and multiplies the results by {@code scale}. */
  void run(Group in, Group out, double scale) {
    int rows = Math.max(n, complex.rows()) + 1;
    Rows<A> x = work.first(rows, in.lanes());
    Rows<A> y = work.second(rows, in.lanes());
    switch (kind) {
      case FORWARD, INVERSE -> complexLines(x.chunked(complex.inChunk()), y, in, out, scale);
      case REAL_TO_HALF -> toHalf(x, y, in, out, scale);
      case HALF_TO_REAL -> fromHalf(x, y, in, out, scale);
    }
  }

  private void complexLines(Rows<A> x, Rows<A> y, Group in, Group out, double scale) {
    moves.read(in, in.re(), x.re(), x);
    moves.read(in, in.im(), x.im(), x);
    Rows<A> result =
        kind == Kind.INVERSE
            ? complex.run(x.swapped(), y.swapped(), scale).swapped()
            : complex.run(x, y, scale);
    write(out, result);
  }

  private void toHalf(Rows<A> x, Rows<A> y, Group in, Group out, double scale) {
    int half = n / 2 + 1;
    Rows<A> gathered;
    Rows<A> result;
    switch (way) {
      case EVEN -> {
        gathered = x.chunked(complex.inChunk());
        moves.movePairs(true, in, gathered);
        Rows<A> packed = complex.run(gathered, y, scale / 2);
        result = other(packed, x, y).chunked(half);
        kernels.toHalf(halves, n / 2, packed, result);
      }
      case ODD -> {
        gathered = x.chunked(odd.count());
        moves.read(in, in.re(), x.re(), gathered);
        boolean last = odd.count() == 1;
        kernels.oddToHalf(odd, last ? scale : 1, gathered, y);
        Rows<A> spectra = last ? y.chunked(1) : complex.run(y.chunked(complex.inChunk()), x, scale);
        result = other(spectra, x, y).chunked(half);
        kernels.pick(order, spectra, result);
      }
      default -> {
        gathered = x.chunked(complex.inChunk());
        moves.read(in, in.re(), x.re(), gathered);
        clear(x.im(), 0, gathered.at(n - 1, kernels.pad()) + x.lanes());
        result = complex.run(gathered, y, scale);
        clear(result.im(), 0, x.lanes());
      }
    }
    write(out, result);
  }

  private void fromHalf(Rows<A> x, Rows<A> y, Group in, Group out, double scale) {
    int half = n / 2 + 1;
    Rows<A> gathered = x.chunked(half);
    moves.read(in, in.re(), x.re(), gathered);
    moves.read(in, in.im(), x.im(), gathered);
    if (way == Way.EVEN) {
      Rows<A> packed = y.chunked(complex.inChunk());
      kernels.fromHalf(halves, n / 2, gathered, packed);
      moves.movePairs(false, out, complex.run(packed.swapped(), x.swapped(), scale).swapped());
      return;
    }
    clear(x.im(), 0, x.lanes()); // numpy ignores it, too
    Rows<A> result;
    if (way == Way.ODD) {
      boolean last = odd.count() == 1;
      Rows<A> ordered = y.chunked(last ? 1 : complex.inChunk());
      kernels.pick(order, gathered, ordered);
      Rows<A> lines = last ? ordered : complex.run(ordered.swapped(), x.swapped(), 1).swapped();
      result = other(lines, x, y).chunked(n);
      kernels.oddFromHalf(odd, scale, lines, result);
    } else {
      Rows<A> whole = y.chunked(complex.inChunk());
      kernels.pick(order, gathered, whole);
      result = complex.run(whole.swapped(), x.swapped(), scale).swapped();
    }
    moves.write(out, out.re(), result.re(), result);
  }

  private static <A> Rows<A> other(Rows<A> one, Rows<A> x, Rows<A> y) {
    return one.re() == x.re() ? y : x;
  }

  private void write(Group out, Rows<A> rows) {
    moves.write(out, out.re(), rows.re(), rows);
    moves.write(out, out.im(), rows.im(), rows);
  }

  private void clear(A array, int from, int to) {
    long bytes = kernels.bytes();
    HostMemory.ofArray(array).slice(from * bytes, (to - from) * bytes).fill((byte) 0);
  }
}
