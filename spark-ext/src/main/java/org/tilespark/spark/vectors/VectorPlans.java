package org.tilespark.spark.vectors;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.CreateArray;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.RowOrdering$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.IdColumn;
import org.tilespark.spark.block.Streaming;
import org.tilespark.spark.block.UsualShape;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.EagerQuery;
import org.tilespark.spark.catalyst.LogicalBlockNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.options.RowOptions;
import org.tilespark.spark.options.RowPolicy;

/**
 * The logical plan of rows that become blocks:
 *
 * <pre>
 *   GatherVectors                     rows of a partition become strips of about 8 MiB
 *     Sort                            if orderBy is given or the table has no fixed order
 *       Project                       vector, id, columns of the order
 *         the table
 *     Project                         the rows without columns, to be counted
 *       the table
 * </pre>
 */
public final class VectorPlans {
  /** The types of elements, for messages. */
  static final String NUMBERS = "TINYINT, SMALLINT, INT, BIGINT, FLOAT or DOUBLE";

  /** Metadata of a column of vectors: the count of their elements. */
  static final String LENGTH = "tilespark.length";

  /**
   * The key of spark.ml's metadata on a column of vectors, which has the count of their elements.
   */
  private static final String ML_ATTRIBUTES = "ml_attr";

  private static final String ML_COUNT = "num_attrs";
  private static final long MAX_ROW_BYTES = Integer.MAX_VALUE - (64L << 10);

  private final LogicalPlan table;
  private final RowOptions options;
  private final Function<LogicalPlan, Dataset<Row>> asDataset;
  private final String operator;
  private final List<Attribute> columns;
  private final List<Attribute> vectors;

  private VectorPlans(
      LogicalPlan table,
      List<String> names,
      RowOptions options,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    Streaming.refuse(operator, table);
    this.table = table;
    this.options = options;
    this.asDataset = asDataset;
    this.operator = operator;
    this.columns = ScalaInterop.list(table.output());
    this.vectors = names.stream().map(this::column).toList();
  }

  /**
   * Blocks of the matrix whose rows are the vectors of a table.
   *
   * @param names one column of arrays or of Vectors, or one or more columns of numbers
   * @param asDataset turns a plan into a DataFrame: if necessary, the first vector is read now to
   *     find the length, and rows are counted now if that is cheap
   * @param operator operator's name, for messages
   * @throws IllegalArgumentException if a column is missing or of another type, the table has no
   *     rows, or its rows have no fixed order and no column orders them
   */
  public static LogicalPlan fromRows(
      LogicalPlan table,
      List<String> names,
      RowOptions options,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    return new VectorPlans(table, names, options, asDataset, operator).plan();
  }

  private LogicalPlan plan() {
    LogicalPlan optimized = execution(table).optimizedPlan();
    Optional<Attribute> id = options.id().map(this::column);
    Order order = order(optimized, id);
    // The table's columns under other ids
    List<Attribute> output = ScalaInterop.list(optimized.output());
    RepeatableRows.require(
        optimized,
        order.columns().stream().map(column -> output.get(columns.indexOf(column))).toList(),
        id.map(column -> output.get(columns.indexOf(column))),
        operator);
    boolean isMoved = !order.columns().isEmpty() && !order.isThere();
    VectorColumn form = form(isMoved);
    List<NamedExpression> read = new ArrayList<>(columns(form));
    id.ifPresent(column -> read.add(Attributes.alias(column, column.name())));
    order.columns().forEach(column -> read.add(Attributes.alias(column, column.name())));
    int length = length(form, optimized);
    boolean skips = options.toMap().containsValue(RowPolicy.SKIP.toString());
    boolean isCheap = LogicalBlockNode.coordinatesAreCheap(optimized);
    long rows = isCheap && !skips ? countRows(optimized) : -1;
    GatherSpec spec =
        new GatherSpec(
            form,
            length,
            blockRows(length, form.type()),
            rows,
            id.isPresent(),
            new GatherSpec.Order(order.columns().size(), true),
            options,
            operator);
    if (rows == 0) {
      throw spec.empty();
    }
    LogicalPlan child = new Project(ScalaInterop.seq(read), table);
    List<Attribute> inputs = read.stream().map(NamedExpression::toAttribute).toList();
    if (isMoved) {
      List<Attribute> by = inputs.subList(inputs.size() - order.columns().size(), inputs.size());
      child = new Sort(Attributes.ascending(by), true, child, ScalaInterop.none());
    }
    return new GatherVectors(
        spec,
        ScalaInterop.seq(inputs),
        ScalaInterop.seq(produced(spec, id)),
        child,
        order.columns().isEmpty() && isCheap && !skips
            ? ScalaInterop.<LogicalPlan>seq(withoutColumns())
            : ScalaInterop.emptySeq());
  }

