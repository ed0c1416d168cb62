package org.tilespark.kernels;

import java.io.IOException;
import java.lang.reflect.Executable;
import java.lang.reflect.Modifier;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;

/**
 * Finds records and methods whose lists are too long to read: what belongs together is grouped.
 * {@code ArchitectureTest} of spark-ext looks at that module.
 */
public final class LongLists {
  private static final int MOST_COMPONENTS = 8;
  private static final int MOST_PARAMETERS = 7;

  private LongLists() {}

  /**
   * The records with more than eight components, by name, and the methods and constructors with
   * more than seven parameters, as {@code Class.method}; those of canonical constructors count as
   * components. Native methods mirror functions of C, and may be long.
   *
   * @param one any class of the module, whose class files are looked through
   */
  public static Set<String> of(Class<?> one) throws IOException, URISyntaxException {
    Path root = Path.of(one.getProtectionDomain().getCodeSource().getLocation().toURI());
    Assumptions.assumeTrue(Files.isDirectory(root), "class files are in " + root);
    List<Path> files;
    try (Stream<Path> all = Files.walk(root)) {
      files = all.filter(file -> file.toString().endsWith(".class")).toList();
    }
    Set<String> found = new TreeSet<>();
    for (Path file : files) {
      String name = root.relativize(file).toString().replace('/', '.');
      if (!name.endsWith("package-info.class")) {
        addLong(load(name.substring(0, name.length() - ".class".length()), one), found);
      }
    }
    return found;
  }

  private static Class<?> load(String name, Class<?> one) {
    try {
      return Class.forName(name, false, one.getClassLoader());
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void addLong(Class<?> type, Set<String> found) {
    if (type.isAnonymousClass() || type.isLocalClass()) {
      return; // their constructors take what they use of the method around
    }
    if (type.isRecord() && type.getRecordComponents().length > MOST_COMPONENTS) {
      found.add(type.getSimpleName());
    }
    Stream.<Executable>concat(
            Stream.of(type.getDeclaredMethods()),
            type.isRecord() ? Stream.empty() : Stream.of(type.getDeclaredConstructors()))
        .filter(each -> !each.isSynthetic() && !Modifier.isNative(each.getModifiers()))
        .filter(each -> each.getParameterCount() - added(type, each) > MOST_PARAMETERS)
        .forEach(each -> found.add(type.getSimpleName() + "." + nameOf(each)));
  }

  /** Parameters that the compiler adds. */
  private static int added(Class<?> type, Executable of) {
    if (!(of instanceof java.lang.reflect.Constructor<?>)) {
      return 0;
    }
    boolean isInner = type.isMemberClass() && !Modifier.isStatic(type.getModifiers());
    return type.isEnum() ? 2 : isInner ? 1 : 0;
  }

  private static String nameOf(Executable of) {
    return of instanceof java.lang.reflect.Constructor<?> ? "new" : of.getName();
  }
}
