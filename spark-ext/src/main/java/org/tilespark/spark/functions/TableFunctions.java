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
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.interop.ScalaInterop;
import org.tilespark.spark.plans.BlockPlans;
import org.tilespark.spark.plans.FourierPlans;
import org.tilespark.spark.plans.MultiplyPlans;
import org.tilespark.spark.plans.MultiplyPointwise;
import org.tilespark.spark.plans.ReblockPlans;
import org.tilespark.spark.plans.SpectrumPlans;
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

  /** The table argument, with the extents that the call states. */
  private static LogicalPlan matrix(Arguments arguments, String function) {
    return BlockPlans.withExtents(
        arguments.table("input"), BlockKind.MATRIX, arguments.optionalText("extents"), function);
  }

  /** The same of a volume. */
  private static LogicalPlan volume(Arguments arguments, String function) {
    return BlockPlans.withExtents(
        arguments.table("input"), BlockKind.VOLUME, arguments.optionalText("extents"), function);
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