  private long countRows(LogicalPlan optimized) {
    QueryExecution rows = execution(withoutColumns());
    Optional<InMemoryRelation> cached = CachedTable.of(optimized);
    return EagerQuery.run(
        rows.sparkSession().sparkContext(),
        operator + " counts rows",
        () ->
            cached
                .map(table -> Arrays.stream(CachedTable.counts(table)).sum())
                .orElseGet(() -> (Long) rows.toRdd().count()));
  }

  private QueryExecution execution(LogicalPlan of) {
    return ((org.apache.spark.sql.classic.Dataset<Row>) asDataset.apply(of)).queryExecution();
  }

  private LogicalPlan withoutColumns() {
    return new Project(ScalaInterop.emptySeq(), table);
  }

  private static List<Attribute> produced(GatherSpec spec, Optional<Attribute> id) {
    ArrayMetadata known = ArrayMetadata.empty();
    if (spec.rows() > 0) {
      known = known.withExtents(Shape.of(spec.rows(), spec.length()));
    }
    known = known.withWhole(1);
    List<Attribute> produced = new ArrayList<>();
    BlockKind.MATRIX.offsetColumns().forEach(name -> produced.add(plain(name, DataTypes.LongType)));
    BlockKind.MATRIX
        .sizeColumns()
        .forEach(name -> produced.add(plain(name, DataTypes.IntegerType)));
    DataType values = DataTypes.createArrayType(BlockSchema.sparkType(spec.vector().type()), false);
    produced.add(Attributes.column(BlockKind.VALUES, values, known.toMetadata()));
    id.ifPresent(column -> produced.add(IdColumn.of(column)));
    return produced;
  }

  private static Attribute plain(String name, DataType type) {
    return Attributes.column(name, type, Metadata.empty());
  }

  // ---- columns

  private Attribute column(String name) {
    return column(table, columns, name, operator);
  }

  /**
   * The column that is named {@code name}.
   *
   * @param columns columns of the table
   * @throws IllegalArgumentException that names all columns, if there is none, or more than one
   */
  static Attribute column(
      LogicalPlan table, List<Attribute> columns, String name, String operator) {
    List<Integer> found = BlockSchema.named(table.schema(), name);
    if (found.size() != 1) {
      boolean isCut = columns.stream().anyMatch(column -> column.name().contains(","));
      throw new IllegalArgumentException(
          "%s: the table has %s column %s; found (%s)%s"
              .formatted(
                  operator,
                  found.isEmpty() ? "no" : "more than one",
                  name,
                  columns.stream().map(Attribute::name).collect(Collectors.joining(", ")),
                  isCut ? "; a comma ends a name: rename columns that have one in theirs" : ""));
    }
    return columns.get(found.get(0));
  }

  private boolean isOneVector() {
    return vectors.size() == 1 && VectorColumn.of(vectors.get(0)).isPresent();
  }

  /**
   * The form of the rows' vectors. If rows are sorted, the numbers of several columns are moved as
   * one array, which is shorter, since in a separate column each takes 8 bytes.
   */
  private VectorColumn form(boolean isMoved) {
    if (isOneVector()) {
      return VectorColumn.of(vectors.get(0)).orElseThrow();
    }
    ElementType type = vectors.stream().map(this::number).reduce(VectorPlans::common).orElseThrow();
    return isMoved
        ? new VectorColumn(VectorColumn.Form.ARRAY, type, 1)
        : new VectorColumn(VectorColumn.Form.NUMBER, type, vectors.size());
  }

