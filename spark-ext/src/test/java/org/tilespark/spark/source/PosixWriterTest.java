package org.tilespark.spark.source;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.spark.testing.SmallDisk;

class PosixWriterTest {
  @TempDir Path directory;
  private Path file;
  private BufferAllocator allocator;

  @BeforeEach
  void open() {
    file = directory.resolve("hidden");
    allocator = new RootAllocator();
  }

  /** No memory, no mapping and no descriptor is left. */
  @AfterEach
  void close() throws IOException {
    allocator.close();
    assertFalse(isMapped(), "a mapping is left");
    try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
      assertEquals(List.of(), descriptors.filter(this::leadsToTheFile).toList());
    }
  }

  private boolean leadsToTheFile(Path descriptor) {
    try {
      return Files.readSymbolicLink(descriptor).startsWith(directory);
    } catch (IOException e) {
      return false; // it was that of the list
    }
  }

  private boolean isMapped() throws IOException {
    return Files.readString(Path.of("/proc/self/maps")).contains(directory.toString());
  }

  private void make(long bytes) throws IOException {
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      channel.write(ByteBuffer.allocate(1), bytes - 1);
    }
  }

  private PosixWriter writer(WriteWay way, long bytes) throws IOException {
    return way == WriteWay.MAPPED
        ? MappedWriters.open(file, bytes, allocator)
        : PosixWriter.open(file, bytes, allocator, way);
  }

  private static void store(PosixWriter writer, byte[] bytes, int from, int count, long position)
      throws IOException {
    writer.store(
        () -> {
          HostMemory source = HostMemory.ofArray(bytes);
          for (long done = 0; done < count; ) {
            HostMemory room = writer.room(position + done, count - done);
            source.slice(from + done, room.bytes()).copyTo(room);
            done += room.bytes();
          }
        });
  }

  /** Tasks that write rows of all lengths next to each other, in any order. */
  @ParameterizedTest
  @CsvSource({
    "MAPPED, 1, 48", "MAPPED, 4, 5000", "MAPPED, 3, 700000",
    "POSITIONED, 1, 48", "POSITIONED, 4, 5000", "POSITIONED, 3, 700000",
  })
  void writersPutBytesAtTheirPlaces(WriteWay way, int writers, int longest) throws Exception {
    byte[] expected = new byte[3_000_016];
    Random random = new Random(longest);
    random.nextBytes(expected);
    make(expected.length);
    List<int[]> rows = new ArrayList<>(); // start, length
    for (int at = 0; at < expected.length; ) {
      int length = Math.min(16 + random.nextInt(longest / 16) * 16, expected.length - at);
      rows.add(new int[] {at, length});
      at += length;
    }
    Collections.shuffle(rows, random);
    List<Callable<Void>> tasks = new ArrayList<>();
    for (int task = 0; task < writers; task++) {
      int first = task;
      tasks.add(
          () -> {
            try (PosixWriter writer = writer(way, expected.length)) {
              for (int i = first; i < rows.size(); i += writers) {
                int[] row = rows.get(i);
                store(writer, expected, row[0], row[1], row[0]);
              }
              writer.finish(true);
            }
            return null;
          });
    }
    ExecutorService threads = Executors.newFixedThreadPool(writers);
    try {
      for (Future<Void> task : threads.invokeAll(tasks)) {
        task.get();
      }
    } finally {
      threads.shutdown();
    }
    assertArrayEquals(expected, Files.readAllBytes(file));
  }

  /** Elements of 16 bytes on both sides of the ends of windows, in a file with holes. */
  @ParameterizedTest
  @EnumSource(WriteWay.class)
  void roomsCutNoElement(WriteWay way) throws IOException {
    long end = 2 * MappedWriter.WINDOW_BYTES + 4096;
    make(end);
    byte[] bytes = new byte[64];
    new Random(5).nextBytes(bytes);
    long[] places = {MappedWriter.WINDOW_BYTES - 32, 64, end - 64};
    try (PosixWriter writer = writer(way, end)) {
      for (long place : places) {
        store(writer, bytes, 0, bytes.length, place);
        assertEquals(0, writer.room(place, 48).bytes() % 16);
        store(writer, bytes, 0, bytes.length, place); // what the room of the line above has lost
      }
      writer.finish(false);
    }
    assertEquals(end, Files.size(file));
    try (FileChannel channel = FileChannel.open(file)) {
      for (long place : places) {
        ByteBuffer found = ByteBuffer.allocate(bytes.length);
        assertEquals(bytes.length, channel.read(found, place));
        assertArrayEquals(bytes, found.array());
      }
    }
  }

  @Test
  void fewMappedBytesStayResident() throws IOException {
    int bytes = 80 << 20;
    make(bytes);
    byte[] piece = new byte[1 << 20];
    long before = residentBytes();
    try (PosixWriter writer = writer(WriteWay.MAPPED, bytes)) {
      for (long place = 0; place < bytes; place += piece.length) {
        store(writer, piece, 0, piece.length, place);
        if ((place + piece.length) % (16 << 20) == 0) { // also where most are resident
          assertTrue(residentBytes() - before <= 64 << 20, "at " + place);
        }
      }
      writer.finish(false);
      assertFalse(isMapped());
    }
  }

  /** Of this file, by the system's account of mappings. */
  private long residentBytes() throws IOException {
    long bytes = 0;
    boolean own = false;
    for (String line : Files.readAllLines(Path.of("/proc/self/smaps"))) {
      if (line.matches("[0-9a-f]+-.*")) {
        own = line.contains(directory.toString());
      } else if (own && line.startsWith("Rss:")) {
        bytes += 1024 * Long.parseLong(line.replaceAll("[^0-9]", ""));
      }
    }
    return bytes;
  }

  /** Somebody cuts the file short: an error of the task, and this process lives on. */
  @ParameterizedTest
  @ValueSource(ints = {1, 20_000})
  void aLostPageIsAnError(int before) throws IOException {
    make(1 << 20);
    byte[] bytes = new byte[100_000];
    try (PosixWriter writer = writer(WriteWay.MAPPED, 1 << 20)) {
      for (int i = 0; i < before; i++) { // until it runs as compiled code
        store(writer, bytes, 0, 32, i * 32L);
      }
      try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
        channel.truncate(4096);
      }
      String message =
          assertThrows(IOException.class, () -> store(writer, bytes, 0, bytes.length, 500_000))
              .getMessage();
      assertTrue(message.startsWith("Cannot write " + file + ": a page of it is gone"), message);
    }
  }

  /** Nothing is stored where there is no room, and no signal comes. */
  @ParameterizedTest
  @EnumSource(WriteWay.class)
  void aFullDiskIsAnError(WriteWay way) throws Exception {
    try (SmallDisk disk = SmallDisk.mount(directory, 4)) {
      file = disk.path().resolve("hidden");
      long bytes = 60 << 20;
      make(bytes);
      byte[] piece = new byte[1 << 20];
      try (PosixWriter writer = writer(way, bytes)) {
        String message =
            assertThrows(
                    IOException.class,
                    () -> {
                      for (long place = 0; place < bytes; place += piece.length) {
                        store(writer, piece, 0, piece.length, place);
                      }
                      writer.finish(true);
                    })
                .getMessage();
        assertTrue(message.contains("No space left on device"), message);
        assertTrue(message.contains("the whole file takes 62914560 bytes"), message);
      }
    }
  }

  @Test
  void writesByPositionsWhereNoSpaceCanBeReserved() throws IOException {
    Path device = Path.of("/dev/null");
    assertTrue(FileSpace.open(device, 1).whyNot().contains("reserves no space"));
    try (PosixWriter writer = PosixWriter.open(device, 1, allocator, WriteWay.MAPPED)) {
      assertTrue(writer instanceof PositionedWriter);
    }
  }
}
