package org.tilespark.kernels.pointwise;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Functions that nvcc has compiled to PTX, from which a module takes the functions that it calls,
 * with the tables and functions that these use in turn. Immutable.
 */
public final class PtxLibrary {
  /** Name of the source of the functions that elementwise programs call. */
  public static final String SOURCE = "elementwise_functions";

  /** A library without functions, for kernels that call none. */
  public static final PtxLibrary NONE =
      new PtxLibrary(".version 7.5\n.target sm_75\n.address_size 64\n", List.of());

  private static final Pattern WORD = Pattern.compile("[A-Za-z_$][A-Za-z0-9_$]*");

  private static final Pattern FUNCTION =
      Pattern.compile(PtxFunction.PREFIX + "[a-z0-9_]+_[sf]\\d\\d");

  /** Pattern of the first line of a declaration, a definition or a table, and of the name in it. */
  private static final Pattern BEGIN =
      Pattern.compile(
          "(?:\\.visible |\\.weak )?"
              + "(?:\\.func\\s+(?:\\([^)]*\\)\\s*)?|\\.(?:global|const) .*?\\.[bsuf]\\d+ )"
              + "([A-Za-z_$][A-Za-z0-9_$]*).*");

  private final String header;
  private final List<Section> sections; // in the order of the file

  /** A declaration, a definition or a table of the PTX. */
  private record Section(String name, String text) {}

  private PtxLibrary(String header, List<Section> sections) {
    this.header = header;
    this.sections = List.copyOf(sections);
  }

  /**
   * Parses PTX that nvcc wrote.
   *
   * @throws IllegalArgumentException if a line cannot be part of a file like this
   */
  public static PtxLibrary parse(String text) {
    StringBuilder header = new StringBuilder();
    List<Section> sections = new ArrayList<>();
    StringBuilder section = new StringBuilder();
    String name = "";
    for (String line : text.lines().toList()) {
      if (name.isEmpty()) {
        Matcher begin = BEGIN.matcher(line);
        if (begin.matches()) {
          name = begin.group(1);
        } else if (line.startsWith(".")) {
          header.append(line).append('\n');
        } else if (!line.isBlank() && !line.strip().startsWith("//")) {
          throw new IllegalArgumentException("Device functions: cannot read '" + line + "'");
        }
      }
      if (!name.isEmpty()) {
        section.append(line).append('\n');
      }
      // A declaration ends with a line ";", a definition with "}", a table is a line.
      if (line.equals(";") || line.equals("}") || (line.startsWith(".") && line.endsWith(";"))) {
        sections.add(new Section(name, section.toString()));
        section.setLength(0);
        name = "";
      }
    }
    return new PtxLibrary(header.toString(), sections);
  }

  /** Names of all functions and tables of the library. */
  public Set<String> names() {
    return sections.stream().map(Section::name).collect(Collectors.toSet());
  }

  /**
   * Version, target and size of addresses as PTX: the first lines of a module with these functions.
   */
  String header() {
    return header;
  }

  /**
   * The PTX of the functions and tables that a text names, and of those that they use.
   *
   * @throws IllegalArgumentException if the text names a function of ours that is missing
   */
  String sections(String text) {
    Set<String> known = names();
    Set<String> wanted = new HashSet<>();
    Deque<String> left = new ArrayDeque<>();
    left.push(text);
    while (!left.isEmpty()) {
      Matcher words = WORD.matcher(left.pop());
      while (words.find()) {
        String name = words.group();
        if (known.contains(name) && wanted.add(name)) {
          sections.stream()
              .filter(section -> section.name().equals(name))
              .forEach(section -> left.push(section.text()));
        } else if (!known.contains(name) && FUNCTION.matcher(name).matches()) {
          throw new IllegalArgumentException("There is no device function " + name);
        }
      }
    }
    return sections.stream()
        .filter(section -> wanted.contains(section.name()))
        .map(Section::text)
        .collect(Collectors.joining());
  }
}
