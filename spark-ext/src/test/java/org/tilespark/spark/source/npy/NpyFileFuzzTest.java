package org.tilespark.spark.source.npy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.code_intelligence.jazzer.junit.DictionaryEntries;
import com.code_intelligence.jazzer.junit.FuzzTest;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.kernels.host.HostTransposer;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.numpy.HalfFloat;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.source.AxisLabels;
import org.tilespark.spark.source.BlockRanges;
import org.tilespark.spark.source.SourcePartitionReader;
import org.tilespark.spark.source.contiguous.ContiguousSource;
import org.tilespark.spark.source.contiguous.StoredFile;

/**
 * Any bytes as a whole .npy file, read in blocks: the file is refused by its name, or every element
 * is where index arithmetic finds it in the bytes. And a file that shrinks between planning and
 * reading fails the reader.
 */
class NpyFileFuzzTest {
  /** Small, so that few bytes have several blocks and ragged edges. */
  private static final int[] BLOCK = {3, 2, 2};

  private static final Configuration CONF = conf();
  private static Path file;

  static Stream<Arguments> seeds() {
    return Arrays.stream(NpyType.values())
        .map(type -> type.descr().substring(1))
        .flatMap(
            code ->
                Stream.of(
                    new NpyFixture(code, 4, 3).canonical(),
                    new NpyFixture(code, 4, 5).file('>', true, 1),
                    new NpyFixture(code, 2, 3, 5).file('>', false, 2),
                    new NpyFixture(code, 4, 1, 3).file('<', true, 3),
                    new NpyFixture(code, 0, 3).canonical(),
                    Arrays.copyOf(new NpyFixture(code, 4, 3).canonical(), 140)))
        .map(bytes -> Arguments.of((Object) bytes));
  }

  @DictionaryEntries({"'descr': '<f2'", "True", "False", "'shape': (2, 3)", "(1, 2, 3)", "'>c8'"})
  @MethodSource("seeds")
  @FuzzTest
  void anyBytesAreAFileOrRefused(byte[] bytes) throws IOException {
    Path path = file();
    Files.write(path, bytes);
    ContiguousSource layout;
    try {
      NpyFile found = StoredFile.open(path.toString(), NpyDataSource.FORMAT, CONF, NpyFile::read);
      int[] block = Arrays.copyOf(BLOCK, Math.min(3, found.header().shape().rank()));
      String blockShape = Arrays.toString(block).replaceAll("[^0-9,]", "");
      layout =
          ContiguousSource.of(
              "npy",
              found.file(),
              found.array(),
              AxisLabels.NONE,
              Optional.of(blockShape),
              Optional.empty());
    } catch (IllegalArgumentException e) {
      assertTrue(
          e.getMessage().contains(path.getFileName().toString())
              || e.getMessage().startsWith("Option blockShape"),
          e.getMessage());
      return;
    }
    try (NativeMemorySource source = new NativeMemorySource(0)) {
      ArrowMemory memory = new ArrowMemory(source);
      assertEquals(elements(layout), read(layout, memory, bytes), "elements read");
      if (layout.grid().count() > 0) {
        try (var channel = java.nio.channels.FileChannel.open(path, StandardOpenOption.WRITE)) {
          channel.truncate(bytes.length - 1L);
        }
        assertThrows(IOException.class, () -> read(layout, memory, bytes));
      }
      memory.close(); // throws if a buffer is alive
    }
  }

  /** Reads all blocks, and compares each element; returns how many there were. */
  private static long read(ContiguousSource layout, ArrowMemory memory, byte[] bytes)
      throws IOException {
    int rank = layout.grid().rank();
    int own = layout.axes().kind().rank();
    long seen = 0;
    try (SourcePartitionReader reader =
        new SourcePartitionReader(
            layout,
            layout.schema(),
            new BlockRanges(new long[] {0, layout.grid().count()}, new String[0]),
            CONF,
            64, // bytes of a batch: several
            memory.newChild("fuzz"),
            new HostTransposer())) {
      while (reader.next()) {
        ColumnarBatch batch = reader.get();
        for (int row = 0; row < batch.numRows(); row++) {
          long[] offset = new long[rank];
          long[] size = new long[rank];
          for (int axis = 0; axis < rank; axis++) {
            offset[axis] = batch.column(axis).getLong(row);
            size[axis] = axis < rank - own ? 1 : batch.column(own + axis).getInt(row);
          }
          for (int part = 0; part < layout.array().type().parts(); part++) {
            ArrayData values = batch.column(rank + own + part).getArray(row);
            seen += part == 0 ? values.numElements() : 0;
            compare(layout, offset, size, part, values, bytes);
          }
        }
      }
    }
    return seen;
  }

  private static void compare(
      ContiguousSource layout,
      long[] offset,
      long[] size,
      int part,
      ArrayData values,
      byte[] bytes) {
    long[] extents = layout.grid().extents();
    for (int i = 0; i < values.numElements(); i++) {
      assertFalse(values.isNullAt(i));
      long[] at = new long[size.length];
      long rest = i;
      for (int axis = size.length - 1; axis >= 0; axis--) {
        at[axis] = offset[axis] + rest % size[axis];
        rest /= size[axis];
      }
      long index = 0;
      for (int step = 0; step < at.length; step++) {
        int axis = layout.array().firstAxisFastest() ? at.length - 1 - step : step;
        index = index * extents[axis] + at[axis];
      }
      int place =
          Math.toIntExact(
              layout.array().dataOffset()
                  + index * layout.array().type().elementBytes()
                  + (long) part * layout.array().type().partBytes());
      assertEquals(number(layout, bytes, place), found(layout.columnType(), values, i));
    }
  }

  /** The bits of a number of the file, as the column has them. */
  private static long number(ContiguousSource layout, byte[] bytes, int at) {
    ByteBuffer in =
        ByteBuffer.wrap(bytes)
            .order(layout.array().bigEndian() ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN);
    return switch (layout.array().type()) {
      case INT8 -> in.get(at);
      case BOOL -> in.get(at) == 0 ? 0 : 1;
      case INT16 -> in.getShort(at);
      case INT32, FLOAT32, COMPLEX64 -> in.getInt(at);
      case INT64, FLOAT64, COMPLEX128 -> in.getLong(at);
      case UINT8 -> in.get(at) & 0xff;
      case UINT16 -> in.getShort(at) & 0xffff;
      case UINT32 -> in.getInt(at) & 0xffffffffL;
      case FLOAT16 -> HalfFloat.toFloatBits(in.getShort(at));
    };
  }

  private static long found(ElementType type, ArrayData values, int i) {
    return switch (type) {
      case INT8 -> values.getByte(i);
      case INT16 -> values.getShort(i);
      case INT32 -> values.getInt(i);
      case INT64 -> values.getLong(i);
      case FLOAT32 -> Float.floatToRawIntBits(values.getFloat(i));
      case FLOAT64 -> Double.doubleToRawLongBits(values.getDouble(i));
    };
  }

  private static long elements(ContiguousSource layout) {
    return Arrays.stream(layout.grid().extents()).reduce(1, Math::multiplyExact);
  }

  private static Configuration conf() {
    Configuration conf = new Configuration(false);
    conf.set("fs.file.impl", org.apache.hadoop.fs.RawLocalFileSystem.class.getName());
    return conf;
  }

  private static Path file() throws IOException {
    if (file == null) {
      file = Files.createTempFile("fuzz", ".npy");
      file.toFile().deleteOnExit();
    }
    return file;
  }
}
