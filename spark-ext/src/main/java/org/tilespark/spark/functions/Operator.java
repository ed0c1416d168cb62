package org.tilespark.spark.functions;

import java.util.List;
import java.util.stream.Stream;
import org.tilespark.spark.options.Parameter;

/**
 * The declaration of an operator, from which SQL, the facade and the docs are derived. Each class
 * {@code ...Operators} has the operators of one family.
 *
 * @param java arguments in Java and Scala, {@code "(m, rows, cols[, missing])"}; empty if the
 *     facade does not have the operator
 * @param doc description of the result, in sentences
 * @param moves phrase about the data that tasks send to each other
 * @param arguments parameters in positional order; those that may be left out come last
 * @param options parameters that Java takes as one object
 * @param extents parameters that state extents of the tables' arrays
 * @param examples as {@link Example} has them in files, with {@code %s} for the function's name;
 *     empty if they are in a file
 */
record Operator(
    String java,
    String doc,
    String moves,
    List<Parameter<?>> arguments,
    List<Parameter<?>> options,
    List<Parameter<?>> extents,
    String examples,
    Plan plan) {
  static final String CARRIED = " Further columns are carried through.";
  static final String APART = " Further columns distinguish several arrays.";

  /** An operator whose examples are in a file. */
  Operator(
      String java,
      String doc,
      String moves,
      List<Parameter<?>> arguments,
      List<Parameter<?>> options,
      List<Parameter<?>> extents,
      Plan plan) {
    this(java, doc, moves, arguments, options, extents, "", plan);
  }

  /** An operator without options. */
  Operator(String java, String doc, String moves, List<Parameter<?>> parameters, Plan plan) {
    this(java, doc, moves, parameters, List.of(), List.of(), plan);
  }

  /** This declaration with its own examples in place of a file. */
  Operator withExamples(String own) {
    return new Operator(java, doc, moves, arguments, options, extents, own, plan);
  }

  /** All parameters of the operator, in positional order. */
  List<Parameter<?>> parameters() {
    return Stream.of(arguments, options, extents).flatMap(List::stream).toList();
  }

  /**
   * Makes a logical plan. The plan's declared type is {@code Object}: declarations are lambdas, and
   * a client of Spark Connect, which has no plan classes, could not load lambdas with these types
   * in their signatures.
   */
  interface Plan {
    /**
     * The logical plan of a call.
     *
     * @throws IllegalArgumentException if the arguments do not fit; the message says what was found
     */
    Object of(Call call);
  }
}
