package org.tilespark.spark.source;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayAxes;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;

/**
 * The columns of a DataFrame that is written as one array: those of its blocks, and for each
 * leading axis one further column of whole numbers. Immutable.
 *
 * @param schema the blocks' columns
 * @param axes the axes of the array
 * @param leading the columns of leading axes
 * @param metadata metadata of the column {@code values}
 * @param extents extents of the array, if the columns' metadata state all of them
 */
public record WrittenBlocks(
    BlockSchema schema,
    ArrayAxes axes,
    List<Place> leading,
    ArrayMetadata metadata,
    Optional<Shape> extents) {
  private static final List<DataType> WHOLE =
      List.of(DataTypes.LongType, DataTypes.IntegerType, DataTypes.ShortType, DataTypes.ByteType);

  /** Copies the list. */
  public WrittenBlocks {
    leading = List.copyOf(leading);
  }

  /**
   * Finds the columns.
   *
   * @throws IllegalArgumentException if they are not those of blocks, or a further column cannot be
   *     an axis
   */
  public static WrittenBlocks of(StructType columns, BlockFormat format) {
    String who = "format " + format.name();
    BlockSchema schema = BlockSchema.find(columns, kind(columns, who), who);
    schema.requireNoHalo(who);
    List<Integer> further = schema.further(IntStream.range(0, columns.length()).boxed().toList());
    List<String> names = further.stream().map(at -> columns.fields()[at].name()).toList();
    for (int at : further) {
      if (!WHOLE.contains(columns.fields()[at].dataType())) {
        throw new IllegalArgumentException(
            ("%s: further columns %s; %s, expected (%s) and, for more axes, columns of whole numbers"
                    + " only. Filter one array and drop them: df.drop(\"%s\")")
                .formatted(
                    who,
                    names,
                    format.holds(),
                    schema.kind().columnsText(),
                    String.join("\", \"", names)));
      }
    }
    ArrayMetadata metadata = ArrayMetadata.of(columns.fields()[schema.values()].metadata());
    return new WrittenBlocks(
        schema,
        new ArrayAxes(names, schema.kind()),
        further.stream().map(at -> new Place(at, columns.fields()[at].dataType())).toList(),
        metadata,
        extents(columns, further, metadata, schema.kind()));
  }

  private static Optional<Shape> extents(
      StructType columns, List<Integer> leading, ArrayMetadata metadata, BlockKind kind) {
    List<Long> extents = new ArrayList<>();
    for (int at : leading) {
      StructField field = columns.fields()[at];
      if (!field.metadata().contains(ArrayAxes.EXTENT)) {
        return Optional.empty();
      }
      extents.add(field.metadata().getLong(ArrayAxes.EXTENT));
    }
    return metadata
        .extents(kind.rank())
        .map(
            own -> {
              Arrays.stream(own.toArray()).forEach(extents::add);
              return Shape.of(extents.stream().mapToLong(Long::longValue).toArray());
            });
  }

  private static BlockKind kind(StructType columns, String who) {
    boolean matrix = hasPlaces(columns, BlockKind.MATRIX);
    boolean volume = hasPlaces(columns, BlockKind.VOLUME);
    if (matrix == volume) {
      throw new IllegalArgumentException(
          "%s: found columns %s%s; expected matrix blocks (%s) or volume blocks (%s)"
              .formatted(
                  who,
                  Arrays.toString(columns.fieldNames()),
                  matrix ? ", blocks of a matrix and of a volume at once" : ", no blocks",
                  BlockKind.MATRIX.columnsText(),
                  BlockKind.VOLUME.columnsText()));
    }
    return matrix ? BlockKind.MATRIX : BlockKind.VOLUME;
  }

  private static boolean hasPlaces(StructType columns, BlockKind kind) {
    for (StructField field : columns.fields()) {
      String name = field.name().toLowerCase(Locale.ROOT);
      if (kind.offsetColumns().contains(name) || kind.sizeColumns().contains(name)) {
        return true;
      }
    }
    return false;
  }

  /** The kind of the blocks. */
  public BlockKind kind() {
    return schema.kind();
  }

  /** Count of the array's axes. */
  public int rank() {
    return axes.rank();
  }

  /** A column of whole numbers in a row. */
  record Place(int ordinal, DataType type) implements Serializable {
    long in(InternalRow row) {
      return ((Number) row.get(ordinal, type)).longValue();
    }
  }
}
