package org.tilespark.spark.source.npy;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.tilespark.layout.Shape;
import org.tilespark.spark.numpy.NpyType;

/**
 * Reads the Python dict of a .npy header, {@code {'descr': '<f4', 'fortran_order': False, 'shape':
 * (10, 784), }}: string, boolean and tuple literals, nothing else. Accepts everything that numpy
 * has ever written: any order of the keys, spaces, a trailing comma, and the suffix {@code L} of
 * Python 2.
 */
final class NpyHeaderParser {
  private final String text;
  private final boolean longSuffix;
  private int at;

  /**
   * @param longSuffix true if numbers may end in {@code L}: in the formats that Python 2 wrote
   */
  NpyHeaderParser(String text, boolean longSuffix) {
    this.text = text;
    this.longSuffix = longSuffix;
  }

  /**
   * The header.
   *
   * @param dataOffset bytes before the data
   * @throws IllegalArgumentException if the text is not a header's dict, or states an array that
   *     blocks cannot hold
   */
  NpyHeader parse(long dataOffset) {
    String descr = null;
    Boolean fortranOrder = null;
    Shape shape = null;
    expect('{');
    while (!take('}')) {
      String key = string();
      expect(':');
      boolean repeated;
      switch (key) {
        case "descr" -> {
          repeated = descr != null;
          descr = descr();
        }
        case "fortran_order" -> {
          repeated = fortranOrder != null;
          fortranOrder = bool();
        }
        case "shape" -> {
          repeated = shape != null;
          shape = shape();
        }
        default -> throw error("the key '" + key + "'", "descr, fortran_order and shape");
      }
      if (repeated) {
        throw error("the key '" + key + "' twice", "each once");
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skipSpace();
    if (at < text.length()) {
      throw error("'" + text.charAt(at) + "' at character " + at, "the end");
    }
    if (descr == null || fortranOrder == null || shape == null) {
      String missing = descr == null ? "descr" : fortranOrder == null ? "fortran_order" : "shape";
      throw error("no key '" + missing + "'", "descr, fortran_order and shape");
    }
    return new NpyHeader(type(descr), descr.charAt(0) == '>', fortranOrder, shape, dataOffset);
  }

  private static NpyType type(String descr) {
    NpyType type = NpyType.ofDescr(descr);
    if (type != null) {
      return type;
    }
    String advice = NpyType.advice(descr);
    throw new IllegalArgumentException(
        "elements of type '%s'%s; expected one of %s"
            .formatted(descr, advice.isEmpty() ? "" : " (" + advice + ")", NpyType.SUPPORTED));
  }

  private String descr() {
    skipSpace();
    char c = peek();
    if (c == '[' || c == '(' || c == '{') {
      throw new IllegalArgumentException(
          ("elements of a structured type (%s); expected one of %s; save one field," + " a['name']")
              .formatted(shorten(text.substring(at).trim()), NpyType.SUPPORTED));
    }
    return string();
  }

  private String string() {
    skipSpace();
    char quote = peek();
    if (quote != '\'' && quote != '"') {
      throw error(found(), "a quoted string");
    }
    int end = text.indexOf(quote, at + 1);
    if (end < 0) {
      throw error("a string without an end", "a closing " + quote);
    }
    String value = text.substring(at + 1, end);
    if (value.indexOf('\\') >= 0) {
      throw error("an escape in '" + value + "'", "a plain string");
    }
    at = end + 1;
    return value;
  }

  private boolean bool() {
    skipSpace();
    for (boolean value : new boolean[] {false, true}) {
      String word = value ? "True" : "False";
      if (text.startsWith(word, at)) {
        at += word.length();
        return value;
      }
    }
    throw error(found(), "True or False");
  }

  private Shape shape() {
    expect('(');
    List<Long> extents = new ArrayList<>();
    boolean comma = true;
    while (!take(')')) {
      if (!comma) {
        throw error(found(), "',' or ')' in the shape");
      }
      extents.add(number());
      comma = take(',');
    }
    if (extents.size() == 1 && !comma) {
      throw error("(" + extents.get(0) + ")", "a tuple, (" + extents.get(0) + ",)");
    }
    return Shape.of(extents.stream().mapToLong(Long::longValue).toArray());
  }

  private long number() {
    skipSpace();
    int start = at;
    if (peek() == '-') {
      at++;
    }
    while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
      at++;
    }
    String digits = text.substring(start, at);
    if (longSuffix && at < text.length() && text.charAt(at) == 'L') {
      at++;
    }
    if (digits.matches("-?0\\d+")) {
      throw error("the extent " + shorten(digits), "no zeros before it");
    }
    long value;
    try {
      value = Long.parseLong(digits);
    } catch (NumberFormatException e) {
      throw error(
          digits.isEmpty() ? found() : "the extent " + shorten(digits),
          "a whole number below 2^63");
    }
    if (value < 0) {
      throw error("the extent " + value, "0 or more");
    }
    return value;
  }

  private void expect(char c) {
    if (!take(c)) {
      throw error(found(), "'" + c + "'");
    }
  }

  private boolean take(char c) {
    skipSpace();
    if (at < text.length() && text.charAt(at) == c) {
      at++;
      return true;
    }
    return false;
  }

  private void skipSpace() {
    while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
  }

  private char peek() {
    return at < text.length() ? text.charAt(at) : '\0';
  }

  private String found() {
    return at < text.length()
        ? String.format(Locale.ROOT, "'%s' at character %d", text.charAt(at), at)
        : "the end of the header";
  }

  private IllegalArgumentException error(String found, String expected) {
    return new IllegalArgumentException(
        "malformed header: found %s, expected %s; the header is %s"
            .formatted(found, expected, shorten(text.trim())));
  }

  private static String shorten(String text) {
    return text.length() <= 200 ? text : text.substring(0, 200) + "...";
  }
}
