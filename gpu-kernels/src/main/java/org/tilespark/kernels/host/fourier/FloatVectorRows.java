package org.tilespark.kernels.host.fourier;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorSpecies;

/**
 * What {@link FourierArithmetic} says, on vectors of floats. Written by {@code
 * dev/generate_fourier_kernels.py}.
 */
final class FloatVectorRows implements FourierArithmetic<float[]> {
  private static final VectorSpecies<Float> SPECIES = FloatVector.SPECIES_PREFERRED;
  private static final int LANES = SPECIES.length();
  private static final int PAD = Rows.PAD_BYTES / Float.BYTES;

  private static int to(int from, int numbers) {
    return numbers - (numbers - from) % LANES;
  }

  @Override
  public int pass(
      RadixPass<float[]> pass, int from, double scale, Rows<float[]> x, Rows<float[]> y) {
    int to = to(from, pass.stride() * x.lanes());
    float c = (float) scale;
    if (to > from) {
      switch (pass.radix()) {
        case 2 -> radix2(pass, from, to, c, x, y);
        case 3 -> FloatVectorRadix.radix3(pass, from, to, c, x, y);
        case 4 -> FloatVectorRadix.radix4(pass, from, to, c, x, y);
        case 5 -> FloatVectorRadix.radix5(pass, from, to, c, x, y);
        case 8 -> FloatVectorRadix.radix8(pass, from, to, c, x, y);
        default -> radixPrime(pass, from, to, c, x, y);
      }
    }
    return to;
  }

  @Override
  public int oddToHalf(
      RadixPass<float[]> pass, int from, double scale, Rows<float[]> x, Rows<float[]> y) {
    int to = to(from, x.lanes());
    oddToHalf(pass, from, to, (float) scale, x, y);
    return to;
  }

  @Override
  public int oddFromHalf(
      RadixPass<float[]> pass, int from, double scale, Rows<float[]> x, Rows<float[]> y) {
    int to = to(from, x.lanes());
    oddFromHalf(pass, from, to, (float) scale, x, y);
    return to;
  }

