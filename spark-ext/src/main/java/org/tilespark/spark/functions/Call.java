package org.tilespark.spark.functions;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.IdColumn;
import org.tilespark.spark.block.StatedExtents;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.options.Parameter;

/**
 * A call of an operator, from which its plan is made.
 *
 * @param operator operator's name, for messages
 * @param values arguments by the names of their parameters, each of its parameter's type
 * @param given the session of the DataFrames; empty for a call in a query, which the active session
 *     analyzes
 */
record Call(
    TableFunctions function,
    String operator,
    Map<String, Object> values,
    Optional<SparkSession> given) {
  /** The name under which {@code values} has the one object in which Java passes options. */
  static final String OPTIONS = "options";

  /**
   * The argument of a parameter, or the parameter's default.
   *
   * @throws IllegalArgumentException if the argument is missing and the parameter has no default
   */
  <T> T get(Parameter<T> parameter) {
    return find(parameter).or(parameter::fallback).orElseThrow(() -> missing(parameter.name()));
  }

  /** The argument of a parameter, if it was given. */
  <T> Optional<T> find(Parameter<T> parameter) {
    return find(parameter.name());
  }

  @SuppressWarnings("unchecked") // values are of their parameters' types
  private <T> Optional<T> find(String parameter) {
    Object value = values.get(parameter);
    return Optional.ofNullable(
        (T) (value instanceof LogicalPlan table ? IdColumn.dropped(table) : value));
  }

  private IllegalArgumentException missing(String parameter) {
    return new IllegalArgumentException(
        operator + ": argument " + parameter + " is missing; expected " + function.usage());
  }

  /**
   * The plan of a table argument, without a column of ids, since ids do not distinguish arrays.
   *
   * @throws IllegalArgumentException if the argument is missing
   */
  LogicalPlan table(String parameter) {
    return this.<LogicalPlan>find(parameter).orElseThrow(() -> missing(parameter));
  }

  /**
   * The plan of a table argument, with a column of ids if it has one.
   *
   * @throws IllegalArgumentException if the argument is missing
   */
  LogicalPlan tableWithIds(String parameter) {
    return Optional.ofNullable((LogicalPlan) values.get(parameter))
        .orElseThrow(() -> missing(parameter));
  }

  /** The plan of the call's only table, with the extents that the call states. */
  LogicalPlan blocks(BlockKind kind) {
    return blocks(kind, function.parameters().get(0).name(), "extents", "");
  }

  /**
   * The plan of a table, with the extents that the call states.
   *
   * @param which name of the table among several, for messages
   */
  LogicalPlan blocks(BlockKind kind, String table, String extents, String which) {
    Optional<StatedExtents> stated = find(extents);
    return BlockFrame.withExtents(table(table), kind, stated, operator + which);
  }

  /**
   * The plan of the call's only table, with its column of ids, if it has one, and the extents that
   * the call states.
   */
  LogicalPlan blocksWithIds(BlockKind kind) {
    Optional<StatedExtents> stated = find("extents");
    LogicalPlan given = tableWithIds(function.parameters().get(0).name());
    return BlockFrame.withExtents(given, kind, stated, operator);
  }

  /** The call's options: the object from Java, or one made from SQL's arguments. */
  <O> O options(Function<Map<String, String>, O> of) {
    Optional<O> given = find(OPTIONS);
    return given.orElseGet(
        () -> {
          Map<String, String> texts = new LinkedHashMap<>();
          for (Parameter<?> option : function.operator().options()) {
            find(option).ifPresent(value -> texts.put(option.name(), value.toString()));
          }
          return of.apply(texts);
        });
  }

  /** A DataFrame over a plan, in the session of the call. */
  Dataset<Row> asDataset(LogicalPlan plan) {
    return org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(
        session(), CommonTables.inPlace(plan));
  }

  /** The number of tasks that can run at once, by Spark's default parallelism. */
  int tasks() {
    return session().sparkContext().defaultParallelism();
  }

  /** Looks up keys in the configuration of the session that plans the call. */
  UnaryOperator<String> conf() {
    return given
        .<UnaryOperator<String>>map(
            own -> key -> own.sessionState().conf().getConfString(key, null))
        .orElseGet(TileSparkConf::session);
  }

  private SparkSession session() {
    return given.orElseGet(() -> (SparkSession) org.apache.spark.sql.SparkSession.active());
  }
}
