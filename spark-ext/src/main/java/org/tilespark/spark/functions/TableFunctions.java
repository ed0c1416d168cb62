package org.tilespark.spark.functions;

import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Function;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.BlockKind;
import org.tilespark.spark.FftOptions;
import org.tilespark.spark.Missing;
import org.tilespark.spark.MultiplyOptions;
import org.tilespark.spark.TileSparkConf;
import org.tilespark.spark.elementwise.ElementwisePlans;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.interop.ScalaInterop;
import org.tilespark.spark.plans.BlockPlans;
import org.tilespark.spark.plans.FourierPlans;
import org.tilespark.spark.plans.MultiplyPlans;
import org.tilespark.spark.plans.MultiplyPointwise;
import org.tilespark.spark.plans.ReblockPlans;
import org.tilespark.spark.plans.SpectrumPlans;
import org.tilespark.spark.transfer.TransferPlans;
import org.tilespark.spark.validate.BlockValidator;
import scala.Tuple3;

/** The SQL table functions: name, signature, meaning and plan, in one table. */
@SuppressWarnings("ImmutableEnumChecker") // its lists are List.of, its functions stateless
public enum TableFunctions {
  MATRIX_TRANSPOSE(
      "matrix_transpose",
      "matrix_transpose(TABLE(m) [, extents])",
      "Transposes a matrix of blocks: (row, col, rows, cols, values) of the result are the blocks"
          + " of the transposed matrix. Further columns are carried through.",
      List.of("input", "extents"),
      arguments ->
          BlockPlans.permute(
              matrix(arguments, "matrix_transpose"),
              BlockKind.MATRIX,
              Permutation.of(1, 0),
              "matrix_transpose")),

  MATRIX_MULTIPLY(
      "matrix_multiply",
      "matrix_multiply(TABLE(a), TABLE(b) [, transposeA, transposeB, precision, strategy,"
          + " blockShape, missing, extentsA, extentsB])",
      "Multiplies two matrices of blocks; columns that are none of a block's own tell several"
          + " matrices apart. Options are given as texts, best by name: transposeA => 'true',"
          + " strategy => 'cuboid(4,4,1)'; extentsA => '1000,800' states the extents of a.",
      List.of(
          "a",
          "b",
          "transposeA",
          "transposeB",
          "precision",
          "strategy",
          "blockShape",
          "missing",
          "extentsA",
          "extentsB"),
      arguments ->
          MultiplyPlans.multiply(
              BlockPlans.withExtents(
                  arguments.table("a"),
                  BlockKind.MATRIX,
                  arguments.optionalText("extentsA"),
                  "matrix_multiply, matrix A"),
              BlockPlans.withExtents(
                  arguments.table("b"),
                  BlockKind.MATRIX,
                  arguments.optionalText("extentsB"),
                  "matrix_multiply, matrix B"),
              MultiplyOptions.of(arguments.optionalTexts(MultiplyOptions.NAMES)),
              TableFunctions::asDataset,
              "matrix_multiply")),

  MATRIX_GRAM(
      "matrix_gram",
      "matrix_gram(TABLE(a) [, precision, strategy, blockShape, missing, extents])",
      "The product of a matrix's transpose with the matrix; computes half of it and gives all."
          + " Options as in matrix_multiply.",
      List.of("a", "precision", "strategy", "blockShape", "missing", "extents"),
      arguments ->
          MultiplyPlans.gram(
              BlockPlans.withExtents(
                  arguments.table("a"),
                  BlockKind.MATRIX,
                  arguments.optionalText("extents"),
                  "matrix_gram"),
              MultiplyOptions.of(
                  arguments.optionalTexts(
                      List.of("precision", "strategy", "blockShape", "missing"))),
              TableFunctions::asDataset,
              "matrix_gram")),

