package org.tilespark.spark.source.zarr;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.LongStream;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.VoidFunction;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.util.SerializableConfiguration;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.transpose.Transposer;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayAxes;
import org.tilespark.spark.block.BoxCopy;
import org.tilespark.spark.catalyst.EagerQuery;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.numpy.NpyEncoder;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.source.ChunkGrid;
import org.tilespark.spark.source.FormatOptions;

/**
 * The scales of an OME-Zarr image (version 0.5): arrays {@code 0}, {@code 1} and so on in a group,
 * each coarser than the previous array, up to one of a single chunk. Immutable.
 *
 * @param levels the arrays, the finest first
 * @param factors number of elements along each axis that become one element of the next level
 * @param isFirst true to take the first of these elements, as for labels; false for their mean
 */
record Pyramid(List<WrittenArray> levels, Shape factors, boolean isFirst) implements Serializable {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  /** OME-Zarr's names of axes in space, in its order. */
  private static final List<String> SPACE = List.of("z", "y", "x");

  /** Tasks for each core, so that no core waits long for the last task. */
  private static final int TASKS_PER_CORE = 4;

  /**
   * The pyramid over an array: coarser levels follow until one fits a chunk along the coarsened
   * axes.
   */
  static Pyramid of(WrittenArray finest, Shape factors, boolean isFirst) {
    ZarrArray array = finest.array();
    int rank = factors.rank();
    boolean isNamed = array.names().stream().noneMatch(String::isEmpty);
    List<String> names = isNamed ? array.names() : usualNames(rank);
    List<WrittenArray> levels = new ArrayList<>();
    levels.add(new WrittenArray(array.named(names), finest.encoders(), finest.spacing()));
    while (true) {
      WrittenArray last = levels.get(levels.size() - 1);
      Shape shape = last.array().shape();
      long[] coarser = new long[rank];
      boolean isLast = true;
      List<Double> spacing = new ArrayList<>();
      for (int axis = 0; axis < rank; axis++) {
        isLast &=
            factors.extent(axis) == 1 || shape.extent(axis) <= array.layout().leaf().extent(axis);
        coarser[axis] = ceilDiv(shape.extent(axis), factors.extent(axis));
        spacing.add(last.spacing().isEmpty() ? 1 : last.spacing().get(axis) * factors.extent(axis));
      }
      if (isLast || Shape.of(coarser).equals(shape)) {
        return new Pyramid(List.copyOf(levels), factors, isFirst);
      }
      ZarrArray of =
          new ZarrArray(
              Shape.of(coarser), array.type(), array.keys(), array.fill(), array.layout(), names);
      levels.add(
          new WrittenArray(of, last.encoders(), last.spacing().isEmpty() ? List.of() : spacing));
    }
  }

  private static List<String> usualNames(int rank) {
    int leading = Math.max(0, rank - SPACE.size());
    List<String> names = new ArrayList<>();
    for (int axis = 0; axis < leading; axis++) {
      names.add(leading <= 2 ? List.of("t", "c").get(axis) : ArrayAxes.unnamed(axis));
    }
    names.addAll(SPACE.subList(SPACE.size() - (rank - leading), SPACE.size()));
    return List.copyOf(names);
  }

  /** The directory of a level. */
  static Path directory(Path group, int level) {
    return new Path(group, Integer.toString(level));
  }

  /**
   * Writes the objects of the coarser levels, one level after the other, each from the stored
   * objects of the finer one.
   */
  void write(Path group, String scratch, boolean isClean, SerializableConfiguration conf) {
    SparkContext context = SparkContext.getOrCreate();
    for (int level = 1; level < levels.size(); level++) {
      Task task = new Task(this, level, group.toString(), scratch, isClean, conf);
      long objects = grid(levels.get(level)).elements();
      int slices = (int) Math.min(objects, (long) TASKS_PER_CORE * context.defaultParallelism());
      EagerQuery.run(
          context,
          "write of level " + level + " of " + group,
          () -> {
            JavaSparkContext.fromSparkContext(context)
                .parallelize(LongStream.range(0, objects).boxed().toList(), Math.max(1, slices))
                .foreachPartition(task);
            return null;
          });
    }
  }

