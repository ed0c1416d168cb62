package org.tilespark.spark.source;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.Path;
import org.apache.spark.network.util.JavaUtils;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.SortDirection;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportOrdering;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.colstats.ColumnStatistics;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;
import org.tilespark.spark.block.ArrayAxes;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.ColumnNames;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.rows.BlockScan;

/**
 * One query's scan of one array: its columns, its blocks, and their assignment to tasks. Two scans
 * of the same columns and blocks of the same array are equal, so that Spark can reuse results.
 */
final class SourceScan
    implements BlockScan, Batch, SupportsReportStatistics, SupportsReportOrdering {
  /**
   * Bytes that a block costs a task in addition to its values; a task that reads no values gets at
   * most about a million blocks.
   */
  private static final long COORDINATES_BYTES = 128;

  private final BlockSource source;
  private final StructType columns;
  private final Filter[] filters; // all supported by CoordinateFilter
  private final Configuration conf;
  // By path of the stored object
  private final Map<String, BlockLocation[]> locations = new HashMap<>();
  // Assignment of the blocks to tasks; empty if this scan chooses it
  private final Optional<BlockShares> shares;
  private final long valueColumns; // count of the value columns that are read
  // [start, end) pairs of the numbers of the blocks to read; computed on demand
  private long[] ranges;

  SourceScan(
      BlockSource source,
      StructType columns,
      Filter[] filters,
      Configuration conf,
      Optional<BlockShares> shares) {
    this.source = source;
    this.columns = columns;
    this.filters = filters.clone();
    this.conf = conf;
    this.shares = shares;
    this.valueColumns =
        Arrays.stream(columns.fieldNames())
            .filter(name -> name.equals(BlockKind.VALUES) || name.equals(BlockKind.IMAG))
            .count();
  }

  @Override
  public StructType readSchema() {
    return columns;
  }

  @Override
  public String description() {
    return "%s %s %s, blockShape %s, PushedFilters: %s, ReadSchema: %s"
        .formatted(
            source.format(),
            source.path(),
            source.description(),
            Arrays.toString(source.grid().blockShape()),
            Arrays.toString(filters),
            columns.simpleString());
  }

  @Override
  public Batch toBatch() {
    return this;
  }

  @Override
  public ColumnarSupportMode columnarSupportMode() {
    return ColumnarSupportMode.SUPPORTED;
  }

  @Override
  public Statistics estimateStatistics() {
    long rows = 0;
    long bytes = 0;
    long[] offset = new long[source.grid().rank()];
    long[] size = offset.clone();
    long[] chosen = ranges();
    for (int i = 0; i < chosen.length; i += 2) {
      rows += chosen[i + 1] - chosen[i];
      for (long block = chosen[i]; block < chosen[i + 1]; block++) {
        source.grid().locate(block, offset, size);
        bytes += Math.max(1, rowBytes(size));
      }
    }
    return new SizeAndRows(bytes, rows, arrayBytes(bytes, rows));
  }

  /**
   * Average bytes in a row of each value column that is read: Spark assumes one element for an
   * array.
   */
  private Map<NamedReference, ColumnStatistics> arrayBytes(long bytes, long rows) {
    Map<NamedReference, ColumnStatistics> lengths = new HashMap<>();
    if (rows > 0 && valueColumns > 0) {
      long each = (bytes / rows - 8L * columns.length()) / valueColumns;
      for (String name : columns.fieldNames()) {
        if (name.equals(BlockKind.VALUES) || name.equals(BlockKind.IMAG)) {
          lengths.put(Expressions.column(name), new Length(Math.max(0, each)));
        }
      }
    }
    return lengths;
  }

  private long rowBytes(long[] size) {
    return 8L * columns.length() + valueColumns * elements(size) * source.columnType().bytes();
  }

  @Override
  public InputPartition[] planInputPartitions() {
    long[] chosen = ranges();
    if (chosen.length == 0 && shares.isEmpty()) {
      return new InputPartition[0];
    }
    BlockShares all = shares.orElseGet(() -> shared(List.of(this)));
    return all.of(chosen).stream().map(this::partition).toArray(InputPartition[]::new);
  }

  @Override
  public Optional<List<BlockScan>> sharedWith(List<BlockScan> others) {
    List<SourceScan> scans = new ArrayList<>(List.of(this));
    for (BlockScan other : others) {
      if (!(other instanceof SourceScan scan && source.grid().equals(scan.source.grid()))) {
        return Optional.empty();
      }
      scans.add(scan);
    }
    Optional<BlockShares> alike = Optional.of(shared(scans));
    return Optional.of(
        scans.stream()
            .<BlockScan>map(
                each -> new SourceScan(each.source, each.columns, each.filters, each.conf, alike))
            .toList());
  }

  private static BlockShares shared(List<SourceScan> scans) {
    return BlockShares.of(
        scans.get(0).source.grid(),
        scans.stream().map(SourceScan::ranges).toList(),
        size -> scans.stream().mapToLong(scan -> scan.taskBytes(size)).sum(),
        SourceScan::maxPartitionBytes);
  }

  /** Blocks are ordered by their places, as far as the place columns are read. */
  @Override
  public SortOrder[] outputOrdering() {
    List<String> read = List.of(columns.fieldNames());
    return source.grid().slowestFirst().stream()
        .map(source.axes().offsetColumns()::get)
        .takeWhile(read::contains)
        .map(ColumnNames::quoted)
        .map(name -> Expressions.sort(Expressions.column(name), SortDirection.ASCENDING))
        .toArray(SortOrder[]::new);
  }

  private static void addRange(List<Long> ranges, long start, long end) {
    if (start < end) {
      ranges.add(start);
      ranges.add(end);
    }
  }

  private long taskBytes(long[] size) {
    boolean reads = valueColumns > 0;
    return COORDINATES_BYTES + (reads ? elements(size) * source.storedBytes() : 0);
  }

  /**
   * The size of partitions, chosen as by Spark's file sources: large, but enough partitions for all
   * cores.
   */
  private static long maxPartitionBytes(long total) {
    SparkSession session = SparkSession.active();
    long max =
        JavaUtils.byteStringAsBytes(
            session.conf().get("spark.sql.files.maxPartitionBytes", "128m"));
    long open =
        JavaUtils.byteStringAsBytes(session.conf().get("spark.sql.files.openCostInBytes", "4m"));
    String wanted = session.conf().get("spark.sql.files.minPartitionNum", null);
    long parallelism =
        wanted == null ? session.sparkContext().defaultParallelism() : Long.parseLong(wanted);
    return Math.min(max, Math.max(open, -Math.floorDiv(-total, Math.max(1, parallelism))));
  }

  private BlockRanges partition(long[] blocks) {
    boolean reads = valueColumns > 0 && blocks.length > 0;
    return new BlockRanges(blocks, reads ? hosts(blocks) : new String[0]);
  }

  /**
   * The hosts that store most bytes from the first block to the last; none if the first or the last
   * has no chunks.
   */
  private String[] hosts(long[] blocks) {
    List<BlockSource.Chunk> ofFirst = chunks(blocks[0]);
    List<BlockSource.Chunk> ofLast = chunks(blocks[blocks.length - 1] - 1);
    if (ofFirst.isEmpty() || ofLast.isEmpty()) {
      return new String[0];
    }
    BlockSource.Chunk first = ofFirst.get(0);
    BlockSource.Chunk last = ofLast.get(ofLast.size() - 1);
    TreeMap<String, Long> bytesByHost = new TreeMap<>();
    try {
      if (first.object().equals(last.object())) {
        addHosts(first.object(), first.offset(), last.offset() + last.bytes(), bytesByHost);
      } else {
        for (BlockSource.Chunk chunk : List.of(first, last)) {
          addHosts(chunk.object(), chunk.offset(), chunk.offset() + chunk.bytes(), bytesByHost);
        }
      }
    } catch (IOException e) {
      return new String[0]; // the task can run on any host
    }
    bytesByHost.remove("localhost");
    return bytesByHost.entrySet().stream()
        .sorted((a, b) -> Long.compare(b.getValue(), a.getValue()))
        .limit(3)
        .map(Map.Entry::getKey)
        .toArray(String[]::new);
  }

  private void addHosts(String object, long start, long end, Map<String, Long> bytesByHost)
      throws IOException {
    for (BlockLocation location : locations(object)) {
      long overlap =
          Math.min(end, location.getOffset() + location.getLength())
              - Math.max(start, location.getOffset());
      if (overlap > 0) {
        for (String host : location.getHosts()) {
          bytesByHost.merge(host, overlap, Long::sum);
        }
      }
    }
  }

  private BlockLocation[] locations(String object) throws IOException {
    BlockLocation[] known = locations.get(object);
    if (known == null) {
      Path path = new Path(object);
      known =
          StorePaths.isLocal(path)
              ? new BlockLocation[0]
              : path.getFileSystem(conf).getFileBlockLocations(path, 0, Long.MAX_VALUE);
      locations.put(object, known);
    }
    return known;
  }

  private List<BlockSource.Chunk> chunks(long block) {
    long[] offset = new long[source.grid().rank()];
    long[] size = offset.clone();
    source.grid().locate(block, offset, size);
    return source.chunks(offset, size);
  }

  /** The numbers of the blocks that pass the filters, as ranges. */
  private long[] ranges() {
    if (ranges == null) {
      long count = source.grid().count();
      if (filters.length == 0) {
        ranges = count == 0 ? new long[0] : new long[] {0, count};
      } else {
        ranges = filtered(count);
      }
    }
    return ranges;
  }

  private long[] filtered(long count) {
    long[] offset = new long[source.grid().rank()];
    long[] size = offset.clone();
    ArrayAxes axes = source.axes();
    List<Long> found = new ArrayList<>();
    long start = -1;
    for (long block = 0; block < count; block++) {
      source.grid().locate(block, offset, size);
      boolean passes = true;
      for (Filter filter : filters) {
        passes &= CoordinateFilter.test(filter, axes, offset, size);
      }
      if (passes && start < 0) {
        start = block;
      } else if (!passes && start >= 0) {
        addRange(found, start, block);
        start = -1;
      }
    }
    addRange(found, start < 0 ? count : start, count);
    return found.stream().mapToLong(Long::longValue).toArray();
  }

  private static long elements(long[] size) {
    long elements = 1;
    for (long extent : size) {
      elements *= extent;
    }
    return elements;
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new SourceReaderFactory(
        source,
        columns,
        SparkSession.active()
            .sparkContext()
            .broadcast(
                new SerializableConfiguration(conf),
                ScalaInterop.classTag(SerializableConfiguration.class)),
        TileSparkConf.BACKEND.read(TileSparkConf.session()),
        TileSparkConf.BATCH_SIZE.read(TileSparkConf.session()));
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof SourceScan other
        && source.equals(other.source)
        && columns.equals(other.columns)
        && Arrays.equals(filters, other.filters)
        && shares.equals(other.shares);
  }

  @Override
  public int hashCode() {
    return Objects.hash(source, columns, Arrays.hashCode(filters), shares);
  }

  /** The bytes of a column in one row. */
  private record Length(long bytes) implements ColumnStatistics {
    @Override
    public OptionalLong avgLen() {
      return OptionalLong.of(bytes);
    }
  }

  /** Exact statistics of a scan, for the optimizer. */
  private record SizeAndRows(
      long bytes, long rows, Map<NamedReference, ColumnStatistics> columnStats)
      implements Statistics {
    @Override
    public OptionalLong sizeInBytes() {
      return OptionalLong.of(bytes);
    }

    @Override
    public OptionalLong numRows() {
      return OptionalLong.of(rows);
    }
  }
}
