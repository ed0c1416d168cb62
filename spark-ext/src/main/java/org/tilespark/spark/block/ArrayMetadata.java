package org.tilespark.spark.block;

import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.error.Require;

/**
 * Known facts of the whole array, kept as column metadata on {@code values}. Sources set it and our
 * operators maintain it. It is a hint: after unions and filters it may be wrong.
 *
 * <p>Immutable; entries of the column metadata under other keys than those of this class are kept.
 */
public final class ArrayMetadata {
  /** The text in place of extents that are unknown. */
  public static final String UNKNOWN = "unknown";

  /**
   * The value of {@link #SPECTRUM} for rows that come from different transforms, or of which some
   * come from no transform.
   */
  public static final String MIXED = "mixed";

  /** The key of the extents of the whole array, {@code "10000,784"}. */
  public static final String EXTENTS = "tilespark.extents";

  /** The key of the shape of a full block: elements per axis, {@code "2048,784"}. */
  public static final String BLOCK_SHAPE = "tilespark.blockShape";

  /**
   * The key of the letters that the axes had in the original array: {@code "xy"}, {@code "yx"},
   * {@code "yzx"}.
   */
  public static final String AXES = "tilespark.axes";

  /** The key of the file's own element type as numpy writes it: {@code "|u1"}, {@code "<c8"}. */
  public static final String FILE_TYPE = "tilespark.fileType";

  /**
   * The key of the parameters of the Fourier transforms that computed these values, which an
   * inverse transform reads; see {@link org.tilespark.spark.fourier.Spectrum}.
   */
  public static final String SPECTRUM = "tilespark.spectrum";

  /** The file type of booleans, which blocks hold as TINYINT 0 and 1. */
  public static final String BOOL = "|b1";

  /**
   * The key of the overlap of blocks with their neighbours, see {@link Halo}; it is in the metadata
   * of the values' column and of the places' columns.
   */
  public static final String HALO = "tilespark.halo";

  /**
   * The key of the axis along which each block covers the whole array: {@code "1"} for blocks of
   * whole rows.
   */
  public static final String WHOLE = "tilespark.whole";

  private static final List<String> KEYS =
      List.of(EXTENTS, BLOCK_SHAPE, AXES, FILE_TYPE, SPECTRUM, HALO, WHOLE);

  private static final String DROP_IT =
      ". If it is not yours, drop it with withoutExtents(df), or state the extents with"
          + " withExtents(df, ...), which drops it too";

  private final Metadata metadata;

  private ArrayMetadata(Metadata metadata) {
    this.metadata = metadata;
  }

  /** A Spark column's metadata as an object of this class. */
  public static ArrayMetadata of(Metadata metadata) {
    Require.given(metadata, "ArrayMetadata.of", "metadata");
    return new ArrayMetadata(metadata);
  }

  /** Metadata that states no facts and has no other keys. */
  public static ArrayMetadata empty() {
    return new ArrayMetadata(Metadata.empty());
  }

  /** True if this and {@code that} state the same facts of an array; other keys may differ. */
  public boolean saysTheSame(ArrayMetadata that) {
    Require.given(that, "ArrayMetadata.saysTheSame", "that");
    return KEYS.stream().allMatch(key -> value(key).equals(that.value(key)));
  }

  /** True if this states no facts of an array; it may have other keys. */
  boolean saysNothing() {
    return KEYS.stream().noneMatch(metadata::contains);
  }

  /** True if an inverse transform would be the same for this and for {@code that}. */
  boolean isSameSpectrum(ArrayMetadata that) {
    return Stream.of(SPECTRUM, AXES).allMatch(key -> value(key).equals(that.value(key)));
  }

  /**
   * This metadata with its facts of an array replaced by those of {@code that}; other keys stay.
   */
  ArrayMetadata saying(ArrayMetadata that) {
    MetadataBuilder both = new MetadataBuilder().withMetadata(metadata);
    KEYS.forEach(both::remove);
    MetadataBuilder ours = new MetadataBuilder().withMetadata(that.metadata);
    javaKeys(that.metadata).stream().filter(key -> !KEYS.contains(key)).forEach(ours::remove);
    return new ArrayMetadata(both.withMetadata(ours.build()).build());
  }

  /**
   * Metadata of rows that come from several places, as in a union: the facts on which all agree. If
   * they disagree, the extents are {@link #UNKNOWN}, a spectrum and a halo are {@link #MIXED}, and
   * other facts are left out.
   *
   * @param all metadata of each place, at least one; the result has the other keys of the first
   */
  public static ArrayMetadata agreed(List<ArrayMetadata> all) {
    Require.given(all, "ArrayMetadata.agreed", "all");
    ArrayMetadata first = all.get(0);
    MetadataBuilder agreed = new MetadataBuilder().withMetadata(first.metadata);
    for (String key : KEYS) {
      if (!all.stream().allMatch(each -> each.value(key).equals(first.value(key)))) {
        agreed.remove(key);
        if (key.equals(EXTENTS)) {
          agreed.putString(key, UNKNOWN);
        } else if (key.equals(HALO)) {
          agreed.putString(key, MIXED);
        }
      }
    }
    boolean areSpectra = all.stream().anyMatch(each -> each.metadata.contains(SPECTRUM));
    if (areSpectra && !all.stream().allMatch(first::isSameSpectrum)) {
      agreed.putString(SPECTRUM, MIXED);
    }
    return new ArrayMetadata(agreed.build());
  }

