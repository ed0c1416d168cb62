package org.tilespark.kernels.device;

import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.tilespark.kernels.launch.Availability;

/**
 * On a class of tests that need a GPU: where there is none it is skipped, and the report says why.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Inherited
@ExtendWith(RequiresGpu.Condition.class)
public @interface RequiresGpu {
  /** Looks for the GPU before anything of the class runs. */
  final class Condition implements ExecutionCondition {
    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
      Availability<DeviceProbe> probe = DeviceProbe.run();
      return probe.isPresent()
          ? ConditionEvaluationResult.enabled(probe.get().description())
          : ConditionEvaluationResult.disabled("needs a GPU: " + probe.whyNot());
    }
  }
}
