package org.tilespark.kernels;

import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * On a class of tests that take long, or on one method: where the property {@code
 * tilespark.test.turn} is 1, 2 or 3, a run takes the third of the methods that have this turn. A
 * method's name decides, so that each class has methods in each turn, and the same ones each time.
 * Without the property, with 0 or with {@code -Pfull} all run.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@Inherited
@ExtendWith(InTurn.Condition.class)
public @interface InTurn {
  /** Number of turns. */
  int TURNS = 3;

  /** Skips the methods of other turns. */
  final class Condition implements ExecutionCondition {
    private static final int TURN =
        Sampling.FULL ? 0 : Integer.getInteger("tilespark.test.turn", 0);

    /** The turn of a method, from 1. */
    static int turn(Class<?> tests, String method) {
      return 1 + ((tests.getSimpleName() + "." + method).hashCode() >>> 16) % TURNS;
    }

    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
      return context
          .getTestMethod()
          .filter(method -> TURN > 0)
          .map(method -> turn(context.getRequiredTestClass(), method.getName()))
          .filter(turn -> turn != TURN)
          .map(turn -> ConditionEvaluationResult.disabled("has turn " + turn + " of " + TURNS))
          .orElseGet(() -> ConditionEvaluationResult.enabled("its turn"));
    }
  }
}
