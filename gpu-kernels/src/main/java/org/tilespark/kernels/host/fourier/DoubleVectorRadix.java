package org.tilespark.kernels.host.fourier;

import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.VectorSpecies;

/**
 * The radix passes of a transform, on vectors of doubles. Written by {@code
 * dev/generate_fourier_kernels.py}.
 */
final class DoubleVectorRadix {
  private static final VectorSpecies<Double> SPECIES = DoubleVector.SPECIES_PREFERRED;
  private static final int LANES = SPECIES.length();
  private static final int PAD = Rows.PAD_BYTES / Double.BYTES;
  private static final DoubleVector HALF_ROOT = DoubleVector.broadcast(SPECIES, Math.sqrt(0.5));
  private static final DoubleVector MINUS_HALF_ROOT =
      DoubleVector.broadcast(SPECIES, -Math.sqrt(0.5));
  private static final DoubleVector COS_1_3 = DoubleVector.broadcast(SPECIES, Roots.cos(1, 3));
  private static final DoubleVector SIN_1_3 = DoubleVector.broadcast(SPECIES, Roots.sin(1, 3));
  private static final DoubleVector COS_1_5 = DoubleVector.broadcast(SPECIES, Roots.cos(1, 5));
  private static final DoubleVector SIN_1_5 = DoubleVector.broadcast(SPECIES, Roots.sin(1, 5));
  private static final DoubleVector COS_2_5 = DoubleVector.broadcast(SPECIES, Roots.cos(2, 5));
  private static final DoubleVector SIN_2_5 = DoubleVector.broadcast(SPECIES, Roots.sin(2, 5));
  private static final DoubleVector MINUS_SIN_1_5 =
      DoubleVector.broadcast(SPECIES, -Roots.sin(1, 5));

