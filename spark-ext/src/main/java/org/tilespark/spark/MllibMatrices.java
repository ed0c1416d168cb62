package org.tilespark.spark;

import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.IdColumn;
import org.tilespark.spark.block.UsualShape;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.error.Require;
import org.tilespark.spark.options.Missing;
import scala.Product;
import scala.Tuple2;

/**
 * Converts matrices of spark.mllib to blocks and back. Their values are DOUBLE.
 *
 * <p>This class links no MLlib, which some distributions of Spark lack: it finds MLlib's classes by
 * name when they are used. For sessions in the same process, not for Spark Connect.
 */
public final class MllibMatrices {
  private static final String PACKAGE = "org.apache.spark.mllib.linalg.";
  private static final String DISTRIBUTED = PACKAGE + "distributed.";
  private static final StructType BLOCKS =
      new StructType()
          .add("row", DataTypes.LongType, false)
          .add("col", DataTypes.LongType, false)
          .add("rows", DataTypes.IntegerType, false)
          .add("cols", DataTypes.IntegerType, false)
          .add("values", DataTypes.createArrayType(DataTypes.DoubleType, false), false);
  private static final StructType CELLS =
      new StructType()
          .add("row", DataTypes.LongType, false)
          .add("col", DataTypes.LongType, false)
          .add("value", DataTypes.DoubleType, false);

  private static final List<String> OWN =
      List.of("row", "col", "rows", "cols", "values", IdColumn.NAME);

  private MllibMatrices() {}

  /**
   * The blocks of an MLlib matrix, about 8 MiB each: whole rows if they fit, and the blocks of a
   * BlockMatrix unless they are larger. Otherwise as {@link #toBlocks(SparkSession, Object, int,
   * int)}.
   */
  public static Dataset<Row> toBlocks(SparkSession spark, Object matrix) {
    Given given = Given.of(spark, matrix);
    Shape shape =
        UsualShape.of(given.extents(), given.blockShape(), Double.BYTES, UsualShape.BYTES);
    return given.reblocked(Math.toIntExact(shape.extent(0)), Math.toIntExact(shape.extent(1)));
  }

  /**
   * The blocks of an MLlib matrix, cut into {@code rows} x {@code cols}. Blocks, rows and entries
   * that the matrix does not contain are zero. Each element is shuffled once.
   *
   * @param matrix a BlockMatrix, an IndexedRowMatrix or a CoordinateMatrix; if it does not know its
   *     extents, MLlib finds them now
   * @throws IllegalArgumentException if {@code matrix} is of none of these classes
   */
  public static Dataset<Row> toBlocks(SparkSession spark, Object matrix, int rows, int cols) {
    return Given.of(spark, matrix).reblocked(rows, cols);
  }

  /**
   * A matrix of MLlib as blocks.
   *
   * @param blocks blocks of any tiling
   * @param blockShape shape of a BlockMatrix's blocks; the whole matrix for other classes
   */
  private record Given(Dataset<Row> blocks, Shape extents, Shape blockShape) {
    static Given of(SparkSession spark, Object matrix) {
      Require.given(spark, "MllibMatrices.toBlocks", "spark");
      Require.given(matrix, "MllibMatrices.toBlocks", "matrix");
      String type = matrix.getClass().getName();
      if (!type.startsWith(DISTRIBUTED)) {
        throw unknown(type);
      }
      Shape extents = Shape.of((Long) call(matrix, "numRows"), (Long) call(matrix, "numCols"));
      return switch (type.substring(DISTRIBUTED.length())) {
        case "BlockMatrix" -> {
          int rows = (Integer) call(matrix, "rowsPerBlock");
          int cols = (Integer) call(matrix, "colsPerBlock");
          yield new Given(
              spark.createDataFrame(
                  parts(matrix, "blocks")
                      .map(block -> block(block, rows, cols, extents.extent(0), extents.extent(1))),
                  BLOCKS),
              extents,
              Shape.of(rows, cols));
        }
        case "IndexedRowMatrix" ->
            new Given(
                spark.createDataFrame(
                    parts(matrix, "rows").map(row -> row(row, extents.extent(1))), BLOCKS),
                extents,
                extents);
        case "CoordinateMatrix" ->
            new Given(
                spark
                    .createDataFrame(parts(matrix, "entries").map(MllibMatrices::cell), CELLS)
                    .selectExpr("row", "col", "1 AS rows", "1 AS cols", "array(value) AS values"),
                extents,
                extents);
        default -> throw unknown(type);
      };
    }

    Dataset<Row> reblocked(int rows, int cols) {
      return MatrixBlocks.reblock(
          MatrixBlocks.withExtents(blocks, extents.extent(0), extents.extent(1)),
          rows,
          cols,
          Missing.ZERO);
    }
  }

