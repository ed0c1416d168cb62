package org.tilespark.spark.functions;

import static org.tilespark.spark.block.BlockKind.MATRIX;
import static org.tilespark.spark.block.BlockKind.VOLUME;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.error.Require;
import org.tilespark.spark.options.Parameter;
import org.tilespark.spark.reduce.ArrayReduction;
import scala.Tuple3;

/**
 * All operators by the names of their SQL functions, each with its declaration. The facade calls
 * them too. The examples of each are in the SQL file of its name, see {@link Example}.
 *
 * <p>Clients of Spark Connect, which have no Catalyst, load this class and the declarations: code
 * that uses plans must be in bodies of methods and lambdas that a client does not run, and code
 * that converts one Catalyst type to another, which Java's verifier loads, in another class.
 */
@SuppressWarnings("ImmutableEnumChecker") // declarations are records of constants
public enum TableFunctions {
  MATRIX_TRANSPOSE(MoveOperators.TRANSPOSE),
  MATRIX_REBLOCK(MoveOperators.reblock(MATRIX)),
  MATRIX_PAD(ShapeOperators.pad(MATRIX)),
  MATRIX_CROP(SliceOperators.crop(MATRIX)),
  MATRIX_ROLL(ShapeOperators.roll(MATRIX)),
  MATRIX_SLICE(SliceOperators.slice(MATRIX)),
  MATRIX_FLIP(SliceOperators.flip(MATRIX)),
  MATRIX_WITH_ORIGIN(SliceOperators.withOrigin(MATRIX)),
  MATRIX_CONCAT(SliceOperators.concat(MATRIX)),
  MATRIX_STACK(SliceOperators.STACK),
  MATRIX_RESHAPE(ShapeOperators.reshape(MATRIX)),
  MATRIX_HALO(ShapeOperators.halo(MATRIX)),
  MATRIX_TRIM(ShapeOperators.trim(MATRIX)),
  MATRIX_MULTIPLY(ProductOperators.MULTIPLY),
  MATRIX_GRAM(ProductOperators.GRAM),
  MATRIX_KNN(ProductOperators.KNN),
  MATRIX_PAIRS_ABOVE(ProductOperators.PAIRS_ABOVE),
  MATRIX_ROW_ARGMAX(ProductOperators.ROW_ARGMAX),
  MATRIX_CENTER(ElementwiseOperators.CENTER),
  MATRIX_SCALE(ElementwiseOperators.scale(MATRIX, "a")),
  MATRIX_ADD(ElementwiseOperators.add(MATRIX)),
  MATRIX_SUM(ReductionOperators.of(ArrayReduction.SUM, MATRIX)),
  MATRIX_MEAN(ReductionOperators.of(ArrayReduction.MEAN, MATRIX)),
  MATRIX_MIN(ReductionOperators.of(ArrayReduction.MIN, MATRIX)),
  MATRIX_MAX(ReductionOperators.of(ArrayReduction.MAX, MATRIX)),
  MATRIX_PTP(ReductionOperators.of(ArrayReduction.PTP, MATRIX)),
  MATRIX_ARGMIN(ReductionOperators.of(ArrayReduction.ARGMIN, MATRIX)),
  MATRIX_ARGMAX(ReductionOperators.of(ArrayReduction.ARGMAX, MATRIX)),
  MATRIX_VAR(ReductionOperators.spread(ArrayReduction.VAR, MATRIX)),
  MATRIX_STD(ReductionOperators.spread(ArrayReduction.STD, MATRIX)),
  MATRIX_NORM(ReductionOperators.norm(MATRIX)),
  MATRIX_COUNT_NONZERO(ReductionOperators.of(ArrayReduction.COUNT_NONZERO, MATRIX)),
  MATRIX_ANY(ReductionOperators.of(ArrayReduction.ANY, MATRIX)),
  MATRIX_ALL(ReductionOperators.of(ArrayReduction.ALL, MATRIX)),
  MATRIX_NANSUM(ReductionOperators.of(ArrayReduction.NANSUM, MATRIX)),
  MATRIX_NANMEAN(ReductionOperators.of(ArrayReduction.NANMEAN, MATRIX)),
  MATRIX_MAP(ElementwiseOperators.map(MATRIX, "a")),
  MATRIX_ZIP(ElementwiseOperators.zip(MATRIX)),
  MATRIX_TRACE(ReductionOperators.TRACE),
  MATRIX_DIAG(ReductionOperators.DIAG),
  MATRIX_STANDARDIZE(ReductionOperators.STANDARDIZE),
  MATRIX_COV(ReductionOperators.COV),
  MATRIX_CORRCOEF(ReductionOperators.CORRCOEF),
  MATRIX_FACTOR(FactorOperators.FACTOR),
  MATRIX_CHOLESKY(FactorOperators.CHOLESKY),
  MATRIX_EIGH(FactorOperators.EIGH),
  MATRIX_EIGVALSH(FactorOperators.EIGVALSH),
  MATRIX_QR(FactorOperators.QR),
  MATRIX_SVD(FactorOperators.SVD),
  MATRIX_SVDVALS(FactorOperators.SVDVALS),
  MATRIX_SOLVE(FactorOperators.SOLVE),
  MATRIX_LSTSQ(FactorOperators.LSTSQ),
  MATRIX_PINV(FactorOperators.PINV),
  MATRIX_SLOGDET(FactorOperators.SLOGDET),
  MATRIX_RANK(FactorOperators.RANK),
  MATRIX_PCA(FactorOperators.PCA),
  MATRIX_VALIDATE(BlockOperators.validate(MATRIX)),
  MATRIX_WITH_EXTENTS(BlockOperators.withExtents(MATRIX)),
  MATRIX_PACK(BlockOperators.pack(MATRIX)),
  MATRIX_UNPACK(BlockOperators.unpack(MATRIX)),
  MATRIX_FROM_ROWS(RowOperators.FROM_ROWS),
  MATRIX_TO_ROWS(RowOperators.TO_ROWS),
  MATRIX_ROW_IDS(RowOperators.ROW_IDS),
  MATRIX_FROM_CELLS(RowOperators.FROM_CELLS),
  MATRIX_TO_CELLS(RowOperators.TO_CELLS),
  VOLUME_PERMUTE(MoveOperators.PERMUTE),
  VOLUME_REBLOCK(MoveOperators.reblock(VOLUME)),
  VOLUME_SLABS(MoveOperators.SLABS),
  VOLUME_PENCILS(MoveOperators.PENCILS),
  VOLUME_PAD(ShapeOperators.pad(VOLUME)),
  VOLUME_CROP(SliceOperators.crop(VOLUME)),
  VOLUME_ROLL(ShapeOperators.roll(VOLUME)),
  VOLUME_SLICE(SliceOperators.slice(VOLUME)),
  VOLUME_FLIP(SliceOperators.flip(VOLUME)),
  VOLUME_WITH_ORIGIN(SliceOperators.withOrigin(VOLUME)),
  VOLUME_CONCAT(SliceOperators.concat(VOLUME)),
  VOLUME_RESHAPE(ShapeOperators.reshape(VOLUME)),
  VOLUME_HALO(ShapeOperators.halo(VOLUME)),
  VOLUME_TRIM(ShapeOperators.trim(VOLUME)),
  VOLUME_SCALE(ElementwiseOperators.scale(VOLUME, "input")),
  VOLUME_ADD(ElementwiseOperators.add(VOLUME)),
  VOLUME_SUM(ReductionOperators.of(ArrayReduction.SUM, VOLUME)),
  VOLUME_MEAN(ReductionOperators.of(ArrayReduction.MEAN, VOLUME)),
  VOLUME_MIN(ReductionOperators.of(ArrayReduction.MIN, VOLUME)),
  VOLUME_MAX(ReductionOperators.of(ArrayReduction.MAX, VOLUME)),
  VOLUME_PTP(ReductionOperators.of(ArrayReduction.PTP, VOLUME)),
  VOLUME_ARGMIN(ReductionOperators.of(ArrayReduction.ARGMIN, VOLUME)),
  VOLUME_ARGMAX(ReductionOperators.of(ArrayReduction.ARGMAX, VOLUME)),
  VOLUME_VAR(ReductionOperators.spread(ArrayReduction.VAR, VOLUME)),
  VOLUME_STD(ReductionOperators.spread(ArrayReduction.STD, VOLUME)),
  VOLUME_NORM(ReductionOperators.norm(VOLUME)),
  VOLUME_COUNT_NONZERO(ReductionOperators.of(ArrayReduction.COUNT_NONZERO, VOLUME)),
  VOLUME_ANY(ReductionOperators.of(ArrayReduction.ANY, VOLUME)),
  VOLUME_ALL(ReductionOperators.of(ArrayReduction.ALL, VOLUME)),
  VOLUME_NANSUM(ReductionOperators.of(ArrayReduction.NANSUM, VOLUME)),
  VOLUME_NANMEAN(ReductionOperators.of(ArrayReduction.NANMEAN, VOLUME)),
  VOLUME_MAP(ElementwiseOperators.map(VOLUME, "input")),
  VOLUME_ZIP(ElementwiseOperators.zip(VOLUME)),
  VOLUME_VALIDATE(BlockOperators.validate(VOLUME)),
  VOLUME_WITH_EXTENTS(BlockOperators.withExtents(VOLUME)),
  VOLUME_FFT(FourierOperators.FFT),
  VOLUME_IFFT(FourierOperators.IFFT),
  VOLUME_LOW_PASS(FourierOperators.LOW_PASS),
  VOLUME_BAND_PASS(FourierOperators.BAND_PASS),
  VOLUME_MULTIPLY_POINTWISE(ElementwiseOperators.MULTIPLY_POINTWISE),
  VOLUME_POWER_SPECTRUM(FourierOperators.POWER_SPECTRUM),
  VOLUME_RADIAL_AVERAGE(FourierOperators.RADIAL_AVERAGE),
  VOLUME_PACK(BlockOperators.pack(VOLUME)),
  VOLUME_UNPACK(BlockOperators.unpack(VOLUME)),
  VOLUME_FREQUENCIES(FourierOperators.FREQUENCIES);

