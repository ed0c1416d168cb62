package org.tilespark.spark.functions;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.functions.Parameter.Type;
import scala.Tuple3;

/**
 * The SQL table functions: name, Java form, meaning, data moved, parameters and plan, in one table.
 * The examples of each are in the SQL file of its name, see {@link Example}.
 */
@SuppressWarnings("ImmutableEnumChecker") // its lists are List.of, its functions stateless
public enum TableFunctions {
  MATRIX_TRANSPOSE(
      "MatrixBlocks.transpose(m)",
      "The transposed matrix. Further columns are carried through.",
      "none",
      List.of(Parameters.MATRIX, Parameters.EXTENTS),
      FunctionPlans::transpose),

  MATRIX_REBLOCK(
      "MatrixBlocks.reblock(m, rows, cols[, missing])",
      "The matrix in blocks of rows x cols, smaller at the far edges. Further columns tell several"
          + " matrices apart.",
      Moves.REBLOCK,
      List.of(
          Parameters.MATRIX,
          Parameter.required("rows", Type.WHOLE, "rows of a full block, 1 or more"),
          Parameter.required("cols", Type.WHOLE, "columns of a full block, 1 or more"),
          Parameters.MISSING,
          Parameters.EXTENTS),
      call -> FunctionPlans.reblock(call, BlockKind.MATRIX)),

  MATRIX_MULTIPLY(
      "MatrixBlocks.multiply(a, b[, options])",
      "The product of two matrices of FLOAT or DOUBLE in any tiling. Further columns tell several"
          + " matrices apart.",
      Moves.PLANNED,
      List.of(
          Parameters.MATRIX_A,
          Parameters.MATRIX_B,
          Parameters.TRANSPOSE_A,
          Parameters.TRANSPOSE_B,
          Parameters.PRECISION,
          Parameters.STRATEGY,
          Parameters.BLOCK_SHAPE,
          Parameters.MISSING_IN_PRODUCT,
          Parameters.EXTENTS_A,
          Parameters.EXTENTS_B),
      FunctionPlans::multiply),

  MATRIX_GRAM(
      "MatrixBlocks.gram(a[, options])",
      "The product of a matrix's transpose with the matrix, of which half is computed. Further"
          + " columns tell several matrices apart.",
      Moves.PLANNED,
      List.of(
          Parameters.MATRIX_A,
          Parameters.PRECISION,
          Parameters.STRATEGY,
          Parameters.BLOCK_SHAPE,
          Parameters.MISSING_IN_PRODUCT,
          Parameters.EXTENTS),
      FunctionPlans::gram),

  MATRIX_CENTER(
      "MatrixBlocks.center(a)",
      "The matrix with the mean of each of its columns subtracted. Values of FLOAT or DOUBLE."
          + " Further columns tell several matrices apart.",
      "the means",
      List.of(Parameters.MATRIX_A, Parameters.EXTENTS),
      FunctionPlans::center),

  MATRIX_SCALE(
      "MatrixBlocks.scale(a, alpha)",
      "Each value times a number. Values of FLOAT or DOUBLE. Further columns are carried through.",
      "none",
      List.of(Parameters.MATRIX_A, Parameters.ALPHA, Parameters.EXTENTS),
      call -> FunctionPlans.scale(call, BlockKind.MATRIX)),

  MATRIX_ADD(
      "MatrixBlocks.add(a, b[, missing])",
      "The sum of two matrices of FLOAT or DOUBLE in any tilings, cut as the first. Further columns"
          + " tell several matrices apart.",
      Moves.ADD,
      List.of(
          Parameters.MATRIX_A,
          Parameters.MATRIX_B,
          Parameters.MISSING,
          Parameters.EXTENTS_A,
          Parameters.EXTENTS_B),
      call -> FunctionPlans.add(call, BlockKind.MATRIX)),

  MATRIX_VALIDATE(
      "MatrixBlocks.validate(m)",
      "All defects of the blocks: code, block, found, expected; no rows if there are none.",
      "places and sizes",
      List.of(Parameters.MATRIX, Parameters.EXTENTS),
      call -> FunctionPlans.validate(call, BlockKind.MATRIX)),