  MATRIX_REBLOCK(
      "matrix_reblock",
      "matrix_reblock(TABLE(m), rows, cols [, missing [, extents]])",
      "The same matrix in blocks of rows x cols. Further columns tell several matrices apart."
          + " missing is 'error' (default) or 'zero'.",
      List.of("input", "rows", "cols", "missing", "extents"),
      arguments ->
          ReblockPlans.reblock(
              matrix(arguments, "matrix_reblock"),
              BlockKind.MATRIX,
              new long[] {arguments.number("rows"), arguments.number("cols")},
              missing(arguments, "matrix_reblock"),
              "matrix_reblock")),

  MATRIX_CENTER(
      "matrix_center",
      "matrix_center(TABLE(a) [, extents])",
      "The matrix with the mean of each of its columns taken off the column's values. Further"
          + " columns tell several matrices apart.",
      List.of("a", "extents"),
      arguments ->
          ElementwisePlans.center(
              stated(arguments, BlockKind.MATRIX, "a", "extents", "matrix_center"),
              "matrix_center")),

  MATRIX_SCALE(
      "matrix_scale",
      "matrix_scale(TABLE(a), alpha [, extents])",
      "Each value times alpha. Further columns are carried through.",
      List.of("a", "alpha", "extents"),
      arguments ->
          ElementwisePlans.scale(
              stated(arguments, BlockKind.MATRIX, "a", "extents", "matrix_scale"),
              BlockKind.MATRIX,
              arguments.decimal("alpha"),
              "matrix_scale")),

  MATRIX_ADD(
      "matrix_add",
      "matrix_add(TABLE(a), TABLE(b) [, missing, extentsA, extentsB])",
      "The sum of two matrices. Further columns tell several matrices apart. missing is 'error'"
          + " (default) or 'zero': what a block is that only one of them has.",
      List.of("a", "b", "missing", "extentsA", "extentsB"),
      arguments -> add(arguments, BlockKind.MATRIX, "matrix_add")),

  MATRIX_VALIDATE(
      "matrix_validate",
      "matrix_validate(TABLE(m) [, extents])",
      "All defects of the blocks: code, block, found, expected; no rows if there are none.",
      List.of("input", "extents"),
      arguments -> validate(arguments, BlockKind.MATRIX, "matrix_validate")),

  MATRIX_WITH_EXTENTS(
      "matrix_with_extents",
      "matrix_with_extents(TABLE(m), extents)",
      "The same blocks with the extents of the whole matrix stated as column metadata, '1000,800';"
          + " 'unknown' forgets what is stated.",
      List.of("input", "extents"),
      arguments -> withExtents(arguments, BlockKind.MATRIX, "matrix_with_extents")),

  VOLUME_PERMUTE(
      "volume_permute",
      "volume_permute(TABLE(v), axes [, extents])",
      "Reorders the axes of a volume of blocks: with axes 'yzx' the result is Y(j,k,i) = X(i,j,k)."
          + " Further columns are carried through.",
      List.of("input", "axes", "extents"),
      arguments ->
          BlockPlans.permute(
              volume(arguments, "volume_permute"),
              BlockKind.VOLUME,
              Permutation.parse(arguments.text("axes")),
              "volume_permute")),

  MATRIX_PACK(
      "matrix_pack",
      "matrix_pack(TABLE(m) [, dtype, extents])",
      "The same rows with the elements of each block as one BINARY column data in the place of values"
          + " and imag: C order, little-endian, of numpy's type dtype; by default the type of the"
          + " file that was read, else the column's. The type is in the metadata of data.",
      List.of("input", "dtype", "extents"),
      arguments ->
          TransferPlans.pack(
              matrix(arguments, "matrix_pack"),
              BlockKind.MATRIX,
              arguments.optionalText("dtype"),
              "matrix_pack")),

  MATRIX_UNPACK(
      "matrix_unpack",
      "matrix_unpack(TABLE(m) [, dtype, extents, blockShape])",
      "Blocks of the elements in the BINARY column data, as matrix_pack gives them; dtype is numpy's"
          + " type of the elements, by default the one in the metadata of data.",
      List.of("input", "dtype", "extents", "blockShape"),
      arguments -> unpacked(arguments, BlockKind.MATRIX, "matrix_unpack")),