  private static final Pattern CAPITAL = Pattern.compile("_(.)");

  private final Operator operator;

  TableFunctions(Operator operator) {
    this.operator = operator;
  }

  /** The function's name in SQL. */
  public String sqlName() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** The name of the facade's method: {@code VolumeBlocks.multiplyPointwise}. */
  private String method() {
    String[] words = sqlName().split("_", 2);
    String method =
        CAPITAL.matcher(words[1]).replaceAll(word -> word.group(1).toUpperCase(Locale.ROOT));
    return (words[0].equals("matrix") ? "MatrixBlocks." : "VolumeBlocks.") + method;
  }

  // ---- the declaration

  /** The method's signature in Java and Scala; empty if the facade has no method. */
  String java() {
    return operator.java().isEmpty() ? "" : method() + operator.java();
  }

  /** The declaration of the operator, which does not contain its name. */
  Operator operator() {
    return operator;
  }

  /** The operator's parameters, in positional order; those that may be left out come last. */
  List<Parameter<?>> parameters() {
    return operator.parameters();
  }

  /**
   * The function's name and the names of all its parameters: {@code matrix_scale(a, alpha,
   * extents)}.
   */
  public String signature() {
    return parameters().stream()
        .map(Parameter::name)
        .collect(Collectors.joining(", ", sqlName() + "(", ")"));
  }

