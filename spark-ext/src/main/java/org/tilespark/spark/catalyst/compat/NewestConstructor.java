package org.tilespark.spark.catalyst.compat;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;

/**
 * The constructor of a Scala class of the running Spark, found by its first parameters, which every
 * version has. Parameters that newer versions append get their Scala defaults. Immutable.
 */
final class NewestConstructor<T> {
  private final Class<T> type;
  private final Class<?>[] first;
  private final Constructor<?> constructor; // null if no constructor can be used
  private final Object[] defaults;
  // The reason why no constructor can be used; null if one can.
  private final ReflectiveOperationException failure;

  /**
   * Finds the constructor.
   *
   * @param type class with a companion object, which has the defaults
   * @param first types of the constructor's first parameters, which callers pass
   */
  NewestConstructor(Class<T> type, Class<?>... first) {
    this.type = type;
    this.first = first.clone();
    Constructor<?> found = null;
    Object[] further = {};
    ReflectiveOperationException missing = null;
    try {
      found = find(type, first);
      further = new Object[found.getParameterCount() - first.length];
      for (int i = 0; i < further.length; i++) {
        further[i] = defaultOf(type, first.length + i);
      }
    } catch (ReflectiveOperationException e) {
      missing = e;
    }
    this.constructor = found;
    this.defaults = further;
    this.failure = missing;
  }

  /**
   * A new object.
   *
   * @param arguments one value for each of the first parameters
   * @throws UnsupportedOperationException if no constructor begins with these parameters, or a
   *     further parameter has no default; its message names the version of Spark
   */
  T make(Object... arguments) {
    if (failure != null) {
      throw unsupported();
    }
    Object[] all = Arrays.copyOf(arguments, constructor.getParameterCount());
    System.arraycopy(defaults, 0, all, arguments.length, defaults.length);
    try {
      return type.cast(constructor.newInstance(all));
    } catch (InvocationTargetException e) {
      throw e.getCause() instanceof RuntimeException cause ? cause : new IllegalStateException(e);
    } catch (InstantiationException | IllegalAccessException e) {
      throw new IllegalStateException(constructor.toString(), e);
    }
  }

  private UnsupportedOperationException unsupported() {
    return new UnsupportedOperationException(
        ("Spark %s has no constructor %s%s with defaults for all further parameters;"
                    + " its constructors are ")
                .formatted(SparkVersion.running(), type.getSimpleName(), parameters(first))
            + Arrays.stream(type.getConstructors())
                .map(other -> type.getSimpleName() + parameters(other.getParameterTypes()))
                .toList()
            + ". This tilespark was tested up to Spark "
            + SparkVersion.NEWEST_TESTED
            + ": use that, or a newer tilespark",
        failure);
  }

  private static String parameters(Class<?>[] types) {
    return Arrays.stream(types).map(Class::getSimpleName).toList().toString();
  }

  private static Constructor<?> find(Class<?> type, Class<?>[] first) throws NoSuchMethodException {
    return Arrays.stream(type.getConstructors())
        .filter(constructor -> constructor.getParameterCount() >= first.length)
        .filter(
            constructor ->
                Arrays.equals(Arrays.copyOf(constructor.getParameterTypes(), first.length), first))
        .findFirst()
        .orElseThrow(() -> new NoSuchMethodException(type.getName()));
  }

  /** Scala's default of the constructor's parameter number {@code i}, counted from 0. */
  private static Object defaultOf(Class<?> type, int i) throws ReflectiveOperationException {
    Class<?> companion = Class.forName(type.getName() + "$", true, type.getClassLoader());
    return companion
        .getMethod("$lessinit$greater$default$" + (i + 1))
        .invoke(companion.getField("MODULE$").get(null));
  }
}