  VOLUME_PACK(
      "volume_pack",
      "volume_pack(TABLE(v) [, dtype, extents])",
      "The same rows with the elements of each block as one BINARY column data, see matrix_pack.",
      List.of("input", "dtype", "extents"),
      arguments ->
          TransferPlans.pack(
              volume(arguments, "volume_pack"),
              BlockKind.VOLUME,
              arguments.optionalText("dtype"),
              "volume_pack")),

  VOLUME_UNPACK(
      "volume_unpack",
      "volume_unpack(TABLE(v) [, dtype, extents, blockShape])",
      "Blocks of the elements in the BINARY column data, see matrix_unpack.",
      List.of("input", "dtype", "extents", "blockShape"),
      arguments -> unpacked(arguments, BlockKind.VOLUME, "volume_unpack")),

  VOLUME_REBLOCK(
      "volume_reblock",
      "volume_reblock(TABLE(v), nx, ny, nz [, missing [, extents]])",
      "The same volume in blocks of nx x ny x nz. Further columns tell several volumes apart."
          + " missing is 'error' (default) or 'zero'.",
      List.of("input", "nx", "ny", "nz", "missing", "extents"),
      arguments ->
          ReblockPlans.reblock(
              volume(arguments, "volume_reblock"),
              BlockKind.VOLUME,
              new long[] {arguments.number("nx"), arguments.number("ny"), arguments.number("nz")},
              missing(arguments, "volume_reblock"),
              "volume_reblock")),

  VOLUME_SLABS(
      "volume_slabs",
      "volume_slabs(TABLE(v), axis [, thickness [, missing [, extents]]])",
      "The same volume cut along one axis ('x', 'y' or 'z') and whole along the others; by default"
          + " a slab has less than 256 MiB of values, and there is one for each task that can run at"
          + " once. Further columns tell several volumes apart.",
      List.of("input", "axis", "thickness", "missing", "extents"),
      arguments ->
          ReblockPlans.slabs(
              volume(arguments, "volume_slabs"),
              BlockKind.VOLUME,
              BlockKind.VOLUME.axis("volume_slabs", arguments.text("axis")),
              arguments.optionalNumber("thickness"),
              missing(arguments, "volume_slabs"),
              tasks(),
              TableFunctions::asDataset,
              "volume_slabs")),

  VOLUME_PENCILS(
      "volume_pencils",
      "volume_pencils(TABLE(v), axis [, first, second [, missing [, extents]]])",
      "The same volume whole along one axis ('x', 'y' or 'z') and cut along the others, into pencils"
          + " of first x second elements across; by default a pencil has less than 256 MiB of"
          + " values, and there is one for each task that can run at once. Further columns tell"
          + " several volumes apart.",
      List.of("input", "axis", "first", "second", "missing", "extents"),
      arguments ->
          ReblockPlans.pencils(
              volume(arguments, "volume_pencils"),
              BlockKind.VOLUME,
              BlockKind.VOLUME.axis("volume_pencils", arguments.text("axis")),
              arguments.optionalNumber("first").isPresent()
                      || arguments.optionalNumber("second").isPresent()
                  ? Optional.of(new long[] {arguments.number("first"), arguments.number("second")})
                  : Optional.empty(),
              missing(arguments, "volume_pencils"),
              tasks(),
              TableFunctions::asDataset,
              "volume_pencils")),

  VOLUME_FFT(
      "volume_fft",
      "volume_fft(TABLE(v) [, axes, norm, real, output, shift, decomposition, missing, detrend,"
          + " window, padTo, spacing, extents])",
      "The discrete Fourier transform of a volume. By default its axes come out as yzx. Options are"
          + " given best by name: real => 'true', padTo => 'fast', output => 'natural'.",
      List.of(
          "input",
          "axes",
          "norm",
          "real",
          "output",
          "shift",
          "decomposition",
          "missing",
          "detrend",
          "window",
          "padTo",
          "spacing",
          "extents"),
      arguments ->
          FourierPlans.fft(
              volume(arguments, "volume_fft"),
              FftOptions.of(arguments.optionalTexts(FftOptions.NAMES)),
              fourier("volume_fft"))),

