package org.tilespark.kernels.library;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.library.LibraryFinder.Release;

/** On the C library's mathematics, which every JVM has loaded. */
class LibraryFinderTest {
  private static final String MATHEMATICS = "libm.so.6";

  @TempDir private Path directory;

  // Binding is for good, so each test binds a class of its own; and JNA remembers libraries by the
  // name of their file, so each has names of its own.

  private static final class BySystem {
    static native double fabs(double x);
  }

  private static final class ByDirectory {
    static native double fabs(double x);
  }

  private static final class Nowhere {
    static native double fabs(double x);
  }

  private static final class Late {
    static native double fabs(double x);
  }

  private static final class Lacking {
    static native double tilesparkHasNoSuchFunction(double x);
  }

  private static Path mathematics() throws IOException {
    return Files.readAllLines(Path.of("/proc/self/maps")).stream()
        .map(line -> line.substring(line.lastIndexOf(' ') + 1))
        .filter(file -> file.endsWith("/" + MATHEMATICS))
        .map(Path::of)
        .findFirst()
        .orElseThrow();
  }

  @Test
  void findsWhatTheSystemKnows() {
    LibraryFinder finder =
        new LibraryFinder(
            "Mathematics",
            "gpu.libraryPath",
            BySystem.class,
            new Release("libtilespark-none.so.9"),
            new Release(MATHEMATICS));
    assertEquals(MATHEMATICS, finder.bind(List.of()).get());
    assertEquals(3, BySystem.fabs(-3));
    assertEquals(MATHEMATICS, finder.bind(List.of(directory)).get());
  }

  @Test
  void looksIntoDirectoriesInTurn() throws IOException {
    Path second = Files.createDirectory(directory.resolve("second"));
    Files.createSymbolicLink(second.resolve("libtilespark-m.so.3"), mathematics());
    // What it needs is loaded first, where it is there.
    Files.createSymbolicLink(second.resolve("libtilespark-need.so.3"), mathematics());
    LibraryFinder finder =
        new LibraryFinder(
            "Mathematics",
            "gpu.libraryPath",
            ByDirectory.class,
            new Release("libtilespark-m.so.4"),
            new Release("libtilespark-m.so.3", "libtilespark-need.so.3", "libtilespark-gone.so.3"));
    String reason = finder.bind(List.of(directory)).whyNot();
    assertTrue(reason.contains(directory.resolve("libtilespark-m.so.3") + " (no such file)"));
    assertEquals(
        second.resolve("libtilespark-m.so.3").toString(),
        finder.bind(List.of(directory, second)).get());
    assertEquals(3, ByDirectory.fabs(-3));
  }

  @Test
  void saysWhatWasTriedAndWhatHelps() throws IOException {
    Files.writeString(directory.resolve("libtilespark-y.so.4"), "no library");
    Files.createSymbolicLink(directory.resolve("libtilespark-x.so.4"), mathematics());
    Files.writeString(directory.resolve("libtilespark-x.so.3"), "no library either");
    String reason =
        new LibraryFinder(
                "Mathematics",
                "gpu.libraryPath",
                Nowhere.class,
                new Release("libtilespark-x.so.4", "libtilespark-y.so.4"),
                new Release("libtilespark-x.so.3"))
            .bind(List.of(directory))
            .whyNot();
    assertTrue(reason.startsWith("Mathematics was not found (tried libtilespark-x.so.4 ("), reason);
    assertTrue(reason.contains(", libtilespark-x.so.3 ("), reason);
    assertTrue(reason.contains(directory.resolve("libtilespark-y.so.4") + " ("), reason);
    assertTrue(reason.contains(directory.resolve("libtilespark-x.so.3") + " ("), reason);
    assertTrue(
        reason.endsWith(
            "); install it, or name the directory that holds libtilespark-x.so.4 and"
                + " libtilespark-y.so.4 with gpu.libraryPath or LD_LIBRARY_PATH"),
        reason);
  }

  /** Planners ask for each query; what was not there is not looked for again. */
  @Test
  void aSearchThatFailedIsNotMadeAgain() throws IOException {
    LibraryFinder finder =
        new LibraryFinder(
            "Mathematics", "gpu.libraryPath", Late.class, new Release("libtilespark-late.so.3"));
    String reason = finder.bind(List.of(directory)).whyNot();
    Files.createSymbolicLink(directory.resolve("libtilespark-late.so.3"), mathematics());
    assertEquals(reason, finder.bind(List.of(directory)).whyNot());
    // Other directories are another search.
    Path same = directory.resolve(".");
    assertEquals(
        same.resolve("libtilespark-late.so.3").toString(), finder.bind(List.of(same)).get());
  }

  /** Another release than was bound against: a function is missing, so it will not do. */
  @Test
  void aLibraryWithoutTheFunctionsWillNotDo() {
    String reason =
        new LibraryFinder("Mathematics", "gpu.libraryPath", Lacking.class, new Release(MATHEMATICS))
            .bind(List.of())
            .whyNot();
    assertTrue(reason.contains("tilesparkHasNoSuchFunction"), reason);
  }
}
