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
import org.tilespark.kernels.launch.TuningTable;
import org.tilespark.kernels.transpose.ProblemClass;
import org.tilespark.kernels.transpose.TileOrder;
import org.tilespark.kernels.transpose.Tiling;

class TuningStoreTest {
  private static final String DEVICE = "NVIDIA H200, sm_90, driver 580";
  private static final ProblemClass PROBLEMS = new ProblemClass(true, 4, 1024, 512, 2, 26);
  private static final Tiling TILING =
      new Tiling("transpose_vector_w4_64x64x256", TileOrder.COLS_FIRST);
  private static final TuningTable<ProblemClass, Tiling> TABLE =
      TuningTable.<ProblemClass, Tiling>empty().with(PROBLEMS, TILING);

  @TempDir Path parent;

  private TuningStore<ProblemClass, Tiling> store() {
    return TuningStore.ofTilings(parent.resolve("a/b/tilespark"), DEVICE, "abc");
  }

  @Test
  void whatIsAddedIsThereForTheNext() throws IOException {
    assertEquals(TuningTable.empty(), store().load());
    store().put(PROBLEMS, TILING);
    assertEquals(TABLE, store().load());
    ProblemClass others = new ProblemClass(false, 1, 65536, 48, 0, 28);
    store().put(others, TILING);
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
    store().put(PROBLEMS, TILING);
    Path directory = parent.resolve("a/b/tilespark");
    TuningStore<ProblemClass, Tiling> otherDevice =
        TuningStore.ofTilings(directory, "another", "abc");
    TuningStore<ProblemClass, Tiling> otherKernels =
        TuningStore.ofTilings(directory, DEVICE, "def");
    assertNotEquals(store().file(), otherDevice.file());
    assertNotEquals(store().file(), otherKernels.file());
    assertEquals(TuningTable.empty(), otherDevice.load());
    assertEquals(TuningTable.empty(), otherKernels.load());
  }

  @Test
  void aDamagedFileIsIgnoredAndReplaced() throws IOException {
    store().put(PROBLEMS, TILING);
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
      assertEquals(TuningTable.empty(), store().load(), text);
    }
    Files.write(store().file(), new byte[] {(byte) 0xC3, (byte) 0x28, (byte) 0xFF});
    assertEquals(TuningTable.empty(), store().load(), "no UTF-8");
    store().put(PROBLEMS, TILING);
    assertEquals(TABLE, store().load());
  }

  @Test
  void aFileOfAnotherDeviceUnderOurNameIsIgnored() throws IOException {
    TuningStore<ProblemClass, Tiling> foreign =
        TuningStore.ofTilings(parent.resolve("a/b/tilespark"), "another", "abc");
    foreign.put(PROBLEMS, TILING);
    Files.copy(foreign.file(), store().file());
    assertEquals(TuningTable.empty(), store().load());
  }

  @Test
  void aDirectoryThatOthersMayWriteToIsNotUsed() throws IOException {
    store().put(PROBLEMS, TILING);
    Path directory = parent.resolve("a/b/tilespark");
    Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxrwxrwx"));
    assertEquals(TuningTable.empty(), store().load());
    Files.delete(store().file());
    TuningStore<ProblemClass, Tiling> store = store();
    store.put(PROBLEMS, TILING);
    assertFalse(Files.exists(store.file()));
  }

  @Test
  void aDirectoryThatCannotBeMadeIsGoneWithout() throws IOException {
    Path file = Files.createFile(parent.resolve("file"));
    TuningStore<ProblemClass, Tiling> store =
        TuningStore.ofTilings(file.resolve("tilespark"), DEVICE, "abc");
    store.put(PROBLEMS, TILING);
    store.put(PROBLEMS, TILING);
    assertEquals(TuningTable.empty(), store.load());
    assertTrue(Files.isRegularFile(file));
  }

  @Test
  void aLinkInPlaceOfTheDirectoryIsNotFollowed() throws IOException {
    Path real = Files.createDirectory(parent.resolve("real"));
    Files.setPosixFilePermissions(real, PosixFilePermissions.fromString("rwx------"));
    Path link = Files.createSymbolicLink(parent.resolve("link"), real);
    TuningStore<ProblemClass, Tiling> store = TuningStore.ofTilings(link, DEVICE, "abc");
    store.put(PROBLEMS, TILING);
    assertFalse(Files.exists(store.file()));
  }
}
