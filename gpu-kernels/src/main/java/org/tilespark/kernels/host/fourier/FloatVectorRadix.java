package org.tilespark.kernels.host.fourier;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorSpecies;

/**
 * The radix passes of a transform, on vectors of floats. Written by {@code
 * dev/generate_fourier_kernels.py}.
 */
final class FloatVectorRadix {
  private static final VectorSpecies<Float> SPECIES = FloatVector.SPECIES_PREFERRED;
  private static final int LANES = SPECIES.length();
  private static final int PAD = Rows.PAD_BYTES / Float.BYTES;
  private static final FloatVector HALF_ROOT =
      FloatVector.broadcast(SPECIES, (float) Math.sqrt(0.5));
  private static final FloatVector MINUS_HALF_ROOT =
      FloatVector.broadcast(SPECIES, (float) -Math.sqrt(0.5));
  private static final FloatVector COS_1_3 =
      FloatVector.broadcast(SPECIES, (float) Roots.cos(1, 3));
  private static final FloatVector SIN_1_3 =
      FloatVector.broadcast(SPECIES, (float) Roots.sin(1, 3));
  private static final FloatVector COS_1_5 =
      FloatVector.broadcast(SPECIES, (float) Roots.cos(1, 5));
  private static final FloatVector SIN_1_5 =
      FloatVector.broadcast(SPECIES, (float) Roots.sin(1, 5));
  private static final FloatVector COS_2_5 =
      FloatVector.broadcast(SPECIES, (float) Roots.cos(2, 5));
  private static final FloatVector SIN_2_5 =
      FloatVector.broadcast(SPECIES, (float) Roots.sin(2, 5));
  private static final FloatVector MINUS_SIN_1_5 =
      FloatVector.broadcast(SPECIES, (float) -Roots.sin(1, 5));

