package org.tilespark.kernels.device.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
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
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.device.DeviceProbe;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.library.LibraryFinder;

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
  void whatOthersMayHaveChangedIsNotLoaded() throws IOException {
    Path unpacked = NativeLibraries.unpack(parent);
    NativeLibraries.verify(unpacked);

    Files.setPosixFilePermissions(unpacked, PosixFilePermissions.fromString("rwxrwx---"));
    refused(unpacked, "with permissions rwxrwx---; expected a directory of");
    Files.setPosixFilePermissions(unpacked, PosixFilePermissions.fromString("rwx------"));

    Files.setPosixFilePermissions(library(unpacked), PosixFilePermissions.fromString("rw----rw-"));
    refused(unpacked, "with permissions rw----rw-; expected a file of");
    Files.setPosixFilePermissions(library(unpacked), PosixFilePermissions.fromString("rw-------"));

    Files.setPosixFilePermissions(parent, PosixFilePermissions.fromString("rwxrwxrwx"));
    refused(unpacked, "everybody may remove files of others from " + parent);
    Files.setAttribute(parent, "unix:mode", 01777); // as /tmp
    NativeLibraries.verify(unpacked);

    byte[] changed = Files.readAllBytes(library(unpacked));
    changed[changed.length / 2] ^= 1;
    Files.write(library(unpacked), changed);
    refused(unpacked, "is not what the jar holds");

    Path link = Files.createSymbolicLink(parent.resolve("link"), NativeLibraries.unpack(parent));
    refused(link, "link is a link, which belongs to");
  }

  @Test
  void installedLibrariesThatEverybodyMayChangeAreNotLoaded() throws IOException {
    Path installed = Files.createDirectory(parent.resolve("lib"));
    Path library = Files.createFile(installed.resolve("libcublas.so.13.1"));
    Path name = Files.createSymbolicLink(parent.resolve("libcublas.so.13"), library);
    assertEquals(
        Availability.of(List.of(name, parent.resolve("missing"))),
        LibraryFinder.trusted(List.of(name, parent.resolve("missing"))));
    Files.setPosixFilePermissions(library, PosixFilePermissions.fromString("rw-r--rw-"));
    assertEquals(
        Availability.not("everybody may write to " + library),
        LibraryFinder.trusted(List.of(name)));
    Files.setPosixFilePermissions(library, PosixFilePermissions.fromString("rw-r--r--"));
    Files.setPosixFilePermissions(installed, PosixFilePermissions.fromString("rwxr-xrwx"));
    assertEquals(
        Availability.not("everybody may write to " + installed),
        LibraryFinder.trusted(List.of(name)));
  }

  private static void refused(Path directory, String message) {
    String found =
        assertThrows(IOException.class, () -> NativeLibraries.verify(directory)).getMessage();
    assertTrue(found.contains(message), found);
  }

  @Test
  void processesThatStartTogetherDoNotMeet() throws Exception {
    List<Process> processes = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      processes.add(start(Unpack.class));
    }
    for (Process process : processes) {
      requireSuccess(process);
    }
    try (Stream<Path> left = Files.list(parent)) {
      assertEquals(List.of(), left.filter(path -> path.toString().contains("native")).toList());
    }
  }

  @Test
  void theDriverClassInitialisesWithoutUnpacking() throws Exception {
    requireSuccess(start(Initialise.class));
    try (Stream<Path> left = Files.list(parent)) {
      assertEquals(List.of(), left.filter(path -> path.toString().contains("JCuda")).toList());
    }
  }

  @Test
  void theDriverFindsAllHardwareQueuesUnlessTheUserSaysOtherwise() throws Exception {
    ProcessBuilder unset = java(PrintQueues.class);
    unset.environment().remove(DriverEnvironment.QUEUES);
    ProcessBuilder set = java(PrintQueues.class);
    set.environment().put(DriverEnvironment.QUEUES, "7");
    assertEquals(List.of("null", "32"), requireSuccess(unset.start()).lines().toList());
    assertEquals(List.of("7", "7"), requireSuccess(set.start()).lines().toList());
  }

  private Process start(Class<?> main) throws IOException {
    return java(main).start();
  }

  private ProcessBuilder java(Class<?> main) {
    return new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xshare:auto",
            "-XX:TieredStopAtLevel=1",
            "-Djava.io.tmpdir=" + parent,
            "-cp",
            System.getProperty("java.class.path"),
            main.getName())
        .redirectErrorStream(true);
  }

  private static String requireSuccess(Process process) throws Exception {
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(process.waitFor(60, TimeUnit.SECONDS), "the process hangs");
    assertEquals(0, process.exitValue(), output);
    return output;
  }

  @Test
  void loadingLeavesNothing() throws IOException {
    Path directory = Path.of(System.getProperty("java.io.tmpdir"));
    DeviceProbe.run();
    try (Stream<Path> left = Files.list(directory)) {
      assertEquals(
          List.of(), left.filter(path -> path.toString().contains("tilespark-natives")).toList());
    }
  }

  /** Prints what the driver would find before and after our look for devices. */
  static final class PrintQueues {
    private PrintQueues() {}

    public static void main(String[] args) {
      System.out.println(DriverEnvironment.getenv(DriverEnvironment.QUEUES));
      DeviceProbe.run();
      System.out.println(DriverEnvironment.getenv(DriverEnvironment.QUEUES));
    }
  }

  /** Initialises JCuda's driver class, which has no native methods then, after ours stepped in. */
  static final class Initialise {
    private Initialise() {}

    public static void main(String[] args) {
      refuseAnotherTemporaryDirectory();
      NativeLibraries.keepFromUnpacking();
      NativeLibraries.keepFromUnpacking(); // as after a first attempt that failed
      JCudaDriver.setExceptionsEnabled(false);
    }
  }

  /** Other threads would see it. */
  private static void refuseAnotherTemporaryDirectory() {
    Properties fixed =
        new Properties() {
          private static final long serialVersionUID = 1;

          @Override
          public synchronized Object setProperty(String key, String value) {
            if (key.endsWith("tmpdir")) {
              throw new IllegalStateException("sets " + key + " to " + value);
            }
            return super.setProperty(key, value);
          }
        };
    fixed.putAll(System.getProperties());
    System.setProperties(fixed);
  }

  /** Unpacks fifty times at the same time as its twin, and loads where there is a driver. */
  static final class Unpack {
    private Unpack() {}

    public static void main(String[] args) {
      refuseAnotherTemporaryDirectory();
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
        System.out.println(DeviceProbe.run());
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
