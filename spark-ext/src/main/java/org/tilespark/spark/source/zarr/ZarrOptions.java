package org.tilespark.spark.source.zarr;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.source.BlockFormat;
import org.tilespark.spark.source.BlockSource;
import org.tilespark.spark.source.FormatOptions;

/**
 * The options of {@code format("zarr")}; names are matched without regard to case.
 *
 * <table>
 *   <caption>Options</caption>
 *   <tr><td>{@code path}</td><td>the store's directory, or the array's</td></tr>
 *   <tr><td colspan="2">Reading</td></tr>
 *   <tr><td>{@code component}</td><td>path of the array or image in the store</td></tr>
 *   <tr><td>{@code level}</td><td>which scale of an OME-Zarr image; 0 (default) is the finest</td></tr>
 *   <tr><td>{@code select}</td><td>an index of each axis that blocks do not have, {@code
 *     "t:0,c:1"}</td></tr>
 *   <tr><td>{@code blockShape}</td><td>elements per axis of a block; by default whole chunks of some
 *     MiB</td></tr>
 *   <tr><td>{@code as}</td><td>{@code float} or {@code double}: converts the values</td></tr>
 *   <tr><td>{@code missing}</td><td>{@code fill} (default) or {@code error}: what a chunk is that
 *     is not stored</td></tr>
 *   <tr><td colspan="2">Writing</td></tr>
 *   <tr><td>{@code version}</td><td>3 or 2; by default that of the group that holds the array, else
 *     3</td></tr>
 *   <tr><td>{@code chunks}</td><td>elements per axis of a chunk; by default the blocks' shape where
 *     that is 256 KiB to 32 MiB, else near a cube of at most 4 MiB</td></tr>
 *   <tr><td>{@code shards}</td><td>elements per axis of a shard; none by default</td></tr>
 *   <tr><td>{@code compressor}</td><td>{@code zstd} (default), {@code gzip}, {@code blosc-lz4},
 *     {@code blosc-zstd}, {@code none}</td></tr>
 *   <tr><td>{@code compressionLevel}</td><td>by default 0 for zstd, its usual one, else 5</td></tr>
 *   <tr><td>{@code checksum}</td><td>{@code true}: a CRC32C after each chunk</td></tr>
 *   <tr><td>{@code order}</td><td>{@code C} (default) or {@code F}: order of elements in a
 *     chunk</td></tr>
 *   <tr><td>{@code dtype}, {@code extents}</td><td>as those of {@code format("npy")}</td></tr>
 *   <tr><td>{@code fill_value}</td><td>a number, {@code nan}, {@code inf} or {@code -inf}; by
 *     default 0; chunks full of it are not stored. In version 2 with names of axes by default
 *     {@code null}, since xarray takes elements equal to it for missing values</td></tr>
 *   <tr><td>{@code dimension_names}</td><td>{@code "z,y,x"}, or a JSON array of texts, {@code
 *     ["z","y, in cm",null]}, null for an axis without a name; by default those that were
 *     read</td></tr>
 *   <tr><td>{@code spacing}</td><td>distances between neighbours, {@code "2,0.5,0.5"}; by default
 *     those that were read, if the array still has its extents</td></tr>
 *   <tr><td>{@code attributes}</td><td>a JSON object</td></tr>
 *   <tr><td>{@code downsample}</td><td>{@code "2,2,2"}: writes an image of OME-Zarr 0.5, a group
 *     whose arrays 0, 1 and so on have ever fewer elements, down to one chunk</td></tr>
 *   <tr><td>{@code downsampleMethod}</td><td>{@code mean} (default) or, of labels, {@code
 *     nearest}</td></tr>
 * </table>
 *
 * @param path the store, as the user wrote it
 * @param component path in the store, "" for its root
 * @param level number of a scale, if given
 * @param select selected indices, "" for none
 * @param blockShape elements along each axis of a block, if given
 * @param as the type to which values are converted, if given
 * @param missing true if a missing chunk is an error, if given
 * @param writing the options of writing
 */