  /** The Spark metadata that this object reads. */
  public Metadata toMetadata() {
    return metadata;
  }

  /**
   * Extents of the whole array, if stated.
   *
   * @param rank expected count of axes
   * @throws IllegalArgumentException if the stated text is no shape of this rank; the message names
   *     the key
   */
  public Optional<Shape> extents(int rank) {
    return shape(EXTENTS, rank);
  }

  /**
   * True if the metadata states these extents and this block shape, or neither where one is absent;
   * false for shapes of another rank.
   */
  public boolean states(Optional<Shape> extents, Optional<Shape> blockShape) {
    Require.given(extents, "ArrayMetadata.states", "extents");
    Require.given(blockShape, "ArrayMetadata.states", "blockShape");
    return isStated(EXTENTS, extents) && isStated(BLOCK_SHAPE, blockShape);
  }

  private boolean isStated(String key, Optional<Shape> shape) {
    return text(key).filter(text -> !text.equals(UNKNOWN)).equals(shape.map(Shape::text));
  }

  /** Elements per axis of a full block, if stated; throws as {@link #extents}. */
  public Optional<Shape> blockShape(int rank) {
    return shape(BLOCK_SHAPE, rank);
  }

  /**
   * The letters that the axes had in the original array, in the current order, if stated.
   *
   * @throws IllegalArgumentException if a letter stands twice
   */
  public Optional<String> axes() {
    Optional<String> letters = text(AXES);
    if (letters.isPresent() && letters.get().chars().distinct().count() != letters.get().length()) {
      throw new IllegalArgumentException(
          "Column metadata %s is '%s'; expected each letter once, as in 'yzx'%s"
              .formatted(AXES, letters.get(), DROP_IT));
    }
    return letters;
  }

  /** The file's own element type in numpy's spelling, if stated. */
  public Optional<String> fileType() {
    return text(FILE_TYPE);
  }

  /** The text of the Fourier transforms that made these values, if stated. */
  public Optional<String> spectrum() {
    return text(SPECTRUM);
  }

  /** True if the metadata states that each block covers the whole array along an axis. */
  public boolean isWhole(int axis) {
    return text(WHOLE).filter(text -> text.equals(String.valueOf(axis))).isPresent();
  }

  /**
   * This metadata with the fact that each block covers the whole array along an axis, valid until
   * the blocks are cut again.
   */
  public ArrayMetadata withWhole(int axis) {
    return with(WHOLE, String.valueOf(axis));
  }

  private ArrayMetadata without(String key) {
    return new ArrayMetadata(new MetadataBuilder().withMetadata(metadata).remove(key).build());
  }

  /** The text of the blocks' overlap, which {@link Halo} reads, if stated. */
  Optional<String> halo() {
    return text(HALO);
  }

  /** This metadata with the given halo; without a halo if that is empty. */
  public ArrayMetadata withHalo(Optional<Halo> halo) {
    Require.given(halo, "ArrayMetadata.withHalo", "halo");
    return halo.isPresent() ? with(HALO, halo.get().text()) : without(HALO);
  }

  /** This metadata with the text of other transforms; without transforms if that is empty. */
  public ArrayMetadata withSpectrum(Optional<String> spectrum) {
    Require.given(spectrum, "ArrayMetadata.withSpectrum", "spectrum");
    return spectrum.isPresent() ? with(SPECTRUM, spectrum.get()) : without(SPECTRUM);
  }

  /** This metadata with other extents. */
  public ArrayMetadata withExtents(Shape extents) {
    Require.given(extents, "ArrayMetadata.withExtents", "extents");
    return without(WHOLE).with(EXTENTS, extents.text());
  }

  /**
   * This metadata with unknown extents. The key stays: Spark 4.0 treats an alias's empty metadata
   * as not given, and would use the outdated metadata of the aliased column.
   */
  public ArrayMetadata withoutExtents() {
    return without(WHOLE).with(EXTENTS, UNKNOWN);
  }

  /**
   * This metadata with the extents that a user states, and without our keys that cannot be read.
   * Unknown extents also remove the block shape.
   */
  public ArrayMetadata stating(StatedExtents extents) {
    Require.given(extents, "ArrayMetadata.stating", "extents");
    ArrayMetadata readable = withoutUnreadable();
    return extents
        .shape()
        .map(readable::withExtents)
        .orElseGet(() -> readable.withoutExtents().withoutBlockShape());
  }