  MATRIX_WITH_EXTENTS(
      "MatrixBlocks.withExtents(m, rows, cols), .withoutExtents(m)",
      "The same blocks with the extents of the whole matrix stated as column metadata.",
      "none",
      List.of(Parameters.MATRIX, Parameters.STATED_EXTENTS),
      call -> FunctionPlans.withExtents(call, BlockKind.MATRIX)),

  MATRIX_PACK(
      "",
      Packed.PACK_DOC,
      "none",
      List.of(Parameters.MATRIX, Parameters.DTYPE, Parameters.EXTENTS),
      call -> FunctionPlans.pack(call, BlockKind.MATRIX)),

  MATRIX_UNPACK(
      "",
      Packed.UNPACK_DOC,
      "none",
      List.of(
          Parameters.PACKED,
          Parameters.DTYPE_OF_DATA,
          Parameters.EXTENTS,
          Parameters.FULL_BLOCK_SHAPE),
      call -> FunctionPlans.unpack(call, BlockKind.MATRIX)),

  VOLUME_PERMUTE(
      "VolumeBlocks.permute(v, axes)",
      "The volume with its axes reordered: with axes 'yzx' the result is Y(j,k,i) = X(i,j,k)."
          + " Further columns are carried through.",
      "none",
      List.of(
          Parameters.VOLUME,
          Parameter.required(
              "axes",
              Type.AXES,
              "the input axis that each output axis is: 'yzx', '1,2,0' or array(1, 2, 0)"),
          Parameters.EXTENTS),
      FunctionPlans::permute),

  VOLUME_REBLOCK(
      "VolumeBlocks.reblock(v, nx, ny, nz[, missing])",
      "The volume in blocks of nx x ny x nz, smaller at the far edges. Further columns tell several"
          + " volumes apart.",
      Moves.REBLOCK,
      List.of(
          Parameters.VOLUME,
          Parameter.required("nx", Type.WHOLE, "elements of a full block along x, 1 or more"),
          Parameter.required("ny", Type.WHOLE, "the same along y"),
          Parameter.required("nz", Type.WHOLE, "the same along z"),
          Parameters.MISSING,
          Parameters.EXTENTS),
      call -> FunctionPlans.reblock(call, BlockKind.VOLUME)),

  VOLUME_SLABS(
      "VolumeBlocks.slabs(v, axis[, thickness[, missing]])",
      "The volume cut along one axis and whole along the others. Further columns tell several"
          + " volumes apart.",
      Moves.REBLOCK,
      List.of(
          Parameters.VOLUME,
          Parameters.AXIS,
          Parameter.optional(
              "thickness",
              Type.WHOLE,
              "a slab for each task that can run at once, below 256 MiB",
              "elements of a slab along the axis"),
          Parameters.MISSING,
          Parameters.EXTENTS),
      FunctionPlans::slabs),

  VOLUME_PENCILS(
      "VolumeBlocks.pencils(v, axis[, first, second[, missing]])",
      "The volume whole along one axis and cut along the others. Further columns tell several"
          + " volumes apart.",
      Moves.REBLOCK,
      List.of(
          Parameters.VOLUME,
          Parameters.AXIS,
          Parameter.optional(
              "first",
              Type.WHOLE,
              "a pencil for each task that can run at once, below 256 MiB",
              "elements of a pencil along the first of the other axes"),
          Parameter.optional(
              "second",
              Type.WHOLE,
              "as first",
              "elements along the second of the other axes; both or none are given"),
          Parameters.MISSING,
          Parameters.EXTENTS),
      FunctionPlans::pencils),

  VOLUME_SCALE(
      "VolumeBlocks.scale(v, alpha)",
      "Each value times a number. Values of FLOAT or DOUBLE. A spectrum stays one. Further columns"
          + " are carried through.",
      "none",
      List.of(Parameters.VOLUME, Parameters.ALPHA, Parameters.EXTENTS),
      call -> FunctionPlans.scale(call, BlockKind.VOLUME)),

