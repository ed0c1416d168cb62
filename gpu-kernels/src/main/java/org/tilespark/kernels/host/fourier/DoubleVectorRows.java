package org.tilespark.kernels.host.fourier;

import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.VectorSpecies;

/**
 * What {@link FourierArithmetic} says, on vectors of doubles. Written by {@code
 * dev/generate_fourier_kernels.py}.
 */
final class DoubleVectorRows implements FourierArithmetic<double[]> {
  private static final VectorSpecies<Double> SPECIES = DoubleVector.SPECIES_PREFERRED;
  private static final int LANES = SPECIES.length();
  private static final int PAD = Rows.PAD_BYTES / Double.BYTES;

  private static int to(int from, int numbers) {
    return numbers - (numbers - from) % LANES;
  }

  @Override
  public int pass(
      RadixPass<double[]> pass, int from, double scale, Rows<double[]> x, Rows<double[]> y) {
    int to = to(from, pass.stride() * x.lanes());
    double c = scale;
    if (to > from) {
      switch (pass.radix()) {
        case 2 -> radix2(pass, from, to, c, x, y);
        case 3 -> DoubleVectorRadix.radix3(pass, from, to, c, x, y);
        case 4 -> DoubleVectorRadix.radix4(pass, from, to, c, x, y);
        case 5 -> DoubleVectorRadix.radix5(pass, from, to, c, x, y);
        case 8 -> DoubleVectorRadix.radix8(pass, from, to, c, x, y);
        default -> radixPrime(pass, from, to, c, x, y);
      }
    }
    return to;
  }

  @Override
  public int oddToHalf(
      RadixPass<double[]> pass, int from, double scale, Rows<double[]> x, Rows<double[]> y) {
    int to = to(from, x.lanes());
    oddToHalf(pass, from, to, scale, x, y);
    return to;
  }

  @Override
  public int oddFromHalf(
      RadixPass<double[]> pass, int from, double scale, Rows<double[]> x, Rows<double[]> y) {
    int to = to(from, x.lanes());
    oddFromHalf(pass, from, to, scale, x, y);
    return to;
  }

