package org.tilespark.spark;

import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.error.Require;
import org.tilespark.spark.functions.TableFunctions;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.validate.BlockValidator;

/**
 * Operators on volumes held as DataFrames of blocks: {@code x BIGINT, y BIGINT, z BIGINT, nx INT,
 * ny INT, nz INT, values ARRAY<T> [, imag ARRAY<T>]}, one block per row, values row-major with z
 * contiguous.
 *
 * <p>Laziness, errors and set-up are as for {@link MatrixBlocks}.
 */
public final class VolumeBlocks {
  private VolumeBlocks() {}

  /**
   * The volume with its axes reordered: output axis {@code i} is the input axis that the {@code
   * i}-th letter names, so {@code "yzx"} gives {@code Y(j,k,i) = X(i,j,k)}. In the result the
   * columns x, y, z (and nx, ny, nz) mean output axes 0, 1, 2. No shuffle; further columns are
   * carried through.
   *
   * @param df blocks of TINYINT, SMALLINT, INT, BIGINT, FLOAT or DOUBLE, real or complex
   * @param axes one of xyz, xzy, yxz, yzx, zxy, zyx; or numbers, as {@code "1,2,0"} for yzx
   * @throws IllegalArgumentException if {@code df} has no volume blocks or {@code axes} is no order
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> permute(Dataset<Row> df, String axes) {
    return OperatorCall.of(TableFunctions.VOLUME_PERMUTE, df, axes);
  }

  /**
   * The same volume in blocks of {@code nx} x {@code ny} x {@code nz}, smaller at the far edges:
   * every block is cut along the target tiling, the pieces are shuffled once, and each target block
   * is assembled. Missing blocks are an error; see {@link #reblock(Dataset, int, int, int,
   * Missing)}.
   *
   * @param df blocks of any tiling; further columns tell several volumes apart
   * @param nx of a full target block along axis 0, 1 or more; likewise the others
   * @return blocks that begin at multiples of these sizes. If the column metadata says that the
   *     blocks of {@code df} do already, no values are shuffled; each block's place is looked at,
   *     and all places together where they can be read without computing {@code df}
   * @throws IllegalArgumentException if {@code df} has no volume blocks, a target block would have
   *     2 GiB or more, or a further column has no order (a MAP, a VARIANT, an INTERVAL)
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> reblock(Dataset<Row> df, int nx, int ny, int nz) {
    return reblock(df, nx, ny, nz, Missing.ERROR);
  }

  /**
   * As {@link #reblock(Dataset, int, int, int)}, with a choice of what missing blocks are. Two
   * blocks that hold the same element are an error either way. Without stated extents the volume
   * ends where its last blocks do, which one small aggregate over the coordinate columns finds when
   * the query runs.
   */
  public static Dataset<Row> reblock(Dataset<Row> df, int nx, int ny, int nz, Missing missing) {
    return OperatorCall.of(TableFunctions.VOLUME_REBLOCK, df, nx, ny, nz, missing);
  }

  /** {@link #pad(Dataset, String, String, double)} with zeros. */
  public static Dataset<Row> pad(Dataset<Row> df, String widths) {
    return pad(df, widths, "constant");
  }

  /** {@link #pad(Dataset, String, String, double)} with zeros, if the mode is a constant. */
  public static Dataset<Row> pad(Dataset<Row> df, String widths, String mode) {
    return pad(df, widths, mode, 0);
  }

