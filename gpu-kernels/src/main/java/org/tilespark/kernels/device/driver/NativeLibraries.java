package org.tilespark.kernels.device.driver;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandles;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import jcuda.LibUtils;
import jcuda.driver.JCudaDriver;
import org.tilespark.kernels.OwnFiles;
import org.tilespark.kernels.launch.Availability;

/**
 * Loads JCuda's native library without a race, and without a change that other code could see.
 *
 * <p>JCuda's {@code LibUtils} unpacks its library to one fixed name in {@code java.io.tmpdir}
 * unless a file of that name is there, then loads it. If two processes start together, one may load
 * a half-written file; and a file that another user left there is trusted. Here every process, and
 * every class loader in it, unpacks into a directory of its own (mode 0700, a fresh random name),
 * verifies what is there, loads the library from it and deletes it: a loaded library stays mapped
 * without its file.
 *
 * <p>JCuda's driver class would still unpack its library: its static initialiser calls {@code
 * jcuda.LibUtilsCuda.loadLibrary}, which has no switch but the process-wide property {@code
 * java.io.tmpdir}. So a class of that name whose {@code loadLibrary} does nothing is defined in
 * JCuda's class loader before JCuda's own is needed ({@link #keepFromUnpacking}).
 *
 * <p>JNA, which binds the few calls that JCuda lacks, needs none of this: it unpacks under random
 * names below the user's cache directory, or in {@code java.io.tmpdir} if it cannot write there.
 * The property {@code jna.tmpdir} names another place.
 */
public final class NativeLibraries {
  private static boolean loaded; // guarded by the class

  private NativeLibraries() {}

  /**
   * Loads the driver binding; after the first success calls are free.
   *
   * @throws UnsatisfiedLinkError if the library, or {@code libcuda.so.1} which it needs, is missing
   * @throws IOException if there is no place to unpack to, or others could change what is there
   */
  public static synchronized void load() throws IOException {
    if (loaded) {
      return;
    }
    DriverEnvironment.complete();
    Path directory = unpack(Path.of(System.getProperty("java.io.tmpdir")));
    try {
      verify(directory);
      // Without a driver the load fails here, before JCuda's class initialiser could fail for good.
      System.load(directory.resolve(fileName()).toString());
    } finally {
      remove(directory);
    }
    keepFromUnpacking();
    JCudaDriver.setExceptionsEnabled(false); // initialises the class
    LibCuda.load();
    loaded = true;
  }

  /**
   * Defines the empty {@code jcuda.LibUtilsCuda}. If the class exists already, an earlier call
   * defined it, or other code in this class loader uses JCuda, which then unpacks in its own way.
   */
  static void keepFromUnpacking() {
    byte[] empty = emptyMethod("jcuda/LibUtilsCuda", "loadLibrary");
    try {
      MethodHandles.privateLookupIn(LibUtils.class, MethodHandles.lookup()).defineClass(empty);
    } catch (ClassFormatError e) {
      throw e; // a defect of this class
    } catch (LinkageError e) {
      return; // the class exists already
    } catch (IllegalAccessException e) { // JCuda as a named module that opens nothing
      throw new IllegalStateException("Cannot keep JCuda from unpacking its library", e);
    }
  }

  /**
   * The class file of {@code public class NAME { public static void METHOD(String a, String... b)
   * {} }}, after the tables of the JVM specification, chapter 4.
   */
  private static byte[] emptyMethod(String name, String method) {
    String[] texts = {
      name, "java/lang/Object", method, "(Ljava/lang/String;[Ljava/lang/String;)V", "Code"
    };
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeInt(0xCAFEBABE);
      out.writeInt(52); // class files of Java 8
      out.writeShort(8); // constants 1 to 7
      for (String text : texts) {
        out.writeByte(1); // Utf8
        out.writeUTF(text);
      }
      for (int text = 1; text <= 2; text++) {
        out.writeByte(7); // Class
        out.writeShort(text);
      }
      out.writeShort(0x0021); // public, super
      out.writeShort(6); // this class
      out.writeShort(7); // its superclass
      out.writeShort(0); // interfaces
      out.writeShort(0); // fields
      out.writeShort(1); // methods
      out.writeShort(0x0089); // public, static, varargs
      out.writeShort(3); // name
      out.writeShort(4); // descriptor
      out.writeShort(1); // attributes of the method
      out.writeShort(5); // Code
      out.writeInt(13); // bytes of this attribute from here on
      out.writeShort(0); // stack
      out.writeShort(2); // locals: the arguments
      out.writeInt(1); // bytes of code
      out.writeByte(0xB1); // return
      out.writeShort(0); // exception table
      out.writeShort(0); // attributes of Code
      out.writeShort(0); // attributes of the class
    } catch (IOException e) {
      throw new UncheckedIOException(e); // not from an array
    }
    return bytes.toByteArray();
  }

  /**
   * Writes the library to a new private directory under {@code parent} and returns the directory.
   *
   * @throws IOException if writing fails; then no file is left
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
   * Checks that the unpacked library equals the jar's, and that no other user can change it.
   *
   * @param directory directory that {@link #unpack} made
   * @throws IOException if the library differs or another user can change it
   */
  static void verify(Path directory) throws IOException {
    Path library = directory.resolve(fileName());
    Availability<Path> ours = OwnFiles.parent(directory.getParent());
    ours = ours.isPresent() ? OwnFiles.directory(directory) : ours;
    ours = ours.isPresent() ? OwnFiles.file(library) : ours;
    if (!ours.isPresent()) {
      throw new IOException("Native libraries are not loaded from there: " + ours.whyNot());
    }
    try (InputStream expected = LibUtils.class.getResourceAsStream("/lib/" + fileName())) {
      if (expected == null
          || !Arrays.equals(expected.readAllBytes(), Files.readAllBytes(library))) {
        throw new IOException(library + " is not what the jar holds; it was not loaded");
      }
    }
  }

  /** Deletes the directory that {@link #unpack} made, with all its files; may be called twice. */
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

  /** The file name under which {@code LibUtils} looks for the library. */
  static String fileName() {
    return LibUtils.createLibraryFileName(
        LibUtils.createPlatformLibraryName("JCudaDriver-" + jcuda.JCudaVersion.get()));
  }
}