  /** Numbers {@code from} to {@code to} of each run, by butterflies of 2. */
  static void radix2(
      RadixPass<double[]> pass,
      int from,
      int to,
      double scale,
      Rows<double[]> x,
      Rows<double[]> y) {
    double[] w = pass.twiddles();
    double[] xr = x.re();
    double[] xi = x.im();
    double[] yr = y.re();
    double[] yi = y.im();
    int count = pass.count();
    int run = pass.stride() * x.lanes();
    int d = count * run + PAD;
    boolean last = count == 1;
    int e = last ? run + PAD : run;
    DoubleVector c = DoubleVector.broadcast(SPECIES, scale);
    for (int p = 0; p < count; p++) {
      int v = 2 * p;
      int first = 2 * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += LANES) {
        int a = p * run + i;
        int o = first + i;
        DoubleVector x0r = DoubleVector.fromArray(SPECIES, xr, a);
        DoubleVector x0i = DoubleVector.fromArray(SPECIES, xi, a);
        DoubleVector x1r = DoubleVector.fromArray(SPECIES, xr, a + d);
        DoubleVector x1i = DoubleVector.fromArray(SPECIES, xi, a + d);
        DoubleVector u0r = x0r.add(x1r);
        DoubleVector u0i = x0i.add(x1i);
        DoubleVector u1r = x0r.sub(x1r);
        DoubleVector u1i = x0i.sub(x1i);
        if (last) {
          u0r.mul(c).intoArray(yr, o);
          u0i.mul(c).intoArray(yi, o);
          u1r.mul(c).intoArray(yr, o + e);
          u1i.mul(c).intoArray(yi, o + e);
        } else {
          u0r.intoArray(yr, o);
          u0i.intoArray(yi, o);
          DoubleVector w1r = DoubleVector.broadcast(SPECIES, w[v]);
          DoubleVector w1i = DoubleVector.broadcast(SPECIES, w[v + 1]);
          DoubleVector w1m = DoubleVector.broadcast(SPECIES, -w[v + 1]);
          u1r.fma(w1r, u1i.mul(w1m)).intoArray(yr, o + e);
          u1r.fma(w1i, u1i.mul(w1r)).intoArray(yi, o + e);
        }
      }
    }
  }

  /** The same for any odd number, which {@code pass} has the roots of. */
  static void radixPrime(
      RadixPass<double[]> pass,
      int from,
      int to,
      double scale,
      Rows<double[]> x,
      Rows<double[]> y) {
    double[] w = pass.twiddles();
    double[] xr = x.re();
    double[] xi = x.im();
    double[] yr = y.re();
    double[] yi = y.im();
    double[] roots = pass.roots();
    int radix = pass.radix();
    int half = radix / 2;
    double[] kept = new double[4 * half * LANES]; // sums and differences, parts apart
    int count = pass.count();
    int run = pass.stride() * x.lanes();
    int d = count * run + PAD;
    boolean last = count == 1;
    int e = last ? run + PAD : run;
    DoubleVector c = DoubleVector.broadcast(SPECIES, scale);
    for (int p = 0; p < count; p++) {
      int first = radix * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += LANES) {
        int a = p * run + i;
        int o = first + i;
        DoubleVector x0r = DoubleVector.fromArray(SPECIES, xr, a);
        DoubleVector x0i = DoubleVector.fromArray(SPECIES, xi, a);
        DoubleVector u0r = x0r;
        DoubleVector u0i = x0i;
        for (int j = 1; j <= half; j++) {
          int k = 4 * (j - 1) * LANES;
          DoubleVector y0r = DoubleVector.fromArray(SPECIES, xr, a + j * d);
          DoubleVector y0i = DoubleVector.fromArray(SPECIES, xi, a + j * d);
          DoubleVector z0r = DoubleVector.fromArray(SPECIES, xr, a + (radix - j) * d);
          DoubleVector z0i = DoubleVector.fromArray(SPECIES, xi, a + (radix - j) * d);
          DoubleVector sr = y0r.add(z0r);
          DoubleVector si = y0i.add(z0i);
          sr.intoArray(kept, k);
          si.intoArray(kept, k + LANES);
          y0r.sub(z0r).intoArray(kept, k + 2 * LANES);
          y0i.sub(z0i).intoArray(kept, k + 3 * LANES);
          u0r = u0r.add(sr);
          u0i = u0i.add(si);
        }
        if (last) {
          u0r.mul(c).intoArray(yr, o);
          u0i.mul(c).intoArray(yi, o);
        } else {
          u0r.intoArray(yr, o);
          u0i.intoArray(yi, o);
        }
        for (int k = 1; k <= half; k++) {
          DoubleVector ar = x0r;
          DoubleVector ai = x0i;
          DoubleVector br = DoubleVector.broadcast(SPECIES, 0);
          DoubleVector bi = DoubleVector.broadcast(SPECIES, 0);
          int turn = 0;
          for (int j = 0; j < half; j++) {
            turn += k;
            turn -= turn < radix ? 0 : radix;
            DoubleVector cos = DoubleVector.broadcast(SPECIES, roots[2 * turn]);
            DoubleVector sin = DoubleVector.broadcast(SPECIES, roots[2 * turn + 1]);
            int q = 4 * j * LANES;
            ar = DoubleVector.fromArray(SPECIES, kept, q).fma(cos, ar);
            ai = DoubleVector.fromArray(SPECIES, kept, q + LANES).fma(cos, ai);
            br = DoubleVector.fromArray(SPECIES, kept, q + 2 * LANES).fma(sin, br);
            bi = DoubleVector.fromArray(SPECIES, kept, q + 3 * LANES).fma(sin, bi);
          }
          DoubleVector ur = ar.add(bi);
          DoubleVector ui = ai.sub(br);
          DoubleVector vr = ar.sub(bi);
          DoubleVector vi = ai.add(br);
          if (last) {
            ur.mul(c).intoArray(yr, o + k * e);
            ui.mul(c).intoArray(yi, o + k * e);
            vr.mul(c).intoArray(yr, o + (radix - k) * e);
            vi.mul(c).intoArray(yi, o + (radix - k) * e);
          } else {
            int f = 2 * (p * (radix - 1) + k - 1);
            int g = 2 * (p * (radix - 1) + radix - k - 1);
            DoubleVector wfr = DoubleVector.broadcast(SPECIES, w[f]);
            DoubleVector wfi = DoubleVector.broadcast(SPECIES, w[f + 1]);
            DoubleVector wfm = DoubleVector.broadcast(SPECIES, -w[f + 1]);
            DoubleVector wgr = DoubleVector.broadcast(SPECIES, w[g]);
            DoubleVector wgi = DoubleVector.broadcast(SPECIES, w[g + 1]);
            DoubleVector wgm = DoubleVector.broadcast(SPECIES, -w[g + 1]);
            ur.fma(wfr, ui.mul(wfm)).intoArray(yr, o + k * e);
            ur.fma(wfi, ui.mul(wfr)).intoArray(yi, o + k * e);
            vr.fma(wgr, vi.mul(wgm)).intoArray(yr, o + (radix - k) * e);
            vr.fma(wgi, vi.mul(wgr)).intoArray(yi, o + (radix - k) * e);
          }
        }
      }
    }
  }

  @Override
  public int multiply(double[] w, int rows, int from, Rows<double[]> x, Rows<double[]> y) {
    double[] xr = x.re();
    double[] xi = x.im();
    double[] yr = y.re();
    double[] yi = y.im();
    int to = to(from, x.lanes());
    for (int row = 0; row < rows; row++) {
      DoubleVector w0r = DoubleVector.broadcast(SPECIES, w[2 * row]);
      DoubleVector w0i = DoubleVector.broadcast(SPECIES, w[2 * row + 1]);
      DoubleVector w0m = DoubleVector.broadcast(SPECIES, -w[2 * row + 1]);
      for (int i = from; i < to; i += LANES) {
        int a = x.at(row, PAD) + i;
        int o = y.at(row, PAD) + i;
        DoubleVector ar = DoubleVector.fromArray(SPECIES, xr, a);
        DoubleVector ai = DoubleVector.fromArray(SPECIES, xi, a);
        ar.fma(w0r, ai.mul(w0m)).intoArray(yr, o);
        ar.fma(w0i, ai.mul(w0r)).intoArray(yi, o);
      }
    }
    return to;
  }

  @Override
  public int pick(int[] rows, int from, Rows<double[]> x, Rows<double[]> y) {
    double[] xr = x.re();
    double[] xi = x.im();
    double[] yr = y.re();
    double[] yi = y.im();
    int to = to(from, x.lanes());
    for (int row = 0; row < rows.length; row++) {
      boolean conjugate = rows[row] < 0;
      int a = x.at(conjugate ? ~rows[row] : rows[row], PAD);
      int o = y.at(row, PAD);
      for (int i = from; i < to; i += LANES) {
        DoubleVector ar = DoubleVector.fromArray(SPECIES, xr, a + i);
        DoubleVector ai = DoubleVector.fromArray(SPECIES, xi, a + i);
        ar.intoArray(yr, o + i);
        if (conjugate) {
          ai.neg().intoArray(yi, o + i);
        } else {
          ai.intoArray(yi, o + i);
        }
      }
    }
    return to;
  }

  @Override
  public int toHalf(double[] w, int rows, int from, Rows<double[]> x, Rows<double[]> y) {
    double[] xr = x.re();
    double[] xi = x.im();
    double[] yr = y.re();
    double[] yi = y.im();
    int to = to(from, x.lanes());
    for (int i = from; i < to; i += LANES) {
      int a = x.at(0, PAD) + i;
      DoubleVector ar = DoubleVector.fromArray(SPECIES, xr, a);
      DoubleVector ai = DoubleVector.fromArray(SPECIES, xi, a);
      ar.add(ai).mul(DoubleVector.broadcast(SPECIES, 2)).intoArray(yr, y.at(0, PAD) + i);
      DoubleVector.broadcast(SPECIES, 0).intoArray(yi, y.at(0, PAD) + i);
      ar.sub(ai).mul(DoubleVector.broadcast(SPECIES, 2)).intoArray(yr, y.at(rows, PAD) + i);
      DoubleVector.broadcast(SPECIES, 0).intoArray(yi, y.at(rows, PAD) + i);
    }
    for (int k = 1; k <= rows / 2; k++) {
      DoubleVector w0r = DoubleVector.broadcast(SPECIES, w[2 * k]);
      DoubleVector w0i = DoubleVector.broadcast(SPECIES, w[2 * k + 1]);
      DoubleVector w0m = DoubleVector.broadcast(SPECIES, -w[2 * k + 1]);
      DoubleVector w0n = DoubleVector.broadcast(SPECIES, -w[2 * k]);
      int a = x.at(k, PAD);
      int b = x.at(rows - k, PAD);
      int o = y.at(k, PAD);
      int q = y.at(rows - k, PAD);
      for (int i = from; i < to; i += LANES) {
        DoubleVector ar = DoubleVector.fromArray(SPECIES, xr, a + i);
        DoubleVector ai = DoubleVector.fromArray(SPECIES, xi, a + i);
        DoubleVector br = DoubleVector.fromArray(SPECIES, xr, b + i);
        DoubleVector bi = DoubleVector.fromArray(SPECIES, xi, b + i);
        DoubleVector sr = ar.add(br);
        DoubleVector si = ai.sub(bi);
        DoubleVector dr = ar.sub(br);
        DoubleVector di = ai.add(bi);
        DoubleVector mi = bi.sub(ai);
        di.fma(w0r, dr.fma(w0i, sr)).intoArray(yr, o + i);
        di.fma(w0i, dr.fma(w0n, si)).intoArray(yi, o + i);
        di.fma(w0n, dr.fma(w0m, sr)).intoArray(yr, q + i);
        di.fma(w0i, dr.fma(w0n, mi)).intoArray(yi, q + i);
      }
    }
    return to;
  }

  @Override
  public int fromHalf(double[] w, int rows, int from, Rows<double[]> x, Rows<double[]> y) {
    double[] xr = x.re();
    double[] xi = x.im();
    double[] yr = y.re();
    double[] yi = y.im();
    int to = to(from, x.lanes());
    for (int i = from; i < to; i += LANES) {
      DoubleVector ar = DoubleVector.fromArray(SPECIES, xr, x.at(0, PAD) + i);
      DoubleVector br = DoubleVector.fromArray(SPECIES, xr, x.at(rows, PAD) + i);
      ar.add(br).intoArray(yr, y.at(0, PAD) + i);
      ar.sub(br).intoArray(yi, y.at(0, PAD) + i);
    }
    for (int k = 1; k <= rows / 2; k++) {
      DoubleVector w0r = DoubleVector.broadcast(SPECIES, w[2 * k]);
      DoubleVector w0i = DoubleVector.broadcast(SPECIES, w[2 * k + 1]);
      DoubleVector w0m = DoubleVector.broadcast(SPECIES, -w[2 * k + 1]);
      DoubleVector w0n = DoubleVector.broadcast(SPECIES, -w[2 * k]);
      int a = x.at(k, PAD);
      int b = x.at(rows - k, PAD);
      int o = y.at(k, PAD);
      int q = y.at(rows - k, PAD);
      for (int i = from; i < to; i += LANES) {
        DoubleVector ar = DoubleVector.fromArray(SPECIES, xr, a + i);
        DoubleVector ai = DoubleVector.fromArray(SPECIES, xi, a + i);
        DoubleVector br = DoubleVector.fromArray(SPECIES, xr, b + i);
        DoubleVector bi = DoubleVector.fromArray(SPECIES, xi, b + i);
        DoubleVector sr = ar.add(br);
        DoubleVector si = ai.sub(bi);
        DoubleVector dr = ar.sub(br);
        DoubleVector di = ai.add(bi);
        DoubleVector mi = bi.sub(ai);
        di.fma(w0n, dr.fma(w0i, sr)).intoArray(yr, o + i);
        di.fma(w0i, dr.fma(w0r, si)).intoArray(yi, o + i);
        di.fma(w0r, dr.fma(w0m, sr)).intoArray(yr, q + i);
        di.fma(w0i, dr.fma(w0r, mi)).intoArray(yi, q + i);
      }
    }
    return to;
  }

  /**
   * The first pass over real rows of an odd count. Of its {@code radix} transforms, of which the
   * last are the conjugates of others, it leaves the first half.
   */
  static void oddToHalf(
      RadixPass<double[]> pass,
      int from,
      int to,
      double scale,
      Rows<double[]> x,
      Rows<double[]> y) {
    double[] w = pass.twiddles();
    double[] xr = x.re();
    double[] yr = y.re();
    double[] yi = y.im();
    double[] roots = pass.roots();
    int radix = pass.radix();
    int half = radix / 2;
    int run = x.lanes();
    int d = pass.count() * run + PAD;
    int e = pass.count() == 1 ? run + PAD : run;
    DoubleVector c = DoubleVector.broadcast(SPECIES, scale);
    for (int p = 0; p < pass.count(); p++) {
      int first = (half + 1) * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += LANES) {
        int at = p * run + i;
        int o = first + i;
        DoubleVector x0 = DoubleVector.fromArray(SPECIES, xr, at);
        DoubleVector sum = x0;
        for (int j = 1; j < radix; j++) {
          sum = sum.add(DoubleVector.fromArray(SPECIES, xr, at + j * d));
        }
        sum.mul(c).intoArray(yr, o);
        DoubleVector.broadcast(SPECIES, 0).intoArray(yi, o);
        for (int k = 1; k <= half; k++) {
          DoubleVector a = x0;
          DoubleVector b = DoubleVector.broadcast(SPECIES, 0);
          int turn = 0;
          for (int j = 1; j <= half; j++) {
            turn += k;
            turn -= turn < radix ? 0 : radix;
            DoubleVector s = DoubleVector.fromArray(SPECIES, xr, at + j * d);
            DoubleVector t = DoubleVector.fromArray(SPECIES, xr, at + (radix - j) * d);
            a = s.add(t).fma(DoubleVector.broadcast(SPECIES, roots[2 * turn]), a);
            b = t.sub(s).fma(DoubleVector.broadcast(SPECIES, roots[2 * turn + 1]), b);
          }
          int f = 2 * (p * (radix - 1) + k - 1);
          DoubleVector wfr = DoubleVector.broadcast(SPECIES, w[f]);
          DoubleVector wfi = DoubleVector.broadcast(SPECIES, w[f + 1]);
          DoubleVector wfm = DoubleVector.broadcast(SPECIES, -w[f + 1]);
          DoubleVector ur = a.mul(c);
          DoubleVector ui = b.mul(c);
          ur.fma(wfr, ui.mul(wfm)).intoArray(yr, o + k * e);
          ur.fma(wfi, ui.mul(wfr)).intoArray(yi, o + k * e);
        }
      }
    }
  }

  /**
   * The last pass to real rows of an odd count, from the first half of {@code radix} transforms.
   */
  static void oddFromHalf(
      RadixPass<double[]> pass,
      int from,
      int to,
      double scale,
      Rows<double[]> x,
      Rows<double[]> y) {
    double[] w = pass.twiddles();
    double[] xr = x.re();
    double[] xi = x.im();
    double[] yr = y.re();
    double[] roots = pass.roots();
    int radix = pass.radix();
    int half = radix / 2;
    int run = x.lanes();
    int d = pass.count() == 1 ? run + PAD : run;
    int e = pass.count() * run;
    DoubleVector c = DoubleVector.broadcast(SPECIES, scale);
    for (int p = 0; p < pass.count(); p++) {
      int first = (half + 1) * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += LANES) {
        int at = first + i;
        int o = p * run + i;
        DoubleVector x0 = DoubleVector.fromArray(SPECIES, xr, at);
        DoubleVector sum = x0;
        for (int t = 0; t <= half; t++) {
          DoubleVector a = x0;
          DoubleVector b = DoubleVector.broadcast(SPECIES, 0);
          int turn = 0;
          for (int j = 1; j <= half; j++) {
            turn += t;
            turn -= turn < radix ? 0 : radix;
            int f = 2 * (p * (radix - 1) + j - 1);
            DoubleVector wfr = DoubleVector.broadcast(SPECIES, w[f]);
            DoubleVector wfi = DoubleVector.broadcast(SPECIES, w[f + 1]);
            DoubleVector wfm = DoubleVector.broadcast(SPECIES, -w[f + 1]);
            DoubleVector zr = DoubleVector.fromArray(SPECIES, xr, at + j * d);
            DoubleVector zi = DoubleVector.fromArray(SPECIES, xi, at + j * d);
            DoubleVector r = zr.fma(wfr, zi.mul(wfi));
            DoubleVector s = zi.fma(wfr, zr.mul(wfm));
            a = r.add(r).fma(DoubleVector.broadcast(SPECIES, roots[2 * turn]), a);
            b = s.add(s).fma(DoubleVector.broadcast(SPECIES, roots[2 * turn + 1]), b);
          }
          a.sub(b).mul(c).intoArray(yr, o + t * e);
          if (t > 0) {
            a.add(b).mul(c).intoArray(yr, o + (radix - t) * e);
          }
        }
      }
    }
  }
}