  /**
   * A BlockMatrix with blocks of {@code rows} x {@code cols}.
   *
   * @param df blocks of any real type and tiling, without further columns
   * @param <M> {@code org.apache.spark.mllib.linalg.distributed.BlockMatrix}
   */
  public static <M> M toBlockMatrix(Dataset<Row> df, int rows, int cols) {
    long[] extents = extents(df, "toBlockMatrix");
    JavaRDD<Object> blocks =
        MatrixBlocks.reblock(df, rows, cols)
            .selectExpr("row", "col", "rows", "cols", "CAST(values AS ARRAY<DOUBLE>) AS values")
            .javaRDD()
            .mapPartitions(
                part ->
                    made(
                        part,
                        PACKAGE + "DenseMatrix",
                        (row, matrix) ->
                            new Tuple2<>(
                                new Tuple2<>(
                                    Math.toIntExact(row.getLong(0) / rows),
                                    Math.toIntExact(row.getLong(1) / cols)),
                                matrix.newInstance(
                                    row.getInt(2), row.getInt(3), doubles(row), true))));
    return distributed(
        "BlockMatrix", typed(blocks, Tuple2.class), rows, cols, extents[0], extents[1]);
  }

  /**
   * An IndexedRowMatrix, whose rows have their places as indices.
   *
   * @param df blocks of any real type and tiling, without further columns
   * @param <M> {@code org.apache.spark.mllib.linalg.distributed.IndexedRowMatrix}
   */
  public static <M> M toIndexedRowMatrix(Dataset<Row> df) {
    long[] extents = extents(df, "toIndexedRowMatrix");
    JavaRDD<Object> rows =
        MatrixBlocks.toRows(df, "values")
            .selectExpr("row", "CAST(values AS ARRAY<DOUBLE>) AS values")
            .javaRDD()
            .mapPartitions(
                part -> {
                  Constructor<?> indexed = constructor(DISTRIBUTED + "IndexedRow", 2);
                  return made(
                      part,
                      PACKAGE + "DenseVector",
                      (row, vector) ->
                          indexed.newInstance(
                              row.getLong(0), vector.newInstance((Object) doubles(row))));
                });
    Class<?> type = constructor(DISTRIBUTED + "IndexedRow", 2).getDeclaringClass();
    return distributed(
        "IndexedRowMatrix", typed(rows, type), extents[0], Math.toIntExact(extents[1]));
  }

  /**
   * A CoordinateMatrix of the elements that are not zero.
   *
   * @param df blocks of any real type and tiling, without further columns
   * @param <M> {@code org.apache.spark.mllib.linalg.distributed.CoordinateMatrix}
   */
  public static <M> M toCoordinateMatrix(Dataset<Row> df) {
    long[] extents = extents(df, "toCoordinateMatrix");
    JavaRDD<Object> entries =
        MatrixBlocks.toCells(df)
            .selectExpr("row", "col", "CAST(value AS DOUBLE) AS value")
            .where("value <> 0")
            .javaRDD()
            .mapPartitions(
                part ->
                    made(
                        part,
                        DISTRIBUTED + "MatrixEntry",
                        (row, entry) ->
                            entry.newInstance(row.getLong(0), row.getLong(1), row.getDouble(2))));
    Class<?> type = constructor(DISTRIBUTED + "MatrixEntry", 3).getDeclaringClass();
    return distributed("CoordinateMatrix", typed(entries, type), extents[0], extents[1]);
  }

  // ---- from MLlib

  private static IllegalArgumentException unknown(String type) {
    return new IllegalArgumentException(
        "MllibMatrices.toBlocks: matrix is a %s; expected a BlockMatrix, an IndexedRowMatrix or a"
                .formatted(type)
            + " CoordinateMatrix of spark.mllib");
  }

  @SuppressWarnings("unchecked") // the values that MLlib's classes hold are objects
  private static JavaRDD<Object> parts(Object matrix, String name) {
    return ((RDD<Object>) call(matrix, name)).toJavaRDD();
  }

  private static Row block(Object part, int blockRows, int blockCols, long allRows, long allCols) {
    Product place = (Product) ((Product) part).productElement(0);
    Object matrix = ((Product) part).productElement(1);
    int rows = (Integer) call(matrix, "numRows");
    int cols = (Integer) call(matrix, "numCols");
    long firstRow = (long) blockRows * (Integer) place.productElement(0);
    long firstCol = (long) blockCols * (Integer) place.productElement(1);
    requireLength("the block at " + place, "rows", rows, Math.min(blockRows, allRows - firstRow));
    requireLength(
        "the block at " + place, "columns", cols, Math.min(blockCols, allCols - firstCol));
    double[] byColumn = (double[]) call(matrix, "toArray");
    double[] values = new double[byColumn.length];
    for (int i = 0; i < rows; i++) {
      for (int j = 0; j < cols; j++) {
        values[i * cols + j] = byColumn[j * rows + i];
      }
    }
    return RowFactory.create(firstRow, firstCol, rows, cols, values);
  }

