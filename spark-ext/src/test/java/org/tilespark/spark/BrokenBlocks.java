package org.tilespark.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.fourier.Spectrum;
import org.tilespark.spark.options.Norm;
import org.tilespark.spark.options.Shift;
import org.tilespark.spark.testing.SpreadRows;

/**
 * Blocks of an array of 12 elements along each axis, of which one (the victim) or two are broken in
 * one way. Values are random whole numbers, so sums of them are exact.
 *
 * @param victim the block that a message must name: its place as the broken frame has it, or null
 *     where none has it, as where blocks are missing
 */
record BrokenBlocks(Content content, Defect defect, List<Row> blocks, String victim) {
  static final int EXTENT = 12;

  /**
   * The contents of blocks.
   *
   * @param isSpectrum true for complex blocks whose column metadata says what transform made them
   */
  record Content(BlockKind kind, ElementType type, boolean isSpectrum) {
    @Override
    public String toString() {
      return kind.label() + " " + type + (isSpectrum ? " spectrum" : "");
    }
  }

  /** Cells of a block's row: places, sizes, values. */
  private interface Breaker {
    /** Breaks {@code blocks.get(victim)}; may add and remove blocks. Returns what to name. */
    Object[] apply(List<Object[]> blocks, int victim, int rank, Random random);
  }

  /** Visibility of a defect: in one row, or only at all places together. */
  enum Visible {
    IN_ONE_ROW,
    IN_ALL_PLACES
  }

  /** One way to be wrong. */
  enum Defect {
    VALUES_TOO_SHORT(Visible.IN_ONE_ROW, (b, v, rank, random) -> resized(b.get(v), rank, -1)),
    VALUES_TOO_LONG(Visible.IN_ONE_ROW, (b, v, rank, random) -> resized(b.get(v), rank, 1)),
    VALUES_EMPTY(
        Visible.IN_ONE_ROW, (b, v, rank, random) -> set(b.get(v), 2 * rank, new ArrayList<>())),
    VALUES_NULL(Visible.IN_ONE_ROW, (b, v, rank, random) -> set(b.get(v), 2 * rank, null)),
    ELEMENT_NULL(
        Visible.IN_ONE_ROW,
        (b, v, rank, random) -> {
          List<Object> values = values(b.get(v), rank);
          values.set(random.nextInt(values.size()), null);
          return b.get(v);
        }),
    PLACE_NULL(
        Visible.IN_ONE_ROW, (b, v, rank, random) -> set(b.get(v), random.nextInt(rank), null)),
    SIZE_NULL(
        Visible.IN_ONE_ROW,
        (b, v, rank, random) -> set(b.get(v), rank + random.nextInt(rank), null)),
    SIZE_ZERO(
        Visible.IN_ONE_ROW, (b, v, rank, random) -> set(b.get(v), rank + random.nextInt(rank), 0)),
    SIZE_ZERO_AND_EMPTY(
        Visible.IN_ONE_ROW,
        (b, v, rank, random) -> {
          set(b.get(v), 2 * rank, new ArrayList<>());
          return set(b.get(v), rank + random.nextInt(rank), 0);
        }),
    SIZE_NEGATIVE(
        Visible.IN_ONE_ROW,
        (b, v, rank, random) -> {
          int axis = rank + random.nextInt(rank);
          return set(b.get(v), axis, -(int) b.get(v)[axis]);
        }),
    SIZES_BOTH_NEGATIVE(
        Visible.IN_ONE_ROW,
        (b, v, rank, random) -> {
          set(b.get(v), rank, -(int) b.get(v)[rank]);
          return set(b.get(v), rank + 1, -(int) b.get(v)[rank + 1]);
        }),
    SIZE_SMALLEST(
        Visible.IN_ONE_ROW,
        (b, v, rank, random) -> set(b.get(v), rank + random.nextInt(rank), Integer.MIN_VALUE)),
    SIZES_LARGEST(
        Visible.IN_ONE_ROW,
        (b, v, rank, random) -> {
          for (int axis = 0; axis < rank; axis++) {
            set(b.get(v), rank + axis, Integer.MAX_VALUE);
          }
          return b.get(v);
        }),
    SIZES_OVERFLOW_TO_EMPTY(
        Visible.IN_ONE_ROW,
        (b, v, rank, random) -> {
          for (int axis = 0; axis < rank; axis++) { // 2^32 elements are 0 in an int
            set(b.get(v), rank + axis, axis < 2 ? 1 << 16 : 1);
          }
          return set(b.get(v), 2 * rank, new ArrayList<>());
        }),
    SIZES_OVERFLOW_TO_LENGTH(
        Visible.IN_ONE_ROW,
        (b, v, rank, random) -> {
          for (int axis = 0; axis < rank; axis++) { // 2^32 + 2^16 elements are 2^16 in an int
            set(b.get(v), rank + axis, axis == 0 ? (1 << 16) + 1 : axis == 1 ? 1 << 16 : 1);
          }
          return set(
              b.get(v), 2 * rank, new ArrayList<>(Collections.nCopies(1 << 16, first(b, rank))));
        }),
    PLACE_NEGATIVE(
        Visible.IN_ONE_ROW,
        (b, v, rank, random) -> set(b.get(v), random.nextInt(rank), -1L - random.nextInt(12))),
    PLACE_SMALLEST(
        Visible.IN_ONE_ROW,
        (b, v, rank, random) -> set(b.get(v), random.nextInt(rank), Long.MIN_VALUE)),
    PLACE_OVERFLOWS(
        Visible.IN_ONE_ROW,
        (b, v, rank, random) ->
            set(b.get(v), random.nextInt(rank), Long.MAX_VALUE - random.nextInt(2))),
    BLOCK_MISSING(
        Visible.IN_ALL_PLACES,
        (b, v, rank, random) -> {
          b.remove(v);
          return null;
        }),
    BLOCK_TWICE(
        Visible.IN_ALL_PLACES,
        (b, v, rank, random) -> {
          b.add(copy(b.get(v), rank));
          return null;
        }),
    BLOCKS_OVERLAP(
        Visible.IN_ALL_PLACES,
        (b, v, rank, random) -> {
          Object[] shifted = copy(b.get(v), rank);
          for (int axis = 0; axis < rank; axis++) { // toward the middle, so that it stays inside
            set(shifted, axis, (long) shifted[axis] + ((long) shifted[axis] == 0 ? 1 : -1));
          }
          b.add(shifted);
          return null;
        }),
    BLOCK_MOVED(
        Visible.IN_ALL_PLACES,
        (b, v, rank, random) -> {
          int axis = random.nextInt(rank);
          long place = (long) b.get(v)[axis];
          set(b.get(v), axis, place == 0 ? 1L : place - 1);
          return null;
        }),
    BLOCK_SHRUNK(
        Visible.IN_ALL_PLACES,
        (b, v, rank, random) -> {
          set(b.get(v), rank, (int) b.get(v)[rank] - 1);
          List<Object> values = values(b.get(v), rank);
          long length = 1;
          for (int axis = 0; axis < rank; axis++) {
            length *= (int) b.get(v)[rank + axis];
          }
          values.subList((int) length, values.size()).clear();
          return null;
        }),
    /** A hole of more elements than anybody can list, where no extents are stated. */
    BLOCK_FAR_OUT(
        Visible.IN_ALL_PLACES,
        (b, v, rank, random) -> {
          set(b.get(v), random.nextInt(rank), 1L << (40 + random.nextInt(22)));
          return null;
        });