  /**
   * The volume with elements put before and after each axis, as by numpy.pad: one exchange. The
   * result is in blocks of the shape of the input's blocks; an axis along which these are whole
   * stays whole, as long as blocks stay below 256 MiB. It is no spectrum any more.
   *
   * <p>Extents are those that the column metadata states; where it states none, a small aggregate
   * over the coordinate columns runs now. Further columns tell several volume of the same extents
   * apart.
   *
   * @param df blocks of TINYINT, SMALLINT, INT, BIGINT, FLOAT or DOUBLE, real or complex, in any
   *     tiling
   * @param widths elements before and after each axis, {@code "2,3; 0,1; 1,1"}; {@code "2,3"}
   *     before and after all axes; {@code "2"} on all sides
   * @param mode constant, edge, reflect, symmetric or wrap
   * @param value of the elements, if the mode is constant; of complex ones the real part
   * @throws IllegalArgumentException if {@code df} has no volume blocks, the widths or the mode are
   *     none, or the elements' type does not hold the value
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> pad(Dataset<Row> df, String widths, String mode, double value) {
    return OperatorCall.of(TableFunctions.VOLUME_PAD, df, widths, mode, value);
  }

  /**
   * The volume without so many elements before and after each axis, the inverse of {@link #pad}; as
   * {@link #slice} with {@code before:-after} for each.
   *
   * @param widths elements that are taken off, written as those of {@link #pad}: {@code "2,3; 0,1; 1,1"}
   * @throws IllegalArgumentException if {@code df} has no volume blocks, the widths are none, or
   *     nothing is left along an axis
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> crop(Dataset<Row> df, String widths) {
    return OperatorCall.of(TableFunctions.VOLUME_CROP, df, widths);
  }

  /**
   * The volume with each element so many places further on; those at the end of an axis come back
   * at its start, as by numpy.roll. One exchange; none if nothing moves. Else as {@link
   * #pad(Dataset, String, String, double)}.
   *
   * @param shift places along each axis, {@code "1,-2,0"}; below 0 towards its start
   */
  public static Dataset<Row> roll(Dataset<Row> df, String shift) {
    return OperatorCall.of(TableFunctions.VOLUME_ROLL, df, shift);
  }

  /**
   * The elements of the volume, in row-major order, in another shape, as by numpy.reshape: a matrix
   * for two extents, a volume for three. A vector is a matrix of one row or column.
   *
   * <p>The volume is cut so that each block is a block of the other shape too, which costs one
   * exchange, or none where its blocks are so already: those of a volume that are whole along y, or
   * one element thick along x, are blocks of the matrix {@code (nx * ny, nz)}. Where no blocks of a
   * useful size are blocks of both shapes, the volume becomes a vector between, for an exchange
   * more. Extents are found as by {@link #pad(Dataset, String, String, double)}. The result is no
   * spectrum any more.
   *
   * @param df blocks of TINYINT, SMALLINT, INT, BIGINT, FLOAT or DOUBLE, real or complex, in any
   *     tiling; further columns tell several volume of the same extents apart
   * @param shape two or three extents, {@code "20,6"}; one may be -1, which is then what is left
   * @throws IllegalArgumentException if {@code df} has no volume blocks, the shape has another
   *     count of elements, or a further column has the name of one of the result's block columns
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> reshape(Dataset<Row> df, String shape) {
    return OperatorCall.of(TableFunctions.VOLUME_RESHAPE, df, shape);
  }

  /** {@link #halo(Dataset, String, String)} with zeros beyond the volume. */
  public static Dataset<Row> halo(Dataset<Row> df, String widths) {
    return halo(df, widths, "constant");
  }

  /**
   * The volume in blocks that have elements of their neighbours around their own: what stencils and
   * deconvolution need. One exchange. Places and sizes count the halo: the place {@code x}, {@code
   * y}, {@code z} is that of the first element with its halo, and may be negative. Beyond the
   * volume the halo has what {@code edge} says; with {@code "none"} blocks end where the volume
   * does. A halo may be wider than a block, but for the edge {@code "none"}.
   *
   * <p>{@link #map}, {@link #scale}, the caller's own functions of a block, caches and tables of
   * Spark take such blocks. All other operators refuse them: blocks that overlap are no volume.
   * {@link #trim(Dataset)} takes the halo off; column metadata of places and values says how wide
   * it is.
   *
   * <p>Own elements are cut as the blocks of {@code df} are, and extents are found as by {@link
   * #pad(Dataset, String, String, double)}.
   *
   * @param df blocks of TINYINT, SMALLINT, INT, BIGINT, FLOAT or DOUBLE, real or complex, in any
   *     tiling
   * @param widths elements on both sides of each axis, {@code "1,2,0"}; before and after each,
   *     {@code "1,2; 0,1; 0,0"}; {@code "2"} on all sides
   * @param edge constant (zeros), edge, reflect, symmetric, wrap or none
   * @throws IllegalArgumentException if {@code df} has no volume blocks, or the widths or the edge
   *     are none
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> halo(Dataset<Row> df, String widths, String edge) {
    return OperatorCall.of(TableFunctions.VOLUME_HALO, df, widths, edge);
  }

  /**
   * The blocks without the halo that {@link #halo(Dataset, String, String)} gave them. No shuffle;
   * further columns are carried through. The volume has the extents that it had before the halo.
   *
   * @param df blocks of any element type; {@code values} may be others than {@code halo} gave, of
   *     as many elements
   * @throws IllegalArgumentException if no column metadata says that the blocks have a halo; it is
   *     lost where places are computed anew, see {@link #trim(Dataset, String)}
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> trim(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_TRIM, df);
  }

  /**
   * As {@link #trim(Dataset)}, of blocks whose column metadata was lost, as by {@code map} of a
   * typed Dataset.
   *
   * @param widths as {@code halo} was given them; its edge was not {@code "none"}
   */
  public static Dataset<Row> trim(Dataset<Row> df, String widths) {
    return OperatorCall.of(TableFunctions.VOLUME_TRIM, df, widths);
  }

