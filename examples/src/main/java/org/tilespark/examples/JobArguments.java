package org.tilespark.examples;

import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.tilespark.spark.conf.Backend;

/**
 * The command line of a job: positional arguments ("words"), and options as {@code --name value} or
 * {@code --name=value}. Immutable.
 */
public final class JobArguments {
  private final List<String> words;
  private final Map<String, String> options;

  private JobArguments(List<String> words, Map<String, String> options) {
    this.words = List.copyOf(words);
    this.options = Map.copyOf(options);
  }

  /**
   * One option of a job.
   *
   * @param name the name without the leading dashes
   * @param required true if the option must be given
   * @param flag true if the option takes no value
   * @param check throws an {@link IllegalArgumentException} that says what is wrong with a value
   */
  public record Option(String name, boolean required, boolean flag, Consumer<String> check) {
    /** {@code --backend auto|gpu|cpu}. */
    public static final Option BACKEND = checked("backend", Option::checkBackend);

    /** {@code --seed N}, which repeats a random sample. */
    public static final Option SEED = checked("seed", Long::parseLong);

    /** Returns an option whose value is an integer of 1 or more. */
    public static Option count(String name) {
      return checked(name, Option::checkCount);
    }

    /** Returns an option whose value is not checked here. */
    public static Option text(String name) {
      return checked(name, text -> {});
    }

    /** Returns an option whose value is checked before the job starts. */
    public static Option checked(String name, Consumer<String> check) {
      return new Option(name, false, false, check);
    }

    /** Returns a checked option that must be given. */
    public static Option required(String name, Consumer<String> check) {
      return new Option(name, true, false, check);
    }

    /** Returns an option without a value. */
    public static Option flag(String name) {
      return new Option(name, false, true, text -> {});
    }

    private static void checkCount(String text) {
      if (Integer.parseInt(text) < 1) {
        throw new IllegalArgumentException("expected 1 or more");
      }
    }

    private static void checkBackend(String text) {
      for (Backend backend : Backend.values()) {
        if (backend.name().toLowerCase(Locale.ROOT).equals(text)) {
          return;
        }
      }
      throw new IllegalArgumentException("expected auto, gpu or cpu");
    }
  }

  /**
   * The arguments that a job accepts.
   *
   * @param line the command line, in short
   * @param help description of the job and its options
   * @param words names of the positional arguments, all required
   * @param options the options
   */
  public record Usage(String line, String help, List<String> words, List<Option> options) {
    /** The usage message. */
    public String text() {
      return "usage: " + line + "\n\n" + help;
    }

    private Option option(String name) {
      return options.stream()
          .filter(option -> option.name().equals(name))
          .findFirst()
          .orElseThrow(
              () ->
                  new IllegalArgumentException(
                      "There is no option --"
                          + name
                          + "; expected one of "
                          + options.stream()
                              .map(option -> "--" + option.name())
                              .collect(Collectors.joining(", "))));
    }
  }

  /**
   * Parses a command line.
   *
   * @throws IllegalArgumentException if the command line does not match {@code usage}, with the
   *     reason
   */
  public static JobArguments parse(Usage usage, String[] args) {
    List<String> words = new ArrayList<>();
    Map<String, String> options = new LinkedHashMap<>();
    for (int i = 0; i < args.length; i++) {
      if (!args[i].startsWith("--")) {
        words.add(args[i]);
        continue;
      }
      String[] nameAndValue = args[i].substring(2).split("=", 2);
      Option option = usage.option(nameAndValue[0]);
      String value;
      if (option.flag()) {
        value = "true";
      } else if (nameAndValue.length == 2) {
        value = nameAndValue[1];
      } else if (++i < args.length) {
        value = args[i];
      } else {
        throw new IllegalArgumentException("Option --" + option.name() + " has no value");
      }
      if (options.put(option.name(), value) != null) {
        throw new IllegalArgumentException("Option --" + option.name() + " is given twice");
      }
      check(option, value);
    }
    if (words.size() != usage.words().size()) {
      throw new IllegalArgumentException(
          "Found "
              + words.size()
              + " arguments "
              + words
              + "; expected "
              + usage.words().size()
              + ": "
              + String.join(" ", usage.words()));
    }
    for (Option option : usage.options()) {
      if (option.required() && !options.containsKey(option.name())) {
        throw new IllegalArgumentException("Option --" + option.name() + " is missing");
      }
    }
    return new JobArguments(words, options);
  }

