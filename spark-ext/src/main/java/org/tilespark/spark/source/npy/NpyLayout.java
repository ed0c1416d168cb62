package org.tilespark.spark.source.npy;

import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.types.MetadataBuilder;
import org.tilespark.kernels.transpose.Transposer;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.source.BlockGrid;
import org.tilespark.spark.source.BlockReader;
import org.tilespark.spark.source.BlockSource;
import org.tilespark.spark.source.StorePaths;
import org.tilespark.spark.source.StoredInput;

/**
 * The layout of one file's blocks and columns; all facts that a task needs. Immutable.
 *
 * @param path the file, with scheme and authority
 * @param header header of the file
 * @param modificationMillis time of the file's last write, by which a changed file is detected
 * @param columnType element type of the columns
 * @param grid the tiling by blocks
 */
record NpyLayout(
    String path, NpyHeader header, long modificationMillis, ElementType columnType, BlockGrid grid)
    implements BlockSource {
  /** The key of the column metadata of a file's shape, if it has more than three axes. */
  private static final String SHAPE = "npy.shape";

  /**
   * The layout that the options ask for.
   *
   * @throws IllegalArgumentException if {@code blockShape} does not fit the file
   */
  static NpyLayout of(NpyFile file, NpyOptions options) {
    NpyHeader header = file.header();
    ElementType columnType = options.as().orElse(header.type().columnType());
    BlockGrid grid =
        BlockGrid.of(
            options.blockShape(),
            header.blockShape(),
            columnType,
            header.type().parts(),
            header.fortranOrder());
    return new NpyLayout(
        file.path().toString(), header, file.modificationMillis(), columnType, grid);
  }

  /**
   * The file in other blocks; empty if contiguous runs would be shorter, since each run is a system
   * call.
   */
  @Override
  public Optional<BlockSource> inBlocks(Shape shape) {
    return grid.inBlocks(shape)
        .filter(blocks -> blocks.runElements() >= grid.runElements())
        .map(blocks -> new NpyLayout(path, header, modificationMillis, columnType, blocks));
  }

  /** True if the file was not written since this layout was made. */
  boolean isOfItsTime(Configuration conf) throws IOException {
    Path file = new Path(path);
    FileStatus status = StorePaths.fileSystem(file, conf).getFileStatus(file);
    return status.getModificationTime() == modificationMillis;
  }

  @Override
  public String format() {
    return NpyDataSource.FORMAT;
  }

  @Override
  public String description() {
    return header.type().numpyName()
        + Arrays.toString(grid.extents())
        + (header.fortranOrder() ? " Fortran order" : "");
  }

  @Override
  public int storedBytes() {
    return header.type().elementBytes();
  }

  /** The range from the box's first element to its last. */
  @Override
  public List<Chunk> chunks(long[] offset, long[] size) {
    long[] last = new long[offset.length];
    for (int axis = 0; axis < last.length; axis++) {
      last[axis] = offset[axis] + size[axis] - 1;
    }
    long start = fileOffset(offset);
    return List.of(new Chunk(path, start, fileOffset(last) + storedBytes() - start));
  }

  private long fileOffset(long[] place) {
    long[] extents = grid.extents();
    long element = 0;
    for (int i = 0; i < place.length; i++) {
      int axis = header.fortranOrder() ? place.length - 1 - i : i;
      element = element * extents[axis] + place[axis];
    }
    return header.dataOffset() + element * storedBytes();
  }

  @Override
  public BlockReader open(Configuration conf, BufferAllocator allocator, Transposer transposer)
      throws IOException {
    StoredInput input = StoredInput.open(new Path(path), conf, StoredInput.Use.PARTS);
    return new NpyBlockReader(input, this, conf, allocator, transposer);
  }

  /** Count of value columns: 2 for complex files, else 1. */
  int parts() {
    return header.type().parts();
  }

  @Override
  public boolean isComplex() {
    return header.type().isComplex();
  }

  @Override
  public ArrayMetadata metadata() {
    // Converted values no longer have the file's own type, and must not be written back as that
    // type.
    NpyType type = header.type();
    NpyType known =
        columnType == type.columnType() ? type : NpyType.ofColumn(columnType, type.isComplex());
    MetadataBuilder ofFile = new MetadataBuilder();
    if (header.shape().rank() > grid.rank()) {
      ofFile.putString(SHAPE, header.shape().text());
    }
    return ArrayMetadata.of(ofFile.build())
        .withExtents(Shape.of(grid.extents()))
        .withBlockShape(Shape.of(grid.blockShape()))
        .withAxes("xyz".substring(0, grid.rank()))
        .withFileType(known.descr());
  }
}