  private DoubleVectorRadix() {}

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
    DoubleVector c = DoubleVector.broadcast(SPECIES, scale);
    for (int p = 0; p < count; p++) {
      int v = 4 * p;
      int first = 3 * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += LANES) {
        int a = p * run + i;
        int o = first + i;
        DoubleVector x0r = DoubleVector.fromArray(SPECIES, xr, a);
        DoubleVector x0i = DoubleVector.fromArray(SPECIES, xi, a);
        DoubleVector x1r = DoubleVector.fromArray(SPECIES, xr, a + d);
        DoubleVector x1i = DoubleVector.fromArray(SPECIES, xi, a + d);
        DoubleVector x2r = DoubleVector.fromArray(SPECIES, xr, a + 2 * d);
        DoubleVector x2i = DoubleVector.fromArray(SPECIES, xi, a + 2 * d);
        DoubleVector s1r = x1r.add(x2r);
        DoubleVector s1i = x1i.add(x2i);
        DoubleVector d1r = x1r.sub(x2r);
        DoubleVector d1i = x1i.sub(x2i);
        DoubleVector u0r = x0r.add(s1r);
        DoubleVector u0i = x0i.add(s1i);
        DoubleVector a1r = s1r.fma(COS_1_3, x0r);
        DoubleVector b1r = d1r.mul(SIN_1_3);
        DoubleVector a1i = s1i.fma(COS_1_3, x0i);
        DoubleVector b1i = d1i.mul(SIN_1_3);
        DoubleVector u1r = a1r.add(b1i);
        DoubleVector u1i = a1i.sub(b1r);
        DoubleVector u2r = a1r.sub(b1i);
        DoubleVector u2i = a1i.add(b1r);
        if (last) {
          u0r.mul(c).intoArray(yr, o);
          u0i.mul(c).intoArray(yi, o);
          u1r.mul(c).intoArray(yr, o + e);
          u1i.mul(c).intoArray(yi, o + e);
          u2r.mul(c).intoArray(yr, o + 2 * e);
          u2i.mul(c).intoArray(yi, o + 2 * e);
        } else {
          u0r.intoArray(yr, o);
          u0i.intoArray(yi, o);
          DoubleVector w1r = DoubleVector.broadcast(SPECIES, w[v]);
          DoubleVector w1i = DoubleVector.broadcast(SPECIES, w[v + 1]);
          DoubleVector w1m = DoubleVector.broadcast(SPECIES, -w[v + 1]);
          u1r.fma(w1r, u1i.mul(w1m)).intoArray(yr, o + e);
          u1r.fma(w1i, u1i.mul(w1r)).intoArray(yi, o + e);
          DoubleVector w2r = DoubleVector.broadcast(SPECIES, w[v + 2]);
          DoubleVector w2i = DoubleVector.broadcast(SPECIES, w[v + 2 + 1]);
          DoubleVector w2m = DoubleVector.broadcast(SPECIES, -w[v + 2 + 1]);
          u2r.fma(w2r, u2i.mul(w2m)).intoArray(yr, o + 2 * e);
          u2r.fma(w2i, u2i.mul(w2r)).intoArray(yi, o + 2 * e);
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
    DoubleVector c = DoubleVector.broadcast(SPECIES, scale);
    for (int p = 0; p < count; p++) {
      int v = 6 * p;
      int first = 4 * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += LANES) {
        int a = p * run + i;
        int o = first + i;
        DoubleVector x0r = DoubleVector.fromArray(SPECIES, xr, a);
        DoubleVector x0i = DoubleVector.fromArray(SPECIES, xi, a);
        DoubleVector x1r = DoubleVector.fromArray(SPECIES, xr, a + d);
        DoubleVector x1i = DoubleVector.fromArray(SPECIES, xi, a + d);
        DoubleVector x2r = DoubleVector.fromArray(SPECIES, xr, a + 2 * d);
        DoubleVector x2i = DoubleVector.fromArray(SPECIES, xi, a + 2 * d);
        DoubleVector x3r = DoubleVector.fromArray(SPECIES, xr, a + 3 * d);
        DoubleVector x3i = DoubleVector.fromArray(SPECIES, xi, a + 3 * d);
        DoubleVector u0acr = x0r.add(x2r);
        DoubleVector u0aci = x0i.add(x2i);
        DoubleVector u0acdr = x0r.sub(x2r);
        DoubleVector u0acdi = x0i.sub(x2i);
        DoubleVector u0bdr = x1r.add(x3r);
        DoubleVector u0bdi = x1i.add(x3i);
        DoubleVector u0bddr = x1r.sub(x3r);
        DoubleVector u0bddi = x1i.sub(x3i);
        DoubleVector u0r = u0acr.add(u0bdr);
        DoubleVector u0i = u0aci.add(u0bdi);
        DoubleVector u1r = u0acdr.add(u0bddi);
        DoubleVector u1i = u0acdi.sub(u0bddr);
        DoubleVector u2r = u0acr.sub(u0bdr);
        DoubleVector u2i = u0aci.sub(u0bdi);
        DoubleVector u3r = u0acdr.sub(u0bddi);
        DoubleVector u3i = u0acdi.add(u0bddr);
        if (last) {
          u0r.mul(c).intoArray(yr, o);
          u0i.mul(c).intoArray(yi, o);
          u1r.mul(c).intoArray(yr, o + e);
          u1i.mul(c).intoArray(yi, o + e);
          u2r.mul(c).intoArray(yr, o + 2 * e);
          u2i.mul(c).intoArray(yi, o + 2 * e);
          u3r.mul(c).intoArray(yr, o + 3 * e);
          u3i.mul(c).intoArray(yi, o + 3 * e);
        } else {
          u0r.intoArray(yr, o);
          u0i.intoArray(yi, o);
          DoubleVector w1r = DoubleVector.broadcast(SPECIES, w[v]);
          DoubleVector w1i = DoubleVector.broadcast(SPECIES, w[v + 1]);
          DoubleVector w1m = DoubleVector.broadcast(SPECIES, -w[v + 1]);
          u1r.fma(w1r, u1i.mul(w1m)).intoArray(yr, o + e);
          u1r.fma(w1i, u1i.mul(w1r)).intoArray(yi, o + e);
          DoubleVector w2r = DoubleVector.broadcast(SPECIES, w[v + 2]);
          DoubleVector w2i = DoubleVector.broadcast(SPECIES, w[v + 2 + 1]);
          DoubleVector w2m = DoubleVector.broadcast(SPECIES, -w[v + 2 + 1]);
          u2r.fma(w2r, u2i.mul(w2m)).intoArray(yr, o + 2 * e);
          u2r.fma(w2i, u2i.mul(w2r)).intoArray(yi, o + 2 * e);
          DoubleVector w3r = DoubleVector.broadcast(SPECIES, w[v + 4]);
          DoubleVector w3i = DoubleVector.broadcast(SPECIES, w[v + 4 + 1]);
          DoubleVector w3m = DoubleVector.broadcast(SPECIES, -w[v + 4 + 1]);
          u3r.fma(w3r, u3i.mul(w3m)).intoArray(yr, o + 3 * e);
          u3r.fma(w3i, u3i.mul(w3r)).intoArray(yi, o + 3 * e);
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
    DoubleVector c = DoubleVector.broadcast(SPECIES, scale);
    for (int p = 0; p < count; p++) {
      int v = 8 * p;
      int first = 5 * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += LANES) {
        int a = p * run + i;
        int o = first + i;
        DoubleVector x0r = DoubleVector.fromArray(SPECIES, xr, a);
        DoubleVector x0i = DoubleVector.fromArray(SPECIES, xi, a);
        DoubleVector x1r = DoubleVector.fromArray(SPECIES, xr, a + d);
        DoubleVector x1i = DoubleVector.fromArray(SPECIES, xi, a + d);
        DoubleVector x2r = DoubleVector.fromArray(SPECIES, xr, a + 2 * d);
        DoubleVector x2i = DoubleVector.fromArray(SPECIES, xi, a + 2 * d);
        DoubleVector x3r = DoubleVector.fromArray(SPECIES, xr, a + 3 * d);
        DoubleVector x3i = DoubleVector.fromArray(SPECIES, xi, a + 3 * d);
        DoubleVector x4r = DoubleVector.fromArray(SPECIES, xr, a + 4 * d);
        DoubleVector x4i = DoubleVector.fromArray(SPECIES, xi, a + 4 * d);
        DoubleVector s1r = x1r.add(x4r);
        DoubleVector s1i = x1i.add(x4i);
        DoubleVector d1r = x1r.sub(x4r);
        DoubleVector d1i = x1i.sub(x4i);
        DoubleVector s2r = x2r.add(x3r);
        DoubleVector s2i = x2i.add(x3i);
        DoubleVector d2r = x2r.sub(x3r);
        DoubleVector d2i = x2i.sub(x3i);
        DoubleVector u0r = x0r.add(s1r).add(s2r);
        DoubleVector u0i = x0i.add(s1i).add(s2i);
        DoubleVector a1r = s2r.fma(COS_2_5, s1r.fma(COS_1_5, x0r));
        DoubleVector b1r = d2r.fma(SIN_2_5, d1r.mul(SIN_1_5));
        DoubleVector a1i = s2i.fma(COS_2_5, s1i.fma(COS_1_5, x0i));
        DoubleVector b1i = d2i.fma(SIN_2_5, d1i.mul(SIN_1_5));
        DoubleVector u1r = a1r.add(b1i);
        DoubleVector u1i = a1i.sub(b1r);
        DoubleVector u4r = a1r.sub(b1i);
        DoubleVector u4i = a1i.add(b1r);
        DoubleVector a2r = s2r.fma(COS_1_5, s1r.fma(COS_2_5, x0r));
        DoubleVector b2r = d2r.fma(MINUS_SIN_1_5, d1r.mul(SIN_2_5));
        DoubleVector a2i = s2i.fma(COS_1_5, s1i.fma(COS_2_5, x0i));
        DoubleVector b2i = d2i.fma(MINUS_SIN_1_5, d1i.mul(SIN_2_5));
        DoubleVector u2r = a2r.add(b2i);
        DoubleVector u2i = a2i.sub(b2r);
        DoubleVector u3r = a2r.sub(b2i);
        DoubleVector u3i = a2i.add(b2r);
        if (last) {
          u0r.mul(c).intoArray(yr, o);
          u0i.mul(c).intoArray(yi, o);
          u1r.mul(c).intoArray(yr, o + e);
          u1i.mul(c).intoArray(yi, o + e);
          u2r.mul(c).intoArray(yr, o + 2 * e);
          u2i.mul(c).intoArray(yi, o + 2 * e);
          u3r.mul(c).intoArray(yr, o + 3 * e);
          u3i.mul(c).intoArray(yi, o + 3 * e);
          u4r.mul(c).intoArray(yr, o + 4 * e);
          u4i.mul(c).intoArray(yi, o + 4 * e);
        } else {
          u0r.intoArray(yr, o);
          u0i.intoArray(yi, o);
          DoubleVector w1r = DoubleVector.broadcast(SPECIES, w[v]);
          DoubleVector w1i = DoubleVector.broadcast(SPECIES, w[v + 1]);
          DoubleVector w1m = DoubleVector.broadcast(SPECIES, -w[v + 1]);
          u1r.fma(w1r, u1i.mul(w1m)).intoArray(yr, o + e);
          u1r.fma(w1i, u1i.mul(w1r)).intoArray(yi, o + e);
          DoubleVector w2r = DoubleVector.broadcast(SPECIES, w[v + 2]);
          DoubleVector w2i = DoubleVector.broadcast(SPECIES, w[v + 2 + 1]);
          DoubleVector w2m = DoubleVector.broadcast(SPECIES, -w[v + 2 + 1]);
          u2r.fma(w2r, u2i.mul(w2m)).intoArray(yr, o + 2 * e);
          u2r.fma(w2i, u2i.mul(w2r)).intoArray(yi, o + 2 * e);
          DoubleVector w3r = DoubleVector.broadcast(SPECIES, w[v + 4]);
          DoubleVector w3i = DoubleVector.broadcast(SPECIES, w[v + 4 + 1]);
          DoubleVector w3m = DoubleVector.broadcast(SPECIES, -w[v + 4 + 1]);
          u3r.fma(w3r, u3i.mul(w3m)).intoArray(yr, o + 3 * e);
          u3r.fma(w3i, u3i.mul(w3r)).intoArray(yi, o + 3 * e);
          DoubleVector w4r = DoubleVector.broadcast(SPECIES, w[v + 6]);
          DoubleVector w4i = DoubleVector.broadcast(SPECIES, w[v + 6 + 1]);
          DoubleVector w4m = DoubleVector.broadcast(SPECIES, -w[v + 6 + 1]);
          u4r.fma(w4r, u4i.mul(w4m)).intoArray(yr, o + 4 * e);
          u4r.fma(w4i, u4i.mul(w4r)).intoArray(yi, o + 4 * e);
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
    DoubleVector c = DoubleVector.broadcast(SPECIES, scale);
    for (int p = 0; p < count; p++) {
      int v = 14 * p;
      int first = 8 * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += LANES) {
        int a = p * run + i;
        int o = first + i;
        DoubleVector x0r = DoubleVector.fromArray(SPECIES, xr, a);
        DoubleVector x0i = DoubleVector.fromArray(SPECIES, xi, a);
        DoubleVector x1r = DoubleVector.fromArray(SPECIES, xr, a + d);
        DoubleVector x1i = DoubleVector.fromArray(SPECIES, xi, a + d);
        DoubleVector x2r = DoubleVector.fromArray(SPECIES, xr, a + 2 * d);
        DoubleVector x2i = DoubleVector.fromArray(SPECIES, xi, a + 2 * d);
        DoubleVector x3r = DoubleVector.fromArray(SPECIES, xr, a + 3 * d);
        DoubleVector x3i = DoubleVector.fromArray(SPECIES, xi, a + 3 * d);
        DoubleVector x4r = DoubleVector.fromArray(SPECIES, xr, a + 4 * d);
        DoubleVector x4i = DoubleVector.fromArray(SPECIES, xi, a + 4 * d);
        DoubleVector x5r = DoubleVector.fromArray(SPECIES, xr, a + 5 * d);
        DoubleVector x5i = DoubleVector.fromArray(SPECIES, xi, a + 5 * d);
        DoubleVector x6r = DoubleVector.fromArray(SPECIES, xr, a + 6 * d);
        DoubleVector x6i = DoubleVector.fromArray(SPECIES, xi, a + 6 * d);
        DoubleVector x7r = DoubleVector.fromArray(SPECIES, xr, a + 7 * d);
        DoubleVector x7i = DoubleVector.fromArray(SPECIES, xi, a + 7 * d);
        DoubleVector a0r = x0r.add(x4r);
        DoubleVector a0i = x0i.add(x4i);
        DoubleVector b0r = x0r.sub(x4r);
        DoubleVector b0i = x0i.sub(x4i);
        DoubleVector a1r = x1r.add(x5r);
        DoubleVector a1i = x1i.add(x5i);
        DoubleVector b1r = x1r.sub(x5r);
        DoubleVector b1i = x1i.sub(x5i);
        DoubleVector a2r = x2r.add(x6r);
        DoubleVector a2i = x2i.add(x6i);
        DoubleVector b2r = x2r.sub(x6r);
        DoubleVector b2i = x2i.sub(x6i);
        DoubleVector a3r = x3r.add(x7r);
        DoubleVector a3i = x3i.add(x7i);
        DoubleVector b3r = x3r.sub(x7r);
        DoubleVector b3i = x3i.sub(x7i);
        DoubleVector u0acr = a0r.add(a2r);
        DoubleVector u0aci = a0i.add(a2i);
        DoubleVector u0acdr = a0r.sub(a2r);
        DoubleVector u0acdi = a0i.sub(a2i);
        DoubleVector u0bdr = a1r.add(a3r);
        DoubleVector u0bdi = a1i.add(a3i);
        DoubleVector u0bddr = a1r.sub(a3r);
        DoubleVector u0bddi = a1i.sub(a3i);
        DoubleVector u0r = u0acr.add(u0bdr);
        DoubleVector u0i = u0aci.add(u0bdi);
        DoubleVector u2r = u0acdr.add(u0bddi);
        DoubleVector u2i = u0acdi.sub(u0bddr);
        DoubleVector u4r = u0acr.sub(u0bdr);
        DoubleVector u4i = u0aci.sub(u0bdi);
        DoubleVector u6r = u0acdr.sub(u0bddi);
        DoubleVector u6i = u0acdi.add(u0bddr);
        DoubleVector pr = b1r.add(b1i);
        DoubleVector pi = b1i.sub(b1r);
        DoubleVector qr = b3i.sub(b3r);
        DoubleVector qi = b3r.add(b3i);
        DoubleVector er = b0r.add(b2i);
        DoubleVector ei = b0i.sub(b2r);
        DoubleVector fr = b0r.sub(b2i);
        DoubleVector fi = b0i.add(b2r);
        DoubleVector gr = pr.add(qr);
        DoubleVector gi = pi.sub(qi);
        DoubleVector hr = pr.sub(qr);
        DoubleVector hi = pi.add(qi);
        DoubleVector u1r = gr.fma(HALF_ROOT, er);
        DoubleVector u1i = gi.fma(HALF_ROOT, ei);
        DoubleVector u3r = hi.fma(HALF_ROOT, fr);
        DoubleVector u3i = hr.fma(MINUS_HALF_ROOT, fi);
        DoubleVector u5r = gr.fma(MINUS_HALF_ROOT, er);
        DoubleVector u5i = gi.fma(MINUS_HALF_ROOT, ei);
        DoubleVector u7r = hi.fma(MINUS_HALF_ROOT, fr);
        DoubleVector u7i = hr.fma(HALF_ROOT, fi);
        if (last) {
          u0r.mul(c).intoArray(yr, o);
          u0i.mul(c).intoArray(yi, o);
          u1r.mul(c).intoArray(yr, o + e);
          u1i.mul(c).intoArray(yi, o + e);
          u2r.mul(c).intoArray(yr, o + 2 * e);
          u2i.mul(c).intoArray(yi, o + 2 * e);
          u3r.mul(c).intoArray(yr, o + 3 * e);
          u3i.mul(c).intoArray(yi, o + 3 * e);
          u4r.mul(c).intoArray(yr, o + 4 * e);
          u4i.mul(c).intoArray(yi, o + 4 * e);
          u5r.mul(c).intoArray(yr, o + 5 * e);
          u5i.mul(c).intoArray(yi, o + 5 * e);
          u6r.mul(c).intoArray(yr, o + 6 * e);
          u6i.mul(c).intoArray(yi, o + 6 * e);
          u7r.mul(c).intoArray(yr, o + 7 * e);
          u7i.mul(c).intoArray(yi, o + 7 * e);
        } else {
          u0r.intoArray(yr, o);
          u0i.intoArray(yi, o);
          DoubleVector w1r = DoubleVector.broadcast(SPECIES, w[v]);
          DoubleVector w1i = DoubleVector.broadcast(SPECIES, w[v + 1]);
          DoubleVector w1m = DoubleVector.broadcast(SPECIES, -w[v + 1]);
          u1r.fma(w1r, u1i.mul(w1m)).intoArray(yr, o + e);
          u1r.fma(w1i, u1i.mul(w1r)).intoArray(yi, o + e);
          DoubleVector w2r = DoubleVector.broadcast(SPECIES, w[v + 2]);
          DoubleVector w2i = DoubleVector.broadcast(SPECIES, w[v + 2 + 1]);
          DoubleVector w2m = DoubleVector.broadcast(SPECIES, -w[v + 2 + 1]);
          u2r.fma(w2r, u2i.mul(w2m)).intoArray(yr, o + 2 * e);
          u2r.fma(w2i, u2i.mul(w2r)).intoArray(yi, o + 2 * e);
          DoubleVector w3r = DoubleVector.broadcast(SPECIES, w[v + 4]);
          DoubleVector w3i = DoubleVector.broadcast(SPECIES, w[v + 4 + 1]);
          DoubleVector w3m = DoubleVector.broadcast(SPECIES, -w[v + 4 + 1]);
          u3r.fma(w3r, u3i.mul(w3m)).intoArray(yr, o + 3 * e);
          u3r.fma(w3i, u3i.mul(w3r)).intoArray(yi, o + 3 * e);
          DoubleVector w4r = DoubleVector.broadcast(SPECIES, w[v + 6]);
          DoubleVector w4i = DoubleVector.broadcast(SPECIES, w[v + 6 + 1]);
          DoubleVector w4m = DoubleVector.broadcast(SPECIES, -w[v + 6 + 1]);
          u4r.fma(w4r, u4i.mul(w4m)).intoArray(yr, o + 4 * e);
          u4r.fma(w4i, u4i.mul(w4r)).intoArray(yi, o + 4 * e);
          DoubleVector w5r = DoubleVector.broadcast(SPECIES, w[v + 8]);
          DoubleVector w5i = DoubleVector.broadcast(SPECIES, w[v + 8 + 1]);
          DoubleVector w5m = DoubleVector.broadcast(SPECIES, -w[v + 8 + 1]);
          u5r.fma(w5r, u5i.mul(w5m)).intoArray(yr, o + 5 * e);
          u5r.fma(w5i, u5i.mul(w5r)).intoArray(yi, o + 5 * e);
          DoubleVector w6r = DoubleVector.broadcast(SPECIES, w[v + 10]);
          DoubleVector w6i = DoubleVector.broadcast(SPECIES, w[v + 10 + 1]);
          DoubleVector w6m = DoubleVector.broadcast(SPECIES, -w[v + 10 + 1]);
          u6r.fma(w6r, u6i.mul(w6m)).intoArray(yr, o + 6 * e);
          u6r.fma(w6i, u6i.mul(w6r)).intoArray(yi, o + 6 * e);
          DoubleVector w7r = DoubleVector.broadcast(SPECIES, w[v + 12]);
          DoubleVector w7i = DoubleVector.broadcast(SPECIES, w[v + 12 + 1]);
          DoubleVector w7m = DoubleVector.broadcast(SPECIES, -w[v + 12 + 1]);
          u7r.fma(w7r, u7i.mul(w7m)).intoArray(yr, o + 7 * e);
          u7r.fma(w7i, u7i.mul(w7r)).intoArray(yi, o + 7 * e);
        }
      }
    }
  }
}
