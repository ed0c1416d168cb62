package org.tilespark.kernels.host.fourier;

import org.tilespark.kernels.host.Fma;

/**
 * The radix passes of a transform, one double at a time. Written by {@code
 * dev/generate_fourier_kernels.py}.
 */
final class DoubleScalarRadix {
  private static final int PAD = Rows.PAD_BYTES / Double.BYTES;
  private static final double HALF_ROOT = Math.sqrt(0.5);
  private static final double MINUS_HALF_ROOT = -Math.sqrt(0.5);
  private static final double COS_1_3 = Roots.cos(1, 3);
  private static final double SIN_1_3 = Roots.sin(1, 3);
  private static final double COS_1_5 = Roots.cos(1, 5);
  private static final double SIN_1_5 = Roots.sin(1, 5);
  private static final double COS_2_5 = Roots.cos(2, 5);
  private static final double SIN_2_5 = Roots.sin(2, 5);
  private static final double MINUS_SIN_1_5 = -Roots.sin(1, 5);

  private DoubleScalarRadix() {}

  /** Numbers {@code from} to {@code to} of each run, by butterflies of 3. */
  static void radix3(
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
      int v = 4 * p;
      int first = 3 * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += 1) {
        int a = p * run + i;
        int o = first + i;
        double x0r = xr[a];
        double x0i = xi[a];
        double x1r = xr[a + d];
        double x1i = xi[a + d];
        double x2r = xr[a + 2 * d];
        double x2i = xi[a + 2 * d];
        double s1r = x1r + x2r;
        double s1i = x1i + x2i;
        double d1r = x1r - x2r;
        double d1i = x1i - x2i;
        double u0r = x0r + s1r;
        double u0i = x0i + s1i;
        double a1r = Fma.of(s1r, COS_1_3, x0r);
        double b1r = d1r * SIN_1_3;
        double a1i = Fma.of(s1i, COS_1_3, x0i);
        double b1i = d1i * SIN_1_3;
        double u1r = a1r + b1i;
        double u1i = a1i - b1r;
        double u2r = a1r - b1i;
        double u2i = a1i + b1r;
        if (last) {
          yr[o] = u0r * c;
          yi[o] = u0i * c;
          yr[o + e] = u1r * c;
          yi[o + e] = u1i * c;
          yr[o + 2 * e] = u2r * c;
          yi[o + 2 * e] = u2i * c;
        } else {
          yr[o] = u0r;
          yi[o] = u0i;
          double w1r = w[v];
          double w1i = w[v + 1];
          double w1m = -w[v + 1];
          yr[o + e] = Fma.of(u1r, w1r, u1i * w1m);
          yi[o + e] = Fma.of(u1r, w1i, u1i * w1r);
          double w2r = w[v + 2];
          double w2i = w[v + 2 + 1];
          double w2m = -w[v + 2 + 1];
          yr[o + 2 * e] = Fma.of(u2r, w2r, u2i * w2m);
          yi[o + 2 * e] = Fma.of(u2r, w2i, u2i * w2r);
        }
      }
    }
  }

  /** Numbers {@code from} to {@code to} of each run, by butterflies of 4. */
  static void radix4(
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
      int v = 6 * p;
      int first = 4 * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += 1) {
        int a = p * run + i;
        int o = first + i;
        double x0r = xr[a];
        double x0i = xi[a];
        double x1r = xr[a + d];
        double x1i = xi[a + d];
        double x2r = xr[a + 2 * d];
        double x2i = xi[a + 2 * d];
        double x3r = xr[a + 3 * d];
        double x3i = xi[a + 3 * d];
        double u0acr = x0r + x2r;
        double u0aci = x0i + x2i;
        double u0acdr = x0r - x2r;
        double u0acdi = x0i - x2i;
        double u0bdr = x1r + x3r;
        double u0bdi = x1i + x3i;
        double u0bddr = x1r - x3r;
        double u0bddi = x1i - x3i;
        double u0r = u0acr + u0bdr;
        double u0i = u0aci + u0bdi;
        double u1r = u0acdr + u0bddi;
        double u1i = u0acdi - u0bddr;
        double u2r = u0acr - u0bdr;
        double u2i = u0aci - u0bdi;
        double u3r = u0acdr - u0bddi;
        double u3i = u0acdi + u0bddr;
        if (last) {
          yr[o] = u0r * c;
          yi[o] = u0i * c;
          yr[o + e] = u1r * c;
          yi[o + e] = u1i * c;
          yr[o + 2 * e] = u2r * c;
          yi[o + 2 * e] = u2i * c;
          yr[o + 3 * e] = u3r * c;
          yi[o + 3 * e] = u3i * c;
        } else {
          yr[o] = u0r;
          yi[o] = u0i;
          double w1r = w[v];
          double w1i = w[v + 1];
          double w1m = -w[v + 1];
          yr[o + e] = Fma.of(u1r, w1r, u1i * w1m);
          yi[o + e] = Fma.of(u1r, w1i, u1i * w1r);
          double w2r = w[v + 2];
          double w2i = w[v + 2 + 1];
          double w2m = -w[v + 2 + 1];
          yr[o + 2 * e] = Fma.of(u2r, w2r, u2i * w2m);
          yi[o + 2 * e] = Fma.of(u2r, w2i, u2i * w2r);
          double w3r = w[v + 4];
          double w3i = w[v + 4 + 1];
          double w3m = -w[v + 4 + 1];
          yr[o + 3 * e] = Fma.of(u3r, w3r, u3i * w3m);
          yi[o + 3 * e] = Fma.of(u3r, w3i, u3i * w3r);
        }
      }
    }
  }

  /** Numbers {@code from} to {@code to} of each run, by butterflies of 5. */
  static void radix5(
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
      int v = 8 * p;
      int first = 5 * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += 1) {
        int a = p * run + i;
        int o = first + i;
        double x0r = xr[a];
        double x0i = xi[a];
        double x1r = xr[a + d];
        double x1i = xi[a + d];
        double x2r = xr[a + 2 * d];
        double x2i = xi[a + 2 * d];
        double x3r = xr[a + 3 * d];
        double x3i = xi[a + 3 * d];
        double x4r = xr[a + 4 * d];
        double x4i = xi[a + 4 * d];
        double s1r = x1r + x4r;
        double s1i = x1i + x4i;
        double d1r = x1r - x4r;
        double d1i = x1i - x4i;
        double s2r = x2r + x3r;
        double s2i = x2i + x3i;
        double d2r = x2r - x3r;
        double d2i = x2i - x3i;
        double u0r = (x0r + s1r) + s2r;
        double u0i = (x0i + s1i) + s2i;
        double a1r = Fma.of(s2r, COS_2_5, Fma.of(s1r, COS_1_5, x0r));
        double b1r = Fma.of(d2r, SIN_2_5, d1r * SIN_1_5);
        double a1i = Fma.of(s2i, COS_2_5, Fma.of(s1i, COS_1_5, x0i));
        double b1i = Fma.of(d2i, SIN_2_5, d1i * SIN_1_5);
        double u1r = a1r + b1i;
        double u1i = a1i - b1r;
        double u4r = a1r - b1i;
        double u4i = a1i + b1r;
        double a2r = Fma.of(s2r, COS_1_5, Fma.of(s1r, COS_2_5, x0r));
        double b2r = Fma.of(d2r, MINUS_SIN_1_5, d1r * SIN_2_5);
        double a2i = Fma.of(s2i, COS_1_5, Fma.of(s1i, COS_2_5, x0i));
        double b2i = Fma.of(d2i, MINUS_SIN_1_5, d1i * SIN_2_5);
        double u2r = a2r + b2i;
        double u2i = a2i - b2r;
        double u3r = a2r - b2i;
        double u3i = a2i + b2r;
        if (last) {
          yr[o] = u0r * c;
          yi[o] = u0i * c;
          yr[o + e] = u1r * c;
          yi[o + e] = u1i * c;
          yr[o + 2 * e] = u2r * c;
          yi[o + 2 * e] = u2i * c;
          yr[o + 3 * e] = u3r * c;
          yi[o + 3 * e] = u3i * c;
          yr[o + 4 * e] = u4r * c;
          yi[o + 4 * e] = u4i * c;
        } else {
          yr[o] = u0r;
          yi[o] = u0i;
          double w1r = w[v];
          double w1i = w[v + 1];
          double w1m = -w[v + 1];
          yr[o + e] = Fma.of(u1r, w1r, u1i * w1m);
          yi[o + e] = Fma.of(u1r, w1i, u1i * w1r);
          double w2r = w[v + 2];
          double w2i = w[v + 2 + 1];
          double w2m = -w[v + 2 + 1];
          yr[o + 2 * e] = Fma.of(u2r, w2r, u2i * w2m);
          yi[o + 2 * e] = Fma.of(u2r, w2i, u2i * w2r);
          double w3r = w[v + 4];
          double w3i = w[v + 4 + 1];
          double w3m = -w[v + 4 + 1];
          yr[o + 3 * e] = Fma.of(u3r, w3r, u3i * w3m);
          yi[o + 3 * e] = Fma.of(u3r, w3i, u3i * w3r);
          double w4r = w[v + 6];
          double w4i = w[v + 6 + 1];
          double w4m = -w[v + 6 + 1];
          yr[o + 4 * e] = Fma.of(u4r, w4r, u4i * w4m);
          yi[o + 4 * e] = Fma.of(u4r, w4i, u4i * w4r);
        }
      }
    }
  }

  /** Numbers {@code from} to {@code to} of each run, by butterflies of 8. */
  static void radix8(
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
      int v = 14 * p;
      int first = 8 * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += 1) {
        int a = p * run + i;
        int o = first + i;
        double x0r = xr[a];
        double x0i = xi[a];
        double x1r = xr[a + d];
        double x1i = xi[a + d];
        double x2r = xr[a + 2 * d];
        double x2i = xi[a + 2 * d];
        double x3r = xr[a + 3 * d];
        double x3i = xi[a + 3 * d];
        double x4r = xr[a + 4 * d];
        double x4i = xi[a + 4 * d];
        double x5r = xr[a + 5 * d];
        double x5i = xi[a + 5 * d];
        double x6r = xr[a + 6 * d];
        double x6i = xi[a + 6 * d];
        double x7r = xr[a + 7 * d];
        double x7i = xi[a + 7 * d];
        double a0r = x0r + x4r;
        double a0i = x0i + x4i;
        double b0r = x0r - x4r;
        double b0i = x0i - x4i;
        double a1r = x1r + x5r;
        double a1i = x1i + x5i;
        double b1r = x1r - x5r;
        double b1i = x1i - x5i;
        double a2r = x2r + x6r;
        double a2i = x2i + x6i;
        double b2r = x2r - x6r;
        double b2i = x2i - x6i;
        double a3r = x3r + x7r;
        double a3i = x3i + x7i;
        double b3r = x3r - x7r;
        double b3i = x3i - x7i;
        double u0acr = a0r + a2r;
        double u0aci = a0i + a2i;
        double u0acdr = a0r - a2r;
        double u0acdi = a0i - a2i;
        double u0bdr = a1r + a3r;
        double u0bdi = a1i + a3i;
        double u0bddr = a1r - a3r;
        double u0bddi = a1i - a3i;
        double u0r = u0acr + u0bdr;
        double u0i = u0aci + u0bdi;
        double u2r = u0acdr + u0bddi;
        double u2i = u0acdi - u0bddr;
        double u4r = u0acr - u0bdr;
        double u4i = u0aci - u0bdi;
        double u6r = u0acdr - u0bddi;
        double u6i = u0acdi + u0bddr;
        double pr = b1r + b1i;
        double pi = b1i - b1r;
        double qr = b3i - b3r;
        double qi = b3r + b3i;
        double er = b0r + b2i;
        double ei = b0i - b2r;
        double fr = b0r - b2i;
        double fi = b0i + b2r;
        double gr = pr + qr;
        double gi = pi - qi;
        double hr = pr - qr;
        double hi = pi + qi;
        double u1r = Fma.of(gr, HALF_ROOT, er);
        double u1i = Fma.of(gi, HALF_ROOT, ei);
        double u3r = Fma.of(hi, HALF_ROOT, fr);
        double u3i = Fma.of(hr, MINUS_HALF_ROOT, fi);
        double u5r = Fma.of(gr, MINUS_HALF_ROOT, er);
        double u5i = Fma.of(gi, MINUS_HALF_ROOT, ei);
        double u7r = Fma.of(hi, MINUS_HALF_ROOT, fr);
        double u7i = Fma.of(hr, HALF_ROOT, fi);
        if (last) {
          yr[o] = u0r * c;
          yi[o] = u0i * c;
          yr[o + e] = u1r * c;
          yi[o + e] = u1i * c;
          yr[o + 2 * e] = u2r * c;
          yi[o + 2 * e] = u2i * c;
          yr[o + 3 * e] = u3r * c;
          yi[o + 3 * e] = u3i * c;
          yr[o + 4 * e] = u4r * c;
          yi[o + 4 * e] = u4i * c;
          yr[o + 5 * e] = u5r * c;
          yi[o + 5 * e] = u5i * c;
          yr[o + 6 * e] = u6r * c;
          yi[o + 6 * e] = u6i * c;
          yr[o + 7 * e] = u7r * c;
          yi[o + 7 * e] = u7i * c;
        } else {
          yr[o] = u0r;
          yi[o] = u0i;
          double w1r = w[v];
          double w1i = w[v + 1];
          double w1m = -w[v + 1];
          yr[o + e] = Fma.of(u1r, w1r, u1i * w1m);
          yi[o + e] = Fma.of(u1r, w1i, u1i * w1r);
          double w2r = w[v + 2];
          double w2i = w[v + 2 + 1];
          double w2m = -w[v + 2 + 1];
          yr[o + 2 * e] = Fma.of(u2r, w2r, u2i * w2m);
          yi[o + 2 * e] = Fma.of(u2r, w2i, u2i * w2r);
          double w3r = w[v + 4];
          double w3i = w[v + 4 + 1];
          double w3m = -w[v + 4 + 1];
          yr[o + 3 * e] = Fma.of(u3r, w3r, u3i * w3m);
          yi[o + 3 * e] = Fma.of(u3r, w3i, u3i * w3r);
          double w4r = w[v + 6];
          double w4i = w[v + 6 + 1];
          double w4m = -w[v + 6 + 1];
          yr[o + 4 * e] = Fma.of(u4r, w4r, u4i * w4m);
          yi[o + 4 * e] = Fma.of(u4r, w4i, u4i * w4r);
          double w5r = w[v + 8];
          double w5i = w[v + 8 + 1];
          double w5m = -w[v + 8 + 1];
          yr[o + 5 * e] = Fma.of(u5r, w5r, u5i * w5m);
          yi[o + 5 * e] = Fma.of(u5r, w5i, u5i * w5r);
          double w6r = w[v + 10];
          double w6i = w[v + 10 + 1];
          double w6m = -w[v + 10 + 1];
          yr[o + 6 * e] = Fma.of(u6r, w6r, u6i * w6m);
          yi[o + 6 * e] = Fma.of(u6r, w6i, u6i * w6r);
          double w7r = w[v + 12];
          double w7i = w[v + 12 + 1];
          double w7m = -w[v + 12 + 1];
          yr[o + 7 * e] = Fma.of(u7r, w7r, u7i * w7m);
          yi[o + 7 * e] = Fma.of(u7r, w7i, u7i * w7r);
        }
      }
    }
  }
}