  private static long ceilDiv(long a, long b) {
    return a / b + (a % b == 0 ? 0 : 1);
  }

  /** Counts of objects along each axis. */
  private static Shape grid(WrittenArray written) {
    long[] counts = written.array().shape().toArray();
    for (int axis = 0; axis < counts.length; axis++) {
      counts[axis] = ceilDiv(counts[axis], written.array().layout().shape().extent(axis));
    }
    return Shape.of(counts);
  }

  /** The metadata document of the group, which makes the arrays an image. */
  byte[] groupDocument(String name, JsonNode attributes) {
    ObjectNode image = JSON.objectNode().put("name", name);
    ArrayNode axes = image.putArray("axes");
    WrittenArray finest = levels.get(0);
    List<String> names = finest.array().names();
    for (int axis = 0; axis < names.size(); axis++) {
      ObjectNode object = axes.addObject().put("name", names.get(axis));
      String type =
          switch (names.get(axis)) {
            case "t", "time" -> "time";
            case "c", "channel" -> "channel";
            default -> names.size() - axis <= 3 ? "space" : "";
          };
      if (!type.isEmpty()) {
        object.put("type", type);
      }
    }
    ArrayNode datasets = image.putArray("datasets");
    double[] cell = new double[factors.rank()]; // elements of the finest level in one of this level
    Arrays.fill(cell, 1);
    for (int level = 0; level < levels.size(); level++) {
      ObjectNode dataset = datasets.addObject().put("path", Integer.toString(level));
      ArrayNode steps = dataset.putArray("coordinateTransformations");
      ArrayNode scale = steps.addObject().put("type", "scale").putArray("scale");
      ArrayNode shift =
          isFirst || level == 0
              ? JSON.arrayNode()
              : steps.addObject().put("type", "translation").putArray("translation");
      for (int axis = 0; axis < cell.length; axis++) {
        double spacing = finest.spacing().isEmpty() ? 1 : finest.spacing().get(axis);
        scale.add(spacing * cell[axis]);
        shift.add(spacing * (cell[axis] - 1) / 2);
        cell[axis] *= factors.extent(axis);
      }
    }
    image.put("type", isFirst ? "nearest" : "mean");
    ObjectNode all = JSON.objectNode();
    ObjectNode ome = all.putObject("ome").put("version", "0.5");
    ome.putArray("multiscales").add(image);
    all.setAll((ObjectNode) attributes);
    ObjectNode group = JSON.objectNode().put("zarr_format", 3).put("node_type", "group");
    group.set("attributes", all);
    return ArrayDocuments.bytes(group);
  }

