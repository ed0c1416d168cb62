package org.tilespark.arrow.store;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.kernels.memory.HostMemory;

class MapOutputTest {
  private static final int PARTITIONS = 5;
  private static final MapOutput.Id ID = new MapOutput.Id(3, 17);

  @TempDir Path folder;
  private final NativeMemorySource source = new NativeMemorySource(0);
  private StoreBudget budget = new StoreBudget(1L << 30);

  @AfterEach
  void nothingIsHeld() {
    assertEquals(0, budget.usedBytes());
    source.close();
  }

  /** Values that say which row they belong to, and where. */
  private static long[] row(int partition, int i, int values) {
    long[] row = new long[values];
    for (int v = 0; v < values; v++) {
      row[v] = partition * 1_000_000_007L + i * 1_000_003L + v;
    }
    return row;
  }

  private MapOutput output(List<List<long[]>> expected, int rows, int mostValues)
      throws IOException {
    MapOutput output = new MapOutput(ID, PARTITIONS, source, budget, this::overflow);
    for (int p = 0; p < PARTITIONS; p++) {
      expected.add(new ArrayList<>());
    }
    SplittableRandom random = new SplittableRandom(7);
    for (int i = 0; i < rows; i++) {
      int partition = random.nextInt(PARTITIONS - 1); // the last one stays empty
      long[] row = row(partition, i, random.nextInt(mostValues));
      expected.get(partition).add(row);
      output.append(partition, HostMemory.ofArray(row), fields(row));
    }
    return output;
  }

  private FileChannel overflow() throws IOException {
    return FileChannel.open(
        Files.createTempFile(folder, "overflow", null),
        StandardOpenOption.READ,
        StandardOpenOption.WRITE,
        StandardOpenOption.DELETE_ON_CLOSE);
  }

  private static void assertWritten(MapOutput output, List<List<long[]>> expected)
      throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    for (int p = 0; p < PARTITIONS; p++) {
      bytes.reset();
      output.writeTo(p, Channels.newChannel(bytes));
      byte[] written = bytes.toByteArray();
      assertEquals(output.wireBytes(p), written.length);
      assertEquals(Crc32c.of(written, 0, written.length), output.checksum(p));
      if (written.length > 0) {
        assertRows(expected.get(p), p, written);
      }
    }
  }

  private static void assertRows(List<long[]> expected, int partition, byte[] written)
      throws IOException {
    CheckedHeader header =
        CheckedHeader.of(Arrays.copyOf(written, CheckedHeader.BYTES), written.length);
    assertEquals(new CheckedHeader(written.length, ID.place(partition)), header);
    DataInputStream stream = new DataInputStream(new ByteArrayInputStream(written));
    stream.skipNBytes(CheckedHeader.BYTES);
    PartitionFrames images =
        new PartitionFrames(
            PartitionFrames.Source.of(stream, new PartitionFrames.Buffer()),
            written.length - CheckedHeader.BYTES);
    for (long[] row : expected) {
      assertTrue(images.next());
      assertEquals(fields(row), RowImage.fields(images.header()));
      assertArrayEquals(row, values(images.row()));
    }
    assertFalse(images.next());
  }

  private static long[] values(HostMemory row) {
    long[] values = new long[(int) row.bytes() / Long.BYTES];
    row.copyTo(HostMemory.ofArray(values));
    return values;
  }

  /** Most fields that a row of these values can have. */
  private static int fields(long[] row) {
    return row.length / 2;
  }

  /** In memory; with too little of it, so that there are many runs; and with none at all. */
  @ParameterizedTest
  @ValueSource(longs = {1 << 30, 300 << 10, 0})
  void rowsComeBackInTheirOrder(long budgetBytes) throws IOException {
    budget = new StoreBudget(budgetBytes);
    List<List<long[]>> expected = new ArrayList<>();
    MapOutput output = output(expected, 1000, 1000);
    assertEquals(budgetBytes == 1 << 30, output.isInMemory());
    assertEquals(1000, output.rows());
    assertEquals(0, output.wireBytes(PARTITIONS - 1));
    assertTrue(budget.peakBytes() <= budgetBytes);
    assertWritten(output, expected);
    output.release();
    try (var left = Files.list(folder)) {
      assertEquals(0, left.count());
    }
  }

  /** A row that is larger than the pieces in which files are written. */
  @Test
  void largeRowsFindTheirWayToTheFile() throws IOException {
    budget = new StoreBudget(0);
    List<List<long[]>> expected = new ArrayList<>();
    MapOutput output = output(expected, 4, 700_000);
    assertWritten(output, expected);
    output.release();
  }

  @Test
  void imagesInMemoryAreReadInPlace() throws IOException {
    List<List<long[]>> expected = new ArrayList<>();
    MapOutput output = output(expected, 300, 500);
    for (int p = 0; p < PARTITIONS; p++) {
      assertEquals(expected.get(p).size(), output.imageCount(p));
      for (int i = 0; i < output.imageCount(p); i++) {
        long[] row = expected.get(p).get(i);
        long image = output.image(p, i);
        assertEquals(RowImage.header(8L * row.length, fields(row)), RowImage.headerAt(image));
        assertArrayEquals(
            row, values(HostMemory.ofAddress(image + RowImage.HEADER_BYTES, 8L * row.length)));
      }
    }
    output.release();
  }

  /** Rows of one partition that were written one after the other are one range. */
  @Test
  void neighboursAreOneRange() throws IOException {
    MapOutput output = new MapOutput(ID, PARTITIONS, source, budget, this::overflow);
    for (int i = 0; i < 10; i++) {
      output.append(2, HostMemory.ofArray(row(2, i, 10)), 10);
    }
    List<Integer> ranges = new ArrayList<>();
    output.giveTo(
        2,
        new MapOutput.PartitionSink<RuntimeException>() {
          @Override
          public void accept(byte[] header) {}

          @Override
          public void accept(long address, int bytes) {
            ranges.add(bytes);
          }
        });
    assertEquals(List.of(10 * 88), ranges);
    output.release();
  }

  @Test
  void lastUserFrees() throws IOException {
    MapOutput output = output(new ArrayList<>(), 10, 10);
    assertTrue(output.retain());
    output.release();
    assertTrue(budget.usedBytes() > 0);
    output.release();
    assertEquals(0, budget.usedBytes());
    assertFalse(output.retain());
    assertThrows(IllegalStateException.class, output::release);
  }

  @Test
  void fullDisksAreSaid() {
    budget = new StoreBudget(0);
    MapOutput output =
        new MapOutput(
            ID,
            PARTITIONS,
            source,
            budget,
            () -> {
              throw new IOException("No space left on device");
            });
    assertThrows(IOException.class, () -> output.append(0, HostMemory.ofArray(new long[10]), 10));
    output.release();
  }

  @Test
  void headersSayWhatRowsCannotBe() {
    assertThrows(IllegalArgumentException.class, () -> RowImage.header(1L << 31, 1));
    assertThrows(IllegalArgumentException.class, () -> RowImage.header(8, 1 << 24));
    assertThrows(IllegalArgumentException.class, () -> RowImage.header(12, 1));
    long header = RowImage.header(Integer.MAX_VALUE - 7, (1 << 24) - 1);
    assertEquals(Integer.MAX_VALUE - 7, RowImage.bytes(header));
    assertEquals((1 << 24) - 1, RowImage.fields(header));
  }
}