  private static void check(Option option, String value) {
    try {
      option.check().accept(value);
    } catch (IllegalArgumentException e) {
      String reason = e instanceof NumberFormatException ? "expected a number" : e.getMessage();
      throw new IllegalArgumentException(
          "Option --" + option.name() + " is '" + value + "': " + reason, e);
    }
  }

  /** The value of an option, if it is given. */
  public Optional<String> option(String name) {
    return Optional.ofNullable(options.get(name));
  }

  /** The value of a count option, or {@code otherwise} if it is not given. */
  public int count(String name, int otherwise) {
    return option(name).map(Integer::parseInt).orElse(otherwise);
  }

  /** True if the flag is given. */
  public boolean flag(String name) {
    return options.containsKey(name);
  }

  /** A map with the option's value under Spark's name for it; empty if the option is not given. */
  public Map<String, String> given(String name, String sparkName) {
    return option(name).map(value -> Map.of(sparkName, value)).orElse(Map.of());
  }

  /** The seed given by {@code --seed}, else a random one. */
  public long seed() {
    return option("seed").map(Long::parseLong).orElseGet(ThreadLocalRandom.current()::nextLong);
  }

  /**
   * The input file that a positional argument names.
   *
   * @throws IllegalArgumentException if this machine sees no regular file of this name
   */
  public Path inputFile(int word) {
    Path file = path(words.get(word));
    checkFile(file);
    return file;
  }

  private static void checkFile(Path file) {
    if (!Files.isRegularFile(file)) {
      throw new IllegalArgumentException("There is no file " + file);
    }
  }

  /**
   * The input file that an option names, if the option is given.
   *
   * @throws IllegalArgumentException if this machine sees no regular file of this name
   */
  Optional<Path> inputFile(String option) {
    Optional<Path> file = option(option).map(JobArguments::path);
    file.ifPresent(JobArguments::checkFile);
    return file;
  }

  /**
   * The output file that a positional argument names.
   *
   * @throws IllegalArgumentException if it is {@code input}, which is read again for the check
   */
  public Path outputFile(int word, Path input) {
    Path file = path(words.get(word));
    try {
      if (Files.exists(file) && Files.isSameFile(file, input)) {
        throw new IllegalArgumentException(
            file + " is both input and output; the check needs both, choose another output");
      }
    } catch (java.io.IOException e) {
      throw new java.io.UncheckedIOException("Cannot look at " + file + ": " + e.getMessage(), e);
    }
    return file;
  }

  /**
   * The output file that an option names.
   *
   * @throws java.util.NoSuchElementException if the option is not given
   */
  Path file(String option) {
    return path(option(option).orElseThrow());
  }

  /**
   * The output directory that a positional argument names; created if it is missing.
   *
   * @throws IllegalArgumentException if a file has this name
   */
  public Path outputDirectory(int word) {
    return makeDirectory(path(words.get(word)));
  }

  /** Creates the directory if it is missing; see {@link #outputDirectory}. */
  static Path makeDirectory(Path directory) {
    if (Files.exists(directory) && !Files.isDirectory(directory)) {
      throw new IllegalArgumentException(directory + " is no directory");
    }
    try {
      return Files.createDirectories(directory);
    } catch (java.io.IOException e) {
      throw new java.io.UncheckedIOException("Cannot make " + directory + ": " + e, e);
    }
  }

  /** The path as a URI with {@code file://}, whatever Spark's default file system is. */
  public static String uri(Path file) {
    return "file://" + file.toAbsolutePath();
  }

  private static Path path(String text) {
    if (text.startsWith("file:")) {
      return Path.of(URI.create(text).getPath()).toAbsolutePath().normalize();
    }
    if (text.matches("[A-Za-z][A-Za-z0-9+.-]+://.*")) {
      throw new IllegalArgumentException(
          text
              + " is not on a local or shared POSIX path; this job writes there, and reads both"
              + " files by its own means to check its answer");
    }
    return Path.of(text).toAbsolutePath().normalize();
  }
}