  /** Writes some objects of one level; runs on an executor. */
  private record Task(
      Pyramid pyramid,
      int level,
      String group,
      String scratch,
      boolean isClean,
      SerializableConfiguration conf)
      implements VoidFunction<java.util.Iterator<Long>> {
    @Override
    public void call(java.util.Iterator<Long> numbers) {
      ErrorBoundary.BLOCKS.call(
          () -> {
            run(numbers);
            return null;
          });
    }

    private void run(java.util.Iterator<Long> numbers) throws IOException {
      ExecutorRuntime runtime = ExecutorRuntime.current();
      Transposer transposer = runtime.hostTransposer();
      Path finer = directory(new Path(group), level - 1);
      ZarrArray source = pyramid.levels.get(level - 1).array();
      ZarrNode.Stamp stamp = new ZarrNode.Stamp("", 0, 0); // the metadata are not written yet
      ZarrNode node = new ZarrNode(finer, Optional.of(source), JSON.objectNode(), stamp);
      ZarrOptions options =
          ZarrOptions.of(
              new CaseInsensitiveStringMap(Map.of(FormatOptions.PATH, finer.toString())));
      String name = "level " + level + " " + TaskContext.get().taskAttemptId();
      try (BufferAllocator allocator = runtime.memory().newChild(name);
          ZarrBlockReader reader =
              new ZarrBlockReader(
                  ZarrSource.of(node, source, List.of(), options),
                  conf.value(),
                  allocator,
                  transposer);
          ObjectWriter writer =
              new ObjectWriter(
                  pyramid.levels.get(level),
                  directory(new Path(group), level),
                  scratch,
                  isClean,
                  conf.value(),
                  allocator,
                  transposer)) {
        while (numbers.hasNext()) {
          write(numbers.next(), reader, writer, allocator);
        }
      }
    }

    private void write(
        long number, ZarrBlockReader reader, ObjectWriter writer, BufferAllocator allocator)
        throws IOException {
      ZarrArray array = pyramid.levels.get(level).array();
      Shape object = array.layout().shape();
      long[] grid = grid(pyramid.levels.get(level)).toArray();
      long[] low = new long[grid.length];
      long[] size = new long[grid.length];
      long rest = number;
      for (int axis = grid.length - 1; axis >= 0; axis--) {
        low[axis] = rest % grid[axis] * object.extent(axis);
        size[axis] = Math.min(object.extent(axis), array.shape().extent(axis) - low[axis]);
        rest /= grid[axis];
      }
      int width = array.type().elementBytes();
      long bytes = Shape.of(size).elements() * width;
      try (ArrowBuf whole = allocator.buffer(bytes)) {
        BoxCopy.Block block = new BoxCopy.Block(Buffers.memory(whole, 0, bytes), low, size);
        long[] high = sum(low, size);
        Shape leaf = array.layout().leaf();
        new ChunkGrid(array.shape(), leaf)
            .forEach(
                low,
                high,
                place -> {
                  long[] from = place.clone();
                  long[] count = place.clone();
                  for (int axis = 0; axis < from.length; axis++) {
                    from[axis] = place[axis] * leaf.extent(axis);
                    count[axis] = Math.min(high[axis] - from[axis], leaf.extent(axis));
                  }
                  part(from, count, reader, allocator, block);
                });
        writer.write(block);
      }
    }

    /**
     * Reads the finer level's elements for one chunk, coarsens them, and copies the chunk's
     * elements into {@code object}.
     */
    private void part(
        long[] low,
        long[] size,
        ZarrBlockReader reader,
        BufferAllocator allocator,
        BoxCopy.Block object)
        throws IOException {
      long[] factors = pyramid.factors.toArray();
      Shape finer = pyramid.levels.get(level - 1).array().shape();
      NpyType type = pyramid.levels.get(level).array().type();
      ElementType column = type.columnType();
      long[] from = low.clone();
      long[] count = size.clone();
      for (int axis = 0; axis < from.length; axis++) {
        from[axis] *= factors[axis];
        count[axis] = Math.min(size[axis] * factors[axis], finer.extent(axis) - from[axis]);
      }
      long fine = Shape.of(count).elements() * column.bytes();
      long coarse = Shape.of(size).elements() * column.bytes();
      long stored = Shape.of(size).elements() * type.elementBytes();
      int parts = type.parts();
      try (ArrowBuf read = allocator.buffer(fine * parts);
          ArrowBuf made = allocator.buffer(coarse);
          ArrowBuf encoded = allocator.buffer(stored)) {
        reader.read(from, count, read, 0, parts == 2 ? read : null, fine);
        HostMemory elements = Buffers.memory(encoded, 0, stored);
        NpyEncoder encoder = new NpyEncoder(column, type, false);
        for (int part = 0; part < parts; part++) {
          Coarsen.run(
              column,
              new Coarsen.Box(read.memoryAddress() + part * fine, count),
              factors,
              pyramid.isFirst,
              new Coarsen.Box(made.memoryAddress(), size));
          if (encoder.encode(Buffers.memory(made, 0, coarse), elements, part) >= 0) {
            throw new IllegalStateException("a mean of " + type + " is none of its values");
          }
        }
        BoxCopy.copy(
            new BoxCopy.Block(elements, low, size),
            object,
            low,
            sum(low, size),
            type.elementBytes());
      }
    }

    private static long[] sum(long[] a, long[] b) {
      long[] sum = a.clone();
      for (int axis = 0; axis < sum.length; axis++) {
        sum[axis] += b[axis];
      }
      return sum;
    }
  }
}