    final Visible visible;
    private final Breaker breaker;

    Defect(Visible visible, Breaker breaker) {
      this.visible = visible;
      this.breaker = breaker;
    }

    private static Object[] set(Object[] block, int cell, Object value) {
      block[cell] = value;
      return block;
    }

    private static Object first(List<Object[]> blocks, int rank) {
      return values(blocks.get(0), rank).get(0);
    }

    @SuppressWarnings("unchecked")
    private static List<Object> values(Object[] block, int rank) {
      return (List<Object>) block[2 * rank];
    }

    private static Object[] copy(Object[] block, int rank) {
      Object[] copy = block.clone();
      copy[2 * rank] = new ArrayList<>(values(block, rank));
      return copy;
    }

    private static Object[] resized(Object[] block, int rank, int more) {
      List<Object> values = values(block, rank);
      if (more < 0) {
        values.remove(values.size() - 1);
      } else {
        values.add(values.get(0));
      }
      return block;
    }
  }

  /** Defects in the values alone: of a complex block they may be in either part. */
  private static final Set<Defect> IN_ONE_PART =
      EnumSet.of(
          Defect.VALUES_TOO_SHORT,
          Defect.VALUES_TOO_LONG,
          Defect.VALUES_EMPTY,
          Defect.VALUES_NULL,
          Defect.ELEMENT_NULL);

  /** The blocks without a defect. */
  static List<Row> good(Content content, Random random) {
    return rows(content, goodCells(content, random), null, random);
  }