  /** The columns that hold the vectors in this form. */
  private List<NamedExpression> columns(VectorColumn form) {
    Attribute first = vectors.get(0);
    if (isOneVector()) {
      return List.of(Attributes.alias(first, first.name(), first.metadata()));
    }
    DataType type = BlockSchema.sparkType(form.type());
    List<Expression> numbers =
        vectors.stream()
            .<Expression>map(
                column ->
                    column.dataType().equals(type)
                        ? column
                        : new Cast(column, type, ScalaInterop.none()))
            .toList();
    List<String> names = vectors.stream().map(Attribute::name).toList();
    return form.form() == VectorColumn.Form.NUMBER
        ? IntStream.range(0, numbers.size())
            .<NamedExpression>mapToObj(i -> Attributes.alias(numbers.get(i), names.get(i)))
            .toList()
        : List.of(
            Attributes.alias(
                new CreateArray(ScalaInterop.<Expression>seq(numbers)), String.join(",", names)));
  }

  private ElementType number(Attribute column) {
    return BlockSchema.elementType(column.dataType())
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    ("%s: column %s is %s; expected one column of ARRAY<T> or Vector, or columns of"
                            + " T, where T is %s")
                        .formatted(operator, column.name(), column.dataType().sql(), NUMBERS)));
  }

  /** The element type of numpy's array of numbers of both types. */
  private static ElementType common(ElementType a, ElementType b) {
    if (a == b) {
      return a;
    }
    boolean isFloating = isFloating(a) || isFloating(b);
    if (!isFloating) {
      return a.bytes() > b.bytes() ? a : b;
    }
    boolean isSingle =
        List.of(a, b).stream().allMatch(type -> type == ElementType.FLOAT32 || type.bytes() < 4);
    return isSingle ? ElementType.FLOAT32 : ElementType.FLOAT64;
  }

  private static boolean isFloating(ElementType type) {
    return type == ElementType.FLOAT32 || type == ElementType.FLOAT64;
  }

  /**
   * The columns that order the rows; none to use the table's own order.
   *
   * @param isThere true if the table is already sorted by them
   */
  private record Order(List<Attribute> columns, boolean isThere) {}

  private Order order(LogicalPlan optimized, Optional<Attribute> id) {
    Optional<Sort> sort =
        options.orderBy().isEmpty() ? RepeatableRows.sort(optimized) : Optional.empty();
    return sort.isPresent()
        ? new Order(sorted(optimized, sort.get()), true)
        : new Order(stated(optimized, id), false);
  }

  /** The columns of a sort, for which tasks check that they distinguish all rows. */
  private List<Attribute> sorted(LogicalPlan optimized, Sort sort) {
    List<Attribute> output = ScalaInterop.list(optimized.output());
    List<Expression> keys =
        ScalaInterop.<SortOrder>list(sort.order()).stream().map(SortOrder::child).toList();
    Optional<String> hidden =
        keys.stream()
            .filter(key -> !(key instanceof Attribute own) || Attributes.indexOf(output, own) < 0)
            .findFirst()
            .map(
                key ->
                    "rows with equal " + key.sql() + " come in any order, and the table lacks it");
    if (hidden.isPresent()) {
      throw RepeatableRows.noPlaces(hidden.get(), operator);
    }
    return keys.stream()
        .map(key -> columns.get(Attributes.indexOf(output, (Attribute) key)))
        .toList();
  }

  private List<Attribute> stated(LogicalPlan optimized, Optional<Attribute> id) {
    List<Attribute> order = options.orderBy().stream().map(this::column).toList();
    Optional<String> doubt = order.isEmpty() ? RepeatableRows.doubt(optimized) : Optional.empty();
    if (doubt.isPresent()) {
      order = List.of(id.orElseThrow(() -> RepeatableRows.noPlaces(doubt.get(), operator)));
    }
    for (Attribute column : order) {
      if (!RowOrdering$.MODULE$.isOrderable(column.dataType())) {
        throw new IllegalArgumentException(
            "%s: column %s is %s, which has no order; %s"
                .formatted(operator, column.name(), column.dataType().sql(), RepeatableRows.HELP));
      }
    }
    return order;
  }

  // ---- sizes

  private int length(VectorColumn form, LogicalPlan optimized) {
    Optional<Integer> stated =
        options
            .cols()
            .or(() -> isOneVector() ? Optional.empty() : Optional.of(vectors.size()))
            .or(() -> stated(vectors.get(0).metadata()));
    int length = stated.orElseGet(() -> found(form, optimized));
    if (length < 1) {
      throw new IllegalArgumentException(
          "%s: the first vector of column %s has no elements; a matrix has at least one column"
              .formatted(operator, vectors.get(0).name()));
    }
    return length;
  }

  private static Optional<Integer> stated(Metadata metadata) {
    if (metadata.contains(LENGTH)) {
      return Optional.of(Math.toIntExact(metadata.getLong(LENGTH)));
    }
    return Optional.of(metadata)
        .filter(all -> all.contains(ML_ATTRIBUTES))
        .map(all -> all.getMetadata(ML_ATTRIBUTES))
        .filter(attributes -> attributes.contains(ML_COUNT))
        .map(attributes -> Math.toIntExact(attributes.getLong(ML_COUNT)));
  }

  /** The length of the first vector, or of the longest if shorter ones are padded. */
  private int found(VectorColumn form, LogicalPlan optimized) {
    if (options.ragged() == RowPolicy.SKIP) {
      throw new IllegalArgumentException(
          "%s: ragged is 'skip', and nothing says which vectors have the right length; state cols"
              .formatted(operator));
    }
    Attribute vector =
        ScalaInterop.<Attribute>list(optimized.output()).get(columns.indexOf(vectors.get(0)));
    Optional<Attributes.Source> cached =
        options.ragged() == RowPolicy.ZERO
            ? Optional.empty()
            : Attributes.belowProjections(optimized, List.of(vector))
                .filter(source -> source.plan() instanceof InMemoryRelation);
    if (cached.isEmpty()) {
      return found(form);
    }
    InMemoryRelation table = (InMemoryRelation) cached.get().plan();
    int ordinal =
        Attributes.indexOf(ScalaInterop.list(table.output()), cached.get().columns().get(0));
    return CachedTable.remembered(table, ordinal, Integer.class, () -> found(form));
  }

  private int found(VectorColumn form) {
    Expression length = new VectorLength(form.isVector(), ScalaInterop.<Expression>seq(vectors));
    Dataset<Row> lengths =
        asDataset
            .apply(
                new Project(
                    ScalaInterop.<NamedExpression>seq(Attributes.alias(length, "length")), table))
            .where("length >= 0");
    Dataset<Row> one =
        options.ragged() == RowPolicy.ZERO
            ? lengths.selectExpr("max(length) AS length").where("length >= 0")
            : lengths.limit(1);
    List<Row> found =
        EagerQuery.run(
            one,
            operator + " finds the length of vectors, which cols would state",
            Dataset<Row>::collectAsList);
    if (found.isEmpty()) {
      throw new IllegalArgumentException(
          ("%s: the table has no row, or only rows with NULL in column %s; a matrix has at least"
                  + " one row, and cols says the length of vectors that are all NULL")
              .formatted(operator, vectors.get(0).name()));
    }
    return found.get(0).getInt(0);
  }

  /** Rows of a block of the usual size; at least one. */
  static long usualRows(long length, int elementBytes) {
    return Math.max(1, UsualShape.BYTES / elementBytes / length);
  }

  private int blockRows(int length, ElementType type) {
    long rows = options.blockRows().map(Integer::longValue).orElse(usualRows(length, type.bytes()));
    if (rows > Integer.MAX_VALUE / length
        || StripWriter.rowBytes(rows, length, type.bytes()) > MAX_ROW_BYTES) {
      throw new IllegalArgumentException(
          "%s: blocks of %s x %s would have 2 GiB or more; %s"
              .formatted(
                  operator,
                  rows,
                  length,
                  options.blockRows().isPresent()
                      ? "expected fewer blockRows"
                      : "expected shorter vectors"));
    }
    return (int) rows;
  }
}
