package org.tilespark.spark.source;

import java.util.Map;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockSchema;

/**
 * A format with the options of one use of it: it is implemented by a package of a format, with its
 * {@link BlockSource}, its {@link BlockSink} and a {@link BlockDataSource} that names it.
 * Immutable; equal for equal options.
 */
public interface BlockFormat {
  /** The option that says how a stored array is cut into blocks. */
  String BLOCK_SHAPE = BlockGrid.BLOCK_SHAPE;

  /** The option that converts values while reading. */
  String AS = "as";

  /** The option that states the extents of an array that is written. */
  String EXTENTS = "extents";

  /** The name that users give to {@code format(...)}. */
  String name();

  /** The contents of one path, for messages: {@code "a .npy file holds one array"}. */
  String holds();

  /** The path of the array, as the user wrote it. */
  String path();

  /** These options, where a single query says nothing else. */
  BlockFormat overriddenBy(CaseInsensitiveStringMap query);

  /** The options that the columns depend on, with their values as users see them. */
  Map<String, Object> readOptions();

  /**
   * The stored array; empty if nothing is stored there yet. Runs at planning: a format looks at
   * what is stored inside {@link org.tilespark.spark.error.ErrorBoundary#FILES}, and at its options
   * outside of it, so that users can tell a wrong file from a wrong option.
   *
   * @throws IllegalArgumentException if something else is there, or the options do not fit it
   * @throws java.io.UncheckedIOException if it cannot be read
   */
  Optional<BlockSource> source(Configuration conf);

  /**
   * The sink of these options.
   *
   * @throws IllegalArgumentException if nothing can be written there
   */
  BlockSink sink(Configuration conf);

  /**
   * Checks that what is written reads back with the columns that it has.
   *
   * @param metadata metadata of the column {@code values}
   * @throws IllegalArgumentException if it does not; says which option is in the way
   */
  void requireReadBack(BlockSchema blocks, ArrayMetadata metadata);
}
