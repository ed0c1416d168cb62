package org.tilespark.kernels.host.fourier;

import org.tilespark.kernels.host.Fma;

/**
 * The radix passes of a transform, one float at a time. Written by {@code
 * dev/generate_fourier_kernels.py}.
 */
final class FloatScalarRadix {
  private static final int PAD = Rows.PAD_BYTES / Float.BYTES;
  private static final float HALF_ROOT = (float) Math.sqrt(0.5);
  private static final float MINUS_HALF_ROOT = (float) -Math.sqrt(0.5);
  private static final float COS_1_3 = (float) Roots.cos(1, 3);
  private static final float SIN_1_3 = (float) Roots.sin(1, 3);
  private static final float COS_1_5 = (float) Roots.cos(1, 5);
  private static final float SIN_1_5 = (float) Roots.sin(1, 5);
  private static final float COS_2_5 = (float) Roots.cos(2, 5);
  private static final float SIN_2_5 = (float) Roots.sin(2, 5);
  private static final float MINUS_SIN_1_5 = (float) -Roots.sin(1, 5);

  private FloatScalarRadix() {}

  /** Numbers {@code from} to {@code to} of each run, by butterflies of 3. */
  static void radix3(
      RadixPass<float[]> pass, int from, int to, float scale, Rows<float[]> x, Rows<float[]> y) {
    float[] w = pass.twiddles();
    float[] xr = x.re();
    float[] xi = x.im();
    float[] yr = y.re();
    float[] yi = y.im();
    int count = pass.count();
    int run = pass.stride() * x.lanes();
    int d = count * run + PAD;
    boolean last = count == 1;
    int e = last ? run + PAD : run;
    float c = scale;
    for (int p = 0; p < count; p++) {
      int v = 4 * p;
      int first = 3 * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += 1) {
        int a = p * run + i;
        int o = first + i;
        float x0r = xr[a];
        float x0i = xi[a];
        float x1r = xr[a + d];
        float x1i = xi[a + d];
        float x2r = xr[a + 2 * d];
        float x2i = xi[a + 2 * d];
        float s1r = x1r + x2r;
        float s1i = x1i + x2i;
        float d1r = x1r - x2r;
        float d1i = x1i - x2i;
        float u0r = x0r + s1r;
        float u0i = x0i + s1i;
        float a1r = Fma.of(s1r, COS_1_3, x0r);
        float b1r = d1r * SIN_1_3;
        float a1i = Fma.of(s1i, COS_1_3, x0i);
        float b1i = d1i * SIN_1_3;
        float u1r = a1r + b1i;
        float u1i = a1i - b1r;
        float u2r = a1r - b1i;
        float u2i = a1i + b1r;
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
          float w1r = w[v];
          float w1i = w[v + 1];
          float w1m = -w[v + 1];
          yr[o + e] = Fma.of(u1r, w1r, u1i * w1m);
          yi[o + e] = Fma.of(u1r, w1i, u1i * w1r);
          float w2r = w[v + 2];
          float w2i = w[v + 2 + 1];
          float w2m = -w[v + 2 + 1];
          yr[o + 2 * e] = Fma.of(u2r, w2r, u2i * w2m);
          yi[o + 2 * e] = Fma.of(u2r, w2i, u2i * w2r);
        }
      }
    }
  }

  /** Numbers {@code from} to {@code to} of each run, by butterflies of 4. */
  static void radix4(
      RadixPass<float[]> pass, int from, int to, float scale, Rows<float[]> x, Rows<float[]> y) {
    float[] w = pass.twiddles();
    float[] xr = x.re();
    float[] xi = x.im();
    float[] yr = y.re();
    float[] yi = y.im();
    int count = pass.count();
    int run = pass.stride() * x.lanes();
    int d = count * run + PAD;
    boolean last = count == 1;
    int e = last ? run + PAD : run;
    float c = scale;
    for (int p = 0; p < count; p++) {
      int v = 6 * p;
      int first = 4 * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += 1) {
        int a = p * run + i;
        int o = first + i;
        float x0r = xr[a];
        float x0i = xi[a];
        float x1r = xr[a + d];
        float x1i = xi[a + d];
        float x2r = xr[a + 2 * d];
        float x2i = xi[a + 2 * d];
        float x3r = xr[a + 3 * d];
        float x3i = xi[a + 3 * d];
        float u0acr = x0r + x2r;
        float u0aci = x0i + x2i;
        float u0acdr = x0r - x2r;
        float u0acdi = x0i - x2i;
        float u0bdr = x1r + x3r;
        float u0bdi = x1i + x3i;
        float u0bddr = x1r - x3r;
        float u0bddi = x1i - x3i;
        float u0r = u0acr + u0bdr;
        float u0i = u0aci + u0bdi;
        float u1r = u0acdr + u0bddi;
        float u1i = u0acdi - u0bddr;
        float u2r = u0acr - u0bdr;
        float u2i = u0aci - u0bdi;
        float u3r = u0acdr - u0bddi;
        float u3i = u0acdi + u0bddr;
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
          float w1r = w[v];
          float w1i = w[v + 1];
          float w1m = -w[v + 1];
          yr[o + e] = Fma.of(u1r, w1r, u1i * w1m);
          yi[o + e] = Fma.of(u1r, w1i, u1i * w1r);
          float w2r = w[v + 2];
          float w2i = w[v + 2 + 1];
          float w2m = -w[v + 2 + 1];
          yr[o + 2 * e] = Fma.of(u2r, w2r, u2i * w2m);
          yi[o + 2 * e] = Fma.of(u2r, w2i, u2i * w2r);
          float w3r = w[v + 4];
          float w3i = w[v + 4 + 1];
          float w3m = -w[v + 4 + 1];
          yr[o + 3 * e] = Fma.of(u3r, w3r, u3i * w3m);
          yi[o + 3 * e] = Fma.of(u3r, w3i, u3i * w3r);
        }
      }
    }
  }

  /** Numbers {@code from} to {@code to} of each run, by butterflies of 5. */
  static void radix5(
      RadixPass<float[]> pass, int from, int to, float scale, Rows<float[]> x, Rows<float[]> y) {
    float[] w = pass.twiddles();
    float[] xr = x.re();
    float[] xi = x.im();
    float[] yr = y.re();
    float[] yi = y.im();
    int count = pass.count();
    int run = pass.stride() * x.lanes();
    int d = count * run + PAD;
    boolean last = count == 1;
    int e = last ? run + PAD : run;
    float c = scale;
    for (int p = 0; p < count; p++) {
      int v = 8 * p;
      int first = 5 * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += 1) {
        int a = p * run + i;
        int o = first + i;
        float x0r = xr[a];
        float x0i = xi[a];
        float x1r = xr[a + d];
        float x1i = xi[a + d];
        float x2r = xr[a + 2 * d];
        float x2i = xi[a + 2 * d];
        float x3r = xr[a + 3 * d];
        float x3i = xi[a + 3 * d];
        float x4r = xr[a + 4 * d];
        float x4i = xi[a + 4 * d];
        float s1r = x1r + x4r;
        float s1i = x1i + x4i;
        float d1r = x1r - x4r;
        float d1i = x1i - x4i;
        float s2r = x2r + x3r;
        float s2i = x2i + x3i;
        float d2r = x2r - x3r;
        float d2i = x2i - x3i;
        float u0r = (x0r + s1r) + s2r;
        float u0i = (x0i + s1i) + s2i;
        float a1r = Fma.of(s2r, COS_2_5, Fma.of(s1r, COS_1_5, x0r));
        float b1r = Fma.of(d2r, SIN_2_5, d1r * SIN_1_5);
        float a1i = Fma.of(s2i, COS_2_5, Fma.of(s1i, COS_1_5, x0i));
        float b1i = Fma.of(d2i, SIN_2_5, d1i * SIN_1_5);
        float u1r = a1r + b1i;
        float u1i = a1i - b1r;
        float u4r = a1r - b1i;
        float u4i = a1i + b1r;
        float a2r = Fma.of(s2r, COS_1_5, Fma.of(s1r, COS_2_5, x0r));
        float b2r = Fma.of(d2r, MINUS_SIN_1_5, d1r * SIN_2_5);
        float a2i = Fma.of(s2i, COS_1_5, Fma.of(s1i, COS_2_5, x0i));
        float b2i = Fma.of(d2i, MINUS_SIN_1_5, d1i * SIN_2_5);
        float u2r = a2r + b2i;
        float u2i = a2i - b2r;
        float u3r = a2r - b2i;
        float u3i = a2i + b2r;
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
          float w1r = w[v];
          float w1i = w[v + 1];
          float w1m = -w[v + 1];
          yr[o + e] = Fma.of(u1r, w1r, u1i * w1m);
          yi[o + e] = Fma.of(u1r, w1i, u1i * w1r);
          float w2r = w[v + 2];
          float w2i = w[v + 2 + 1];
          float w2m = -w[v + 2 + 1];
          yr[o + 2 * e] = Fma.of(u2r, w2r, u2i * w2m);
          yi[o + 2 * e] = Fma.of(u2r, w2i, u2i * w2r);
          float w3r = w[v + 4];
          float w3i = w[v + 4 + 1];
          float w3m = -w[v + 4 + 1];
          yr[o + 3 * e] = Fma.of(u3r, w3r, u3i * w3m);
          yi[o + 3 * e] = Fma.of(u3r, w3i, u3i * w3r);
          float w4r = w[v + 6];
          float w4i = w[v + 6 + 1];
          float w4m = -w[v + 6 + 1];
          yr[o + 4 * e] = Fma.of(u4r, w4r, u4i * w4m);
          yi[o + 4 * e] = Fma.of(u4r, w4i, u4i * w4r);
        }
      }
    }
  }

  /** Numbers {@code from} to {@code to} of each run, by butterflies of 8. */
  static void radix8(
      RadixPass<float[]> pass, int from, int to, float scale, Rows<float[]> x, Rows<float[]> y) {
    float[] w = pass.twiddles();
    float[] xr = x.re();
    float[] xi = x.im();
    float[] yr = y.re();
    float[] yi = y.im();
    int count = pass.count();
    int run = pass.stride() * x.lanes();
    int d = count * run + PAD;
    boolean last = count == 1;
    int e = last ? run + PAD : run;
    float c = scale;
    for (int p = 0; p < count; p++) {
      int v = 14 * p;
      int first = 8 * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += 1) {
        int a = p * run + i;
        int o = first + i;
        float x0r = xr[a];
        float x0i = xi[a];
        float x1r = xr[a + d];
        float x1i = xi[a + d];
        float x2r = xr[a + 2 * d];
        float x2i = xi[a + 2 * d];
        float x3r = xr[a + 3 * d];
        float x3i = xi[a + 3 * d];
        float x4r = xr[a + 4 * d];
        float x4i = xi[a + 4 * d];
        float x5r = xr[a + 5 * d];
        float x5i = xi[a + 5 * d];
        float x6r = xr[a + 6 * d];
        float x6i = xi[a + 6 * d];
        float x7r = xr[a + 7 * d];
        float x7i = xi[a + 7 * d];
        float a0r = x0r + x4r;
        float a0i = x0i + x4i;
        float b0r = x0r - x4r;
        float b0i = x0i - x4i;
        float a1r = x1r + x5r;
        float a1i = x1i + x5i;
        float b1r = x1r - x5r;
        float b1i = x1i - x5i;
        float a2r = x2r + x6r;
        float a2i = x2i + x6i;
        float b2r = x2r - x6r;
        float b2i = x2i - x6i;
        float a3r = x3r + x7r;
        float a3i = x3i + x7i;
        float b3r = x3r - x7r;
        float b3i = x3i - x7i;
        float u0acr = a0r + a2r;
        float u0aci = a0i + a2i;
        float u0acdr = a0r - a2r;
        float u0acdi = a0i - a2i;
        float u0bdr = a1r + a3r;
        float u0bdi = a1i + a3i;
        float u0bddr = a1r - a3r;
        float u0bddi = a1i - a3i;
        float u0r = u0acr + u0bdr;
        float u0i = u0aci + u0bdi;
        float u2r = u0acdr + u0bddi;
        float u2i = u0acdi - u0bddr;
        float u4r = u0acr - u0bdr;
        float u4i = u0aci - u0bdi;
        float u6r = u0acdr - u0bddi;
        float u6i = u0acdi + u0bddr;
        float pr = b1r + b1i;
        float pi = b1i - b1r;
        float qr = b3i - b3r;
        float qi = b3r + b3i;
        float er = b0r + b2i;
        float ei = b0i - b2r;
        float fr = b0r - b2i;
        float fi = b0i + b2r;
        float gr = pr + qr;
        float gi = pi - qi;
        float hr = pr - qr;
        float hi = pi + qi;
        float u1r = Fma.of(gr, HALF_ROOT, er);
        float u1i = Fma.of(gi, HALF_ROOT, ei);
        float u3r = Fma.of(hi, HALF_ROOT, fr);
        float u3i = Fma.of(hr, MINUS_HALF_ROOT, fi);
        float u5r = Fma.of(gr, MINUS_HALF_ROOT, er);
        float u5i = Fma.of(gi, MINUS_HALF_ROOT, ei);
        float u7r = Fma.of(hi, MINUS_HALF_ROOT, fr);
        float u7i = Fma.of(hr, HALF_ROOT, fi);
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
          float w1r = w[v];
          float w1i = w[v + 1];
          float w1m = -w[v + 1];
          yr[o + e] = Fma.of(u1r, w1r, u1i * w1m);
          yi[o + e] = Fma.of(u1r, w1i, u1i * w1r);
          float w2r = w[v + 2];
          float w2i = w[v + 2 + 1];
          float w2m = -w[v + 2 + 1];
          yr[o + 2 * e] = Fma.of(u2r, w2r, u2i * w2m);
          yi[o + 2 * e] = Fma.of(u2r, w2i, u2i * w2r);
          float w3r = w[v + 4];
          float w3i = w[v + 4 + 1];
          float w3m = -w[v + 4 + 1];
          yr[o + 3 * e] = Fma.of(u3r, w3r, u3i * w3m);
          yi[o + 3 * e] = Fma.of(u3r, w3i, u3i * w3r);
          float w4r = w[v + 6];
          float w4i = w[v + 6 + 1];
          float w4m = -w[v + 6 + 1];
          yr[o + 4 * e] = Fma.of(u4r, w4r, u4i * w4m);
          yi[o + 4 * e] = Fma.of(u4r, w4i, u4i * w4r);
          float w5r = w[v + 8];
          float w5i = w[v + 8 + 1];
          float w5m = -w[v + 8 + 1];
          yr[o + 5 * e] = Fma.of(u5r, w5r, u5i * w5m);
          yi[o + 5 * e] = Fma.of(u5r, w5i, u5i * w5r);
          float w6r = w[v + 10];
          float w6i = w[v + 10 + 1];
          float w6m = -w[v + 10 + 1];
          yr[o + 6 * e] = Fma.of(u6r, w6r, u6i * w6m);
          yi[o + 6 * e] = Fma.of(u6r, w6i, u6i * w6r);
          float w7r = w[v + 12];
          float w7i = w[v + 12 + 1];
          float w7m = -w[v + 12 + 1];
          yr[o + 7 * e] = Fma.of(u7r, w7r, u7i * w7m);
          yi[o + 7 * e] = Fma.of(u7r, w7i, u7i * w7r);
        }
      }
    }
  }
}