  /** Breaks one block in the way of {@code defect}. */
  static BrokenBlocks of(Content content, Defect defect, Random random) {
    BlockKind kind = content.kind();
    int rank = kind.rank();
    List<Object[]> blocks = goodCells(content, random);
    Object[] victim = defect.breaker.apply(blocks, random.nextInt(blocks.size()), rank, random);
    String name = null;
    if (victim != null) {
      boolean named = Arrays.stream(victim, 0, rank).noneMatch(place -> place == null);
      name =
          named
              ? kind.describe(
                  IntStream.range(0, rank).mapToLong(axis -> (long) victim[axis]).toArray())
              : "null " + nullPlace(kind, victim);
    }
    Collections.shuffle(blocks, random);
    Object[] inOnePart = IN_ONE_PART.contains(defect) ? victim : null;
    return new BrokenBlocks(content, defect, rows(content, blocks, inOnePart, random), name);
  }

  /**
   * Rows of blocks; the imaginary part of a spectrum's block is as good or bad as its real part.
   *
   * @param inOnePart the block of which one of the two is good; null if there is none
   */
  private static List<Row> rows(
      Content content, List<Object[]> blocks, Object[] inOnePart, Random random) {
    int rank = content.kind().rank();
    List<Row> rows = new ArrayList<>();
    for (Object[] block : blocks) {
      Object[] cells = Arrays.copyOf(block, content.isSpectrum() ? block.length + 1 : block.length);
      if (content.isSpectrum()) {
        cells[2 * rank + 1] = cells[2 * rank];
        if (block == inOnePart) {
          int length =
              IntStream.range(rank, 2 * rank)
                  .map(size -> (int) block[size])
                  .reduce(1, Math::multiplyExact);
          cells[2 * rank + random.nextInt(2)] =
              Collections.nCopies(length, number(content.type(), 0));
        }
      }
      rows.add(RowFactory.create(cells));
    }
    return rows;
  }

  private static String nullPlace(BlockKind kind, Object[] victim) {
    int axis = 0;
    while (victim[axis] != null) {
      axis++;
    }
    return kind.offsetColumns().get(axis);
  }

  /** Blocks cut at 5 along the first axis and at 6 along the others. */
  private static List<Object[]> goodCells(Content content, Random random) {
    int rank = content.kind().rank();
    List<Object[]> blocks = new ArrayList<>();
    for (int index = 0; index < 1 << rank; index++) {
      Object[] cells = new Object[2 * rank + 1];
      int length = 1;
      for (int axis = 0; axis < rank; axis++) {
        int cut = axis == 0 ? 5 : 6;
        boolean second = (index >> axis & 1) == 1;
        cells[axis] = second ? (long) cut : 0L;
        int size = second ? EXTENT - cut : cut;
        cells[rank + axis] = size;
        length *= size;
      }
      List<Object> values = new ArrayList<>(length);
      for (int i = 0; i < length; i++) {
        values.add(number(content.type(), random.nextInt(19) - 9));
      }
      cells[2 * rank] = values;
      blocks.add(cells);
    }
    return blocks;
  }

  private static Object number(ElementType type, int value) {
    return switch (type) {
      case FLOAT32 -> (Object) (float) value;
      case FLOAT64 -> (Object) (double) value;
      case INT8 -> (Object) (byte) value;
      case INT16 -> (Object) (short) value;
      case INT32 -> (Object) value;
      case INT64 -> (Object) (long) value;
    };
  }

  private static StructType schema(Content content, boolean stated) {
    StructType schema = new StructType();
    for (String name : content.kind().offsetColumns()) {
      schema = schema.add(name, DataTypes.LongType);
    }
    for (String name : content.kind().sizeColumns()) {
      schema = schema.add(name, DataTypes.IntegerType);
    }
    ArrayMetadata metadata = ArrayMetadata.empty();
    if (stated) {
      long[] extents = new long[content.kind().rank()];
      Arrays.fill(extents, EXTENT);
      metadata = metadata.withExtents(Shape.of(extents));
    }
    if (content.isSpectrum()) {
      Spectrum spectrum =
          new Spectrum(
              "xyz",
              false,
              EXTENT,
              Norm.BACKWARD,
              Shift.NONE,
              List.of(1.0, 1.0, 1.0),
              "xyz",
              "xyz");
      metadata = metadata.withSpectrum(Optional.of(spectrum.after(Optional.empty())));
    }
    DataType values = DataTypes.createArrayType(BlockSchema.sparkType(content.type()), true);
    schema = schema.add(BlockKind.VALUES, values, true, metadata.toMetadata());
    return content.isSpectrum() ? schema.add(BlockKind.IMAG, values) : schema;
  }

  static Dataset<Row> frame(SparkSession spark, Content content, List<Row> blocks, boolean stated) {
    return SpreadRows.of(spark, blocks, schema(content, stated), 2);
  }

  /** The broken blocks as a DataFrame, with the right extents stated or none. */
  Dataset<Row> frame(SparkSession spark, boolean stated) {
    return frame(spark, content, blocks, stated);
  }

  @Override
  public String toString() {
    return content + " " + defect.name().toLowerCase(Locale.ROOT);
  }
}
