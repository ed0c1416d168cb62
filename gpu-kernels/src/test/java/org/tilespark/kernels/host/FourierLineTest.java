package org.tilespark.kernels.host;

class FourierLineTest {
  static double[] sum(double[] line, int start, int n, boolean inverse) {
    double[] cos = new double[n];
    double[] sin = new double[n];
    for (int i = 0; i < n; i++) {
      cos[i] = Math.cos(2 * Math.PI * i / n);
      sin[i] = (inverse ? 1 : -1) * Math.sin(2 * Math.PI * i / n);
    }
    double[] out = new double[2 * n];
    for (int k = 0; k < n; k++) {
      for (int j = 0; j < n; j++) {
        int angle = (int) ((long) j * k % n);
        out[2 * k] += line[start + 2 * j] * cos[angle] - line[start + 2 * j + 1] * sin[angle];
        out[2 * k + 1] += line[start + 2 * j] * sin[angle] + line[start + 2 * j + 1] * cos[angle];
      }
    }
    return out;
  }
}
