package org.tilespark.spark;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.error.Require;
import org.tilespark.spark.functions.TableFunctions;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.Missing;

/**
 * Operators on volumes held as DataFrames of blocks: {@code x BIGINT, y BIGINT, z BIGINT, nx INT,
 * ny INT, nz INT, values ARRAY<T> [, imag ARRAY<T>]}, one block per row, values row-major with z
 * contiguous.
 *
 * <p>Further columns, laziness, errors and set-up are as for {@link MatrixBlocks}.
 */
public final class VolumeBlocks {
  private VolumeBlocks() {}

  /**
   * Reorders the volume's axes: output axis {@code i} is the input axis that the {@code i}-th
   * letter names, so {@code "yzx"} gives {@code Y(j,k,i) = X(i,j,k)}. In the result the columns x,
   * y, z (and nx, ny, nz) mean output axes 0, 1, 2. No shuffle; further columns are carried
   * through.
   *
   * @param df blocks of TINYINT, SMALLINT, INT, BIGINT, FLOAT or DOUBLE, real or complex
   * @param axes one of xyz, xzy, yxz, yzx, zxy, zyx; or numbers, as {@code "1,2,0"} for yzx
   * @throws IllegalArgumentException if {@code df} has no volume blocks or {@code axes} is no
   *     permutation
   */
  public static Dataset<Row> permute(Dataset<Row> df, String axes) {
    return OperatorCall.of(TableFunctions.VOLUME_PERMUTE, df, axes);
  }

  /**
   * As {@link MatrixBlocks#reblock(Dataset, int, int)}, of a volume in blocks of {@code nx} x
   * {@code ny} x {@code nz}.
   */
  public static Dataset<Row> reblock(Dataset<Row> df, int nx, int ny, int nz) {
    return reblock(df, nx, ny, nz, Missing.ERROR);
  }

  /** As {@link MatrixBlocks#reblock(Dataset, int, int, Missing)}, of a volume. */
  public static Dataset<Row> reblock(Dataset<Row> df, int nx, int ny, int nz, Missing missing) {
    return OperatorCall.of(TableFunctions.VOLUME_REBLOCK, df, nx, ny, nz, missing);
  }

  /** {@link #pad(Dataset, String, String, double)} with zeros. */
  public static Dataset<Row> pad(Dataset<Row> df, String widths) {
    return pad(df, widths, "constant");
  }

  /** {@link #pad(Dataset, String, String, double)} with the value 0, if the mode is constant. */
  public static Dataset<Row> pad(Dataset<Row> df, String widths, String mode) {
    return pad(df, widths, mode, 0);
  }

  /**
   * As {@link MatrixBlocks#pad(Dataset, String, String, double)}, of a volume.
   *
   * @param widths elements before and after each axis, {@code "2,3; 0,1; 1,1"}; {@code "2,3"}
   *     before and after all axes; {@code "2"} on all sides
   */
  public static Dataset<Row> pad(Dataset<Row> df, String widths, String mode, double value) {
    return OperatorCall.of(TableFunctions.VOLUME_PAD, df, widths, mode, value);
  }

  /** As {@link MatrixBlocks#crop}, of a volume. */
  public static Dataset<Row> crop(Dataset<Row> df, String widths) {
    return OperatorCall.of(TableFunctions.VOLUME_CROP, df, widths);
  }

  /**
   * As {@link MatrixBlocks#roll}, of a volume.
   *
   * @param shift places along each axis, {@code "1,-2,0"}; below 0 towards its start
   */
  public static Dataset<Row> roll(Dataset<Row> df, String shift) {
    return OperatorCall.of(TableFunctions.VOLUME_ROLL, df, shift);
  }

  /** As {@link MatrixBlocks#reshape}, of the elements of a volume. */
  public static Dataset<Row> reshape(Dataset<Row> df, String shape) {
    return OperatorCall.of(TableFunctions.VOLUME_RESHAPE, df, shape);
  }

  /** {@link #halo(Dataset, String, String)} with zeros beyond the volume. */
  public static Dataset<Row> halo(Dataset<Row> df, String widths) {
    return halo(df, widths, "constant");
  }

