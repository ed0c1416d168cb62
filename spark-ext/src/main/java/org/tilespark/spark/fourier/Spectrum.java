package org.tilespark.spark.fourier;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.options.Norm;
import org.tilespark.spark.options.Shift;

/**
 * The parameters of a transform that an inverse needs; kept as column metadata, as text. Axes are
 * named by the letters they had in the volume that was transformed first, so that a permutation
 * changes the letters of the current axes ({@link ArrayMetadata#AXES}) and not this text.
 *
 * @param axes letters of the transformed axes; the last one is the halved one of a half spectrum
 * @param isHalf true if the last axis has frequencies 0 to n / 2 only
 * @param lastExtent extent n of the last axis before the transform
 * @param norm norm of the transform
 * @param shift axes along which frequency 0 was shifted to the middle
 * @param spacing distances between samples, one number per letter of {@code axes}
 * @param order the order of all axes before the transform
 * @param left the order of all axes in which the transform left them; an inverse restores {@code
 *     order} if it finds the axes in this order, and keeps any other order, since a user has chosen
 *     it
 */
public record Spectrum(
    String axes,
    boolean isHalf,
    long lastExtent,
    Norm norm,
    Shift shift,
    List<Double> spacing,
    String order,
    String left)
    implements Serializable {
  // Separates the texts of successive transforms, the last one last.
  private static final String BETWEEN = "|";

  /** Copies the list and checks that every axis has a spacing. */
  public Spectrum {
    spacing = List.copyOf(spacing);
    if (axes.isEmpty() || spacing.size() != axes.length()) {
      throw new IllegalArgumentException(
          "A spectrum of axes '" + axes + "' with spacings " + spacing);
    }
  }

  /**
   * The order of the axes in the result of the inverse.
   *
   * @param current letters of the axes of the spectrum, in their current order
   */
  public String orderAfterInverse(String current) {
    return current.equals(left) ? order : current;
  }

  /**
   * The frequencies along the axis with this letter, whose extent in the spectrum is {@code
   * extent}; empty if the axis was not transformed.
   */
  public Optional<AxisFrequencies> frequencies(char letter, long extent) {
    int at = axes.indexOf(letter);
    if (at < 0) {
      return Optional.empty();
    }
    boolean isHalved = isHalf && at == axes.length() - 1;
    return Optional.of(
        new AxisFrequencies(
            isHalved ? lastExtent : extent,
            spacing.get(at),
            isHalved,
            shift.ofSpectrum() && !isHalved));
  }

  /**
   * The text of all transforms that {@link #all} and {@link #beforeLast} read, with this transform
   * as the last one.
   */
  public String after(Optional<String> earlier) {
    String text =
        "axes=%s;kind=%s;lastExtent=%s;norm=%s;shift=%s;spacing=%s;order=%s;left=%s"
            .formatted(
                axes,
                isHalf ? "half" : "full",
                lastExtent,
                norm,
                shift,
                spacing.stream().map(String::valueOf).collect(Collectors.joining(",")),
                order,
                left);
    return earlier.map(before -> before + BETWEEN).orElse("") + text;
  }

  /**
   * The transforms that a text states, in order.
   *
   * @throws IllegalArgumentException if the text is not valid, or states that rows come from
   *     different transforms
   */
  public static List<Spectrum> all(String text) {
    return Arrays.stream(text.split(Pattern.quote(BETWEEN), -1))
        .map(transform -> parse(transform, text))
        .toList();
  }

  /** The last of the transforms that a text states; throws as {@link #all}. */
  public static Spectrum last(String text) {
    return parse(lastPart(text), text);
  }

  /** True if the rows come from different last transforms, so that no inverse exists. */
  public static boolean isMixed(String text) {
    return lastPart(text).equals(ArrayMetadata.MIXED);
  }

  private static String lastPart(String text) {
    return text.substring(text.lastIndexOf(BETWEEN) + 1);
  }

  private static Spectrum parse(String transform, String text) {
    if (transform.equals(ArrayMetadata.MIXED)) {
      throw new IllegalArgumentException(
          ("the rows come from different transforms, or some from none, as after a UNION (column"
                  + " metadata %s is '%s'); expected those of one transform")
              .formatted(ArrayMetadata.SPECTRUM, text));
    }
    Map<String, String> fields = new HashMap<>();
    for (String field : transform.split(";", -1)) {
      int equals = field.indexOf('=');
      fields.put(field.substring(0, Math.max(0, equals)), field.substring(equals + 1));
    }
    try {
      List<Double> spacing = new ArrayList<>();
      Arrays.stream(fields.get("spacing").split(",")).map(Double::valueOf).forEach(spacing::add);
      return new Spectrum(
          fields.get("axes"),
          fields.get("kind").equals("half"),
          Long.parseLong(fields.get("lastExtent")),
          Norm.valueOf(fields.get("norm").toUpperCase(Locale.ROOT)),
          Shift.valueOf(fields.get("shift").toUpperCase(Locale.ROOT)),
          spacing,
          Objects.requireNonNull(fields.get("order")),
          Objects.requireNonNull(fields.get("left")));
    } catch (IllegalArgumentException | NullPointerException e) {
      throw new IllegalArgumentException(
          "Column metadata tilespark.spectrum is '" + text + "'; expected what fft writes", e);
    }
  }

  /**
   * The reason why two spectra must not be combined at equal places: their elements there belong to
   * different frequencies, or no single inverse serves both. Empty if they may be combined. One
   * transform over several axes equals several transforms over one axis each. Axes are compared by
   * their current places, and named by the letters of these.
   *
   * @return the first difference: {@code "norm: 'backward' of the first, 'ortho' of the second"}
   */
  public static Optional<String> difference(OfArray first, OfArray second) {
    List<Spectrum> one = first.inPlace();
    List<Spectrum> other = second.inPlace();
    return Stream.of(
            difference("transformed axes", one, other, Spectrum::axesOf),
            difference("halved axis", one, other, Spectrum::halvedOf),
            difference("shift", one, other, all -> perAxis(all, Spectrum::shift)),
            difference("norm", one, other, all -> perAxis(all, Spectrum::norm)),
            difference("order of the axes after the inverse", one, other, Spectrum::orderAfterAll))
        .flatMap(Optional::stream)
        .findFirst();
  }

  /**
   * The transforms of an array.
   *
   * @param transforms the array's transforms, in order
   * @param letters letters of the array's current axes
   */
  public record OfArray(List<Spectrum> transforms, String letters) {
    private static final String PLACES = "xyz";

    /** True if inverses of all transforms would change the order of the axes. */
    public boolean isReordered() {
      return !orderAfterAll(inPlace()).equals(PLACES);
    }

    /** The transforms, with each axis named by the letter of its current place. */
    private List<Spectrum> inPlace() {
      return transforms.stream()
          .map(
              each ->
                  new Spectrum(
                      placed(each.axes),
                      each.isHalf,
                      each.lastExtent,
                      each.norm,
                      each.shift,
                      each.spacing,
                      placed(each.order),
                      placed(each.left)))
          .toList();
    }

    private String placed(String axes) {
      return axes.chars()
          .mapToObj(letter -> PLACES.substring(letters.indexOf(letter)).substring(0, 1))
          .collect(Collectors.joining());
    }
  }

  /** The order of the axes after the inverses of all transforms, of axes that are now x, y, z. */
  private static String orderAfterAll(List<Spectrum> transforms) {
    String order = OfArray.PLACES;
    for (int i = transforms.size() - 1; i >= 0; i--) {
      order = transforms.get(i).orderAfterInverse(order);
    }
    return order;
  }

  private static Optional<String> difference(
      String what,
      List<Spectrum> first,
      List<Spectrum> second,
      Function<List<Spectrum>, String> property) {
    String a = property.apply(first);
    String b = property.apply(second);
    return a.equals(b)
        ? Optional.empty()
        : Optional.of(what + ": '" + a + "' of the first, '" + b + "' of the second");
  }

  /**
   * The letters of all transformed axes, in order; the letter of an axis that was transformed twice
   * occurs twice.
   */
  private static String axesOf(List<Spectrum> transforms) {
    return transforms.stream()
        .flatMap(transform -> Arrays.stream(transform.axes().split("")))
        .sorted()
        .collect(Collectors.joining());
  }

  private static String halvedOf(List<Spectrum> transforms) {
    return transforms.stream()
        .filter(Spectrum::isHalf)
        .map(
            transform ->
                "%s of %s values"
                    .formatted(
                        transform.axes().charAt(transform.axes().length() - 1),
                        transform.lastExtent()))
        .sorted()
        .reduce((one, other) -> one + ", " + other)
        .orElse("none");
  }

  /** A property of each axis's transform as text, or its one value if all axes have the same. */
  private static String perAxis(List<Spectrum> transforms, Function<Spectrum, ?> property) {
    List<String> values =
        transforms.stream().map(property).map(Object::toString).distinct().toList();
    return values.size() == 1
        ? values.get(0)
        : transforms.stream()
            .flatMap(
                transform ->
                    Arrays.stream(transform.axes().split(""))
                        .map(letter -> letter + " " + property.apply(transform)))
            .sorted()
            .collect(Collectors.joining(", "));
  }

  /** The text of the transforms before the last one; empty if there is none. */
  public static Optional<String> beforeLast(String text) {
    int at = text.lastIndexOf(BETWEEN);
    return at < 0 ? Optional.empty() : Optional.of(text.substring(0, at));
  }
}