  /**
   * Checks the length of a part of a matrix: otherwise missing elements would become zero, as
   * missing parts do.
   */
  private static void requireLength(String part, String what, long found, long expected) {
    if (found != expected) {
      ErrorBoundary.BLOCKS.run(
          () -> {
            throw new IllegalArgumentException(
                "MllibMatrices.toBlocks: %s has %s %s; expected %s, by the extents of the matrix"
                    .formatted(part, found, what, expected));
          });
    }
  }

  private static Row row(Object indexed, long allCols) {
    double[] values = (double[]) call(((Product) indexed).productElement(1), "toArray");
    requireLength(
        "the row of index " + ((Product) indexed).productElement(0),
        "elements",
        values.length,
        allCols);
    return RowFactory.create(((Product) indexed).productElement(0), 0L, 1, values.length, values);
  }

  private static Row cell(Object entry) {
    Product cell = (Product) entry;
    return RowFactory.create(
        cell.productElement(0), cell.productElement(1), cell.productElement(2));
  }

  // ---- to MLlib

  /** Stated extents of one matrix; zeros, which mean unknown to MLlib, if there are none. */
  private static long[] extents(Dataset<Row> df, String method) {
    Require.given(df, "MllibMatrices." + method, "df");
    List<String> further = new ArrayList<>(List.of(df.columns()));
    further.removeIf(name -> OWN.contains(name.toLowerCase(Locale.ROOT)));
    if (!further.isEmpty()) {
      throw new IllegalArgumentException(
          ("MllibMatrices.%s: the blocks have the further columns %s, which tell several matrices"
                  + " apart; expected one matrix: filter them, and drop the columns")
              .formatted(method, further));
    }
    return ArrayMetadata.of(df.schema().apply("values").metadata())
        .extents(2)
        .map(Shape::toArray)
        .orElse(new long[2]);
  }

  /** Makes one of MLlib's objects from a row. */
  private interface Maker {
    Object make(Row row, Constructor<?> constructor) throws ReflectiveOperationException;
  }

  private static Iterator<Object> made(Iterator<Row> rows, String type, Maker maker) {
    int parameters = type.endsWith("DenseMatrix") ? 4 : type.endsWith("DenseVector") ? 1 : 3;
    Constructor<?> constructor = constructor(type, parameters);
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        return rows.hasNext();
      }

      @Override
      public Object next() {
        try {
          return maker.make(rows.next(), constructor);
        } catch (ReflectiveOperationException e) {
          throw new IllegalStateException("spark.mllib's " + type + " cannot be made", e);
        }
      }
    };
  }

  /** An RDD of the elements with their class, which Scala needs to make arrays. */
  @SuppressWarnings("unchecked") // the elements are of this class
  private static RDD<Object> typed(JavaRDD<Object> elements, Class<?> type) {
    return elements
        .rdd()
        .mapPartitions(
            ScalaInterop.function(part -> part), true, ScalaInterop.classTag((Class<Object>) type));
  }

  /** The numbers in the array that is the row's last column. */
  private static double[] doubles(Row row) {
    List<Double> values = row.getList(row.length() - 1);
    double[] numbers = new double[values.size()];
    int i = 0;
    for (double value : values) {
      numbers[i++] = value;
    }
    return numbers;
  }

  @SuppressWarnings("unchecked") // the caller names the class
  private static <M> M distributed(String type, Object... arguments) {
    try {
      return (M) constructor(DISTRIBUTED + type, arguments.length).newInstance(arguments);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("spark.mllib's " + type + " cannot be made", e);
    }
  }

  // ---- reflection

  private static Constructor<?> constructor(String type, int parameters) {
    try {
      ClassLoader loader = Thread.currentThread().getContextClassLoader();
      for (Constructor<?> each : Class.forName(type, true, loader).getConstructors()) {
        if (each.getParameterCount() == parameters) {
          return each;
        }
      }
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException(
          "There is no class " + type + "; expected spark-mllib on the class path", e);
    }
    throw new IllegalStateException(type + " has no constructor of " + parameters + " arguments");
  }

  private static Object call(Object target, String method) {
    try {
      return target.getClass().getMethod(method).invoke(target);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(
          "spark.mllib's " + target.getClass().getSimpleName() + " has no " + method, e);
    }
  }
}
