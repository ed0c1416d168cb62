package org.tilespark.spark.functions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.HiveResult;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.options.Parameter;
import org.tilespark.spark.testing.SparkTest;

/** The functions' descriptions in SQL, and that the examples in them are right. */
@Tag("versions")
class FunctionExamplesTest extends SparkTest {
  /** Runs the examples as DESCRIBE FUNCTION EXTENDED shows them, through SQL text. */
  @ParameterizedTest
  @EnumSource(TableFunctions.class)
  void everyExampleGivesWhatItStates(TableFunctions function) {
    List<Example> examples = described(function.sqlName());
    assertEquals(function.examples(), examples, "as the file has them");
    for (Example example : examples) {
      String statement = example.statement();
      assertTrue(statement.contains(function.sqlName() + "("), statement);
      assertEquals(
          String.join("\n", example.rows()),
          String.join("\n", printed(statement.substring(0, statement.length() - 1))),
          statement);
    }
  }

  /** The examples of a function, read as any program can that has nothing but SQL. */
  static List<Example> described(String function) {
    List<Example> examples = new ArrayList<>();
    String statement = "";
    for (String line : extended(function).split("\n")) {
      if (line.startsWith("      > ")) {
        statement = line.substring(8);
      } else if (!statement.isEmpty()) {
        statement += "\n" + line.substring(8);
      } else if (!examples.isEmpty() && line.startsWith("       ")) {
        examples.get(examples.size() - 1).rows().add(line.substring(7));
      } else if (!examples.isEmpty()) {
        break;
      }
      if (statement.endsWith(";")) {
        examples.add(new Example(statement, new ArrayList<>()));
        statement = "";
      }
    }
    return examples;
  }

  private static String extended(String function) {
    return spark.sql("DESCRIBE FUNCTION EXTENDED " + function).collectAsList().stream()
        .map(row -> row.getString(0))
        .collect(Collectors.joining("\n"));
  }

  /** As spark-sql prints it; a zero may have either sign. */
  private static List<String> printed(String statement) {
    return ScalaInterop.<String>list(
            HiveResult.hiveResultString(plan(spark.sql(statement)).executedPlan()))
        .stream()
        .map(row -> row.replaceAll("-0\\.0(?=[],\t]|$)", "0.0"))
        .toList();
  }

  @ParameterizedTest
  @EnumSource(TableFunctions.class)
  void everyArgumentIsDescribed(TableFunctions function) {
    String text = extended(function.sqlName());
    assertTrue(
        text.contains("Usage: " + function.usage() + " - " + function.operator().doc()), text);
    for (Parameter<?> parameter : function.parameters()) {
      assertTrue(text.contains("      * " + parameter.name() + " - "), text);
      assertTrue(parameter.isRequired() == parameter.otherwise().isEmpty(), parameter.toString());
      assertTrue(!parameter.doc().isBlank() && !parameter.doc().endsWith("."), parameter.doc());
    }
    String java = function.java().isEmpty() ? "Data moved" : "In Java and Scala " + function.java();
    assertTrue(text.contains("    Note:\n      " + java), text);
    assertTrue(text.contains("    Since: 0.1.0"), text);
  }

  @Test
  void functionsAreListedInSql() {
    List<String> listed =
        spark.sql("SHOW USER FUNCTIONS LIKE 'matrix_*|volume_*'").collectAsList().stream()
            .map((Row row) -> row.getString(0))
            .toList();
    assertEquals(
        Stream.of(TableFunctions.values()).map(TableFunctions::sqlName).sorted().toList(), listed);
  }

  /**
   * Whatever Java has, SQL has: Connect, Python and JDBC have nothing else. The facade hands its
   * arguments over in their declared order, so that they have the declared names.
   */
  @Test
  void everyMethodIsDeclared() {
    for (Class<?> type : List.of(MatrixBlocks.class, VolumeBlocks.class)) {
      for (Method method : type.getDeclaredMethods()) {
        if (Modifier.isPublic(method.getModifiers())
            && !method.getName().matches("with(out)?Extents")) { // numbers there, one list in SQL
          String words = method.getName().replaceAll("([A-Z])", "_$1");
          String kind = type == MatrixBlocks.class ? "MATRIX_" : "VOLUME_";
          Operator declared =
              TableFunctions.valueOf(kind + words.toUpperCase(Locale.ROOT)).operator();
          boolean hasOneTable = declared.parameters().stream().filter(Tables::isTable).count() == 1;
          List<String> names =
              declared.parameters().stream()
                  .map(
                      each ->
                          declared.options().contains(each)
                              ? "options"
                              : hasOneTable && Tables.isTable(each) ? "df" : each.name())
                  .distinct()
                  .toList();
          List<String> found =
              Stream.of(method.getParameters()).map(java.lang.reflect.Parameter::getName).toList();
          if (method.isVarArgs()) { // further arrays, which come last
            List<String> named = found.subList(0, found.size() - 1);
            assertTrue(names.subList(0, named.size()).containsAll(named), method.toString());
          } else {
            assertEquals(names.subList(0, found.size()), found, method.toString());
          }
        }
      }
    }
  }

  /** The options of Java and of SQL are the same, in one order. */
  @Test
  void optionsAreParameters() {
    assertEquals(
        MultiplyOptions.NAMES, options(TableFunctions.MATRIX_MULTIPLY, MultiplyOptions.NAMES));
    List<String> forward = new ArrayList<>(FftOptions.NAMES);
    forward.remove("realExtent");
    assertEquals(forward, options(TableFunctions.VOLUME_FFT, FftOptions.NAMES));
    assertEquals(
        List.of("axes", "norm", "real", "shift", "decomposition", "missing", "realExtent"),
        options(TableFunctions.VOLUME_IFFT, FftOptions.NAMES));
  }

  private static List<String> options(TableFunctions function, List<String> names) {
    return function.parameters().stream().map(Parameter::name).filter(names::contains).toList();
  }

  /** Positional arguments of a usage are given in its order. */
  @Test
  void requiredArgumentsComeFirst() {
    for (TableFunctions function : TableFunctions.values()) {
      List<Boolean> required = function.parameters().stream().map(Parameter::isRequired).toList();
      assertTrue(
          required.lastIndexOf(true) < Math.max(required.indexOf(false), 0)
              || !required.contains(false),
          function.sqlName());
    }
  }
}
