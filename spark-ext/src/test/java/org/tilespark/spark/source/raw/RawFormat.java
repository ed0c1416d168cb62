package org.tilespark.spark.source.raw;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.source.BlockFormat;
import org.tilespark.spark.source.BlockGrid;
import org.tilespark.spark.source.BlockSink;
import org.tilespark.spark.source.BlockSource;
import org.tilespark.spark.source.PosixTarget;
import org.tilespark.spark.source.StorePaths;

/**
 * DOUBLE, little-endian, in row-major order after a mark.
 *
 * @param shape shape of the array that is read, {@code "30,40"}, or null
 * @param blockShape elements per axis of a block, or null
 * @param extents extents of the array that is written, or null
 */
record RawFormat(String path, String shape, String blockShape, String extents)
    implements BlockFormat {
  static final String NAME = "raw-test";
  static final byte[] MARK = "RAW\n".getBytes(StandardCharsets.US_ASCII);
  static final int WIDTH = ElementType.FLOAT64.bytes();

  static RawFormat of(CaseInsensitiveStringMap options) {
    return new RawFormat(
        options.get("path"), options.get("shape"), options.get(BLOCK_SHAPE), options.get(EXTENTS));
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public String holds() {
    return "a raw file holds one array";
  }

  @Override
  public BlockFormat overriddenBy(CaseInsensitiveStringMap query) {
    Map<String, String> options = new HashMap<>(query.asCaseSensitiveMap());
    options.put("path", path);
    options.putIfAbsent("shape", shape);
    options.putIfAbsent(BLOCK_SHAPE, blockShape);
    options.putIfAbsent(EXTENTS, extents);
    return of(new CaseInsensitiveStringMap(options));
  }

  @Override
  public Map<String, Object> readOptions() {
    Map<String, Object> options = new LinkedHashMap<>();
    options.put("shape", shape);
    options.put(BLOCK_SHAPE, blockShape);
    return options;
  }

  @Override
  public Optional<BlockSource> source(Configuration conf) {
    if (!ErrorBoundary.FILES.call(() -> StorePaths.exists(path, conf))) {
      return Optional.empty();
    }
    if (shape == null) {
      throw new IllegalArgumentException("format raw-test needs the option shape, as '30,40'");
    }
    Shape extents = Shape.parse("Option shape", shape, shape.split(",", -1).length);
    BlockGrid grid =
        BlockGrid.of(Optional.ofNullable(blockShape), extents, ElementType.FLOAT64, 1, false);
    return Optional.of(ErrorBoundary.FILES.call(() -> found(grid, extents, conf)));
  }

  private RawSource found(BlockGrid grid, Shape extents, Configuration conf) throws IOException {
    Path file = StorePaths.localPath(StorePaths.qualify(path, conf));
    long expected = MARK.length + extents.elements() * WIDTH;
    if (Files.size(file) != expected) {
      throw new IllegalArgumentException(
          path + ": expected " + expected + " bytes, found " + Files.size(file));
    }
    return new RawSource(file.toUri().toString(), Files.getLastModifiedTime(file).toMillis(), grid);
  }

  @Override
  public BlockSink sink(Configuration conf) {
    return new RawSink(this, PosixTarget.of(path, NAME, conf));
  }

  @Override
  public void requireReadBack(BlockSchema blocks, ArrayMetadata metadata) {
    if (blocks.elementType() != ElementType.FLOAT64 || blocks.isComplex()) {
      throw new IllegalArgumentException("format raw-test holds real DOUBLE; found " + blocks);
    }
  }
}