  VOLUME_ADD(
      "VolumeBlocks.add(a, b[, missing])",
      "The sum of two volumes of FLOAT or DOUBLE in any tilings, or of two spectra that fit each"
          + " other, cut as the first. Further columns tell several volumes apart.",
      Moves.ADD,
      List.of(
          Parameters.VOLUME_A,
          Parameters.VOLUME_B,
          Parameters.MISSING,
          Parameters.EXTENTS_A,
          Parameters.EXTENTS_B),
      call -> FunctionPlans.add(call, BlockKind.VOLUME)),

  VOLUME_VALIDATE(
      "VolumeBlocks.validate(v)",
      "All defects of the blocks: code, block, found, expected; no rows if there are none.",
      "places and sizes",
      List.of(Parameters.VOLUME, Parameters.EXTENTS),
      call -> FunctionPlans.validate(call, BlockKind.VOLUME)),

  VOLUME_WITH_EXTENTS(
      "VolumeBlocks.withExtents(v, nx, ny, nz), .withoutExtents(v)",
      "The same blocks with the extents of the whole volume stated as column metadata.",
      "none",
      List.of(Parameters.VOLUME, Parameters.STATED_EXTENTS),
      call -> FunctionPlans.withExtents(call, BlockKind.VOLUME)),

  VOLUME_FFT(
      "VolumeBlocks.fft(v[, options])",
      "The discrete Fourier transform of a volume of FLOAT or DOUBLE; its axes come out as yzx."
          + " Further columns tell several volumes apart.",
      "each element once, or twice",
      List.of(
          Parameters.VOLUME,
          Parameters.FFT_AXES,
          Parameters.NORM,
          Parameters.REAL,
          Parameters.OUTPUT,
          Parameters.SHIFT,
          Parameters.DECOMPOSITION,
          Parameters.MISSING,
          Parameters.DETREND,
          Parameters.WINDOW,
          Parameters.PAD_TO,
          Parameters.SPACING,
          Parameters.EXTENTS),
      FunctionPlans::fft),

  VOLUME_IFFT(
      "VolumeBlocks.ifft(v[, options])",
      "The volume of a spectrum: undoes volume_fft as the column metadata states that it was done."
          + " Axes that were permuted since keep their order. Where there is no metadata, options say it.",
      "each element once, or twice",
      Stream.of(List.of(Parameters.SPECTRUM), Parameters.INVERSE, List.of(Parameters.EXTENTS))
          .flatMap(List::stream)
          .toList(),
      FunctionPlans::ifft),

  VOLUME_LOW_PASS(
      "VolumeBlocks.lowPass(v, cutoff)",
      "A spectrum with zeros where the absolute value of the frequency is above a cutoff.",
      "none",
      List.of(
          Parameters.SPECTRUM,
          Parameter.required(
              "cutoff",
              Type.NUMBER,
              "the greatest frequency that is kept, in cycles per unit of the spacing")),
      FunctionPlans::lowPass),

  VOLUME_MULTIPLY_POINTWISE(
      "VolumeBlocks.multiplyPointwise(a, b)",
      "The products of the elements of two volumes or spectra at equal places, in any"
          + " tilings.",
      "none between transforms",
      List.of(Parameters.VOLUME_A, Parameters.VOLUME_B),
      FunctionPlans::multiplyPointwise),

  VOLUME_POWER_SPECTRUM(
      "VolumeBlocks.powerSpectrum(v)",
      "The squares of the absolute values of complex blocks.",
      "none",
      List.of(Parameters.SPECTRUM),
      FunctionPlans::powerSpectrum),

  VOLUME_RADIAL_AVERAGE(
      "VolumeBlocks.radialAverage(v[, width])",
      "The mean power of a spectrum at each absolute value of the frequency: frequency, power,"
          + " count.",
      "sums",
      List.of(
          Parameters.SPECTRUM,
          Parameter.optional(
              "width",
              Type.NUMBER,
              "the finest step of any axis",
              "width of a ring, in cycles per unit of the spacing")),
      FunctionPlans::radialAverage),

