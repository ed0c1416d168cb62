package org.tilespark.spark.source.npy;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.source.BlockGrid;

/**
 * Where the blocks of one file lie in it and what columns they become; all that a task must know.
 * Immutable.
 *
 * @param path the file, with scheme and authority
 * @param type element type of the file
 * @param bigEndian byte order of the file
 * @param fortranOrder true if the file's first axis is the contiguous one
 * @param dataOffset bytes before the data
 * @param modificationMillis the file's, so that layouts of a rewritten file differ
 * @param columnType element type of the columns
 * @param grid the tiling
 */
record NpyLayout(
    String path,
    NpyType type,
    boolean bigEndian,
    boolean fortranOrder,
    long dataOffset,
    long modificationMillis,
    ElementType columnType,
    BlockGrid grid)
    implements Serializable {
  private static final long serialVersionUID = 1;

  /**
   * The layout that the options ask for.
   *
   * @throws IllegalArgumentException if {@code blockShape} does not fit the file
   */
  static NpyLayout of(NpyFile file, NpyOptions options) {
    NpyHeader header = file.header();
    ElementType columnType = options.as() == null ? header.type().columnType() : options.as();
    BlockGrid grid =
        BlockGrid.of(
            options.blockShape(),
            header.shape(),
            columnType,
            header.type().parts(),
            header.fortranOrder());
    return new NpyLayout(
        file.path().toString(),
        header.type(),
        header.bigEndian(),
        header.fortranOrder(),
        header.dataOffset(),
        file.modificationMillis(),
        columnType,
        grid);
  }

  /** True if a file with this header lies as this layout says. */
  boolean isOf(NpyHeader header) {
    return header.type() == type
        && header.bigEndian() == bigEndian
        && header.fortranOrder() == fortranOrder
        && header.dataOffset() == dataOffset
        && header.shape().equals(Shape.of(grid.extents()));
  }

  BlockKind kind() {
    return NpyFile.kind(grid.rank());
  }

  /** Value columns: 2 for complex files, else 1. */
  int parts() {
    return type.parts();
  }

  /** The blocks' columns; {@code values} says in its metadata what is known of the whole array. */
  StructType schema() {
    List<StructField> fields = new ArrayList<>();
    for (String name : kind().offsetColumns()) {
      fields.add(new StructField(name, DataTypes.LongType, false, Metadata.empty()));
    }
    for (String name : kind().sizeColumns()) {
      fields.add(new StructField(name, DataTypes.IntegerType, false, Metadata.empty()));
    }
    var arrays = DataTypes.createArrayType(BlockSchema.sparkType(columnType), false);
    // Converted values no longer are of the file's own type, and are not to be written back as
    // such.
    NpyType known =
        columnType == type.columnType() ? type : NpyType.ofColumn(columnType, type.isComplex());
    Metadata metadata =
        ArrayMetadata.empty()
            .withExtents(Shape.of(grid.extents()))
            .withBlockShape(Shape.of(grid.blockShape()))
            .withAxes("xyz".substring(0, grid.rank()))
            .withFileType(known.descr())
            .toMetadata();
    fields.add(new StructField(BlockKind.VALUES, arrays, false, metadata));
    if (type.isComplex()) {
      fields.add(new StructField(BlockKind.IMAG, arrays, false, Metadata.empty()));
    }
    return new StructType(fields.toArray(new StructField[0]));
  }
}
