package org.tilespark.arrow.store;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.kernels.Sampling;
import org.tilespark.kernels.memory.HostMemory;

/** Bytes of partitions that are changed on their way are found, and never read as rows. */
class CorruptPartitionTest {
  private static final int CASES = 20_000;
  private static final MapOutput.Id ID = new MapOutput.Id(3, 17);

  @TempDir Path folder;

  /** The bytes of one partition, some of whose frames were written as overflow. */
  private byte[] partition(SplittableRandom random) throws IOException {
    NativeMemorySource source = new NativeMemorySource(0);
    StoreBudget budget = new StoreBudget(random.nextBoolean() ? 1 << 30 : 300 << 10);
    MapOutput output =
        new MapOutput(
            ID,
            1,
            source,
            budget,
            () ->
                FileChannel.open(
                    Files.createTempFile(folder, "overflow", null),
                    StandardOpenOption.READ,
                    StandardOpenOption.WRITE,
                    StandardOpenOption.DELETE_ON_CLOSE));
    int rows = 1 + random.nextInt(40);
    int mostValues = random.nextBoolean() ? 60 : 6000;
    for (int i = 0; i < rows; i++) {
      long[] row = random.longs(random.nextInt(mostValues)).toArray();
      output.append(0, HostMemory.ofArray(row), random.nextInt(row.length / 2 + 1));
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    output.writeTo(0, Channels.newChannel(bytes));
    output.release();
    source.close();
    return bytes.toByteArray();
  }

  /** All rows, as a reader of memory or of a stream finds them. */
  private static List<byte[]> read(byte[] bytes, boolean inMemory) throws IOException {
    if (bytes.length < CheckedHeader.BYTES) {
      throw new EOFException();
    }
    long total = CheckedHeader.of(Arrays.copyOf(bytes, CheckedHeader.BYTES), bytes.length).bytes();
    assertTrue(total <= bytes.length);
    DataInputStream stream =
        new DataInputStream(
            new ByteArrayInputStream(
                bytes, CheckedHeader.BYTES, bytes.length - CheckedHeader.BYTES));
    long left = total - CheckedHeader.BYTES;
    NativeMemorySource source = new NativeMemorySource(0);
    HostMemory all = HostMemory.ofAddress(source.allocate(left).address(), left);
    HostMemory.ofArray(bytes).slice(CheckedHeader.BYTES, left).copyTo(all);
    try {
      PartitionFrames images =
          new PartitionFrames(
              inMemory
                  ? PartitionFrames.Source.of(all)
                  : PartitionFrames.Source.of(stream, new PartitionFrames.Buffer()),
              left);
      List<byte[]> rows = new ArrayList<>();
      while (images.next()) {
        byte[] row = new byte[(int) images.row().bytes()];
        images.row().copyTo(HostMemory.ofArray(row));
        rows.add(row);
      }
      return rows;
    } finally {
      source.close();
    }
  }

  /** A copy that differs: a bit, some bytes, a length, or its end. */
  private static byte[] corrupted(byte[] bytes, SplittableRandom random) {
    byte[] changed = bytes.clone();
    int at = random.nextInt(bytes.length);
    switch (random.nextInt(6)) {
      case 0 -> changed[at] ^= (byte) (1 << random.nextInt(8));
      case 1 -> { // one of the first headers
        int near = random.nextInt(Math.min(bytes.length, 48));
        changed[near] ^= (byte) (1 << random.nextInt(8));
      }
      case 2 -> {
        for (int i = at; i < Math.min(bytes.length, at + 1 + random.nextInt(64)); i++) {
          changed[i] = (byte) random.nextInt();
        }
      }
      case 3 -> Arrays.fill(changed, at, Math.min(bytes.length, at + 4096), (byte) 0);
      case 4 -> changed = Arrays.copyOf(bytes, at);
      default -> { // bytes that were written elsewhere
        int from = random.nextInt(bytes.length);
        int count = Math.min(bytes.length - Math.max(at, from), 1 + random.nextInt(4096));
        System.arraycopy(bytes, from, changed, at, count);
      }
    }
    return changed;
  }

  @Test
  void changedBytesAreFound() throws IOException {
    SplittableRandom random = new SplittableRandom(41);
    int found = 0;
    int cases = Sampling.FULL ? CASES : CASES / 10;
    byte[] bytes = {};
    List<byte[]> expected = List.of();
    for (int i = 0; i < cases; i++) {
      boolean inMemory = random.nextBoolean();
      if (i % 50 == 0) {
        bytes = partition(random);
        expected = read(bytes, inMemory);
      }
      byte[] changed = corrupted(bytes, random);
      if (Arrays.equals(bytes, changed)) {
        continue;
      }
      try {
        List<byte[]> rows = read(changed, inMemory);
        throw new AssertionError("case " + i + " gives " + rows.size() + " rows");
      } catch (CorruptDataException | EOFException e) {
        found++;
      }
    }
    assertTrue(found > cases / 2, found + " of " + cases);
    assertEquals(expected.size(), read(bytes, true).size());
    for (int i = 0; i < expected.size(); i++) {
      assertArrayEquals(expected.get(i), read(bytes, true).get(i));
    }
  }

  /** Lengths with a right checksum, which only a fault of ours can write. */
  @Test
  void rowsBeyondTheirFrameAreFound() {
    for (long header : new long[] {1L << 31, -1, 24, 4, RowImage.header(8, 1)}) {
      long[] frame = {header, 0, 0};
      byte[] bytes = new byte[24];
      HostMemory.ofArray(frame).copyTo(HostMemory.ofArray(bytes));
      ByteArrayOutputStream all = new ByteArrayOutputStream();
      all.writeBytes(new CheckedHeader(24, Crc32c.of(bytes, 0, 24)).encoded());
      all.writeBytes(bytes);
      PartitionFrames images =
          new PartitionFrames(
              PartitionFrames.Source.of(HostMemory.ofArray(all.toByteArray())), all.size());
      assertThrows(CorruptDataException.class, images::next);
    }
  }

  @Test
  void anotherPartitionIsTold() {
    assertFalse(ID.place(0) == ID.place(1));
    assertFalse(ID.place(0) == new MapOutput.Id(3, 18).place(0));
    assertFalse(ID.place(0) == new MapOutput.Id(4, 17).place(0));
  }
}