  VOLUME_IFFT(
      "volume_ifft",
      "volume_ifft(TABLE(v) [, axes, norm, real, shift, decomposition, missing, realExtent,"
          + " extents])",
      "The volume of a spectrum: undoes volume_fft. Where the column metadata does not tell how it"
          + " was done, options do.",
      List.of(
          "input",
          "axes",
          "norm",
          "real",
          "shift",
          "decomposition",
          "missing",
          "realExtent",
          "extents"),
      arguments ->
          FourierPlans.ifft(
              volume(arguments, "volume_ifft"),
              FftOptions.of(arguments.optionalTexts(FftOptions.NAMES)),
              fourier("volume_ifft"))),

  VOLUME_LOW_PASS(
      "volume_low_pass",
      "volume_low_pass(TABLE(v), cutoff)",
      "A spectrum with zeros where the absolute value of the frequency is above the cutoff, in"
          + " cycles per unit of the spacing.",
      List.of("input", "cutoff"),
      arguments ->
          FourierPlans.lowPass(
              arguments.table("input"), arguments.decimal("cutoff"), fourier("volume_low_pass"))),

  VOLUME_MULTIPLY_POINTWISE(
      "volume_multiply_pointwise",
      "volume_multiply_pointwise(TABLE(a), TABLE(b))",
      "The products of the elements of two volumes or spectra at equal places; both are cut alike.",
      List.of("a", "b"),
      arguments ->
          MultiplyPointwise.of(
              arguments.table("a"), arguments.table("b"), "volume_multiply_pointwise")),

  VOLUME_SCALE(
      "volume_scale",
      "volume_scale(TABLE(v), alpha [, extents])",
      "Each value times alpha. Further columns are carried through. A spectrum stays one.",
      List.of("input", "alpha", "extents"),
      arguments ->
          ElementwisePlans.scale(
              volume(arguments, "volume_scale"),
              BlockKind.VOLUME,
              arguments.decimal("alpha"),
              "volume_scale")),

  VOLUME_ADD(
      "volume_add",
      "volume_add(TABLE(a), TABLE(b) [, missing, extentsA, extentsB])",
      "The sum of two volumes or spectra. Further columns tell several volumes apart. missing is"
          + " 'error' (default) or 'zero': what a block is that only one of them has.",
      List.of("a", "b", "missing", "extentsA", "extentsB"),
      arguments -> add(arguments, BlockKind.VOLUME, "volume_add")),

  VOLUME_VALIDATE(
      "volume_validate",
      "volume_validate(TABLE(v) [, extents])",
      "All defects of the blocks: code, block, found, expected; no rows if there are none.",
      List.of("input", "extents"),
      arguments -> validate(arguments, BlockKind.VOLUME, "volume_validate")),

  VOLUME_WITH_EXTENTS(
      "volume_with_extents",
      "volume_with_extents(TABLE(v), extents)",
      "The same blocks with the extents of the whole volume stated as column metadata, '40,40,20';"
          + " 'unknown' forgets what is stated.",
      List.of("input", "extents"),
      arguments -> withExtents(arguments, BlockKind.VOLUME, "volume_with_extents")),

  VOLUME_FREQUENCIES(
      "volume_frequencies",
      "volume_frequencies(TABLE(v))",
      "The frequencies along the transformed axes of a spectrum: axis, index, frequency.",
      List.of("input"),
      arguments ->
          SpectrumPlans.frequencies(arguments.table("input"), fourier("volume_frequencies"))),

  VOLUME_POWER_SPECTRUM(
      "volume_power_spectrum",
      "volume_power_spectrum(TABLE(v))",
      "The squares of a spectrum's absolute values.",
      List.of("input"),
      arguments -> FourierPlans.power(arguments.table("input"), fourier("volume_power_spectrum"))),

  VOLUME_RADIAL_AVERAGE(
      "volume_radial_average",
      "volume_radial_average(TABLE(v) [, width])",
      "The mean power of a spectrum at each absolute value of the frequency: frequency, power,"
          + " count.",
      List.of("input", "width"),
      arguments ->
          SpectrumPlans.radialAverage(
              arguments.table("input"),
              arguments.optionalText("width").isPresent()
                  ? OptionalDouble.of(arguments.decimal("width"))
                  : OptionalDouble.empty(),
              fourier("volume_radial_average")));

