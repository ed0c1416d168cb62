package org.tilespark.kernels.tune;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.transpose.ProblemClass;
import org.tilespark.kernels.transpose.TileOrder;
import org.tilespark.kernels.transpose.Tiling;
import org.tilespark.kernels.transpose.TilingTable;

class TilingStoreTest {
  private static final TilingStore.Origin ORIGIN =
      new TilingStore.Origin("NVIDIA H200, sm_90, driver 580", "abc");
  private static final ProblemClass PROBLEMS = new ProblemClass(true, 4, 1024, 512, 2, 26);
  private static final Tiling TILING =
      new Tiling("transpose_vector_w4_64x64x256", TileOrder.COLS_FIRST);
  private static final TilingTable TABLE = TilingTable.EMPTY.with(PROBLEMS, TILING);

  @TempDir Path parent;

  private TilingStore store() {
    return new TilingStore(parent.resolve("a/b/tilespark"), ORIGIN);
  }

  @Test
  void whatIsAddedIsThereForTheNext() throws IOException {
    assertEquals(TilingTable.EMPTY, store().load());
    store().add(PROBLEMS, TILING);
    assertEquals(TABLE, store().load());
    ProblemClass others = new ProblemClass(false, 1, 65536, 48, 0, 28);
    store().add(others, TILING);
    assertEquals(TABLE.with(others, TILING), store().load());
    Path directory = parent.resolve("a/b/tilespark");
    assertEquals(
        "rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(directory)));
    try (Stream<Path> files = Files.list(directory)) {
      assertEquals(List.of(store().file()), files.toList(), "nothing but the file is left");
    }
    assertEquals(
        "rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(store().file())));
  }

  @Test
  void anotherDeviceOrSetOfKernelsHasAFileOfItsOwn() {
    store().add(PROBLEMS, TILING);
    Path directory = parent.resolve("a/b/tilespark");
    TilingStore otherDevice =
        new TilingStore(directory, new TilingStore.Origin("another", ORIGIN.kernels()));
    TilingStore otherKernels =
        new TilingStore(directory, new TilingStore.Origin(ORIGIN.device(), "def"));
    assertNotEquals(store().file(), otherDevice.file());
    assertNotEquals(store().file(), otherKernels.file());
    assertEquals(TilingTable.EMPTY, otherDevice.load());
    assertEquals(TilingTable.EMPTY, otherKernels.load());
  }

  @Test
  void aDamagedFileIsIgnoredAndReplaced() throws IOException {
    store().add(PROBLEMS, TILING);
    String good = Files.readString(store().file());
    String[] damaged = {
      "",
      "\0\1\2",
      good.substring(0, good.length() / 2),
      good.replace("1024", "2048"),
      good.replace("cols-first", "diagonal"),
      good + good
    };
    for (String text : damaged) {
      Files.writeString(store().file(), text, StandardCharsets.UTF_8);
      assertEquals(TilingTable.EMPTY, store().load(), text);
    }
    Files.write(store().file(), new byte[] {(byte) 0xC3, (byte) 0x28, (byte) 0xFF});
    assertEquals(TilingTable.EMPTY, store().load(), "no UTF-8");
    store().add(PROBLEMS, TILING);
    assertEquals(TABLE, store().load());
  }

  @Test
  void aFileOfAnotherDeviceUnderOurNameIsIgnored() throws IOException {
    TilingStore foreign =
        new TilingStore(parent.resolve("a/b/tilespark"), new TilingStore.Origin("another", "abc"));
    foreign.add(PROBLEMS, TILING);
    Files.copy(foreign.file(), store().file());
    assertEquals(TilingTable.EMPTY, store().load());
  }

  @Test
  void aDirectoryThatOthersMayWriteToIsNotUsed() throws IOException {
    store().add(PROBLEMS, TILING);
    Path directory = parent.resolve("a/b/tilespark");
    Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxrwxrwx"));
    assertEquals(TilingTable.EMPTY, store().load());
    Files.delete(store().file());
    TilingStore store = store();
    store.add(PROBLEMS, TILING);
    assertFalse(Files.exists(store.file()));
  }

  @Test
  void aDirectoryThatCannotBeMadeIsGoneWithout() throws IOException {
    Path file = Files.createFile(parent.resolve("file"));
    TilingStore store = new TilingStore(file.resolve("tilespark"), ORIGIN);
    store.add(PROBLEMS, TILING);
    store.add(PROBLEMS, TILING);
    assertEquals(TilingTable.EMPTY, store.load());
    assertTrue(Files.isRegularFile(file));
  }

  @Test
  void aLinkInPlaceOfTheDirectoryIsNotFollowed() throws IOException {
    Path real = Files.createDirectory(parent.resolve("real"));
    Files.setPosixFilePermissions(real, PosixFilePermissions.fromString("rwx------"));
    Path link = Files.createSymbolicLink(parent.resolve("link"), real);
    TilingStore store = new TilingStore(link, ORIGIN);
    store.add(PROBLEMS, TILING);
    assertFalse(Files.exists(store.file()));
  }
}