  /** The form of a call in SQL: {@code matrix_scale(TABLE(a), alpha [, extents])}. */
  String usage() {
    String optional =
        parameters().stream()
            .filter(parameter -> !parameter.isRequired())
            .map(Parameter::name)
            .collect(Collectors.joining(", "));
    return parameters().stream()
        .filter(Parameter::isRequired)
        .map(each -> Tables.isTable(each) ? "TABLE(" + each.name() + ")" : each.name())
        .collect(
            Collectors.joining(
                ", ", sqlName() + "(", optional.isEmpty() ? ")" : " [, " + optional + "])"));
  }

  /** The function's examples, at least one. */
  List<Example> examples() {
    return Example.of(sqlName(), operator);
  }

  // ---- calls

  /** Registers this function with a session's extensions. */
  public void inject(SparkSessionExtensions extensions) {
    extensions.injectTableFunction(
        new Tuple3<>(
            new FunctionIdentifier(sqlName()),
            Description.info(this),
            ScalaInterop.function(this::build)));
  }

  private LogicalPlan build(scala.collection.immutable.Seq<Expression> expressions) {
    return ErrorBoundary.PLANNING.call(
        () ->
            plan(
                sqlName(),
                SqlArguments.bind(this, List.of(), ScalaInterop.list(expressions)),
                Optional.empty()));
  }

  /**
   * The plan of a call by the function's name, with the messages of a call in SQL.
   *
   * @param tables plans for the first parameters
   * @param constants other arguments, by parameter
   * @throws IllegalArgumentException if the arguments do not fit the operator
   */
  public LogicalPlan plan(
      SparkSession session, List<LogicalPlan> tables, Map<String, Object> constants) {
    return plan(
        sqlName(),
        SqlArguments.bind(this, tables, SqlArguments.named(constants)),
        Optional.of(session));
  }

  /**
   * The function with a name.
   *
   * @throws IllegalArgumentException if there is none
   */
  public static TableFunctions named(String sqlName) {
    return valueOf(sqlName.toUpperCase(Locale.ROOT));
  }

  /**
   * The arguments of a call from Java or Scala, by the names of their parameters.
   *
   * @param arguments values in positional order; all options are one object, named {@code options}
   * @throws IllegalArgumentException if an argument is null
   */
  public Map<String, Object> named(Object... arguments) {
    boolean hasOneTable = parameters().stream().filter(Tables::isTable).count() == 1;
    Map<String, Object> named = new LinkedHashMap<>();
    for (int i = 0; i < arguments.length; i++) {
      Parameter<?> parameter = parameters().get(i);
      String name = operator.options().contains(parameter) ? Call.OPTIONS : parameter.name();
      String inJava = Tables.isTable(parameter) && hasOneTable ? "df" : name;
      named.put(name, Require.given(arguments[i], method(), inJava));
    }
    return named;
  }

  /**
   * The plan of a call from Java or Scala.
   *
   * @param arguments arguments as from {@link #named}, with plans in place of DataFrames
   * @throws IllegalArgumentException if the arguments do not fit the operator; the message says
   *     what was found
   */
  public LogicalPlan plan(SparkSession session, Map<String, Object> arguments) {
    Map<String, Object> values = new HashMap<>(arguments);
    for (Parameter<?> parameter : parameters()) {
      values.computeIfPresent(
          parameter.name(),
          (name, argument) ->
              parameter.read(method() + ": " + name, Optional.of(argument), argument.toString()));
    }
    return plan(method(), values, Optional.of(session));
  }

  private LogicalPlan plan(
      String asker, Map<String, Object> values, Optional<SparkSession> session) {
    return (LogicalPlan) operator.plan().of(new Call(this, asker, values, session));
  }
}
