package org.tilespark.bench.soak;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.options.FftOptions;

/** Fourier transforms, and what stands between them. */
final class FourierQueries {
  private FourierQueries() {}

  static Query fft(Draw draw, boolean isHalf) {
    String axes = draw.transformed();
    FftOptions options = draw.transform().withReal(isHalf).withAxes(axes);
    if (draw.setting() == Setting.EMPTY) {
      options =
          options
              .withDetrend(draw.oneOf("none", "mean", "linear"))
              .withWindow(draw.oneOf("none", "hann", "hamming", "blackman"))
              .withShift(draw.oneOf("none", "spectrum", "volume", "both"));
    }
    FftOptions all = options;
    draw.tell(" " + all);
    boolean isPermuted = axes.length() == 3 && !all.natural();
    return draw.of(
        x -> VolumeBlocks.fft(x, all),
        d -> {
          HostFourier spectrum = spectrum(d, axes, all);
          Dense expected =
              isHalf
                  ? spectrum.half("xyz".indexOf(axes.charAt(axes.length() - 1)))
                  : spectrum.dense();
          return isPermuted ? expected.permuted(1, 2, 0) : expected;
        },
        d -> draw.error(spectrum(d, axes, all).dense().magnitude()));
  }

  private static HostFourier spectrum(Dense volume, String axes, FftOptions options) {
    return HostFourier.of(volume, axes)
        .scaled(HostFourier.scale(options.norm().orElseThrow(), volume, axes));
  }

  /** A transform of a volume with zeros after its last elements. */
  static Query paddedFft(Draw draw) {
    long[] padded = new long[3];
    Arrays.setAll(padded, axis -> draw.a().extents()[axis] + draw.random().nextInt(6));
    FftOptions options = draw.transform().withPadTo(padded[0] + "," + padded[1] + "," + padded[2]);
    draw.tell(" " + options);
    return draw.of(
        x -> VolumeBlocks.fft(x, options),
        d -> {
          Dense expected = spectrum(d.padded(padded), "xyz", options).dense();
          return options.natural() ? expected : expected.permuted(1, 2, 0);
        },
        d -> draw.error(spectrum(d.padded(padded), "xyz", options).dense().magnitude()));
  }

  /** All axes by two transforms, one after another, and back in one. */
  static Query repeatedFft(Draw draw) {
    String order = draw.oneOf(Draw.AXES);
    int cut = 1 + draw.random().nextInt(2);
    FftOptions first = draw.transform().withAxes(order.substring(0, cut));
    FftOptions second = draw.transform().withAxes(order.substring(cut));
    draw.tell(" " + first + " then " + second);
    return draw.of(
        x -> VolumeBlocks.fft(VolumeBlocks.fft(x, first), second),
        d -> repeated(d, first, second),
        d -> draw.error(repeated(d, first, second).magnitude()));
  }

  private static Dense repeated(Dense volume, FftOptions first, FftOptions second) {
    Dense once = spectrum(volume, first.axes().orElseThrow(), first).dense();
    return spectrum(once, second.axes().orElseThrow(), second).dense();
  }

  /** The convolution with another volume, by the product of the spectra. */
  static Query pointwise(Draw draw) {
    FftOptions options = draw.transform();
    int[][] shapes = new int[2][];
    for (int i = 0; i < 2; i++) {
      shapes[i] =
          new int[] {
            draw.size(draw.a().extents()[0]),
            draw.size(draw.a().extents()[1]),
            draw.size(draw.a().extents()[2])
          };
    }
    if (draw.random().nextBoolean()) {
      shapes[1] = shapes[0];
    }
    draw.tell(" " + options + " in " + Arrays.deepToString(shapes));
    double scale = Math.pow(HostFourier.scale(options.norm().orElseThrow(), draw.a(), "xyz"), 2);
    return new Query(
        List.of(draw.a(), Dense.random(draw.random(), draw.a().extents())),
        1,
        x -> {
          List<Dataset<Row>> spectra = new ArrayList<>();
          for (int i = 0; i < 2; i++) {
            Dataset<Row> spectrum = VolumeBlocks.fft(x.get(i), options);
            spectra.add(VolumeBlocks.reblock(spectrum, shapes[i][0], shapes[i][1], shapes[i][2]));
          }
          Dataset<Row> product = VolumeBlocks.multiplyPointwise(spectra.get(0), spectra.get(1));
          // Both spectra were scaled; norm=backward keeps the inverse from undoing one scale.
          return VolumeBlocks.ifft(product, FftOptions.defaults().withNorm("backward"));
        },
        d ->
            HostFourier.of(d.get(0), "xyz")
                .times(HostFourier.of(d.get(1), "xyz"))
                .scaled(scale)
                .inverse(),
        d ->
            draw.error(
                d.get(0).magnitude()
                    * d.get(1).magnitude()
                    * Math.sqrt(draw.a().values().length)
                    * scale));
  }

  static Query roundTrip(Draw draw) {
    boolean isHalf = !draw.a().isComplex() && draw.random().nextBoolean();
    String transformed = draw.transformed();
    FftOptions forward = draw.transform().withReal(isHalf).withAxes(transformed);
    FftOptions back = FftOptions.defaults().withDecomposition(draw.oneOf(Draw.DECOMPOSITIONS));
    String left = transformed.length() == 3 && !forward.natural() ? "yzx" : "xyz";
    String order = draw.random().nextBoolean() ? "xyz" : draw.oneOf(Draw.AXES);
    draw.tell(" " + forward + ", permuted " + order + ", back " + back);
    return draw.of(
        x -> {
          Dataset<Row> spectrum = VolumeBlocks.permute(VolumeBlocks.fft(x, forward), order);
          boolean mayBeStored =
              draw.setting() != Setting.EMPTY && draw.setting() != Setting.DUPLICATE_COLUMNS;
          return VolumeBlocks.ifft(
              mayBeStored ? draw.frames().maybeStored(spectrum) : spectrum, back);
        },
        d -> {
          Dense volume = isHalf ? d : d.asComplex();
          // The order that a transform left is undone, one that was asked for since is kept.
          return order.equals("xyz")
              ? volume
              : volume.permuted(Draw.places(left)).permuted(Draw.places(order));
        },
        d -> draw.error(d.magnitude()));
  }

  static Query lowPass(Draw draw) {
    // One of all that may be, which is no frequency itself.
    double cutoff = 0.9 * draw.random().nextDouble();
    FftOptions options = draw.transform();
    draw.tell(" " + cutoff + " " + options);
    return draw.of(
        x -> VolumeBlocks.ifft(VolumeBlocks.lowPass(VolumeBlocks.fft(x, options), cutoff)),
        d -> HostFourier.of(d, "xyz").lowPass(cutoff).inverse(),
        d -> draw.error(d.magnitude()));
  }
}
