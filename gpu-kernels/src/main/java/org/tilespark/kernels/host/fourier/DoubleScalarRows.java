package org.tilespark.kernels.host.fourier;

import org.tilespark.kernels.host.Fma;

/**
 * What {@link FourierArithmetic} says, one double at a time. Written by {@code
 * dev/generate_fourier_kernels.py}.
 */
final class DoubleScalarRows implements FourierArithmetic<double[]> {
  private static final int PAD = Rows.PAD_BYTES / Double.BYTES;

  private static int to(int from, int numbers) {
    return numbers;
  }

  @Override
  public int pass(
      RadixPass<double[]> pass, int from, double scale, Rows<double[]> x, Rows<double[]> y) {
    int to = to(from, pass.stride() * x.lanes());
    double c = scale;
    if (to > from) {
      switch (pass.radix()) {
        case 2 -> radix2(pass, from, to, c, x, y);
        case 3 -> DoubleScalarRadix.radix3(pass, from, to, c, x, y);
        case 4 -> DoubleScalarRadix.radix4(pass, from, to, c, x, y);
        case 5 -> DoubleScalarRadix.radix5(pass, from, to, c, x, y);
        case 8 -> DoubleScalarRadix.radix8(pass, from, to, c, x, y);
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
    double c = scale;
    for (int p = 0; p < count; p++) {
      int v = 2 * p;
      int first = 2 * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += 1) {
        int a = p * run + i;
        int o = first + i;
        double x0r = xr[a];
        double x0i = xi[a];
        double x1r = xr[a + d];
        double x1i = xi[a + d];
        double u0r = x0r + x1r;
        double u0i = x0i + x1i;
        double u1r = x0r - x1r;
        double u1i = x0i - x1i;
        if (last) {
          yr[o] = u0r * c;
          yi[o] = u0i * c;
          yr[o + e] = u1r * c;
          yi[o + e] = u1i * c;
        } else {
          yr[o] = u0r;
          yi[o] = u0i;
          double w1r = w[v];
          double w1i = w[v + 1];
          double w1m = -w[v + 1];
          yr[o + e] = Fma.of(u1r, w1r, u1i * w1m);
          yi[o + e] = Fma.of(u1r, w1i, u1i * w1r);
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
    double[] kept = new double[4 * half * 1]; // sums and differences, parts apart
    int count = pass.count();
    int run = pass.stride() * x.lanes();
    int d = count * run + PAD;
    boolean last = count == 1;
    int e = last ? run + PAD : run;
    double c = scale;
    for (int p = 0; p < count; p++) {
      int first = radix * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += 1) {
        int a = p * run + i;
        int o = first + i;
        double x0r = xr[a];
        double x0i = xi[a];
        double u0r = x0r;
        double u0i = x0i;
        for (int j = 1; j <= half; j++) {
          int k = 4 * (j - 1) * 1;
          double y0r = xr[a + j * d];
          double y0i = xi[a + j * d];
          double z0r = xr[a + (radix - j) * d];
          double z0i = xi[a + (radix - j) * d];
          double sr = y0r + z0r;
          double si = y0i + z0i;
          kept[k] = sr;
          kept[k + 1] = si;
          kept[k + 2 * 1] = y0r - z0r;
          kept[k + 3 * 1] = y0i - z0i;
          u0r = u0r + sr;
          u0i = u0i + si;
        }
        if (last) {
          yr[o] = u0r * c;
          yi[o] = u0i * c;
        } else {
          yr[o] = u0r;
          yi[o] = u0i;
        }
        for (int k = 1; k <= half; k++) {
          double ar = x0r;
          double ai = x0i;
          double br = 0;
          double bi = 0;
          int turn = 0;
          for (int j = 0; j < half; j++) {
            turn += k;
            turn -= turn < radix ? 0 : radix;
            double cos = roots[2 * turn];
            double sin = roots[2 * turn + 1];
            int q = 4 * j * 1;
            ar = Fma.of(kept[q], cos, ar);
            ai = Fma.of(kept[q + 1], cos, ai);
            br = Fma.of(kept[q + 2 * 1], sin, br);
            bi = Fma.of(kept[q + 3 * 1], sin, bi);
          }
          double ur = ar + bi;
          double ui = ai - br;
          double vr = ar - bi;
          double vi = ai + br;
          if (last) {
            yr[o + k * e] = ur * c;
            yi[o + k * e] = ui * c;
            yr[o + (radix - k) * e] = vr * c;
            yi[o + (radix - k) * e] = vi * c;
          } else {
            int f = 2 * (p * (radix - 1) + k - 1);
            int g = 2 * (p * (radix - 1) + radix - k - 1);
            double wfr = w[f];
            double wfi = w[f + 1];
            double wfm = -w[f + 1];
            double wgr = w[g];
            double wgi = w[g + 1];
            double wgm = -w[g + 1];
            yr[o + k * e] = Fma.of(ur, wfr, ui * wfm);
            yi[o + k * e] = Fma.of(ur, wfi, ui * wfr);
            yr[o + (radix - k) * e] = Fma.of(vr, wgr, vi * wgm);
            yi[o + (radix - k) * e] = Fma.of(vr, wgi, vi * wgr);
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
      double w0r = w[2 * row];
      double w0i = w[2 * row + 1];
      double w0m = -w[2 * row + 1];
      for (int i = from; i < to; i += 1) {
        int a = x.at(row, PAD) + i;
        int o = y.at(row, PAD) + i;
        double ar = xr[a];
        double ai = xi[a];
        yr[o] = Fma.of(ar, w0r, ai * w0m);
        yi[o] = Fma.of(ar, w0i, ai * w0r);
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
      for (int i = from; i < to; i += 1) {
        double ar = xr[a + i];
        double ai = xi[a + i];
        yr[o + i] = ar;
        if (conjugate) {
          yi[o + i] = -ai;
        } else {
          yi[o + i] = ai;
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
    for (int i = from; i < to; i += 1) {
      int a = x.at(0, PAD) + i;
      double ar = xr[a];
      double ai = xi[a];
      yr[y.at(0, PAD) + i] = (ar + ai) * 2;
      yi[y.at(0, PAD) + i] = 0;
      yr[y.at(rows, PAD) + i] = (ar - ai) * 2;
      yi[y.at(rows, PAD) + i] = 0;
    }
    for (int k = 1; k <= rows / 2; k++) {
      double w0r = w[2 * k];
      double w0i = w[2 * k + 1];
      double w0m = -w[2 * k + 1];
      double w0n = -w[2 * k];
      int a = x.at(k, PAD);
      int b = x.at(rows - k, PAD);
      int o = y.at(k, PAD);
      int q = y.at(rows - k, PAD);
      for (int i = from; i < to; i += 1) {
        double ar = xr[a + i];
        double ai = xi[a + i];
        double br = xr[b + i];
        double bi = xi[b + i];
        double sr = ar + br;
        double si = ai - bi;
        double dr = ar - br;
        double di = ai + bi;
        double mi = bi - ai;
        yr[o + i] = Fma.of(di, w0r, Fma.of(dr, w0i, sr));
        yi[o + i] = Fma.of(di, w0i, Fma.of(dr, w0n, si));
        yr[q + i] = Fma.of(di, w0n, Fma.of(dr, w0m, sr));
        yi[q + i] = Fma.of(di, w0i, Fma.of(dr, w0n, mi));
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
    for (int i = from; i < to; i += 1) {
      double ar = xr[x.at(0, PAD) + i];
      double br = xr[x.at(rows, PAD) + i];
      yr[y.at(0, PAD) + i] = ar + br;
      yi[y.at(0, PAD) + i] = ar - br;
    }
    for (int k = 1; k <= rows / 2; k++) {
      double w0r = w[2 * k];
      double w0i = w[2 * k + 1];
      double w0m = -w[2 * k + 1];
      double w0n = -w[2 * k];
      int a = x.at(k, PAD);
      int b = x.at(rows - k, PAD);
      int o = y.at(k, PAD);
      int q = y.at(rows - k, PAD);
      for (int i = from; i < to; i += 1) {
        double ar = xr[a + i];
        double ai = xi[a + i];
        double br = xr[b + i];
        double bi = xi[b + i];
        double sr = ar + br;
        double si = ai - bi;
        double dr = ar - br;
        double di = ai + bi;
        double mi = bi - ai;
        yr[o + i] = Fma.of(di, w0n, Fma.of(dr, w0i, sr));
        yi[o + i] = Fma.of(di, w0i, Fma.of(dr, w0r, si));
        yr[q + i] = Fma.of(di, w0r, Fma.of(dr, w0m, sr));
        yi[q + i] = Fma.of(di, w0i, Fma.of(dr, w0r, mi));
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
    double c = scale;
    for (int p = 0; p < pass.count(); p++) {
      int first = (half + 1) * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += 1) {
        int at = p * run + i;
        int o = first + i;
        double x0 = xr[at];
        double sum = x0;
        for (int j = 1; j < radix; j++) {
          sum = sum + xr[at + j * d];
        }
        yr[o] = sum * c;
        yi[o] = 0;
        for (int k = 1; k <= half; k++) {
          double a = x0;
          double b = 0;
          int turn = 0;
          for (int j = 1; j <= half; j++) {
            turn += k;
            turn -= turn < radix ? 0 : radix;
            double s = xr[at + j * d];
            double t = xr[at + (radix - j) * d];
            a = Fma.of(s + t, roots[2 * turn], a);
            b = Fma.of(t - s, roots[2 * turn + 1], b);
          }
          int f = 2 * (p * (radix - 1) + k - 1);
          double wfr = w[f];
          double wfi = w[f + 1];
          double wfm = -w[f + 1];
          double ur = a * c;
          double ui = b * c;
          yr[o + k * e] = Fma.of(ur, wfr, ui * wfm);
          yi[o + k * e] = Fma.of(ur, wfi, ui * wfr);
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
    double c = scale;
    for (int p = 0; p < pass.count(); p++) {
      int first = (half + 1) * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += 1) {
        int at = first + i;
        int o = p * run + i;
        double x0 = xr[at];
        double sum = x0;
        for (int t = 0; t <= half; t++) {
          double a = x0;
          double b = 0;
          int turn = 0;
          for (int j = 1; j <= half; j++) {
            turn += t;
            turn -= turn < radix ? 0 : radix;
            int f = 2 * (p * (radix - 1) + j - 1);
            double wfr = w[f];
            double wfi = w[f + 1];
            double wfm = -w[f + 1];
            double zr = xr[at + j * d];
            double zi = xi[at + j * d];
            double r = Fma.of(zr, wfr, zi * wfi);
            double s = Fma.of(zi, wfr, zr * wfm);
            a = Fma.of(r + r, roots[2 * turn], a);
            b = Fma.of(s + s, roots[2 * turn + 1], b);
          }
          yr[o + t * e] = (a - b) * c;
          if (t > 0) {
            yr[o + (radix - t) * e] = (a + b) * c;
          }
        }
      }
    }
  }
}
