package org.tilespark.spark.source.nifti;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.source.BlockFormat;
import org.tilespark.spark.source.BlockSource;
import org.tilespark.spark.source.FormatOptions;
import org.tilespark.spark.source.contiguous.ContiguousSource;
import org.tilespark.spark.source.contiguous.StoredFile;

/**
 * The options of {@code format("nifti")}: {@code path}, {@code blockShape} and {@code as}.
 *
 * @param path the file, as the user wrote it
 * @param blockShape elements along each axis of a block, if given
 * @param as type to which values are converted, if given
 */
record NiftiOptions(String path, Optional<String> blockShape, Optional<ElementType> as)
    implements BlockFormat {
  private static final List<String> NAMES = List.of(FormatOptions.PATH, BLOCK_SHAPE, AS);

  /** Reads the options. */
  static NiftiOptions of(CaseInsensitiveStringMap options) {
    FormatOptions given = new FormatOptions(NiftiDataSource.FORMAT, "file", NAMES, options);
    return new NiftiOptions(given.path(), given.given(BLOCK_SHAPE), given.as());
  }

  @Override
  public NiftiOptions overriddenBy(CaseInsensitiveStringMap query) {
    return of(FormatOptions.ofQuery(query, this));
  }

  @Override
  public String name() {
    return NiftiDataSource.FORMAT;
  }

  @Override
  public String holds() {
    return "a NIfTI file holds one array";
  }

  @Override
  public Map<String, Object> readOptions() {
    return FormatOptions.reading(blockShape, as);
  }

  @Override
  public Optional<BlockSource> source(Configuration conf) {
    return StoredFile.find(path, name(), conf, NiftiHeader::read)
        .map(
            found ->
                ContiguousSource.of(
                    name(), found.file(), found.array(), found.labels(), blockShape, as));
  }
}