  /**
   * As {@link MatrixBlocks#halo(Dataset, String, String)}, of a volume.
   *
   * @param widths elements on both sides of each axis, {@code "1,2,0"}; before and after each,
   *     {@code "1,2; 0,1; 0,0"}; {@code "2"} on all sides
   */
  public static Dataset<Row> halo(Dataset<Row> df, String widths, String edge) {
    return OperatorCall.of(TableFunctions.VOLUME_HALO, df, widths, edge);
  }

  /** As {@link MatrixBlocks#trim(Dataset)}, of a volume. */
  public static Dataset<Row> trim(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_TRIM, df);
  }

  /** As {@link MatrixBlocks#trim(Dataset, String)}, of a volume. */
  public static Dataset<Row> trim(Dataset<Row> df, String widths) {
    return OperatorCall.of(TableFunctions.VOLUME_TRIM, df, widths);
  }

  /**
   * The volume in slabs: cut along {@code axis}, whole along the others. Existing slabs with less
   * than 256 MiB of values each stay as they are, unless the whole volume is one. Otherwise the
   * volume is cut into the least number of slabs that are below that size and give each task that
   * can run at once (Spark's default parallelism) one, as far as the extent allows.
   *
   * <p>Extents are taken from the column metadata; if it states none, a small aggregate over the
   * coordinate columns runs now. Otherwise as {@link #reblock(Dataset, int, int, int)}.
   *
   * @param axis x, y or z, or its number 0, 1 or 2; -1 is the last axis
   */
  public static Dataset<Row> slabs(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_SLABS, df, axis);
  }

  /**
   * As {@link #slabs(Dataset, String)}, in slabs of a given thickness.
   *
   * @param thickness elements of a slab along {@code axis}, 1 or more
   */
  public static Dataset<Row> slabs(Dataset<Row> df, String axis, int thickness) {
    return slabs(df, axis, thickness, Missing.ERROR);
  }

  /** As {@link #slabs(Dataset, String, int)}, with a choice for missing blocks. */
  public static Dataset<Row> slabs(Dataset<Row> df, String axis, int thickness, Missing missing) {
    return OperatorCall.of(TableFunctions.VOLUME_SLABS, df, axis, thickness, missing);
  }

  /**
   * The volume in pencils: whole along {@code axis}, cut along the others. Existing pencils with
   * less than 256 MiB of values each stay as they are, unless the whole volume is one. Otherwise
   * the longer of the other two axes is halved until pencils are below that size and there is one
   * for each task that can run at once (Spark's default parallelism), as far as the extents allow.
   *
   * <p>Extents are found as by {@link #slabs(Dataset, String)}.
   *
   * @param axis x, y or z, or its number 0, 1 or 2; -1 is the last axis
   */
  public static Dataset<Row> pencils(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_PENCILS, df, axis);
  }

  /**
   * As {@link #pencils(Dataset, String)}, in pencils of a given cross-section.
   *
   * @param first elements of a pencil along the first of the other axes, 1 or more
   * @param second elements of a pencil along the second of the other axes, 1 or more
   */
  public static Dataset<Row> pencils(Dataset<Row> df, String axis, int first, int second) {
    return pencils(df, axis, first, second, Missing.ERROR);
  }

  /** As {@link #pencils(Dataset, String, int, int)}, with a choice for missing blocks. */
  public static Dataset<Row> pencils(
      Dataset<Row> df, String axis, int first, int second, Missing missing) {
    return OperatorCall.of(TableFunctions.VOLUME_PENCILS, df, axis, first, second, missing);
  }

  /**
   * As {@link MatrixBlocks#slice}, of a volume.
   *
   * @param slices slice of each axis, as {@code "0:64, ..., ::2"}
   */
  public static Dataset<Row> slice(Dataset<Row> df, String slices) {
    return OperatorCall.of(TableFunctions.VOLUME_SLICE, df, slices);
  }

  /**
   * Reverses the order of elements along all axes; as {@link #slice} with {@code ::-1} for each.
   */
  public static Dataset<Row> flip(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_FLIP, df);
  }

  /**
   * Reverses the order of elements along some axes; as {@link #slice} with {@code ::-1} for those.
   *
   * @param axes letters or numbers of the axes, as {@code "xz"} or {@code "0,2"}
   */
  public static Dataset<Row> flip(Dataset<Row> df, String axes) {
    return OperatorCall.of(TableFunctions.VOLUME_FLIP, df, axes);
  }

  /** As {@link MatrixBlocks#withOrigin}, of a volume. */
  public static Dataset<Row> withOrigin(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_WITH_ORIGIN, df);
  }

  /**
   * As {@link MatrixBlocks#concat}, of volumes.
   *
   * @param axis name of the axis, as {@code "x"}, or its number
   */
  @SafeVarargs
  public static Dataset<Row> concat(
      String axis, Dataset<Row> a, Dataset<Row> b, Dataset<Row>... more) {
    Require.given(more, "VolumeBlocks.concat", "more");
    Dataset<Row> all = OperatorCall.of(TableFunctions.VOLUME_CONCAT, a, b, axis);
    for (Dataset<Row> next : more) {
      all = OperatorCall.of(TableFunctions.VOLUME_CONCAT, all, next, axis);
    }
    return all;
  }

  /** {@link #fft(Dataset, FftOptions)} with all defaults. */
  public static Dataset<Row> fft(Dataset<Row> df) {
    return fft(df, FftOptions.defaults());
  }

  /**
   * The volume's discrete Fourier transform, as numpy's {@code fftn} and {@code rfftn}.
   *
   * <p>Slabs need one shuffle; blocks that are whole along all transformed axes need none; any
   * other tiling needs one shuffle more than slabs. A transform of all three axes leaves its result
   * permuted: its axes are {@code yzx}, as the column metadata says, and it is cut along y. {@link
   * #ifft} accepts this order.
   *
   * <p>Extents are taken from the column metadata; if it states none, a small aggregate over the
   * coordinate columns runs now. All else is lazy. Further columns distinguish several volumes of
   * one size.
   *
   * @param df blocks of FLOAT or DOUBLE, real or complex, in any tiling
   * @return complex blocks (with a column {@code imag}) of the same type
   * @throws IllegalArgumentException if {@code df} has no volume blocks or the options do not fit
   *     them
   */
  public static Dataset<Row> fft(Dataset<Row> df, FftOptions options) {
    return OperatorCall.of(TableFunctions.VOLUME_FFT, df, options);
  }

  /** {@link #ifft(Dataset, FftOptions)} with all defaults. */
  public static Dataset<Row> ifft(Dataset<Row> df) {
    return ifft(df, FftOptions.defaults());
  }

  /**
   * The inverse of {@link #fft}: the volume of a spectrum. The column metadata says how {@code fft}
   * was computed. The axes return to their original order.
   *
   * @param df a result of {@link #fft}, also permuted, re-blocked, or with other values; or complex
   *     blocks of any origin, with options that describe them
   * @return blocks of the same type; real blocks for half a spectrum
   * @throws IllegalArgumentException if {@code df} has no complex blocks, or neither metadata nor
   *     options say which axes were transformed
   */
  public static Dataset<Row> ifft(Dataset<Row> df, FftOptions options) {
    return OperatorCall.of(TableFunctions.VOLUME_IFFT, df, options);
  }

  /** As {@link MatrixBlocks#scale}, of a volume. A spectrum stays a spectrum. */
  public static Dataset<Row> scale(Dataset<Row> df, double alpha) {
    return OperatorCall.of(TableFunctions.VOLUME_SCALE, df, alpha);
  }

  /** {@link #add(Dataset, Dataset, Missing)} of volumes without missing blocks. */
  public static Dataset<Row> add(Dataset<Row> a, Dataset<Row> b) {
    return add(a, b, Missing.ERROR);
  }

  /**
   * The sum of two volumes or spectra of the same extents, as {@link MatrixBlocks#add(Dataset,
   * Dataset, Missing)} of matrices. The result has the first one's columns and metadata.
   *
   * <p>Two spectra must fit each other as in {@link #multiplyPointwise}, and have their axes in the
   * same order.
   *
   * @param a blocks of FLOAT or DOUBLE, real or complex
   * @param b blocks of the same type, with the same further columns
   * @param missing treatment of elements that are in no block of one or both volumes
   * @throws IllegalArgumentException if the columns, the stated extents or the transforms do not
   *     fit
   */
  public static Dataset<Row> add(Dataset<Row> a, Dataset<Row> b, Missing missing) {
    return OperatorCall.of(TableFunctions.VOLUME_ADD, a, b, missing);
  }

  /** As {@link MatrixBlocks#map}, for a volume, where an element's place is x, y and z. */
  public static Dataset<Row> map(Dataset<Row> df, String expression) {
    return OperatorCall.of(TableFunctions.VOLUME_MAP, df, expression);
  }

  /**
   * As {@link #map(Dataset, String)}, with named numbers: {@code map(df, "v * scale",
   * Map.of("scale", 2.5))}. They act exactly like literals.
   *
   * @param scalars numbers by name; the expression must use each, and no name may be that of an
   *     element or a place
   */
  public static Dataset<Row> map(
      Dataset<Row> df, String expression, Map<String, ? extends Number> scalars) {
    return OperatorCall.of(TableFunctions.VOLUME_MAP, df, expression, scalars);
  }

  /** {@link #zip(Dataset, Dataset, String, Missing)} of volumes without missing blocks. */
  public static Dataset<Row> zip(Dataset<Row> a, Dataset<Row> b, String expression) {
    return zip(a, b, expression, Missing.ERROR);
  }

  /**
   * As {@link MatrixBlocks#zip(Dataset, Dataset, String, Missing)}, for volumes: a plane of 1 x N x
   * K is combined with each plane of the other.
   */
  public static Dataset<Row> zip(
      Dataset<Row> a, Dataset<Row> b, String expression, Missing missing) {
    return OperatorCall.of(TableFunctions.VOLUME_ZIP, a, b, expression, missing);
  }

  /**
   * As {@link #zip(Dataset, Dataset, String, Missing)}, with numbers as {@link #map} takes them.
   */
  public static Dataset<Row> zip(
      Dataset<Row> a,
      Dataset<Row> b,
      String expression,
      Missing missing,
      Map<String, ? extends Number> scalars) {
    return OperatorCall.of(TableFunctions.VOLUME_ZIP, a, b, expression, missing, scalars);
  }

  /**
   * The products of the elements of two volumes or spectra at equal places, computed in double and
   * rounded once. Both may have any tiling; the result has the tiling of {@link #add(Dataset,
   * Dataset)}. If both come from {@link #fft}, nothing is shuffled.
   *
   * <p>Two spectra must have the same transformed axes, halved axis, shift and norm, as the column
   * metadata states them: elements at equal places then belong to equal frequencies, and one
   * inverse transform serves for both.
   *
   * @param a blocks of FLOAT or DOUBLE, real or complex
   * @param b blocks of the same type, real or complex, with the same further columns
   * @return blocks with the metadata of {@code a}, complex if one of the two volumes is complex
   * @throws IllegalArgumentException if the two do not fit each other; the message says what was
   *     found
   */
  public static Dataset<Row> multiplyPointwise(Dataset<Row> a, Dataset<Row> b) {
    return OperatorCall.of(TableFunctions.VOLUME_MULTIPLY_POINTWISE, a, b);
  }

  /**
   * Sets a spectrum to zero where the absolute value of the frequency is above a cutoff. It works
   * block by block; between transforms the block stays on the device. After several transforms each
   * axis has its own frequencies.
   *
   * @param df a result of {@link #fft}
   * @param cutoff greatest absolute value of a frequency that is kept, 0 or more, in cycles per
   *     unit of the spacing
   * @throws IllegalArgumentException if the column metadata does not say that this is a spectrum,
   *     or says that an axis was transformed twice
   */
  public static Dataset<Row> lowPass(Dataset<Row> df, double cutoff) {
    return OperatorCall.of(TableFunctions.VOLUME_LOW_PASS, df, cutoff);
  }

  /**
   * Sets a spectrum to zero where the absolute value of the frequency is outside a band; otherwise
   * as {@link #lowPass}.
   *
   * @param df a result of {@link #fft}
   * @param low least absolute value of a frequency that is kept, 0 or more, in cycles per unit of
   *     the spacing
   * @param high greatest absolute value of a frequency that is kept, {@code low} or more
   * @throws IllegalArgumentException if the column metadata does not say that this is a spectrum,
   *     or says that an axis was transformed twice
   */
  public static Dataset<Row> bandPass(Dataset<Row> df, double low, double high) {
    return OperatorCall.of(TableFunctions.VOLUME_BAND_PASS, df, low, high);
  }

  /**
   * The squares of a spectrum's absolute values, as real blocks at the same places.
   *
   * @param df complex blocks of FLOAT or DOUBLE
   */
  public static Dataset<Row> powerSpectrum(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_POWER_SPECTRUM, df);
  }

  /**
   * {@link #radialAverage(Dataset, double)} with rings as wide as the smallest frequency step of
   * any axis.
   */
  public static Dataset<Row> radialAverage(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_RADIAL_AVERAGE, df);
  }

  /**
   * The mean power of a spectrum at each absolute value of the frequency: one aggregate over the
   * blocks, where each element of the spectrum is in one ring. Elements that half a spectrum leaves
   * out are counted too.
   *
   * @param df a result of {@link #fft} or {@link #powerSpectrum}
   * @param width width of a ring; ring i takes the frequencies nearest to i times the width
   * @return further columns of {@code df}, then {@code frequency DOUBLE, power DOUBLE, count
   *     BIGINT}, one row for each ring that holds an element
   * @throws IllegalArgumentException if the column metadata does not say that this is a spectrum,
   *     or says that an axis was transformed twice, or the width is not above 0
   */
  public static Dataset<Row> radialAverage(Dataset<Row> df, double width) {
    return OperatorCall.of(TableFunctions.VOLUME_RADIAL_AVERAGE, df, width);
  }

  /**
   * The frequencies along the axes of a spectrum, from its column metadata alone.
   *
   * @param df a result of {@link #fft}
   * @return {@code axis STRING} (x, y or z as {@code df} has them), {@code index BIGINT}, {@code
   *     frequency DOUBLE} in cycles per unit of the spacing; rows of transformed axes only
   * @throws IllegalArgumentException if the column metadata does not say that this is a spectrum,
   *     or says that an axis was transformed twice
   */
  public static Dataset<Row> frequencies(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_FREQUENCIES, df);
  }

  /** As {@link MatrixBlocks#sum(Dataset)}, of volumes. */
  public static Dataset<Row> sum(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_SUM, df);
  }

  /**
   * As {@link #sum(Dataset)}, along some axes: the result is blocks of extent 1 along them, as
   * numpy's with {@code keepdims}.
   *
   * @param axis x, y or z, or 0, 1 or 2, or several of them: {@code "xy"}; -1 is the last axis
   */
  public static Dataset<Row> sum(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_SUM, df, axis);
  }

  /** As {@link MatrixBlocks#mean(Dataset)}, of volumes. */
  public static Dataset<Row> mean(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_MEAN, df);
  }

  /** {@link #mean(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> mean(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_MEAN, df, axis);
  }

  /** As {@link MatrixBlocks#min(Dataset)}, of volumes. */
  public static Dataset<Row> min(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_MIN, df);
  }

  /** {@link #min(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> min(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_MIN, df, axis);
  }

  /** As {@link MatrixBlocks#max(Dataset)}, of volumes. */
  public static Dataset<Row> max(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_MAX, df);
  }

  /** {@link #max(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> max(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_MAX, df, axis);
  }

  /** As {@link MatrixBlocks#ptp(Dataset)}, of volumes. */
  public static Dataset<Row> ptp(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_PTP, df);
  }

  /** {@link #ptp(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> ptp(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_PTP, df, axis);
  }

  /** As {@link MatrixBlocks#argmin(Dataset)}, of volumes. */
  public static Dataset<Row> argmin(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_ARGMIN, df);
  }

  /** {@link #argmin(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> argmin(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_ARGMIN, df, axis);
  }

  /** As {@link MatrixBlocks#argmax(Dataset)}, of volumes. */
  public static Dataset<Row> argmax(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_ARGMAX, df);
  }

  /** {@link #argmax(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> argmax(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_ARGMAX, df, axis);
  }

  /** As {@link MatrixBlocks#var(Dataset)}, of volumes. */
  public static Dataset<Row> var(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_VAR, df);
  }

  /** {@link #var(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> var(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_VAR, df, axis);
  }

  /** As {@link MatrixBlocks#var(Dataset, String, double)}, of volumes. */
  public static Dataset<Row> var(Dataset<Row> df, String axis, double ddof) {
    return OperatorCall.of(TableFunctions.VOLUME_VAR, df, axis, ddof);
  }

  /** As {@link MatrixBlocks#std(Dataset)}, of volumes. */
  public static Dataset<Row> std(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_STD, df);
  }

  /** {@link #std(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> std(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_STD, df, axis);
  }

  /** As {@link MatrixBlocks#std(Dataset, String, double)}, of volumes. */
  public static Dataset<Row> std(Dataset<Row> df, String axis, double ddof) {
    return OperatorCall.of(TableFunctions.VOLUME_STD, df, axis, ddof);
  }

  /** As {@link MatrixBlocks#norm(Dataset)}, of volumes. */
  public static Dataset<Row> norm(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_NORM, df);
  }

  /** {@link #norm(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> norm(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_NORM, df, axis);
  }

  /** As {@link MatrixBlocks#norm(Dataset, String, String)}, of volumes. */
  public static Dataset<Row> norm(Dataset<Row> df, String axis, String ord) {
    return OperatorCall.of(TableFunctions.VOLUME_NORM, df, axis, ord);
  }

  /** As {@link MatrixBlocks#countNonzero(Dataset)}, of volumes. */
  public static Dataset<Row> countNonzero(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_COUNT_NONZERO, df);
  }

  /** {@link #countNonzero(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> countNonzero(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_COUNT_NONZERO, df, axis);
  }

  /** As {@link MatrixBlocks#any(Dataset)}, of volumes. */
  public static Dataset<Row> any(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_ANY, df);
  }

  /** {@link #any(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> any(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_ANY, df, axis);
  }

  /** As {@link MatrixBlocks#all(Dataset)}, of volumes. */
  public static Dataset<Row> all(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_ALL, df);
  }

  /** {@link #all(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> all(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_ALL, df, axis);
  }

  /** As {@link MatrixBlocks#nansum(Dataset)}, of volumes. */
  public static Dataset<Row> nansum(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_NANSUM, df);
  }

  /** {@link #nansum(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> nansum(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_NANSUM, df, axis);
  }

  /** As {@link MatrixBlocks#nanmean(Dataset)}, of volumes. */
  public static Dataset<Row> nanmean(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_NANMEAN, df);
  }

  /** {@link #nanmean(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> nanmean(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_NANMEAN, df, axis);
  }

  /** As {@link MatrixBlocks#validate}, of a volume. */
  public static Dataset<Row> validate(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_VALIDATE, df);
  }

  /**
   * These blocks with the extents of the whole volume stated as column metadata, in place of those
   * stated before.
   */
  public static Dataset<Row> withExtents(Dataset<Row> df, long nx, long ny, long nz) {
    return OperatorCall.of(TableFunctions.VOLUME_WITH_EXTENTS, df, List.of(nx, ny, nz));
  }

  /**
   * These blocks without stated extents, for frames whose stated extents are wrong after a union or
   * filter.
   */
  public static Dataset<Row> withoutExtents(Dataset<Row> df) {
    Require.given(df, "VolumeBlocks.withoutExtents", "df");
    return OperatorCall.of(TableFunctions.VOLUME_WITH_EXTENTS, df, ArrayMetadata.UNKNOWN);
  }
}