  /** Numbers {@code from} to {@code to} of each run, by butterflies of 2. */
  static void radix2(
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
      int v = 2 * p;
      int first = 2 * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += LANES) {
        int a = p * run + i;
        int o = first + i;
        FloatVector x0r = FloatVector.fromArray(SPECIES, xr, a);
        FloatVector x0i = FloatVector.fromArray(SPECIES, xi, a);
        FloatVector x1r = FloatVector.fromArray(SPECIES, xr, a + d);
        FloatVector x1i = FloatVector.fromArray(SPECIES, xi, a + d);
        FloatVector u0r = x0r.add(x1r);
        FloatVector u0i = x0i.add(x1i);
        FloatVector u1r = x0r.sub(x1r);
        FloatVector u1i = x0i.sub(x1i);
        if (last) {
          u0r.mul(c).intoArray(yr, o);
          u0i.mul(c).intoArray(yi, o);
          u1r.mul(c).intoArray(yr, o + e);
          u1i.mul(c).intoArray(yi, o + e);
        } else {
          u0r.intoArray(yr, o);
          u0i.intoArray(yi, o);
          FloatVector w1r = FloatVector.broadcast(SPECIES, w[v]);
          FloatVector w1i = FloatVector.broadcast(SPECIES, w[v + 1]);
          FloatVector w1m = FloatVector.broadcast(SPECIES, -w[v + 1]);
          u1r.fma(w1r, u1i.mul(w1m)).intoArray(yr, o + e);
          u1r.fma(w1i, u1i.mul(w1r)).intoArray(yi, o + e);
        }
      }
    }
  }

  /** The same for any odd number, which {@code pass} has the roots of. */
  static void radixPrime(
      RadixPass<float[]> pass, int from, int to, float scale, Rows<float[]> x, Rows<float[]> y) {
    float[] w = pass.twiddles();
    float[] xr = x.re();
    float[] xi = x.im();
    float[] yr = y.re();
    float[] yi = y.im();
    float[] roots = pass.roots();
    int radix = pass.radix();
    int half = radix / 2;
    float[] kept = new float[4 * half * LANES]; // sums and differences, parts apart
    int count = pass.count();
    int run = pass.stride() * x.lanes();
    int d = count * run + PAD;
    boolean last = count == 1;
    int e = last ? run + PAD : run;
    FloatVector c = FloatVector.broadcast(SPECIES, scale);
    for (int p = 0; p < count; p++) {
      int first = radix * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += LANES) {
        int a = p * run + i;
        int o = first + i;
        FloatVector x0r = FloatVector.fromArray(SPECIES, xr, a);
        FloatVector x0i = FloatVector.fromArray(SPECIES, xi, a);
        FloatVector u0r = x0r;
        FloatVector u0i = x0i;
        for (int j = 1; j <= half; j++) {
          int k = 4 * (j - 1) * LANES;
          FloatVector y0r = FloatVector.fromArray(SPECIES, xr, a + j * d);
          FloatVector y0i = FloatVector.fromArray(SPECIES, xi, a + j * d);
          FloatVector z0r = FloatVector.fromArray(SPECIES, xr, a + (radix - j) * d);
          FloatVector z0i = FloatVector.fromArray(SPECIES, xi, a + (radix - j) * d);
          FloatVector sr = y0r.add(z0r);
          FloatVector si = y0i.add(z0i);
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
          FloatVector ar = x0r;
          FloatVector ai = x0i;
          FloatVector br = FloatVector.broadcast(SPECIES, 0);
          FloatVector bi = FloatVector.broadcast(SPECIES, 0);
          int turn = 0;
          for (int j = 0; j < half; j++) {
            turn += k;
            turn -= turn < radix ? 0 : radix;
            FloatVector cos = FloatVector.broadcast(SPECIES, roots[2 * turn]);
            FloatVector sin = FloatVector.broadcast(SPECIES, roots[2 * turn + 1]);
            int q = 4 * j * LANES;
            ar = FloatVector.fromArray(SPECIES, kept, q).fma(cos, ar);
            ai = FloatVector.fromArray(SPECIES, kept, q + LANES).fma(cos, ai);
            br = FloatVector.fromArray(SPECIES, kept, q + 2 * LANES).fma(sin, br);
            bi = FloatVector.fromArray(SPECIES, kept, q + 3 * LANES).fma(sin, bi);
          }
          FloatVector ur = ar.add(bi);
          FloatVector ui = ai.sub(br);
          FloatVector vr = ar.sub(bi);
          FloatVector vi = ai.add(br);
          if (last) {
            ur.mul(c).intoArray(yr, o + k * e);
            ui.mul(c).intoArray(yi, o + k * e);
            vr.mul(c).intoArray(yr, o + (radix - k) * e);
            vi.mul(c).intoArray(yi, o + (radix - k) * e);
          } else {
            int f = 2 * (p * (radix - 1) + k - 1);
            int g = 2 * (p * (radix - 1) + radix - k - 1);
            FloatVector wfr = FloatVector.broadcast(SPECIES, w[f]);
            FloatVector wfi = FloatVector.broadcast(SPECIES, w[f + 1]);
            FloatVector wfm = FloatVector.broadcast(SPECIES, -w[f + 1]);
            FloatVector wgr = FloatVector.broadcast(SPECIES, w[g]);
            FloatVector wgi = FloatVector.broadcast(SPECIES, w[g + 1]);
            FloatVector wgm = FloatVector.broadcast(SPECIES, -w[g + 1]);
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
  public int multiply(float[] w, int rows, int from, Rows<float[]> x, Rows<float[]> y) {
    float[] xr = x.re();
    float[] xi = x.im();
    float[] yr = y.re();
    float[] yi = y.im();
    int to = to(from, x.lanes());
    for (int row = 0; row < rows; row++) {
      FloatVector w0r = FloatVector.broadcast(SPECIES, w[2 * row]);
      FloatVector w0i = FloatVector.broadcast(SPECIES, w[2 * row + 1]);
      FloatVector w0m = FloatVector.broadcast(SPECIES, -w[2 * row + 1]);
      for (int i = from; i < to; i += LANES) {
        int a = x.at(row, PAD) + i;
        int o = y.at(row, PAD) + i;
        FloatVector ar = FloatVector.fromArray(SPECIES, xr, a);
        FloatVector ai = FloatVector.fromArray(SPECIES, xi, a);
        ar.fma(w0r, ai.mul(w0m)).intoArray(yr, o);
        ar.fma(w0i, ai.mul(w0r)).intoArray(yi, o);
      }
    }
    return to;
  }

  @Override
  public int pick(int[] rows, int from, Rows<float[]> x, Rows<float[]> y) {
    float[] xr = x.re();
    float[] xi = x.im();
    float[] yr = y.re();
    float[] yi = y.im();
    int to = to(from, x.lanes());
    for (int row = 0; row < rows.length; row++) {
      boolean conjugate = rows[row] < 0;
      int a = x.at(conjugate ? ~rows[row] : rows[row], PAD);
      int o = y.at(row, PAD);
      for (int i = from; i < to; i += LANES) {
        FloatVector ar = FloatVector.fromArray(SPECIES, xr, a + i);
        FloatVector ai = FloatVector.fromArray(SPECIES, xi, a + i);
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
  public int toHalf(float[] w, int rows, int from, Rows<float[]> x, Rows<float[]> y) {
    float[] xr = x.re();
    float[] xi = x.im();
    float[] yr = y.re();
    float[] yi = y.im();
    int to = to(from, x.lanes());
    for (int i = from; i < to; i += LANES) {
      int a = x.at(0, PAD) + i;
      FloatVector ar = FloatVector.fromArray(SPECIES, xr, a);
      FloatVector ai = FloatVector.fromArray(SPECIES, xi, a);
      ar.add(ai).mul(FloatVector.broadcast(SPECIES, 2)).intoArray(yr, y.at(0, PAD) + i);
      FloatVector.broadcast(SPECIES, 0).intoArray(yi, y.at(0, PAD) + i);
      ar.sub(ai).mul(FloatVector.broadcast(SPECIES, 2)).intoArray(yr, y.at(rows, PAD) + i);
      FloatVector.broadcast(SPECIES, 0).intoArray(yi, y.at(rows, PAD) + i);
    }
    for (int k = 1; k <= rows / 2; k++) {
      FloatVector w0r = FloatVector.broadcast(SPECIES, w[2 * k]);
      FloatVector w0i = FloatVector.broadcast(SPECIES, w[2 * k + 1]);
      FloatVector w0m = FloatVector.broadcast(SPECIES, -w[2 * k + 1]);
      FloatVector w0n = FloatVector.broadcast(SPECIES, -w[2 * k]);
      int a = x.at(k, PAD);
      int b = x.at(rows - k, PAD);
      int o = y.at(k, PAD);
      int q = y.at(rows - k, PAD);
      for (int i = from; i < to; i += LANES) {
        FloatVector ar = FloatVector.fromArray(SPECIES, xr, a + i);
        FloatVector ai = FloatVector.fromArray(SPECIES, xi, a + i);
        FloatVector br = FloatVector.fromArray(SPECIES, xr, b + i);
        FloatVector bi = FloatVector.fromArray(SPECIES, xi, b + i);
        FloatVector sr = ar.add(br);
        FloatVector si = ai.sub(bi);
        FloatVector dr = ar.sub(br);
        FloatVector di = ai.add(bi);
        FloatVector mi = bi.sub(ai);
        di.fma(w0r, dr.fma(w0i, sr)).intoArray(yr, o + i);
        di.fma(w0i, dr.fma(w0n, si)).intoArray(yi, o + i);
        di.fma(w0n, dr.fma(w0m, sr)).intoArray(yr, q + i);
        di.fma(w0i, dr.fma(w0n, mi)).intoArray(yi, q + i);
      }
    }
    return to;
  }

  @Override
  public int fromHalf(float[] w, int rows, int from, Rows<float[]> x, Rows<float[]> y) {
    float[] xr = x.re();
    float[] xi = x.im();
    float[] yr = y.re();
    float[] yi = y.im();
    int to = to(from, x.lanes());
    for (int i = from; i < to; i += LANES) {
      FloatVector ar = FloatVector.fromArray(SPECIES, xr, x.at(0, PAD) + i);
      FloatVector br = FloatVector.fromArray(SPECIES, xr, x.at(rows, PAD) + i);
      ar.add(br).intoArray(yr, y.at(0, PAD) + i);
      ar.sub(br).intoArray(yi, y.at(0, PAD) + i);
    }
    for (int k = 1; k <= rows / 2; k++) {
      FloatVector w0r = FloatVector.broadcast(SPECIES, w[2 * k]);
      FloatVector w0i = FloatVector.broadcast(SPECIES, w[2 * k + 1]);
      FloatVector w0m = FloatVector.broadcast(SPECIES, -w[2 * k + 1]);
      FloatVector w0n = FloatVector.broadcast(SPECIES, -w[2 * k]);
      int a = x.at(k, PAD);
      int b = x.at(rows - k, PAD);
      int o = y.at(k, PAD);
      int q = y.at(rows - k, PAD);
      for (int i = from; i < to; i += LANES) {
        FloatVector ar = FloatVector.fromArray(SPECIES, xr, a + i);
        FloatVector ai = FloatVector.fromArray(SPECIES, xi, a + i);
        FloatVector br = FloatVector.fromArray(SPECIES, xr, b + i);
        FloatVector bi = FloatVector.fromArray(SPECIES, xi, b + i);
        FloatVector sr = ar.add(br);
        FloatVector si = ai.sub(bi);
        FloatVector dr = ar.sub(br);
        FloatVector di = ai.add(bi);
        FloatVector mi = bi.sub(ai);
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
      RadixPass<float[]> pass, int from, int to, float scale, Rows<float[]> x, Rows<float[]> y) {
    float[] w = pass.twiddles();
    float[] xr = x.re();
    float[] yr = y.re();
    float[] yi = y.im();
    float[] roots = pass.roots();
    int radix = pass.radix();
    int half = radix / 2;
    int run = x.lanes();
    int d = pass.count() * run + PAD;
    int e = pass.count() == 1 ? run + PAD : run;
    FloatVector c = FloatVector.broadcast(SPECIES, scale);
    for (int p = 0; p < pass.count(); p++) {
      int first = (half + 1) * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += LANES) {
        int at = p * run + i;
        int o = first + i;
        FloatVector x0 = FloatVector.fromArray(SPECIES, xr, at);
        FloatVector sum = x0;
        for (int j = 1; j < radix; j++) {
          sum = sum.add(FloatVector.fromArray(SPECIES, xr, at + j * d));
        }
        sum.mul(c).intoArray(yr, o);
        FloatVector.broadcast(SPECIES, 0).intoArray(yi, o);
        for (int k = 1; k <= half; k++) {
          FloatVector a = x0;
          FloatVector b = FloatVector.broadcast(SPECIES, 0);
          int turn = 0;
          for (int j = 1; j <= half; j++) {
            turn += k;
            turn -= turn < radix ? 0 : radix;
            FloatVector s = FloatVector.fromArray(SPECIES, xr, at + j * d);
            FloatVector t = FloatVector.fromArray(SPECIES, xr, at + (radix - j) * d);
            a = s.add(t).fma(FloatVector.broadcast(SPECIES, roots[2 * turn]), a);
            b = t.sub(s).fma(FloatVector.broadcast(SPECIES, roots[2 * turn + 1]), b);
          }
          int f = 2 * (p * (radix - 1) + k - 1);
          FloatVector wfr = FloatVector.broadcast(SPECIES, w[f]);
          FloatVector wfi = FloatVector.broadcast(SPECIES, w[f + 1]);
          FloatVector wfm = FloatVector.broadcast(SPECIES, -w[f + 1]);
          FloatVector ur = a.mul(c);
          FloatVector ui = b.mul(c);
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
      RadixPass<float[]> pass, int from, int to, float scale, Rows<float[]> x, Rows<float[]> y) {
    float[] w = pass.twiddles();
    float[] xr = x.re();
    float[] xi = x.im();
    float[] yr = y.re();
    float[] roots = pass.roots();
    int radix = pass.radix();
    int half = radix / 2;
    int run = x.lanes();
    int d = pass.count() == 1 ? run + PAD : run;
    int e = pass.count() * run;
    FloatVector c = FloatVector.broadcast(SPECIES, scale);
    for (int p = 0; p < pass.count(); p++) {
      int first = (half + 1) * p * run + p / pass.next() * PAD;
      for (int i = from; i < to; i += LANES) {
        int at = first + i;
        int o = p * run + i;
        FloatVector x0 = FloatVector.fromArray(SPECIES, xr, at);
        FloatVector sum = x0;
        for (int t = 0; t <= half; t++) {
          FloatVector a = x0;
          FloatVector b = FloatVector.broadcast(SPECIES, 0);
          int turn = 0;
          for (int j = 1; j <= half; j++) {
            turn += t;
            turn -= turn < radix ? 0 : radix;
            int f = 2 * (p * (radix - 1) + j - 1);
            FloatVector wfr = FloatVector.broadcast(SPECIES, w[f]);
            FloatVector wfi = FloatVector.broadcast(SPECIES, w[f + 1]);
            FloatVector wfm = FloatVector.broadcast(SPECIES, -w[f + 1]);
            FloatVector zr = FloatVector.fromArray(SPECIES, xr, at + j * d);
            FloatVector zi = FloatVector.fromArray(SPECIES, xi, at + j * d);
            FloatVector r = zr.fma(wfr, zi.mul(wfi));
            FloatVector s = zi.fma(wfr, zr.mul(wfm));
            a = r.add(r).fma(FloatVector.broadcast(SPECIES, roots[2 * turn]), a);
            b = s.add(s).fma(FloatVector.broadcast(SPECIES, roots[2 * turn + 1]), b);
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
