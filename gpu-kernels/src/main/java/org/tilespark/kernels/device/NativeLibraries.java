package org.tilespark.kernels.device;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.Optional;
import jcuda.LibUtils;
import jcuda.driver.JCudaDriver;
import org.tilespark.kernels.OwnFiles;

/**
 * Loads JCuda's native library without a race.
 *
 * <p>JCuda's {@code LibUtils} unpacks its library to one fixed name in {@code java.io.tmpdir}
 * unless a file of that name is there, then loads it. Two processes that start together then load
 * half a file, and a file that somebody else left there is trusted. Here every process, and every
 * class loader in it, unpacks into a directory of its own (mode 0700, a fresh random name),
 * verifies what is there, loads the library from it, lets {@code LibUtils} find it there, and
 * deletes it: a loaded library stays mapped without its file.
 *
 * <p>JNA, which binds the few calls that JCuda lacks, unpacks under random names, but below the
 * user's home, which an executor may not have; it is given the same directory unless {@code
 * jna.tmpdir} says otherwise.
 *
 * <p>{@code LibUtils} has no other switch than the system property {@code java.io.tmpdir}, so the
 * property names the private directory while JCuda's driver class initialises: one {@code dlopen}
 * of a library that is already loaded. All class loaders of the process do this under one lock, and
 * the JDK's own temporary-file classes have read the property before.
 */
final class NativeLibraries {
  private static final String TMPDIR = "java.io.tmpdir";
  private static final String JNA_TMPDIR = "jna.tmpdir";

  private NativeLibraries() {}

  /**
   * Loads the driver binding; after the first success calls are free.
   *
   * @throws UnsatisfiedLinkError if the library, or {@code libcuda.so.1} which it needs, is missing
   * @throws IOException if there is no place to unpack to, or others could change what is there
   */
  static void load() throws IOException {
    // One lock that every class loader's copy of this class agrees on.
    synchronized (Runtime.getRuntime()) {
      if (Loaded.done) {
        return;
      }
      Path directory = unpack(Path.of(System.getProperty(TMPDIR)));
      try {
        verify(directory);
        // Without a driver this is what fails, before JCuda's class is marked as broken.
        System.load(directory.resolve(fileName()).toString());
        // Makes File.createTempFile read the property now rather than while it is ours.
        Files.delete(File.createTempFile("tilespark", null, directory.toFile()).toPath());
        initialise(directory.toString());
        Loaded.done = true;
      } finally {
        remove(directory);
      }
    }
  }

  /** Initialises the classes that unpack, while the properties they read name our directory. */
  private static void initialise(String directory) {
    String before = System.setProperty(TMPDIR, directory);
    boolean jnaChooses = System.getProperty(JNA_TMPDIR) == null;
    if (jnaChooses) {
      System.setProperty(JNA_TMPDIR, directory);
    }
    try {
      JCudaDriver.setExceptionsEnabled(false);
      LibCuda.load();
    } finally {
      System.setProperty(TMPDIR, before);
      if (jnaChooses) {
        System.clearProperty(JNA_TMPDIR);
      }
    }
  }

  /**
   * Writes the library to a new private directory under {@code parent} and returns the directory.
   *
   * @throws IOException if that fails; nothing is left behind
   */
  static Path unpack(Path parent) throws IOException {
    Files.createDirectories(parent);
    Path directory =
        Files.createTempDirectory(
            parent,
            "tilespark-natives-",
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    try (InputStream in = LibUtils.class.getResourceAsStream("/lib/" + fileName())) {
      if (in == null) {
        throw new IOException("No resource /lib/" + fileName() + " on the class path");
      }
      Files.copy(in, directory.resolve(fileName()), StandardCopyOption.REPLACE_EXISTING);
      return directory;
    } catch (IOException e) {
      remove(directory);
      throw e;
    }
  }

  /**
   * Checks that what will be loaded is what the jar holds, and that no other user can change it.
   *
   * @param directory that {@link #unpack} made
   * @throws IOException if it is not, or one can
   */
  static void verify(Path directory) throws IOException {
    Path library = directory.resolve(fileName());
    Optional<String> objection = OwnFiles.objectionToParent(directory.getParent());
    objection = objection.isPresent() ? objection : OwnFiles.objectionToDirectory(directory);
    objection = objection.isPresent() ? objection : OwnFiles.objectionToFile(library);
    if (objection.isPresent()) {
      throw new IOException("Native libraries are not loaded from there: " + objection.get());
    }
    try (InputStream expected = LibUtils.class.getResourceAsStream("/lib/" + fileName())) {
      if (expected == null
          || !Arrays.equals(expected.readAllBytes(), Files.readAllBytes(library))) {
        throw new IOException(library + " is not what the jar holds; it was not loaded");
      }
    }
  }

  /** Deletes what {@link #unpack} made, and what else was put there; may be called twice. */
  static void remove(Path directory) throws IOException {
    if (!Files.exists(directory)) {
      return;
    }
    try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
      for (Path file : files) {
        Files.deleteIfExists(file);
      }
    }
    Files.deleteIfExists(directory);
  }

  /** The name that {@code LibUtils} looks for. */
  static String fileName() {
    return LibUtils.createLibraryFileName(
        LibUtils.createPlatformLibraryName("JCudaDriver-" + jcuda.JCudaVersion.get()));
  }

  private static final class Loaded {
    static boolean done;
  }
}
