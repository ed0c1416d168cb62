package org.tilespark.spark.source.npy;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.network.util.JavaUtils;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.colstats.ColumnStatistics;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.rows.BlockScan;
import org.tilespark.spark.source.CoordinateFilter;
import org.tilespark.spark.source.NpyPartition;

/**
 * One query's reading of one file: which columns, which blocks, and how they are shared out to
 * tasks. Two scans of the same columns and blocks of the same file are equal, so that Spark can
 * reuse what it has.
 */
final class NpyScan implements BlockScan, Batch, SupportsReportStatistics {
  /** What a block costs a task that reads no values; so a task gets about a million of those. */
  private static final long COORDINATES_BYTES = 128;

  private final NpyLayout layout;
  private final StructType columns;
  private final Filter[] filters; // all supported by CoordinateFilter
  private final Configuration conf;
  private long[] ranges; // [start, end) pairs of the numbers of the blocks to read; made at need

  NpyScan(NpyLayout layout, StructType columns, Filter[] filters, Configuration conf) {
    this.layout = layout;
    this.columns = columns;
    this.filters = filters.clone();
    this.conf = conf;
  }

  @Override
  public StructType readSchema() {
    return columns;
  }

  @Override
  public String description() {
    return "npy "
        + layout.path()
        + " "
        + layout.type().numpyName()
        + Arrays.toString(layout.grid().extents())
        + (layout.fortranOrder() ? " Fortran order" : "")
        + ", blockShape "
        + Arrays.toString(layout.grid().blockShape())
        + ", PushedFilters: "
        + Arrays.toString(filters)
        + ", ReadSchema: "
        + columns.simpleString();
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
    long[] offset = new long[layout.grid().rank()];
    long[] size = offset.clone();
    long[] chosen = ranges();
    for (int i = 0; i < chosen.length; i += 2) {
      rows += chosen[i + 1] - chosen[i];
      for (long block = chosen[i]; block < chosen[i + 1]; block++) {
        layout.grid().locate(block, offset, size);
        bytes += Math.max(1, rowBytes(size));
      }
    }
    return new SizeAndRows(bytes, rows, arrayBytes(bytes, rows));
  }

  /** Average bytes of each value column that is read: Spark takes an array for one element. */
  private Map<NamedReference, ColumnStatistics> arrayBytes(long bytes, long rows) {
    Map<NamedReference, ColumnStatistics> lengths = new HashMap<>();
    if (rows > 0 && valueColumns() > 0) {
      long each = (bytes / rows - 8L * columns.length()) / valueColumns();
      for (String name : columns.fieldNames()) {
        if (name.equals(BlockKind.VALUES) || name.equals(BlockKind.IMAG)) {
          lengths.put(Expressions.column(name), new Length(Math.max(0, each)));
        }
      }
    }
    return lengths;
  }

  private long rowBytes(long[] size) {
    return 8L * columns.length() + valueColumns() * elements(size) * layout.columnType().bytes();
  }

  private long valueColumns() {
    return Arrays.stream(columns.fieldNames())
        .filter(name -> name.equals(BlockKind.VALUES) || name.equals(BlockKind.IMAG))
        .count();
  }

  @Override
  public InputPartition[] planInputPartitions() {
    long[] offset = new long[layout.grid().rank()];
    long[] size = offset.clone();
    long[] chosen = ranges();
    boolean reads = valueColumns() > 0;
    long total = 0;
    for (int i = 0; i < chosen.length; i += 2) {
      for (long block = chosen[i]; block < chosen[i + 1]; block++) {
        layout.grid().locate(block, offset, size);
        total += taskBytes(size, reads);
      }
    }
    long limit = maxPartitionBytes(total);
    BlockLocation[] locations = reads ? locations() : new BlockLocation[0];
    List<InputPartition> partitions = new ArrayList<>();
    List<Long> open = new ArrayList<>(); // [start, end) pairs of the partition being filled
    long filled = 0;
    for (int i = 0; i < chosen.length; i += 2) {
      long start = chosen[i];
      for (long block = start; block < chosen[i + 1]; block++) {
        layout.grid().locate(block, offset, size);
        long bytes = taskBytes(size, reads);
        if (filled > 0 && filled + bytes > limit) {
          addRange(open, start, block);
          partitions.add(partition(open, locations));
          open.clear();
          start = block;
          filled = 0;
        }
        filled += bytes;
      }
      addRange(open, start, chosen[i + 1]);
    }
    if (!open.isEmpty()) {
      partitions.add(partition(open, locations));
    }
    return partitions.toArray(new InputPartition[0]);
  }

