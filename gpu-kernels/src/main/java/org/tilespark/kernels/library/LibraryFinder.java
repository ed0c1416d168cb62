package org.tilespark.kernels.library;

import com.sun.jna.FunctionMapper;
import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.tilespark.kernels.OwnFiles;
import org.tilespark.kernels.launch.Availability;

/**
 * Finds a library that may be installed on a machine, and binds a class's {@code static native}
 * methods to it with JNA. The class keeps one finder and asks it before the first call:
 *
 * <pre>{@code
 * private static final LibraryFinder FINDER =
 *     new LibraryFinder(
 *         "cuBLAS",
 *         "gpu.libraryPath",
 *         LibCublas.class,
 *         new Release("libcublas.so.13", "libcublasLt.so.13"),
 *         new Release("libcublas.so.12", "libcublasLt.so.12"));
 *
 * static Availability<String> load(List<Path> directories) {
 *   return FINDER.bind(directories); // if it is there, the methods can be called
 * }
 * }</pre>
 *
 * <p>The library is looked for by its name first, as the system's loader finds it (its cache,
 * {@code LD_LIBRARY_PATH}), the newest release before the next; then in the directories that the
 * user names, one after the other, except those that any user may write to. Thread-safe.
 */
public final class LibraryFinder {
  /**
   * A release with the interface that is bound, by its versioned file name: the unversioned name
   * exists only on machines with development files.
   *
   * @param file name of the library, such as {@code libcublas.so.13}; a name with a {@code *} is
   *     looked for in the directories only
   * @param needs file names of libraries that it needs; those in the same directory are loaded from
   *     there first
   */
  public record Release(String file, List<String> needs) {
    /** A release that needs the libraries {@code needs}, where its directory has them. */
    public Release(String file, String... needs) {
      this(file, List.of(needs));
    }

    private boolean isPattern() {
      return file.contains("*");
    }

    /** The files of a directory that may be this release, in descending order of names. */
    private List<Path> in(Path directory) {
      if (!isPattern()) {
        return List.of(directory.resolve(file));
      }
      List<Path> found = new ArrayList<>();
      try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, file)) {
        files.forEach(found::add);
      } catch (IOException e) {
        return List.of(directory.resolve(file)); // a file that may not exist
      }
      found.sort(Comparator.reverseOrder());
      return found.isEmpty() ? List.of(directory.resolve(file)) : found;
    }
  }

  private final String name;
  private final String key;
  private final Class<?> binding;
  private final Map<String, ?> options;
  private final List<Release> releases;
  private String bound; // guarded by this; null until a library is bound
  private final Map<List<Path>, String> misses = new HashMap<>(); // guarded by this

  /**
   * A finder, which does not search yet.
   *
   * @param name the library's name in messages
   * @param key the setting by which users name directories; the reason for a missing library names
   *     this setting
   * @param binding class with the native methods; the library must have all of them
   * @param releases releases that are supported, the preferred one first
   */
  public LibraryFinder(String name, String key, Class<?> binding, Release... releases) {
    this(name, key, binding, Map.of(), releases);
  }

  private LibraryFinder(
      String name, String key, Class<?> binding, Map<String, ?> options, Release... releases) {
    this.name = name;
    this.key = key;
    this.binding = binding;
    this.options = options;
    this.releases = List.of(releases);
  }

  /**
   * This finder for a library whose functions are named differently from the methods.
   *
   * @param names gives the function's name for each method
   */
  public LibraryFinder withNames(FunctionMapper names) {
    return new LibraryFinder(
        name,
        key,
        binding,
        Map.of(Library.OPTION_FUNCTION_MAPPER, names),
        releases.toArray(Release[]::new));
  }

  /**
   * Finds and binds the library; once that succeeded, later calls do nothing. A process searches
   * the same directories only once, since a failed search opens files and directories and planners
   * ask at each query.
   *
   * @param directories directories to look into when the system's loader does not know the library,
   *     in this order
   * @return the file that was bound, or why there is none, and what helps
   */
  public synchronized Availability<String> bind(List<Path> directories) {
    if (bound != null) {
      return Availability.of(bound);
    }
    String missed = misses.get(directories);
    if (missed != null) {
      return Availability.not(missed);
    }
    Availability<String> found = search(directories);
    if (!found.isPresent()) {
      misses.put(List.copyOf(directories), found.whyNot());
    }
    return found;
  }

  private Availability<String> search(List<Path> directories) {
    List<String> tried = new ArrayList<>();
    for (Release release : releases) {
      if (!release.isPattern() && isBoundTo(release.file(), tried)) {
        return Availability.of(bound);
      }
    }
    for (Path directory : directories) {
      for (Release release : releases) {
        for (Path file : release.in(directory)) {
          Availability<List<Path>> trusted = trusted(file, release);
          if (!Files.exists(file)) {
            tried.add(file + " (no such file)");
          } else if (!trusted.isPresent()) {
            tried.add(file + " (" + trusted.whyNot() + ")");
          } else if (loads(directory, release.needs(), tried)
              && isBoundTo(file.toString(), tried)) {
            return Availability.of(bound);
          }
        }
      }
    }
    Release best = releases.get(0);
    return Availability.not(
        name
            + " was not found (tried "
            + String.join(", ", tried)
            + "); install it, or name the directory that holds "
            + best.file()
            + best.needs().stream().map(need -> " and " + need).collect(Collectors.joining())
            + " with "
            + key
            + " or LD_LIBRARY_PATH");
  }

  /**
   * A release's file and the libraries that it needs, or the reason why one of these cannot be
   * trusted.
   */
  private static Availability<List<Path>> trusted(Path file, Release release) {
    List<Path> libraries = new ArrayList<>(List.of(file));
    release.needs().forEach(need -> libraries.add(file.resolveSibling(need)));
    return trusted(libraries);
  }

  /** Those of the libraries that exist, or the reason why one of them cannot be trusted. */
  public static Availability<List<Path>> trusted(List<Path> libraries) {
    for (Path library : libraries) {
      try {
        if (Files.exists(library)) {
          Availability<Path> installed = OwnFiles.installed(library);
          if (!installed.isPresent()) {
            return Availability.not(installed.whyNot());
          }
        }
      } catch (IOException | UnsupportedOperationException e) {
        return Availability.not(e.toString());
      }
    }
    return Availability.of(libraries);
  }

  /**
   * Loads the libraries that a release needs, so that the system's loader finds them in memory and
   * does not search.
   */
  private static boolean loads(Path directory, List<String> needs, List<String> tried) {
    for (String need : needs) {
      Path file = directory.resolve(need);
      try {
        if (Files.exists(file)) {
          NativeLibrary.getInstance(file.toString());
        }
      } catch (UnsatisfiedLinkError e) {
        tried.add(file + " (" + reason(e) + ")");
        return false;
      }
    }
    return true;
  }

  private boolean isBoundTo(String library, List<String> tried) {
    try {
      Native.register(binding, NativeLibrary.getInstance(library, options));
      bound = library;
      return true;
    } catch (UnsatisfiedLinkError e) {
      tried.add(library + " (" + reason(e) + ")");
      return false;
    }
  }

  /** The message of the system's loader, without JNA's own first line. */
  private static String reason(UnsatisfiedLinkError e) {
    return String.valueOf(e.getMessage())
        .lines()
        .filter(line -> !line.startsWith("Unable to load library"))
        .findFirst()
        .orElse("cannot be loaded")
        .strip();
  }
}