  /** This metadata with another full block shape. */
  public ArrayMetadata withBlockShape(Shape blockShape) {
    Require.given(blockShape, "ArrayMetadata.withBlockShape", "blockShape");
    return without(WHOLE).with(BLOCK_SHAPE, blockShape.text());
  }

  /** This metadata without a block shape. */
  public ArrayMetadata withoutBlockShape() {
    return without(BLOCK_SHAPE).without(WHOLE);
  }

  /** This metadata with other axis letters. */
  public ArrayMetadata withAxes(String letters) {
    Require.given(letters, "ArrayMetadata.withAxes", "letters");
    return with(AXES, letters);
  }

  /** This metadata without axis letters. */
  public ArrayMetadata withoutAxes() {
    return without(AXES);
  }

  /** This metadata with another file type. */
  public ArrayMetadata withFileType(String descr) {
    Require.given(descr, "ArrayMetadata.withFileType", "descr");
    return with(FILE_TYPE, descr);
  }

  /**
   * This metadata for computed numbers: a stated file type, which may no longer be able to hold
   * them, is replaced by their own type.
   *
   * @param isComplex true for complex numbers, whose parts are of a floating-point type
   */
  public ArrayMetadata ofComputed(ElementType type, boolean isComplex) {
    Require.given(type, "ArrayMetadata.ofComputed", "type");
    return fileType().isEmpty()
        ? this
        : withFileType(
            switch (type) {
              case INT8 -> "|i1";
              case INT16 -> "<i2";
              case INT32 -> "<i4";
              case INT64 -> "<i8";
              case FLOAT32 -> isComplex ? "<c8" : "<f4";
              case FLOAT64 -> isComplex ? "<c16" : "<f8";
            });
  }

  /** This metadata without those of our keys that cannot be read. */
  public ArrayMetadata withoutUnreadable() {
    MetadataBuilder readable = new MetadataBuilder().withMetadata(metadata);
    for (String key : KEYS) {
      try {
        if (key.equals(AXES)) {
          axes();
        } else {
          text(key);
        }
      } catch (IllegalArgumentException e) {
        readable.remove(key);
      }
    }
    return new ArrayMetadata(readable.build());
  }

  /** The metadata after the axes of the array were reordered by {@code permutation}. */
  public ArrayMetadata permuted(Permutation permutation) {
    Require.given(permutation, "ArrayMetadata.permuted", "permutation");
    int rank = permutation.rank();
    ArrayMetadata out = this;
    Optional<Shape> extents = extents(rank);
    if (extents.isPresent()) {
      out = out.withExtents(permutation.apply(extents.get()));
    }
    Optional<Shape> blockShape = blockShape(rank);
    if (blockShape.isPresent()) {
      out = out.withBlockShape(permutation.apply(blockShape.get()));
    }
    for (int axis = 0; axis < rank; axis++) {
      if (isWhole(permutation.toArray()[axis])) {
        out = out.withWhole(axis);
        break;
      }
    }
    Optional<String> axes = axes();
    if (axes.isPresent() && axes.get().length() == rank) {
      StringBuilder letters = new StringBuilder();
      for (int axis : permutation.toArray()) {
        letters.append(axes.get().charAt(axis));
      }
      out = out.withAxes(letters.toString());
    }
    return out;
  }

  /** The metadata after a reshape of the array, without axis letters and transforms. */
  public ArrayMetadata reshaped(Shape extents, Shape blockShape) {
    Require.given(extents, "ArrayMetadata.reshaped", "extents");
    Require.given(blockShape, "ArrayMetadata.reshaped", "blockShape");
    return without(AXES).without(SPECTRUM).withExtents(extents).withBlockShape(blockShape);
  }

  private Optional<Shape> shape(String key, int rank) {
    return text(key)
        .filter(text -> !text.equals(UNKNOWN))
        .map(text -> Shape.parse("Column metadata " + key, text, rank));
  }

  private Optional<String> text(String key) {
    if (!metadata.contains(key)) {
      return Optional.empty();
    }
    Object value = metadata.map().apply(key);
    if (value instanceof String text) {
      return Optional.of(text);
    }
    String found =
        value == null
            ? "null"
            : value.getClass().isArray()
                ? "an array"
                : value.getClass().getSimpleName() + " " + value;
    throw new IllegalArgumentException(
        "Column metadata " + key + " is " + found + "; expected a string" + DROP_IT);
  }

  private Optional<Object> value(String key) {
    return metadata.contains(key)
        ? Optional.ofNullable(metadata.map().apply(key))
        : Optional.empty();
  }

  private static Set<String> javaKeys(Metadata metadata) {
    return ScalaInterop.javaMap(metadata.map()).keySet();
  }

  private ArrayMetadata with(String key, String value) {
    return new ArrayMetadata(
        new MetadataBuilder().withMetadata(metadata).putString(key, value).build());
  }
}