  /**
   * The same volume in slabs: cut along {@code axis}, whole along the others. Slabs that are there
   * already and have less than 256 MiB of values each stay as they are, unless the whole volume is
   * one. Else as few slabs are made as keep below that and are one at least for each task that can
   * run at once (Spark's default parallelism), as far as the extent allows.
   *
   * <p>Extents are those that the column metadata states; where it states none, a small aggregate
   * over the coordinate columns runs now. All else as {@link #reblock(Dataset, int, int, int)}.
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

  /** As {@link #slabs(Dataset, String, int)}, with a choice of what missing blocks are. */
  public static Dataset<Row> slabs(Dataset<Row> df, String axis, int thickness, Missing missing) {
    return OperatorCall.of(TableFunctions.VOLUME_SLABS, df, axis, thickness, missing);
  }

  /**
   * The same volume in pencils: whole along {@code axis}, cut along the others. Pencils that are
   * there already and have less than 256 MiB of values each stay as they are, unless the whole
   * volume is one. Else the volume is halved across its longer other axis until pencils keep below
   * that and are one at least for each task that can run at once (Spark's default parallelism), as
   * far as the extents allow.
   *
   * <p>Extents are found as by {@link #slabs(Dataset, String)}.
   *
   * @param axis x, y or z, or its number 0, 1 or 2; -1 is the last axis
   */
  public static Dataset<Row> pencils(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_PENCILS, df, axis);
  }

  /**
   * As {@link #pencils(Dataset, String)}, in pencils of a given section.
   *
   * @param first elements of a pencil along the first of the other axes, 1 or more
   * @param second along the second of them
   */
  public static Dataset<Row> pencils(Dataset<Row> df, String axis, int first, int second) {
    return pencils(df, axis, first, second, Missing.ERROR);
  }

  /** As {@link #pencils(Dataset, String, int, int)}, with a choice of what missing blocks are. */
  public static Dataset<Row> pencils(
      Dataset<Row> df, String axis, int first, int second, Missing missing) {
    return OperatorCall.of(TableFunctions.VOLUME_PENCILS, df, axis, first, second, missing);
  }

  /**
   * Some elements along each axis, with the meaning of numpy's basic slicing: {@code
   * start:stop:step} for each axis with commas between, bounds below 0 from the end, parts left
   * out, steps below 0, {@code ...} for the axes that are not named. Unlike numpy's, a single
   * number keeps its axis, with extent 1.
   *
   * <p>Block by block, no shuffle; blocks that hold nothing of the slice are dropped, and not even
   * read by our sources. Extents are those that the column metadata states; where it states none, a
   * small aggregate over the coordinate columns runs now. A slice of a spectrum is no spectrum.
   * Further columns are carried through, and tell arrays of one size apart.
   *
   * @param df blocks of any type, real or complex
   * @param slices as {@code "0:64, ..., ::2"}
   * @throws IllegalArgumentException if {@code df} has no such blocks, the text is no slice, or
   *     nothing is left along an axis
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> slice(Dataset<Row> df, String slices) {
    return OperatorCall.of(TableFunctions.VOLUME_SLICE, df, slices);
  }

  /** The elements along all axes in reverse order; as {@link #slice} with {@code ::-1} for each. */
  public static Dataset<Row> flip(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_FLIP, df);
  }

  /**
   * The elements along some axes in reverse order; as {@link #slice} with {@code ::-1} for those.
   *
   * @param axes letters or numbers, as {@code "xz"} or {@code "0,2"}
   */
  public static Dataset<Row> flip(Dataset<Row> df, String axes) {
    return OperatorCall.of(TableFunctions.VOLUME_FLIP, df, axes);
  }

  /**
   * The part of the volume that the blocks cover, as after a filter on their places: the lowest
   * offset along each axis becomes 0. The extents are those of the part; a small aggregate over the
   * coordinate columns finds it, and runs now. Where the bounds are known, {@link #slice} does the
   * same without.
   *
   * @param df blocks of any type, real or complex
   * @throws IllegalArgumentException if {@code df} has no such blocks, or none at all, or those of
   *     several arrays cover different parts
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> withOrigin(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_WITH_ORIGIN, df);
  }

  /**
   * Volumes of one type behind each other along an axis; along the others their extents are equal.
   * A union of their blocks, no shuffle. Where the metadata does not state the extents, a small
   * aggregate over the coordinate columns runs now. A spectrum among them is none any more.
   *
   * @param axis {@code "x"}, or its number
   * @param a blocks of any type, real or complex
   * @param b blocks of the same type, with the same further columns
   * @param more the same
   * @throws IllegalArgumentException if the volumes do not fit each other; says in what
   * @throws IllegalStateException if the session lacks the extension
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
   * <p>Slabs need one exchange, blocks that are whole along all transformed axes none, any other
   * tiling one more. A transform of all three axes leaves its result permuted: its axes are {@code
   * yzx}, as the column metadata says, and it is cut along y. {@link #ifft} takes it as it is.
   *
   * <p>Extents are those that the column metadata states; where it states none, a small aggregate
   * over the coordinate columns runs now. All else is lazy. Further columns tell several volumes of
   * one size apart.
   *
   * @param df blocks of FLOAT or DOUBLE, real or complex, in any tiling
   * @return complex blocks (with a column {@code imag}) of the same type
   * @throws IllegalArgumentException if {@code df} has no such blocks or the options do not fit
   *     them
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> fft(Dataset<Row> df, FftOptions options) {
    return OperatorCall.of(TableFunctions.VOLUME_FFT, df, options);
  }

  /** {@link #ifft(Dataset, FftOptions)} with all defaults. */
  public static Dataset<Row> ifft(Dataset<Row> df) {
    return ifft(df, FftOptions.defaults());
  }

  /**
   * The volume of a spectrum: undoes {@link #fft}, as the column metadata says that it was done.
   * The axes come back in the order they had.
   *
   * @param df what {@link #fft} gave, also permuted, re-blocked, or with other values; or complex
   *     blocks of any origin, with options that say what they are
   * @return blocks of the same type; real ones of half a spectrum
   * @throws IllegalArgumentException if {@code df} has no complex blocks, or neither metadata nor
   *     options say which axes were transformed
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> ifft(Dataset<Row> df, FftOptions options) {
    return OperatorCall.of(TableFunctions.VOLUME_IFFT, df, options);
  }

  /**
   * Each value times a number, computed in double and rounded once. Block by block, no shuffle;
   * further columns are carried through. A spectrum stays one.
   *
   * @param df blocks of FLOAT or DOUBLE, real or complex
   * @throws IllegalArgumentException if {@code df} has no such blocks
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> scale(Dataset<Row> df, double alpha) {
    return OperatorCall.of(TableFunctions.VOLUME_SCALE, df, alpha);
  }

  /** {@link #add(Dataset, Dataset, Missing)} where both volumes must have each block. */
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
   * @param missing what an element is that one of them, or both, have in no block
   * @throws IllegalArgumentException if the columns, the stated extents or the transforms do not
   *     fit
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> add(Dataset<Row> a, Dataset<Row> b, Missing missing) {
    return OperatorCall.of(TableFunctions.VOLUME_ADD, a, b, missing);
  }

  /**
   * Each element computed from itself: {@code map(df, "sqrt(v) * 2 + 1")}. The expression is
   * written as in Spark SQL, and its types and values are numpy's; docs/elementwise.md has the
   * rules. Beside {@code v} it may name the element's place in the volume: x, y and z. Block by
   * block, no shuffle; further columns are carried through.
   *
   * @param df blocks of any type, real or complex
   * @return blocks of the expression's type. Truth values are TINYINT 0 and 1. Floating-point
   *     numbers made of a spectrum are a spectrum still
   * @throws IllegalArgumentException if {@code df} has no such blocks, or the expression is none
   *     for their type; says which part of it, and what helps
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> map(Dataset<Row> df, String expression) {
    return OperatorCall.of(TableFunctions.VOLUME_MAP, df, expression);
  }

  /** {@link #zip(Dataset, Dataset, String, Missing)} of volumes that miss nothing. */
  public static Dataset<Row> zip(Dataset<Row> a, Dataset<Row> b, String expression) {
    return zip(a, b, expression, Missing.ERROR);
  }

  /**
   * Each element computed from the elements {@code a} and {@code b} of two volumes at the same
   * place: {@code zip(a, b, "a * b - 0.5")}. Expressions are those of {@link #map}; the two may
   * have different types. Cuts, missing and doubled blocks are as for {@link #add(Dataset, Dataset,
   * Missing) add}.
   *
   * <p>Along an axis where one has extent 1 and the other more, it repeats its element, as in
   * numpy: a plane of 1 x N x K meets each of the other's. Where the metadata does not state the
   * extents, one query over the places of the blocks finds them at once. The part that meets a
   * block is brought there by a join; of several volumes, those of the repeated side that meet none
   * are left out.
   *
   * @param a blocks of any type, real or complex
   * @param b blocks of any type, with the same further columns
   * @param missing what an element is that an array has in no block
   * @return blocks of the expression's type, with the columns of {@code a}; of the array that is
   *     not repeated, if one is
   * @throws IllegalArgumentException if the columns, the extents or the expression do not fit
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> zip(
      Dataset<Row> a, Dataset<Row> b, String expression, Missing missing) {
    return OperatorCall.of(TableFunctions.VOLUME_ZIP, a, b, expression, missing);
  }

  /**
   * The products of the elements of two volumes or spectra at equal places, computed in double and
   * rounded once. Both may be in any tilings; the result is cut as that of {@link #add(Dataset,
   * Dataset)}. Where both come from {@link #fft} nothing is moved for it.
   *
   * <p>Two spectra must have the same transformed axes, halved axis, shift and norm, as the column
   * metadata states them: elements at equal places then belong to equal frequencies, and one
   * inverse undoes both transforms.
   *
   * @param a blocks of FLOAT or DOUBLE, real or complex
   * @param b blocks of the same type, real or complex, with the same further columns
   * @return blocks with the first one's metadata, complex if one of the two is
   * @throws IllegalArgumentException if the two do not fit each other; says what was found
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> multiplyPointwise(Dataset<Row> a, Dataset<Row> b) {
    return OperatorCall.of(TableFunctions.VOLUME_MULTIPLY_POINTWISE, a, b);
  }

  /**
   * A spectrum with zeros where the absolute value of the frequency is above a cutoff. Block by
   * block, between transforms in one device trip with them. After several transforms each axis has
   * the frequencies of its own.
   *
   * @param df what {@link #fft} gave
   * @param cutoff 0 or more, in cycles per unit of the spacing
   * @throws IllegalArgumentException if the column metadata does not say that this is a spectrum,
   *     or says that an axis was transformed twice
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> lowPass(Dataset<Row> df, double cutoff) {
    return OperatorCall.of(TableFunctions.VOLUME_LOW_PASS, df, cutoff);
  }

  /**
   * A spectrum with zeros where the absolute value of the frequency is outside a band; as {@link
   * #lowPass} otherwise.
   *
   * @param df what {@link #fft} gave
   * @param low the least frequency that is kept, 0 or more, in cycles per unit of the spacing
   * @param high the greatest, {@code low} or more
   * @throws IllegalArgumentException if the column metadata does not say that this is a spectrum,
   *     or says that an axis was transformed twice
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> bandPass(Dataset<Row> df, double low, double high) {
    return OperatorCall.of(TableFunctions.VOLUME_BAND_PASS, df, low, high);
  }

  /**
   * The squares of a spectrum's absolute values, as real blocks in its places.
   *
   * @param df complex blocks of FLOAT or DOUBLE
   * @throws IllegalArgumentException if {@code df} has no such blocks
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> powerSpectrum(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_POWER_SPECTRUM, df);
  }

  /** {@link #radialAverage(Dataset, double)} in rings as wide as the finest step of any axis. */
  public static Dataset<Row> radialAverage(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_RADIAL_AVERAGE, df);
  }

  /**
   * The mean power of a spectrum at each absolute value of the frequency: one aggregate over the
   * blocks, each element of the spectrum in one of them. What half a spectrum leaves out is counted
   * too.
   *
   * @param df what {@link #fft} or {@link #powerSpectrum} gave
   * @param width of a ring; ring i takes what is nearest to i times the width
   * @return further columns of {@code df}, then {@code frequency DOUBLE, power DOUBLE, count
   *     BIGINT}, one row for each ring that holds something
   * @throws IllegalArgumentException if the column metadata does not say that this is a spectrum,
   *     or says that an axis was transformed twice, or the width is not above 0
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> radialAverage(Dataset<Row> df, double width) {
    return OperatorCall.of(TableFunctions.VOLUME_RADIAL_AVERAGE, df, width);
  }

  /**
   * The frequencies along the axes of a spectrum, from its column metadata alone.
   *
   * @param df what {@link #fft} gave
   * @return {@code axis STRING} (x, y or z as {@code df} has them), {@code index BIGINT}, {@code
   *     frequency DOUBLE} in cycles per unit of the spacing; rows of transformed axes only
   * @throws IllegalArgumentException if the column metadata does not say that this is a spectrum,
   *     or says that an axis was transformed twice
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> frequencies(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_FREQUENCIES, df);
  }

  /**
   * The sum of the elements, in BIGINT for integers and truth values. Sums of floating-point
   * numbers are made in double, pairwise. One row for each volume: its further columns, then {@code
   * value}.
   *
   * <p>Each block is reduced where it lies; what blocks give is merged in the order of their
   * places, so that results have equal bits however the blocks are partitioned. A hole or an
   * overlap fails the query. Further columns tell several volumes apart, which must have one size.
   *
   * @param df blocks of any type, real or complex
   * @throws IllegalArgumentException if {@code df} has no such blocks
   * @throws IllegalStateException if the session lacks the extension
   */
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

  /**
   * The mean of the elements, in DOUBLE for integers and truth values. One row for each volume: its
   * further columns, then {@code value}.
   *
   * @param df blocks of any type, real or complex
   * @throws IllegalArgumentException if {@code df} has no such blocks
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> mean(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_MEAN, df);
  }

  /**
   * As {@link #mean(Dataset)}, along some axes: the result is blocks of extent 1 along them, as
   * numpy's with {@code keepdims}.
   *
   * @param axis x, y or z, or 0, 1 or 2, or several of them: {@code "xy"}; -1 is the last axis
   */
  public static Dataset<Row> mean(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_MEAN, df, axis);
  }

  /**
   * The least element; NaN if there is one. One row for each volume: its further columns, then
   * {@code value}.
   *
   * @param df blocks of any type, real
   * @throws IllegalArgumentException if {@code df} has no such blocks
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> min(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_MIN, df);
  }

  /**
   * As {@link #min(Dataset)}, along some axes: the result is blocks of extent 1 along them, as
   * numpy's with {@code keepdims}.
   *
   * @param axis x, y or z, or 0, 1 or 2, or several of them: {@code "xy"}; -1 is the last axis
   */
  public static Dataset<Row> min(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_MIN, df, axis);
  }

  /**
   * The greatest element; NaN if there is one. One row for each volume: its further columns, then
   * {@code value}.
   *
   * @param df blocks of any type, real
   * @throws IllegalArgumentException if {@code df} has no such blocks
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> max(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_MAX, df);
  }

  /**
   * As {@link #max(Dataset)}, along some axes: the result is blocks of extent 1 along them, as
   * numpy's with {@code keepdims}.
   *
   * @param axis x, y or z, or 0, 1 or 2, or several of them: {@code "xy"}; -1 is the last axis
   */
  public static Dataset<Row> max(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_MAX, df, axis);
  }

  /**
   * The greatest element less the least; NaN if there is one. One row for each volume: its further
   * columns, then {@code value}.
   *
   * @param df blocks of any type, real; of integers differences wrap
   * @throws IllegalArgumentException if {@code df} has no such blocks
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> ptp(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_PTP, df);
  }

  /**
   * As {@link #ptp(Dataset)}, along some axes: the result is blocks of extent 1 along them, as
   * numpy's with {@code keepdims}.
   *
   * @param axis x, y or z, or 0, 1 or 2, or several of them: {@code "xy"}; -1 is the last axis
   */
  public static Dataset<Row> ptp(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_PTP, df, axis);
  }

  /**
   * The place of the least element, the first of several, or of the first NaN: a BIGINT, along
   * several axes in row-major order. One row for each volume: its further columns, then {@code
   * value}.
   *
   * @param df blocks of any type, real
   * @throws IllegalArgumentException if {@code df} has no such blocks
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> argmin(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_ARGMIN, df);
  }

  /**
   * As {@link #argmin(Dataset)}, along some axes: the result is blocks of extent 1 along them, as
   * numpy's with {@code keepdims}.
   *
   * @param axis x, y or z, or 0, 1 or 2, or several of them: {@code "xy"}; -1 is the last axis
   */
  public static Dataset<Row> argmin(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_ARGMIN, df, axis);
  }

  /**
   * The place of the greatest element, the first of several, or of the first NaN: a BIGINT, along
   * several axes in row-major order. One row for each volume: its further columns, then {@code
   * value}.
   *
   * @param df blocks of any type, real
   * @throws IllegalArgumentException if {@code df} has no such blocks
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> argmax(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_ARGMAX, df);
  }

  /**
   * As {@link #argmax(Dataset)}, along some axes: the result is blocks of extent 1 along them, as
   * numpy's with {@code keepdims}.
   *
   * @param axis x, y or z, or 0, 1 or 2, or several of them: {@code "xy"}; -1 is the last axis
   */
  public static Dataset<Row> argmax(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_ARGMAX, df, axis);
  }

  /**
   * The variance of the elements, in DOUBLE for integers and truth values: one pass, and accurate
   * if the mean is large. One row for each volume: its further columns, then {@code value}.
   *
   * @param df blocks of any type, real
   * @throws IllegalArgumentException if {@code df} has no such blocks
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> var(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_VAR, df);
  }

  /**
   * As {@link #var(Dataset)}, along some axes: the result is blocks of extent 1 along them, as
   * numpy's with {@code keepdims}.
   *
   * @param axis x, y or z, or 0, 1 or 2, or several of them: {@code "xy"}; -1 is the last axis
   */
  public static Dataset<Row> var(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_VAR, df, axis);
  }

  /**
   * As {@link #var(Dataset, String)}, with another divisor.
   *
   * @param ddof what is taken off the count of elements before the division by it; else 0
   */
  public static Dataset<Row> var(Dataset<Row> df, String axis, double ddof) {
    return OperatorCall.of(TableFunctions.VOLUME_VAR, df, axis, ddof);
  }

  /**
   * The standard deviation of the elements, in DOUBLE for integers and truth values. One row for
   * each volume: its further columns, then {@code value}.
   *
   * @param df blocks of any type, real
   * @throws IllegalArgumentException if {@code df} has no such blocks
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> std(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_STD, df);
  }

  /**
   * As {@link #std(Dataset)}, along some axes: the result is blocks of extent 1 along them, as
   * numpy's with {@code keepdims}.
   *
   * @param axis x, y or z, or 0, 1 or 2, or several of them: {@code "xy"}; -1 is the last axis
   */
  public static Dataset<Row> std(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_STD, df, axis);
  }

  /**
   * As {@link #std(Dataset, String)}, with another divisor.
   *
   * @param ddof what is taken off the count of elements before the division by it; else 0
   */
  public static Dataset<Row> std(Dataset<Row> df, String axis, double ddof) {
    return OperatorCall.of(TableFunctions.VOLUME_STD, df, axis, ddof);
  }

  /**
   * The norm of the elements: the root of the sum of the squares of their absolute values. One row
   * for each volume: its further columns, then {@code value}.
   *
   * @param df blocks of any type, real or complex
   * @throws IllegalArgumentException if {@code df} has no such blocks
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> norm(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_NORM, df);
  }

  /**
   * As {@link #norm(Dataset)}, along some axes: the result is blocks of extent 1 along them, as
   * numpy's with {@code keepdims}.
   *
   * @param axis x, y or z, or 0, 1 or 2, or several of them: {@code "xy"}; -1 is the last axis
   */
  public static Dataset<Row> norm(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_NORM, df, axis);
  }

  /**
   * As {@link #norm(Dataset, String)}, with one of numpy's other norms.
   *
   * @param ord along one axis 1 (sum of absolute values), 2 or inf (greatest absolute value); along
   *     two axes fro, 1 (greatest sum along the first of them) or inf (along the second)
   */
  public static Dataset<Row> norm(Dataset<Row> df, String axis, String ord) {
    return OperatorCall.of(TableFunctions.VOLUME_NORM, df, axis, ord);
  }

  /**
   * How many elements are not zero, a BIGINT; NaN is not. One row for each volume: its further
   * columns, then {@code value}.
   *
   * @param df blocks of any type, real or complex
   * @throws IllegalArgumentException if {@code df} has no such blocks
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> countNonzero(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_COUNT_NONZERO, df);
  }

  /**
   * As {@link #countNonzero(Dataset)}, along some axes: the result is blocks of extent 1 along
   * them, as numpy's with {@code keepdims}.
   *
   * @param axis x, y or z, or 0, 1 or 2, or several of them: {@code "xy"}; -1 is the last axis
   */
  public static Dataset<Row> countNonzero(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_COUNT_NONZERO, df, axis);
  }

  /**
   * Whether an element is not zero: TINYINT 0 or 1, a truth value. NaN is not zero. One row for
   * each volume: its further columns, then {@code value}.
   *
   * @param df blocks of any type, real
   * @throws IllegalArgumentException if {@code df} has no such blocks
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> any(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_ANY, df);
  }

  /**
   * As {@link #any(Dataset)}, along some axes: the result is blocks of extent 1 along them, as
   * numpy's with {@code keepdims}.
   *
   * @param axis x, y or z, or 0, 1 or 2, or several of them: {@code "xy"}; -1 is the last axis
   */
  public static Dataset<Row> any(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_ANY, df, axis);
  }

  /**
   * Whether no element is zero: TINYINT 0 or 1, a truth value. NaN is not zero. One row for each
   * volume: its further columns, then {@code value}.
   *
   * @param df blocks of any type, real
   * @throws IllegalArgumentException if {@code df} has no such blocks
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> all(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_ALL, df);
  }

  /**
   * As {@link #all(Dataset)}, along some axes: the result is blocks of extent 1 along them, as
   * numpy's with {@code keepdims}.
   *
   * @param axis x, y or z, or 0, 1 or 2, or several of them: {@code "xy"}; -1 is the last axis
   */
  public static Dataset<Row> all(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_ALL, df, axis);
  }

  /**
   * The sum of the elements that are not NaN; 0 if there is none. One row for each volume: its
   * further columns, then {@code value}.
   *
   * @param df blocks of any type, real
   * @throws IllegalArgumentException if {@code df} has no such blocks
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> nansum(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_NANSUM, df);
  }

  /**
   * As {@link #nansum(Dataset)}, along some axes: the result is blocks of extent 1 along them, as
   * numpy's with {@code keepdims}.
   *
   * @param axis x, y or z, or 0, 1 or 2, or several of them: {@code "xy"}; -1 is the last axis
   */
  public static Dataset<Row> nansum(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_NANSUM, df, axis);
  }

  /**
   * The mean of the elements that are not NaN; NaN if there is none. One row for each volume: its
   * further columns, then {@code value}.
   *
   * @param df blocks of any type, real
   * @throws IllegalArgumentException if {@code df} has no such blocks
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> nanmean(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_NANMEAN, df);
  }

  /**
   * As {@link #nanmean(Dataset)}, along some axes: the result is blocks of extent 1 along them, as
   * numpy's with {@code keepdims}.
   *
   * @param axis x, y or z, or 0, 1 or 2, or several of them: {@code "xy"}; -1 is the last axis
   */
  public static Dataset<Row> nanmean(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.VOLUME_NANMEAN, df, axis);
  }

  /**
   * All defects of the blocks, for looking before a long job: wrong lengths, nulls, places outside
   * the stated extents, overlaps and holes. Values are not moved between executors.
   *
   * @param df blocks; columns that are none of a block's own tell several arrays apart
   * @return {@code code, block, found, expected}, all STRING; lazy; no rows if the data is good.
   *     The codes are listed at {@link BlockValidator}
   */
  public static Dataset<Row> validate(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.VOLUME_VALIDATE, df);
  }

  /**
   * The same blocks with the extents of the whole volume stated as column metadata, in place of
   * what was stated before.
   */
  public static Dataset<Row> withExtents(Dataset<Row> df, long nx, long ny, long nz) {
    return OperatorCall.of(TableFunctions.VOLUME_WITH_EXTENTS, df, List.of(nx, ny, nz));
  }

  /** The same blocks without stated extents, for frames that a union or filter left stale. */
  public static Dataset<Row> withoutExtents(Dataset<Row> df) {
    Require.given(df, "VolumeBlocks.withoutExtents", "df");
    return OperatorCall.of(TableFunctions.VOLUME_WITH_EXTENTS, df, ArrayMetadata.UNKNOWN);
  }
}
