package org.tilespark.spark.source;

import java.util.Map;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockSchema;

/**
 * A format with the options of one use. Each format's package implements it, with a {@link
 * BlockSource}, a {@link BlockSink} and a {@link BlockDataSource} that registers it. Immutable;
 * equal for equal options.
 */
public interface BlockFormat {
  /** The option for the shape of the blocks into which a stored array is cut. */
  String BLOCK_SHAPE = BlockGrid.BLOCK_SHAPE;

  /** The option that converts values while reading. */
  String AS = "as";

  /** The option that states the extents of an array that is written. */
  String EXTENTS = "extents";

  /** The name that users give to {@code format(...)}. */
  String name();

  /** The content of one path, for messages: {@code "a .npy file holds one array"}. */
  String holds();

  /** The path of the array, as the user wrote it. */
  String path();

  /** This format with the options that a single query states in place of its own. */
  BlockFormat overriddenBy(CaseInsensitiveStringMap query);

  /**
   * The options on which the columns and blocks depend, by their names; the value is null for one
   * that is not given.
   */
  Map<String, Object> readOptions();

  /**
   * The stored array; empty if nothing is stored there yet. Runs at planning: a format must examine
   * stored data inside {@link org.tilespark.spark.error.ErrorBoundary#FILES}, and its options
   * outside of it, so that users can tell a wrong file from a wrong option.
   *
   * @throws IllegalArgumentException if something else is there, or the options do not fit it
   * @throws java.io.UncheckedIOException if it cannot be read
   */
  Optional<BlockSource> source(Configuration conf);

  /**
   * The sink of these options. A format that is only read leaves this as it is.
   *
   * @throws IllegalArgumentException if the target cannot be written
   */
  default BlockSink sink(Configuration conf) {
    throw new IllegalArgumentException(
        "format %s only reads; write with format zarr or npy".formatted(name()));
  }

  /**
   * Checks that written data will be read with the same columns.
   *
   * @param metadata metadata of the column {@code values}
   * @throws IllegalArgumentException if not; the message names the option that prevents it
   */
  default void requireReadBack(BlockSchema blocks, ArrayMetadata metadata) {}
}