  private static void addRange(List<Long> ranges, long start, long end) {
    if (start < end) {
      ranges.add(start);
      ranges.add(end);
    }
  }

  private long taskBytes(long[] size, boolean reads) {
    return COORDINATES_BYTES + (reads ? elements(size) * layout.type().elementBytes() : 0);
  }

  /** As Spark's file sources choose it: full partitions, but enough of them for all cores. */
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
    return Math.min(max, Math.max(open, total / Math.max(1, parallelism)));
  }

  private BlockLocation[] locations() {
    Path path = new Path(layout.path());
    if (NpyFile.isLocal(path)) {
      return new BlockLocation[0];
    }
    try {
      FileSystem fileSystem = path.getFileSystem(conf);
      return fileSystem.getFileBlockLocations(path, 0, Long.MAX_VALUE);
    } catch (IOException e) {
      return new BlockLocation[0]; // where to run is a wish, not a need
    }
  }

  private NpyPartition partition(List<Long> ranges, BlockLocation[] locations) {
    long[] blocks = ranges.stream().mapToLong(Long::longValue).toArray();
    String[] hosts = locations.length == 0 ? new String[0] : hosts(blocks, locations);
    return new NpyPartition(blocks, hosts);
  }

  /** The hosts that hold most of the first and the last block's stretch of the file. */
  private String[] hosts(long[] blocks, BlockLocation[] locations) {
    long start = fileOffset(blocks[0]);
    long end = fileOffset(blocks[blocks.length - 1] - 1) + 1;
    TreeMap<String, Long> bytesByHost = new TreeMap<>();
    for (BlockLocation location : locations) {
      long overlap =
          Math.min(end, location.getOffset() + location.getLength())
              - Math.max(start, location.getOffset());
      if (overlap > 0) {
        try {
          for (String host : location.getHosts()) {
            bytesByHost.merge(host, overlap, Long::sum);
          }
        } catch (IOException e) {
          return new String[0];
        }
      }
    }
    bytesByHost.remove("localhost");
    return bytesByHost.entrySet().stream()
        .sorted((a, b) -> Long.compare(b.getValue(), a.getValue()))
        .limit(3)
        .map(java.util.Map.Entry::getKey)
        .toArray(String[]::new);
  }

  private long fileOffset(long block) {
    int rank = layout.grid().rank();
    long[] offset = new long[rank];
    layout.grid().locate(block, offset, new long[rank]);
    long[] extents = layout.grid().extents();
    long element = 0;
    for (int i = 0; i < rank; i++) {
      int axis = layout.fortranOrder() ? rank - 1 - i : i;
      element = element * extents[axis] + offset[axis];
    }
    return layout.dataOffset() + element * layout.type().elementBytes();
  }

  /** The blocks that pass the filters. */
  private long[] ranges() {
    if (ranges == null) {
      long count = layout.grid().count();
      if (filters.length == 0) {
        ranges = count == 0 ? new long[0] : new long[] {0, count};
      } else {
        ranges = filtered(count);
      }
    }
    return ranges;
  }

  private long[] filtered(long count) {
    long[] offset = new long[layout.grid().rank()];
    long[] size = offset.clone();
    List<Long> found = new ArrayList<>();
    long start = -1;
    for (long block = 0; block < count; block++) {
      layout.grid().locate(block, offset, size);
      boolean passes = true;
      for (Filter filter : filters) {
        passes &= CoordinateFilter.test(filter, layout.kind(), offset, size);
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
    return new NpyReaderFactory(
        layout,
        columns,
        new SerializableConfiguration(conf),
        TileSparkConf.BACKEND.read(TileSparkConf.session()),
        TileSparkConf.BATCH_SIZE.read(TileSparkConf.session()));
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof NpyScan other
        && layout.equals(other.layout)
        && columns.equals(other.columns)
        && Arrays.equals(filters, other.filters);
  }

  @Override
  public int hashCode() {
    return Objects.hash(layout, columns, Arrays.hashCode(filters));
  }

  /** Bytes of a column in one row. */
  private record Length(long bytes) implements ColumnStatistics {
    @Override
    public OptionalLong avgLen() {
      return OptionalLong.of(bytes);
    }
  }

  /** What the optimizer learns of a scan; exact. */
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