  private FloatVectorRadix() {}

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
    FloatVector c = FloatVector.broadcast(SPECIES, scale);
    for (int p = 0; p < count; p++) {
      int v = 4 * p;
      int first = 3 * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += LANES) {
        int a = p * run + i;
        int o = first + i;
        FloatVector x0r = FloatVector.fromArray(SPECIES, xr, a);
        FloatVector x0i = FloatVector.fromArray(SPECIES, xi, a);
        FloatVector x1r = FloatVector.fromArray(SPECIES, xr, a + d);
        FloatVector x1i = FloatVector.fromArray(SPECIES, xi, a + d);
        FloatVector x2r = FloatVector.fromArray(SPECIES, xr, a + 2 * d);
        FloatVector x2i = FloatVector.fromArray(SPECIES, xi, a + 2 * d);
        FloatVector s1r = x1r.add(x2r);
        FloatVector s1i = x1i.add(x2i);
        FloatVector d1r = x1r.sub(x2r);
        FloatVector d1i = x1i.sub(x2i);
        FloatVector u0r = x0r.add(s1r);
        FloatVector u0i = x0i.add(s1i);
        FloatVector a1r = s1r.fma(COS_1_3, x0r);
        FloatVector b1r = d1r.mul(SIN_1_3);
        FloatVector a1i = s1i.fma(COS_1_3, x0i);
        FloatVector b1i = d1i.mul(SIN_1_3);
        FloatVector u1r = a1r.add(b1i);
        FloatVector u1i = a1i.sub(b1r);
        FloatVector u2r = a1r.sub(b1i);
        FloatVector u2i = a1i.add(b1r);
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
          FloatVector w1r = FloatVector.broadcast(SPECIES, w[v]);
          FloatVector w1i = FloatVector.broadcast(SPECIES, w[v + 1]);
          FloatVector w1m = FloatVector.broadcast(SPECIES, -w[v + 1]);
          u1r.fma(w1r, u1i.mul(w1m)).intoArray(yr, o + e);
          u1r.fma(w1i, u1i.mul(w1r)).intoArray(yi, o + e);
          FloatVector w2r = FloatVector.broadcast(SPECIES, w[v + 2]);
          FloatVector w2i = FloatVector.broadcast(SPECIES, w[v + 2 + 1]);
          FloatVector w2m = FloatVector.broadcast(SPECIES, -w[v + 2 + 1]);
          u2r.fma(w2r, u2i.mul(w2m)).intoArray(yr, o + 2 * e);
          u2r.fma(w2i, u2i.mul(w2r)).intoArray(yi, o + 2 * e);
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
    FloatVector c = FloatVector.broadcast(SPECIES, scale);
    for (int p = 0; p < count; p++) {
      int v = 6 * p;
      int first = 4 * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += LANES) {
        int a = p * run + i;
        int o = first + i;
        FloatVector x0r = FloatVector.fromArray(SPECIES, xr, a);
        FloatVector x0i = FloatVector.fromArray(SPECIES, xi, a);
        FloatVector x1r = FloatVector.fromArray(SPECIES, xr, a + d);
        FloatVector x1i = FloatVector.fromArray(SPECIES, xi, a + d);
        FloatVector x2r = FloatVector.fromArray(SPECIES, xr, a + 2 * d);
        FloatVector x2i = FloatVector.fromArray(SPECIES, xi, a + 2 * d);
        FloatVector x3r = FloatVector.fromArray(SPECIES, xr, a + 3 * d);
        FloatVector x3i = FloatVector.fromArray(SPECIES, xi, a + 3 * d);
        FloatVector u0acr = x0r.add(x2r);
        FloatVector u0aci = x0i.add(x2i);
        FloatVector u0acdr = x0r.sub(x2r);
        FloatVector u0acdi = x0i.sub(x2i);
        FloatVector u0bdr = x1r.add(x3r);
        FloatVector u0bdi = x1i.add(x3i);
        FloatVector u0bddr = x1r.sub(x3r);
        FloatVector u0bddi = x1i.sub(x3i);
        FloatVector u0r = u0acr.add(u0bdr);
        FloatVector u0i = u0aci.add(u0bdi);
        FloatVector u1r = u0acdr.add(u0bddi);
        FloatVector u1i = u0acdi.sub(u0bddr);
        FloatVector u2r = u0acr.sub(u0bdr);
        FloatVector u2i = u0aci.sub(u0bdi);
        FloatVector u3r = u0acdr.sub(u0bddi);
        FloatVector u3i = u0acdi.add(u0bddr);
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
          FloatVector w1r = FloatVector.broadcast(SPECIES, w[v]);
          FloatVector w1i = FloatVector.broadcast(SPECIES, w[v + 1]);
          FloatVector w1m = FloatVector.broadcast(SPECIES, -w[v + 1]);
          u1r.fma(w1r, u1i.mul(w1m)).intoArray(yr, o + e);
          u1r.fma(w1i, u1i.mul(w1r)).intoArray(yi, o + e);
          FloatVector w2r = FloatVector.broadcast(SPECIES, w[v + 2]);
          FloatVector w2i = FloatVector.broadcast(SPECIES, w[v + 2 + 1]);
          FloatVector w2m = FloatVector.broadcast(SPECIES, -w[v + 2 + 1]);
          u2r.fma(w2r, u2i.mul(w2m)).intoArray(yr, o + 2 * e);
          u2r.fma(w2i, u2i.mul(w2r)).intoArray(yi, o + 2 * e);
          FloatVector w3r = FloatVector.broadcast(SPECIES, w[v + 4]);
          FloatVector w3i = FloatVector.broadcast(SPECIES, w[v + 4 + 1]);
          FloatVector w3m = FloatVector.broadcast(SPECIES, -w[v + 4 + 1]);
          u3r.fma(w3r, u3i.mul(w3m)).intoArray(yr, o + 3 * e);
          u3r.fma(w3i, u3i.mul(w3r)).intoArray(yi, o + 3 * e);
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
    FloatVector c = FloatVector.broadcast(SPECIES, scale);
    for (int p = 0; p < count; p++) {
      int v = 8 * p;
      int first = 5 * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += LANES) {
        int a = p * run + i;
        int o = first + i;
        FloatVector x0r = FloatVector.fromArray(SPECIES, xr, a);
        FloatVector x0i = FloatVector.fromArray(SPECIES, xi, a);
        FloatVector x1r = FloatVector.fromArray(SPECIES, xr, a + d);
        FloatVector x1i = FloatVector.fromArray(SPECIES, xi, a + d);
        FloatVector x2r = FloatVector.fromArray(SPECIES, xr, a + 2 * d);
        FloatVector x2i = FloatVector.fromArray(SPECIES, xi, a + 2 * d);
        FloatVector x3r = FloatVector.fromArray(SPECIES, xr, a + 3 * d);
        FloatVector x3i = FloatVector.fromArray(SPECIES, xi, a + 3 * d);
        FloatVector x4r = FloatVector.fromArray(SPECIES, xr, a + 4 * d);
        FloatVector x4i = FloatVector.fromArray(SPECIES, xi, a + 4 * d);
        FloatVector s1r = x1r.add(x4r);
        FloatVector s1i = x1i.add(x4i);
        FloatVector d1r = x1r.sub(x4r);
        FloatVector d1i = x1i.sub(x4i);
        FloatVector s2r = x2r.add(x3r);
        FloatVector s2i = x2i.add(x3i);
        FloatVector d2r = x2r.sub(x3r);
        FloatVector d2i = x2i.sub(x3i);
        FloatVector u0r = x0r.add(s1r).add(s2r);
        FloatVector u0i = x0i.add(s1i).add(s2i);
        FloatVector a1r = s2r.fma(COS_2_5, s1r.fma(COS_1_5, x0r));
        FloatVector b1r = d2r.fma(SIN_2_5, d1r.mul(SIN_1_5));
        FloatVector a1i = s2i.fma(COS_2_5, s1i.fma(COS_1_5, x0i));
        FloatVector b1i = d2i.fma(SIN_2_5, d1i.mul(SIN_1_5));
        FloatVector u1r = a1r.add(b1i);
        FloatVector u1i = a1i.sub(b1r);
        FloatVector u4r = a1r.sub(b1i);
        FloatVector u4i = a1i.add(b1r);
        FloatVector a2r = s2r.fma(COS_1_5, s1r.fma(COS_2_5, x0r));
        FloatVector b2r = d2r.fma(MINUS_SIN_1_5, d1r.mul(SIN_2_5));
        FloatVector a2i = s2i.fma(COS_1_5, s1i.fma(COS_2_5, x0i));
        FloatVector b2i = d2i.fma(MINUS_SIN_1_5, d1i.mul(SIN_2_5));
        FloatVector u2r = a2r.add(b2i);
        FloatVector u2i = a2i.sub(b2r);
        FloatVector u3r = a2r.sub(b2i);
        FloatVector u3i = a2i.add(b2r);
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
          FloatVector w1r = FloatVector.broadcast(SPECIES, w[v]);
          FloatVector w1i = FloatVector.broadcast(SPECIES, w[v + 1]);
          FloatVector w1m = FloatVector.broadcast(SPECIES, -w[v + 1]);
          u1r.fma(w1r, u1i.mul(w1m)).intoArray(yr, o + e);
          u1r.fma(w1i, u1i.mul(w1r)).intoArray(yi, o + e);
          FloatVector w2r = FloatVector.broadcast(SPECIES, w[v + 2]);
          FloatVector w2i = FloatVector.broadcast(SPECIES, w[v + 2 + 1]);
          FloatVector w2m = FloatVector.broadcast(SPECIES, -w[v + 2 + 1]);
          u2r.fma(w2r, u2i.mul(w2m)).intoArray(yr, o + 2 * e);
          u2r.fma(w2i, u2i.mul(w2r)).intoArray(yi, o + 2 * e);
          FloatVector w3r = FloatVector.broadcast(SPECIES, w[v + 4]);
          FloatVector w3i = FloatVector.broadcast(SPECIES, w[v + 4 + 1]);
          FloatVector w3m = FloatVector.broadcast(SPECIES, -w[v + 4 + 1]);
          u3r.fma(w3r, u3i.mul(w3m)).intoArray(yr, o + 3 * e);
          u3r.fma(w3i, u3i.mul(w3r)).intoArray(yi, o + 3 * e);
          FloatVector w4r = FloatVector.broadcast(SPECIES, w[v + 6]);
          FloatVector w4i = FloatVector.broadcast(SPECIES, w[v + 6 + 1]);
          FloatVector w4m = FloatVector.broadcast(SPECIES, -w[v + 6 + 1]);
          u4r.fma(w4r, u4i.mul(w4m)).intoArray(yr, o + 4 * e);
          u4r.fma(w4i, u4i.mul(w4r)).intoArray(yi, o + 4 * e);
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
    FloatVector c = FloatVector.broadcast(SPECIES, scale);
    for (int p = 0; p < count; p++) {
      int v = 14 * p;
      int first = 8 * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += LANES) {
        int a = p * run + i;
        int o = first + i;
        FloatVector x0r = FloatVector.fromArray(SPECIES, xr, a);
        FloatVector x0i = FloatVector.fromArray(SPECIES, xi, a);
        FloatVector x1r = FloatVector.fromArray(SPECIES, xr, a + d);
        FloatVector x1i = FloatVector.fromArray(SPECIES, xi, a + d);
        FloatVector x2r = FloatVector.fromArray(SPECIES, xr, a + 2 * d);
        FloatVector x2i = FloatVector.fromArray(SPECIES, xi, a + 2 * d);
        FloatVector x3r = FloatVector.fromArray(SPECIES, xr, a + 3 * d);
        FloatVector x3i = FloatVector.fromArray(SPECIES, xi, a + 3 * d);
        FloatVector x4r = FloatVector.fromArray(SPECIES, xr, a + 4 * d);
        FloatVector x4i = FloatVector.fromArray(SPECIES, xi, a + 4 * d);
        FloatVector x5r = FloatVector.fromArray(SPECIES, xr, a + 5 * d);
        FloatVector x5i = FloatVector.fromArray(SPECIES, xi, a + 5 * d);
        FloatVector x6r = FloatVector.fromArray(SPECIES, xr, a + 6 * d);
        FloatVector x6i = FloatVector.fromArray(SPECIES, xi, a + 6 * d);
        FloatVector x7r = FloatVector.fromArray(SPECIES, xr, a + 7 * d);
        FloatVector x7i = FloatVector.fromArray(SPECIES, xi, a + 7 * d);
        FloatVector a0r = x0r.add(x4r);
        FloatVector a0i = x0i.add(x4i);
        FloatVector b0r = x0r.sub(x4r);
        FloatVector b0i = x0i.sub(x4i);
        FloatVector a1r = x1r.add(x5r);
        FloatVector a1i = x1i.add(x5i);
        FloatVector b1r = x1r.sub(x5r);
        FloatVector b1i = x1i.sub(x5i);
        FloatVector a2r = x2r.add(x6r);
        FloatVector a2i = x2i.add(x6i);
        FloatVector b2r = x2r.sub(x6r);
        FloatVector b2i = x2i.sub(x6i);
        FloatVector a3r = x3r.add(x7r);
        FloatVector a3i = x3i.add(x7i);
        FloatVector b3r = x3r.sub(x7r);
        FloatVector b3i = x3i.sub(x7i);
        FloatVector u0acr = a0r.add(a2r);
        FloatVector u0aci = a0i.add(a2i);
        FloatVector u0acdr = a0r.sub(a2r);
        FloatVector u0acdi = a0i.sub(a2i);
        FloatVector u0bdr = a1r.add(a3r);
        FloatVector u0bdi = a1i.add(a3i);
        FloatVector u0bddr = a1r.sub(a3r);
        FloatVector u0bddi = a1i.sub(a3i);
        FloatVector u0r = u0acr.add(u0bdr);
        FloatVector u0i = u0aci.add(u0bdi);
        FloatVector u2r = u0acdr.add(u0bddi);
        FloatVector u2i = u0acdi.sub(u0bddr);
        FloatVector u4r = u0acr.sub(u0bdr);
        FloatVector u4i = u0aci.sub(u0bdi);
        FloatVector u6r = u0acdr.sub(u0bddi);
        FloatVector u6i = u0acdi.add(u0bddr);
        FloatVector pr = b1r.add(b1i);
        FloatVector pi = b1i.sub(b1r);
        FloatVector qr = b3i.sub(b3r);
        FloatVector qi = b3r.add(b3i);
        FloatVector er = b0r.add(b2i);
        FloatVector ei = b0i.sub(b2r);
        FloatVector fr = b0r.sub(b2i);
        FloatVector fi = b0i.add(b2r);
        FloatVector gr = pr.add(qr);
        FloatVector gi = pi.sub(qi);
        FloatVector hr = pr.sub(qr);
        FloatVector hi = pi.add(qi);
        FloatVector u1r = gr.fma(HALF_ROOT, er);
        FloatVector u1i = gi.fma(HALF_ROOT, ei);
        FloatVector u3r = hi.fma(HALF_ROOT, fr);
        FloatVector u3i = hr.fma(MINUS_HALF_ROOT, fi);
        FloatVector u5r = gr.fma(MINUS_HALF_ROOT, er);
        FloatVector u5i = gi.fma(MINUS_HALF_ROOT, ei);
        FloatVector u7r = hi.fma(MINUS_HALF_ROOT, fr);
        FloatVector u7i = hr.fma(HALF_ROOT, fi);
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
          FloatVector w1r = FloatVector.broadcast(SPECIES, w[v]);
          FloatVector w1i = FloatVector.broadcast(SPECIES, w[v + 1]);
          FloatVector w1m = FloatVector.broadcast(SPECIES, -w[v + 1]);
          u1r.fma(w1r, u1i.mul(w1m)).intoArray(yr, o + e);
          u1r.fma(w1i, u1i.mul(w1r)).intoArray(yi, o + e);
          FloatVector w2r = FloatVector.broadcast(SPECIES, w[v + 2]);
          FloatVector w2i = FloatVector.broadcast(SPECIES, w[v + 2 + 1]);
          FloatVector w2m = FloatVector.broadcast(SPECIES, -w[v + 2 + 1]);
          u2r.fma(w2r, u2i.mul(w2m)).intoArray(yr, o + 2 * e);
          u2r.fma(w2i, u2i.mul(w2r)).intoArray(yi, o + 2 * e);
          FloatVector w3r = FloatVector.broadcast(SPECIES, w[v + 4]);
          FloatVector w3i = FloatVector.broadcast(SPECIES, w[v + 4 + 1]);
          FloatVector w3m = FloatVector.broadcast(SPECIES, -w[v + 4 + 1]);
          u3r.fma(w3r, u3i.mul(w3m)).intoArray(yr, o + 3 * e);
          u3r.fma(w3i, u3i.mul(w3r)).intoArray(yi, o + 3 * e);
          FloatVector w4r = FloatVector.broadcast(SPECIES, w[v + 6]);
          FloatVector w4i = FloatVector.broadcast(SPECIES, w[v + 6 + 1]);
          FloatVector w4m = FloatVector.broadcast(SPECIES, -w[v + 6 + 1]);
          u4r.fma(w4r, u4i.mul(w4m)).intoArray(yr, o + 4 * e);
          u4r.fma(w4i, u4i.mul(w4r)).intoArray(yi, o + 4 * e);
          FloatVector w5r = FloatVector.broadcast(SPECIES, w[v + 8]);
          FloatVector w5i = FloatVector.broadcast(SPECIES, w[v + 8 + 1]);
          FloatVector w5m = FloatVector.broadcast(SPECIES, -w[v + 8 + 1]);
          u5r.fma(w5r, u5i.mul(w5m)).intoArray(yr, o + 5 * e);
          u5r.fma(w5i, u5i.mul(w5r)).intoArray(yi, o + 5 * e);
          FloatVector w6r = FloatVector.broadcast(SPECIES, w[v + 10]);
          FloatVector w6i = FloatVector.broadcast(SPECIES, w[v + 10 + 1]);
          FloatVector w6m = FloatVector.broadcast(SPECIES, -w[v + 10 + 1]);
          u6r.fma(w6r, u6i.mul(w6m)).intoArray(yr, o + 6 * e);
          u6r.fma(w6i, u6i.mul(w6r)).intoArray(yi, o + 6 * e);
          FloatVector w7r = FloatVector.broadcast(SPECIES, w[v + 12]);
          FloatVector w7i = FloatVector.broadcast(SPECIES, w[v + 12 + 1]);
          FloatVector w7m = FloatVector.broadcast(SPECIES, -w[v + 12 + 1]);
          u7r.fma(w7r, u7i.mul(w7m)).intoArray(yr, o + 7 * e);
          u7r.fma(w7i, u7i.mul(w7r)).intoArray(yi, o + 7 * e);
        }
      }
    }
  }
}
