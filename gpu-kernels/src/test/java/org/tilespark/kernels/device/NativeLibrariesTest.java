package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NativeLibrariesTest {
  @TempDir Path parent;

  @Test
  void unpacksIntoAPrivateDirectory() throws IOException {
    Path first = NativeLibraries.unpack(parent);
    Path second = NativeLibraries.unpack(parent);
    assertNotEquals(first, second);
    assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(first)));
    assertTrue(Arrays.equals(resource(), Files.readAllBytes(library(first))));
    NativeLibraries.remove(first);
    NativeLibraries.remove(first);
    assertFalse(Files.exists(first));
    assertTrue(Files.exists(library(second)));
  }

  @Test
  void aFileThatSomebodyLeftUnderTheFixedNameIsNotTrusted() throws IOException {
    Path trap = parent.resolve(NativeLibraries.fileName());
    Files.writeString(trap, "not a library");
    Path unpacked = NativeLibraries.unpack(parent);
    assertTrue(Arrays.equals(resource(), Files.readAllBytes(library(unpacked))));
    assertEquals("not a library", Files.readString(trap));
  }

  @Test
  void processesThatStartTogetherDoNotMeet() throws Exception {
    List<Process> processes = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      processes.add(
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "-Xshare:auto",
                  "-XX:TieredStopAtLevel=1",
                  "-Djava.io.tmpdir=" + parent,
                  "-cp",
                  System.getProperty("java.class.path"),
                  Unpack.class.getName())
              .redirectErrorStream(true)
              .start());
    }
    for (Process process : processes) {
      String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertTrue(process.waitFor(60, TimeUnit.SECONDS), "unpacking hangs");
      assertEquals(0, process.exitValue(), output);
    }
    try (Stream<Path> left = Files.list(parent)) {
      assertEquals(List.of(), left.filter(path -> path.toString().contains("native")).toList());
    }
  }

  @Test
  void loadingRestoresTheTemporaryDirectoryAndLeavesNothing() throws IOException {
    String before = System.getProperty("java.io.tmpdir");
    DeviceProbe.run();
    assertEquals(before, System.getProperty("java.io.tmpdir"));
    try (Stream<Path> left = Files.list(Path.of(before))) {
      assertEquals(
          List.of(), left.filter(path -> path.toString().contains("tilespark-natives")).toList());
    }
  }

  /** Unpacks fifty times beside its twin, and loads where there is a driver. */
  static final class Unpack {
    private Unpack() {}

    public static void main(String[] args) {
      try {
        byte[] expected = resource();
        Path parent = Path.of(System.getProperty("java.io.tmpdir"));
        for (int i = 0; i < 50; i++) {
          Path directory = NativeLibraries.unpack(parent);
          if (!Arrays.equals(expected, Files.readAllBytes(library(directory)))) {
            throw new IllegalStateException("half a library in " + directory);
          }
          NativeLibraries.remove(directory);
        }
        System.out.println(DeviceProbe.run().description());
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private static Path library(Path directory) {
    return directory.resolve(NativeLibraries.fileName());
  }

  private static byte[] resource() throws IOException {
    try (InputStream in =
        NativeLibraries.class.getResourceAsStream("/lib/" + NativeLibraries.fileName())) {
      return in.readAllBytes();
    }
  }
}
