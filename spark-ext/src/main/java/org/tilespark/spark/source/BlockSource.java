package org.tilespark.spark.source;

import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.tilespark.kernels.transpose.Transposer;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayAxes;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.numpy.NpyType;

/**
 * One stored array as the driver found it, in any format: its blocks, the places of their bytes,
 * and their reader. Scan, pruning, filters and assignment to tasks are common to all formats
 * ({@link SourceScan}).
 *
 * <p>Immutable and serializable. Two sources of the same unchanged array that read in the same way
 * are equal: so Spark recognises cached DataFrames and reads shared parts of a query once.
 */
public interface BlockSource extends Serializable {
  /** The name that users give to {@code format(...)}. */
  String format();

  /** The path of the array, with scheme and authority. */
  String path();

  /** Type and extents of the stored array, for EXPLAIN: {@code "float32[30, 40]"}. */
  String description();

  /** The tiling of the array by blocks. */
  BlockGrid grid();

  /**
   * A source of this array in other blocks.
   *
   * @param shape elements along each axis of a block, clipped to the extents; without leading axes
   * @return empty if that is slower to read, for example because blocks would cut stored chunks
   */
  default Optional<BlockSource> inBlocks(Shape shape) {
    return Optional.empty();
  }

  /** Names and distances of the axes of {@link #grid}. */
  AxisLabels labels();

  /**
   * The axes of {@link #grid} and their columns: those of a matrix or a volume, after leading axes
   * if there are more than three.
   */
  default ArrayAxes axes() {
    List<String> names = labels().names();
    return ArrayAxes.ofStored(names.isEmpty() ? Collections.nCopies(grid().rank(), "") : names);
  }

  /** Type of the stored numbers. */
  NpyType storedType();

  /** Type of the elements in the value columns. */
  ElementType columnType();

  /** Bytes of an element as it is stored, both parts of a complex number together. */
  default int storedBytes() {
    return storedType().elementBytes();
  }

  /** True if the value columns are {@code values} and {@code imag}. */
  default boolean isComplex() {
    return storedType().isComplex();
  }

  /**
   * Metadata of the column {@code values}: known facts of the whole array, or of each matrix or
   * volume where there are leading axes.
   */
  default ArrayMetadata metadata() {
    // Converted values no longer have the stored type, and must not be written back as that type.
    NpyType known =
        columnType() == storedType().columnType()
            ? storedType()
            : NpyType.ofColumn(columnType(), isComplex());
    return ArrayMetadata.of(labels().metadata(grid().extents()))
        .withExtents(Shape.of(axes().own(grid().extents())))
        .withBlockShape(Shape.of(axes().own(grid().blockShape())))
        .withAxes("xyz".substring(0, axes().kind().rank()))
        .withFileType(known.descr());
  }

  /** The blocks' columns, after those of leading axes. */
  default StructType schema() {
    List<StructField> fields = new ArrayList<>();
    ArrayAxes axes = axes();
    for (int axis = 0; axis < axes.rank(); axis++) {
      Metadata facts =
          axis < axes.leading().size()
              ? new MetadataBuilder().putLong(ArrayAxes.EXTENT, grid().extents()[axis]).build()
              : Metadata.empty();
      String name = axes.offsetColumns().get(axis);
      fields.add(new StructField(name, DataTypes.LongType, false, facts));
    }
    for (String name : axes.kind().sizeColumns()) {
      fields.add(new StructField(name, DataTypes.IntegerType, false, Metadata.empty()));
    }
    var arrays = DataTypes.createArrayType(BlockSchema.sparkType(columnType()), false);
    fields.add(new StructField(BlockKind.VALUES, arrays, false, metadata().toMetadata()));
    if (isComplex()) {
      fields.add(new StructField(BlockKind.IMAG, arrays, false, Metadata.empty()));
    }
    return new StructType(fields.toArray(new StructField[0]));
  }

  /**
   * The stretches of stored objects that hold a box of the array, in order, or only the first and
   * the last one, so that Spark can find the machines that store them; empty if unknown.
   *
   * @param offset place of the box's first element
   * @param size extents of the box, none of them 0
   */
  List<Chunk> chunks(long[] offset, long[] size);

  /**
   * Opens the array for the blocks of one task. Runs on an executor.
   *
   * @param allocator allocator of scratch memory; borrowed
   * @param transposer transposer of blocks that are stored in another order; borrowed
   * @throws java.nio.file.NoSuchFileException or java.io.FileNotFoundException if the array does
   *     not exist
   */
  BlockReader open(Configuration conf, BufferAllocator allocator, Transposer transposer)
      throws IOException;

  /**
   * A stretch of a stored object.
   *
   * @param object path of the file, with scheme and authority
   * @param offset offset of the stretch's first byte in the object
   * @param bytes number of the stretch's bytes
   */
  record Chunk(String object, long offset, long bytes) {}
}
