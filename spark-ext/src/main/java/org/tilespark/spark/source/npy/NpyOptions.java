package org.tilespark.spark.source.npy;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.source.AxisLabels;
import org.tilespark.spark.source.BlockFormat;
import org.tilespark.spark.source.BlockSource;
import org.tilespark.spark.source.FormatOptions;
import org.tilespark.spark.source.PosixTarget;
import org.tilespark.spark.source.contiguous.ContiguousSource;
import org.tilespark.spark.source.contiguous.StoredFile;

/**
 * The options of {@code format("npy")}; names are matched without regard to case.
 *
 * <table>
 *   <caption>Options</caption>
 *   <tr><td>{@code path}</td><td>reading, writing</td><td>the one .npy file</td></tr>
 *   <tr><td>{@code blockShape}</td><td>reading</td><td>elements per axis of a block,
 *     {@code "2048,2048"}; by default blocks have at most 8 MiB, in a volume of more than 256 MiB
 *     at most a 32nd of it and 32 MiB</td></tr>
 *   <tr><td>{@code as}</td><td>reading</td><td>{@code float} or {@code double}: converts the values
 *     (of complex files: both parts) while reading</td></tr>
 *   <tr><td>{@code dtype}</td><td>writing</td><td>the file's type, {@code "float32"} or
 *     {@code "<f4"}; by default the type of the file that was read, else the column's</td></tr>
 *   <tr><td>{@code extents}</td><td>writing</td><td>extents of the whole array,
 *     {@code "10000,784"}; by default the column metadata's, else found in the blocks</td></tr>
 *   <tr><td>{@code durable}</td><td>writing</td><td>{@code true} (default): when the write returns,
 *     the file is on the disk; {@code false}: it may still be in the system's cache, and is lost if
 *     the machine stops</td></tr>
 * </table>
 *
 * @param path the file, as the user wrote it
 * @param blockShape elements along each axis of a block, if given
 * @param as the type to which values are converted while reading, if given
 * @param dtype the type of the file that is written, if given
 * @param extents extents of the array that is written, if given
 * @param durable true if a write waits until the file is on the disk
 */
public record NpyOptions(
    String path,
    Optional<String> blockShape,
    Optional<ElementType> as,
    Optional<NpyType> dtype,
    Optional<String> extents,
    boolean durable)
    implements BlockFormat {
  static final String PATH = FormatOptions.PATH;
  static final String DTYPE = FormatOptions.DTYPE;
  static final String DURABLE = "durable";

  private static final List<String> NAMES = List.of(PATH, BLOCK_SHAPE, AS, DTYPE, EXTENTS, DURABLE);

  /**
   * Reads the options.
   *
   * @param options a user's options, or the properties of a catalog's table, which include them
   * @throws IllegalArgumentException if there is not exactly one path, or an option or a value is
   *     unknown
   */
  static NpyOptions of(CaseInsensitiveStringMap options) {
    FormatOptions given = new FormatOptions(NpyDataSource.FORMAT, "file", NAMES, options);
    return new NpyOptions(
        given.path(),
        given.given(BLOCK_SHAPE),
        given.as(),
        given.given(DTYPE).map(text -> NpyType.parse("Option " + DTYPE, text)),
        given.given(EXTENTS),
        given.given(DURABLE).map(NpyOptions::durable).orElse(true));
  }

  @Override
  public NpyOptions overriddenBy(CaseInsensitiveStringMap query) {
    NpyOptions asked = of(FormatOptions.ofQuery(query, this));
    return new NpyOptions(
        path,
        asked.blockShape,
        asked.as,
        asked.dtype.or(() -> dtype),
        asked.extents.or(() -> extents),
        asked.durable && durable);
  }

  @Override
  public String name() {
    return NpyDataSource.FORMAT;
  }

  @Override
  public String holds() {
    return "a .npy file holds one array";
  }

  @Override
  public Map<String, Object> readOptions() {
    return FormatOptions.reading(blockShape, as);
  }

  @Override
  public Optional<BlockSource> source(Configuration conf) {
    return StoredFile.find(path, name(), conf, NpyFile::read)
        .map(
            found ->
                ContiguousSource.of(
                    name(), found.file(), found.array(), AxisLabels.NONE, blockShape, as));
  }

  @Override
  public NpySink sink(Configuration conf) {
    return new NpySink(this, PosixTarget.of(path, name(), conf));
  }

  @Override
  public void requireReadBack(BlockSchema blocks, ArrayMetadata metadata) {
    FormatOptions.requireReadBack(fileType(blocks, metadata), as, blocks);
  }

  private static boolean durable(String text) {
    if (text.trim().equalsIgnoreCase("true")) {
      return true;
    }
    if (text.trim().equalsIgnoreCase("false")) {
      return false;
    }
    throw new IllegalArgumentException(
        "Option " + DURABLE + " is '" + text + "'; expected 'true' or 'false'");
  }

  /**
   * The type of the file that blocks are written to.
   *
   * @param metadata metadata of the column {@code values}
   * @throws IllegalArgumentException as {@link NpyType#ofBlocks}
   */
  NpyType fileType(BlockSchema blocks, ArrayMetadata metadata) {
    return NpyType.ofBlocks(blocks, metadata, dtype, "Option " + DTYPE);
  }

  /** The option {@code extents} as a shape, if it is given. */
  Optional<Shape> extents(int rank) {
    return extents.map(text -> Shape.parse("Option " + EXTENTS, text, rank));
  }
}