  VOLUME_PACK(
      "",
      Packed.PACK_DOC,
      "none",
      List.of(Parameters.VOLUME, Parameters.DTYPE, Parameters.EXTENTS),
      call -> FunctionPlans.pack(call, BlockKind.VOLUME)),

  VOLUME_UNPACK(
      "",
      Packed.UNPACK_DOC,
      "none",
      List.of(
          Parameters.PACKED,
          Parameters.DTYPE_OF_DATA,
          Parameters.EXTENTS,
          Parameters.FULL_BLOCK_SHAPE),
      call -> FunctionPlans.unpack(call, BlockKind.VOLUME)),

  VOLUME_FREQUENCIES(
      "VolumeBlocks.frequencies(v)",
      "The frequencies along the transformed axes of a spectrum: axis, index, frequency.",
      "none",
      List.of(Parameters.SPECTRUM),
      FunctionPlans::frequencies);

  /** Texts that several functions share. */
  private static final class Moves {
    static final String REBLOCK = "each element once; none where they have this form already";
    static final String ADD = "each side once; none where both are partitioned alike";
    static final String PLANNED = "as the planner chose; EXPLAIN shows it, and why";
  }

  /** What functions for programs in other languages do. */
  private static final class Packed {
    static final String PACK_DOC =
        "The same rows with the elements of each block as one BINARY column data in place of values"
            + " and imag, as numpy lays them out: C order, little-endian. The type is in the"
            + " metadata of data.";
    static final String UNPACK_DOC =
        "Blocks of the elements in the BINARY column data: the inverse of packing.";
  }

  private final String java;
  private final String doc;
  private final String moves;
  private final List<Parameter> parameters;
  private final Function<Arguments, LogicalPlan> plan;

  TableFunctions(
      String java,
      String doc,
      String moves,
      List<Parameter> parameters,
      Function<Arguments, LogicalPlan> plan) {
    this.java = java;
    this.doc = doc;
    this.moves = moves;
    this.parameters = parameters;
    this.plan = plan;
  }

  /** The name in SQL. */
  public String sqlName() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** How it is called in Java and Scala; empty if it is not. */
  String java() {
    return java;
  }

  /** What it gives, in sentences. */
  String doc() {
    return doc;
  }

  /** What tasks send to each other, a phrase. */
  String moves() {
    return moves;
  }

  /** The parameters, in positional order; those that may be left out come last. */
  List<Parameter> parameters() {
    return parameters;
  }

  /** A call with what is required: {@code matrix_scale(TABLE(a), alpha)}. */
  String call() {
    return signature(")");
  }

  /** The signature: {@code matrix_scale(TABLE(a), alpha [, extents])}. */
  String usage() {
    String optional =
        parameters.stream()
            .filter(parameter -> !parameter.isRequired())
            .map(Parameter::name)
            .collect(Collectors.joining(", "));
    return signature(optional.isEmpty() ? ")" : " [, " + optional + "])");
  }

  private String signature(String end) {
    return parameters.stream()
        .filter(Parameter::isRequired)
        .map(Parameter::inUsage)
        .collect(Collectors.joining(", ", sqlName() + "(", end));
  }

  /** At least one. */
  List<Example> examples() {
    return Example.of(sqlName());
  }

  /** Registers this function with a session's extensions. */
  public void inject(SparkSessionExtensions extensions) {
    extensions.injectTableFunction(
        new Tuple3<>(
            new FunctionIdentifier(sqlName()),
            Description.info(this),
            ScalaInterop.function(this::build)));
  }

  /**
   * The plan of a call from Java or Scala.
   *
   * @param tables plans by parameter
   * @param texts of the other arguments, by parameter; what is absent is the default
   */
  public LogicalPlan plan(
      Caller caller, Map<String, LogicalPlan> tables, Map<String, String> texts) {
    return plan.apply(new Arguments(caller, usage(), tables, texts));
  }

  private LogicalPlan build(scala.collection.immutable.Seq<Expression> expressions) {
    return ErrorBoundary.PLANNING.call(
        () ->
            plan.apply(
                new Arguments(
                    Caller.inSql(sqlName()), usage(), parameters, ScalaInterop.list(expressions))));
  }
}
