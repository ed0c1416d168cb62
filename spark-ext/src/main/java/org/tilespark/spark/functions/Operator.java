package org.tilespark.spark.functions;

import java.util.List;

/**
 * The declaration of an operator, from which SQL, the facade and the docs take all but its name.
 * The classes {@code ...Operators} hold those of one family each.
 *
 * @param java its arguments in Java and Scala, {@code "(m, rows, cols[, missing])"}; empty if the
 *     facade does not have it
 * @param doc what it gives, in sentences
 * @param moves what tasks send to each other, a phrase
 * @param parameters in positional order; those that may be left out come last
 */
record Operator(String java, String doc, String moves, List<Parameter<?>> parameters, Plan plan) {
  static final String CARRIED = " Further columns are carried through.";
  static final String APART = " Further columns tell several arrays apart.";

  /**
   * Makes a logical plan. Its type is that of all objects: declarations are lambdas, and a client
   * of Spark Connect, which has no plans, could not load those that had the type in their
   * signature.
   */
  interface Plan {
    /**
     * The logical plan of a call.
     *
     * @throws IllegalArgumentException if the arguments do not fit; says what was found
     */
    Object of(Call call);
  }
}