  private final String sqlName;
  private final String usage;
  private final String doc;
  private final List<String> parameters;
  private final Function<Arguments, LogicalPlan> plan;

  TableFunctions(
      String sqlName,
      String usage,
      String doc,
      List<String> parameters,
      Function<Arguments, LogicalPlan> plan) {
    this.sqlName = sqlName;
    this.usage = usage;
    this.doc = doc;
    this.parameters = parameters;
    this.plan = plan;
  }

  /** The name in SQL. */
  public String sqlName() {
    return sqlName;
  }

  /** Registers this function with a session's extensions. */
  public void inject(SparkSessionExtensions extensions) {
    extensions.injectTableFunction(
        new Tuple3<>(
            new FunctionIdentifier(sqlName),
            new ExpressionInfo(
                TableFunctions.class.getName(),
                null,
                sqlName,
                usage + " - " + doc,
                "",
                "",
                "",
                "table_funcs",
                "",
                "",
                "scala_udf"),
            ScalaInterop.function(this::build)));
  }

  private static LogicalPlan matrix(Arguments arguments, String function) {
    return stated(arguments, BlockKind.MATRIX, "input", "extents", function);
  }

  private static LogicalPlan volume(Arguments arguments, String function) {
    return stated(arguments, BlockKind.VOLUME, "input", "extents", function);
  }

  /** A table argument, with the extents that the call states. */
  private static LogicalPlan stated(
      Arguments arguments, BlockKind kind, String table, String extents, String function) {
    return BlockPlans.withExtents(
        arguments.table(table), kind, arguments.optionalText(extents), function);
  }

  private static LogicalPlan add(Arguments arguments, BlockKind kind, String function) {
    return ElementwisePlans.add(
        stated(arguments, kind, "a", "extentsA", function + ", first " + kind.label()),
        stated(arguments, kind, "b", "extentsB", function + ", second " + kind.label()),
        kind,
        missing(arguments, function),
        function);
  }

  private static LogicalPlan validate(Arguments arguments, BlockKind kind, String function) {
    return BlockValidator.validate(
        arguments.table("input"),
        kind,
        arguments.optionalText("extents"),
        TableFunctions::asDataset,
        function);
  }

  private static LogicalPlan withExtents(Arguments arguments, BlockKind kind, String function) {
    return BlockPlans.withExtents(
        arguments.table("input"), kind, Optional.of(arguments.text("extents")), function);
  }

  private static LogicalPlan unpacked(Arguments arguments, BlockKind kind, String function) {
    return TransferPlans.unpack(
        arguments.table("input"),
        kind,
        arguments.optionalText("dtype"),
        arguments.optionalText("extents"),
        arguments.optionalText("blockShape"),
        function);
  }

  /** Tasks that can run at once. */
  private static int tasks() {
    return SparkSession.active().sparkContext().defaultParallelism();
  }

  private static FourierPlans.Context fourier(String function) {
    return new FourierPlans.Context(
        TableFunctions::asDataset,
        tasks(),
        TileSparkConf.FOURIER_TASK_SIZE.read(TileSparkConf.session()),
        function);
  }

  private static Missing missing(Arguments arguments, String function) {
    return arguments
        .optionalText("missing")
        .map(text -> Missing.parse(function + ": missing", text))
        .orElse(Missing.ERROR);
  }

  /** A DataFrame of the session whose query is analyzed. */
  private static Dataset<Row> asDataset(LogicalPlan plan) {
    return org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(
        (org.apache.spark.sql.classic.SparkSession) SparkSession.active(), plan);
  }

  private LogicalPlan build(scala.collection.immutable.Seq<Expression> expressions) {
    return ErrorBoundary.PLANNING.call(
        () -> plan.apply(new Arguments(usage, parameters, ScalaInterop.list(expressions))));
  }
}