public record ZarrOptions(
    String path,
    String component,
    Optional<Integer> level,
    String select,
    Optional<String> blockShape,
    Optional<ElementType> as,
    Optional<Boolean> missing,
    ZarrWriteOptions writing)
    implements BlockFormat {
  static final String PATH = FormatOptions.PATH;
  static final String SELECT = ArrayView.SELECT;
  static final String COMPONENT = "component";
  static final String LEVEL = "level";
  static final String MISSING = "missing";

  private static final List<String> READING =
      List.of(PATH, COMPONENT, LEVEL, SELECT, BLOCK_SHAPE, AS, MISSING);

  private static final List<String> NAMES =
      Stream.concat(READING.stream(), ZarrWriteOptions.NAMES.stream()).toList();

  /**
   * Reads the options.
   *
   * @param options a user's options, or the properties of a catalog's table, which include them
   * @throws IllegalArgumentException if there is not exactly one path, or an option or a value is
   *     unknown
   */
  static ZarrOptions of(CaseInsensitiveStringMap options) {
    FormatOptions given = new FormatOptions(ZarrDataSource.FORMAT, "store", NAMES, options);
    return new ZarrOptions(
        given.path(),
        given.given(COMPONENT).map(ZarrOptions::component).orElse(""),
        given.given(LEVEL).map(ZarrOptions::level),
        given.given(SELECT).orElse(""),
        given.given(BLOCK_SHAPE),
        given.as(),
        given.given(MISSING).map(ZarrOptions::missing),
        ZarrWriteOptions.of(given));
  }

  private static String component(String text) {
    String path = text.trim().replaceAll("^/+|/+$", "");
    List<String> names = List.of(path.split("/"));
    if (names.contains(".") || names.contains("..") || path.contains(":")) {
      throw new IllegalArgumentException(
          "Option component is '%s'; expected a path inside the store, without '.', '..' and colons"
              .formatted(text));
    }
    return path;
  }

  private static int level(String text) {
    if (!text.trim().matches("\\d{1,4}")) {
      throw new IllegalArgumentException(
          "Option level is '%s'; expected the number of a scale, 0 for the finest".formatted(text));
    }
    return Integer.parseInt(text.trim());
  }

  private static boolean missing(String text) {
    return switch (text.trim().toLowerCase(Locale.ROOT)) {
      case "fill" -> false;
      case "error" -> true;
      default ->
          throw new IllegalArgumentException(
              "Option missing is '%s'; expected 'fill' or 'error'".formatted(text));
    };
  }

  @Override
  public ZarrOptions overriddenBy(CaseInsensitiveStringMap query) {
    ZarrOptions asked = of(FormatOptions.ofQuery(query, this));
    return new ZarrOptions(
        path,
        asked.component,
        asked.level,
        asked.select,
        asked.blockShape,
        asked.as,
        asked.missing,
        writing.overriddenBy(asked.writing));
  }

  /** These options for an array in a group of a version, which is then that of the array. */
  ZarrOptions inVersionOfGroup(int version) {
    return new ZarrOptions(
        path, component, level, select, blockShape, as, missing, writing.inVersionOfGroup(version));
  }

  @Override
  public String name() {
    return ZarrDataSource.FORMAT;
  }

  @Override
  public String holds() {
    return "a path names one array";
  }

  @Override
  public Map<String, Object> readOptions() {
    Map<String, Object> options = FormatOptions.reading(blockShape, as);
    options.put(COMPONENT, component.isEmpty() ? null : component);
    options.put(LEVEL, level.orElse(null));
    options.put(SELECT, select.isBlank() ? null : select);
    options.put(MISSING, missing.map(error -> error ? "error" : "fill").orElse(null));
    return options;
  }

  @Override
  public Optional<BlockSource> source(Configuration conf) {
    return ErrorBoundary.FILES
        .call(() -> ZarrNode.find(path, component, conf))
        .map(node -> node.array().isPresent() ? ofArray(node) : ofImage(node, conf));
  }

  private BlockSource ofArray(ZarrNode node) {
    level.ifPresent(
        number -> {
          throw new IllegalArgumentException(
              "Option level is %s, and %s is an array; expected the group of an OME-Zarr image"
                  .formatted(number, node.directory()));
        });
    return ZarrSource.of(node, node.array().orElseThrow(), node.spacing(), this);
  }

  private BlockSource ofImage(ZarrNode group, Configuration conf) {
    Multiscales image =
        ErrorBoundary.FILES.call(
            () ->
                group
                    .multiscales()
                    .orElseThrow(
                        () ->
                            new IllegalArgumentException(
                                "%s is a group and no image of OME-Zarr; name one of its arrays with the option component"
                                    .formatted(group.directory()))));
    int number = level.orElse(0);
    if (number >= image.levels().size()) {
      throw new IllegalArgumentException(
          "Option level is %s; %s has the levels 0 to %s"
              .formatted(number, group.directory(), image.levels().size() - 1));
    }
    Multiscales.Level scale = image.levels().get(number);
    ZarrNode node = ErrorBoundary.FILES.call(() -> group.child(component(scale.path()), conf));
    ZarrArray array =
        node.array()
            .orElseThrow(
                () ->
                    new IllegalArgumentException(
                        "%s is a group; expected the array of level %s"
                            .formatted(node.directory(), number)));
    int rank = array.shape().rank();
    List<Double> spacing = scale.spacing().size() == rank ? scale.spacing() : List.of();
    return ZarrSource.of(
        node, image.axes().size() == rank ? array.named(image.axes()) : array, spacing, this);
  }

  @Override
  public ZarrSink sink(Configuration conf) {
    return ZarrSink.of(this, conf);
  }

  @Override
  public void requireReadBack(BlockSchema blocks, ArrayMetadata metadata) {
    NpyType type =
        NpyType.ofBlocks(blocks, metadata, writing.type(), "Option " + ZarrWriteOptions.DTYPE);
    FormatOptions.requireReadBack(type, as, blocks);
  }
}
