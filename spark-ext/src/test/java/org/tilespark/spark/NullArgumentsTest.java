package org.tilespark.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.Metadata;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.StatedExtents;
import org.tilespark.spark.error.InvalidInputException;
import org.tilespark.spark.options.Assume;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.Metric;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.options.RowOptions;
import org.tilespark.spark.options.RowPolicy;
import org.tilespark.spark.testing.SparkTest;

/** Null for each argument of each public method that users call: found by reflection. */
class NullArgumentsTest extends SparkTest {
  /** Classes that users call, and what their instance methods are called on, if they have some. */
  private static final Map<Class<?>, Object> API = new HashMap<>();

  static {
    API.put(MatrixBlocks.class, "static");
    API.put(VolumeBlocks.class, "static");
    API.put(MllibMatrices.class, "static");
    API.put(Metric.class, "static");
    API.put(Missing.class, "static");
    API.put(MultiplyOptions.class, MultiplyOptions.defaults());
    API.put(FftOptions.class, FftOptions.defaults());
    API.put(RowOptions.class, RowOptions.defaults());
    API.put(ArrayMetadata.class, ArrayMetadata.empty());
  }

  static Stream<Method> methods() {
    return API.keySet().stream()
        .flatMap(type -> Arrays.stream(type.getDeclaredMethods()))
        .filter(method -> Modifier.isPublic(method.getModifiers()))
        .filter(method -> !method.getName().equals("equals") && !method.getName().equals("valueOf"))
        .filter(
            method ->
                Arrays.stream(method.getParameterTypes()).anyMatch(type -> !type.isPrimitive()))
        .sorted((a, b) -> a.toString().compareTo(b.toString()));
  }

  @ParameterizedTest
  @MethodSource("methods")
  void nullsAreRefusedByName(Method method) throws IllegalAccessException {
    Parameter[] parameters = method.getParameters();
    for (int i = 0; i < parameters.length; i++) {
      if (parameters[i].getType().isPrimitive()) {
        continue;
      }
      assertTrue(parameters[i].isNamePresent(), "compiled with -parameters");
      Object[] arguments = new Object[parameters.length];
      for (int other = 0; other < parameters.length; other++) {
        arguments[other] = other == i ? null : good(parameters[other].getType());
      }
      Object target = API.get(method.getDeclaringClass());
      InvocationTargetException thrown =
          assertThrows(
              InvocationTargetException.class,
              () -> method.invoke(target, arguments),
              parameters[i].getName());
      assertEquals(
          method.getDeclaringClass().getSimpleName()
              + "."
              + method.getName()
              + ": argument "
              + parameters[i].getName()
              + " is null; expected a value",
          assertInstanceOf(InvalidInputException.class, thrown.getCause()).reason());
    }
  }

  /** An argument that is not null; whether it fits the others matters after that alone. */
  private static Object good(Class<?> type) {
    Map<Class<?>, Object> values = new HashMap<>();
    values.put(Dataset.class, spark.range(1).toDF());
    values.put(Dataset[].class, new Dataset<?>[0]);
    values.put(List.class, List.of());
    values.put(String.class, "xyz");
    values.put(Map.class, Map.of());
    values.put(Optional.class, Optional.empty());
    values.put(Assume.class, Assume.GENERAL);
    values.put(Metric.class, Metric.INNER);
    values.put(Missing.class, Missing.ERROR);
    values.put(BlockKind.class, BlockKind.MATRIX);
    values.put(StatedExtents.class, StatedExtents.of(Shape.of(1, 1)));
    values.put(MultiplyOptions.class, MultiplyOptions.defaults());
    values.put(MultiplyOptions.Strategy.class, MultiplyOptions.Strategy.AUTO);
    values.put(FftOptions.class, FftOptions.defaults());
    values.put(RowOptions.class, RowOptions.defaults());
    values.put(RowPolicy.class, RowPolicy.ERROR);
    values.put(List.class, List.of("xyz"));
    values.put(SparkSession.class, spark);
    values.put(Object.class, "no matrix");
    values.put(String[].class, new String[] {"xyz"});
    values.put(ElementType.class, ElementType.FLOAT32);
    values.put(Shape.class, Shape.of(1, 1));
    values.put(Permutation.class, Permutation.identity(2));
    values.put(Metadata.class, Metadata.empty());
    values.put(int.class, 1);
    values.put(long.class, 1L);
    values.put(double.class, 1.0);
    values.put(boolean.class, true);
    return Optional.ofNullable(values.get(type))
        .orElseThrow(() -> new AssertionError("no value of " + type + " is known here; add one"));
  }

  /** In maps null stands where texts stand otherwise. */
  @Test
  void nullsInMapsOfOptions() {
    for (String option : new TreeSet<>(FftOptions.NAMES)) {
      refused(option, () -> FftOptions.of(singleton(option, null)));
    }
    for (String option : new TreeSet<>(MultiplyOptions.NAMES)) {
      refused(option, () -> MultiplyOptions.of(singleton(option, null)));
    }
    for (String option : new TreeSet<>(RowOptions.NAMES)) {
      refused(option, () -> RowOptions.of(singleton(option, null)));
    }
    refused("There is no option null", () -> FftOptions.of(singleton(null, "x")));
    refused("There is no option null", () -> MultiplyOptions.of(singleton(null, "x")));
  }

  private static Map<String, String> singleton(String name, String text) {
    Map<String, String> map = new HashMap<>();
    map.put(name, text);
    return map;
  }

  private static void refused(String start, org.junit.jupiter.api.function.Executable call) {
    String message = assertThrows(IllegalArgumentException.class, call).getMessage();
    assertTrue(message.startsWith(start), message);
  }

  @Test
  void theApiHasMethods() {
    List<String> names = new ArrayList<>();
    methods().forEach(method -> names.add(method.getName()));
    assertTrue(
        names.containsAll(List.of("transpose", "multiply", "fft", "withStrategy", "parse")),
        names::toString);
  }
}
