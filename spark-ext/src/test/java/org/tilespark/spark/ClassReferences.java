package org.tilespark.spark;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/** The names in the constant pools of compiled classes: what they refer to, and all their texts. */
final class ClassReferences {
  private ClassReferences() {}

  /**
   * The names in the bytecode of each class in the directory or jar of {@code member}.
   *
   * @return internal name of the class, {@code org/tilespark/spark/options/Missing}, to all its
   *     names
   */
  static Map<String, Set<String>> of(Class<?> member) {
    try {
      URI place = member.getProtectionDomain().getCodeSource().getLocation().toURI();
      if (Files.isDirectory(Path.of(place))) {
        return read(Path.of(place));
      }
      try (FileSystem jar = FileSystems.newFileSystem(Path.of(place))) {
        return read(jar.getPath("/"));
      }
    } catch (IOException | URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  private static Map<String, Set<String>> read(Path root) throws IOException {
    Map<String, Set<String>> names = new TreeMap<>();
    List<Path> classes = new ArrayList<>();
    try (Stream<Path> files = Files.walk(root)) {
      files.filter(file -> file.toString().endsWith(".class")).forEach(classes::add);
    }
    for (Path file : classes) {
      String name = root.relativize(file).toString().replaceAll("\\.class$", "");
      if (name.startsWith("org/tilespark/") && !name.startsWith("org/tilespark/shaded/")) {
        try (InputStream in = Files.newInputStream(file)) {
          names.put(name, constants(new DataInputStream(in)));
        }
      }
    }
    return names;
  }

  /** The texts of a constant pool (JVM specification, 4.4). */
  private static Set<String> constants(DataInputStream in) throws IOException {
    in.skipNBytes(8); // magic and version
    int count = in.readUnsignedShort();
    Set<String> texts = new TreeSet<>();
    for (int i = 1; i < count; i++) {
      int tag = in.readUnsignedByte();
      switch (tag) {
        case 1 -> texts.add(in.readUTF());
        case 7, 8, 16, 19, 20 -> in.skipNBytes(2);
        case 15 -> in.skipNBytes(3);
        case 3, 4, 9, 10, 11, 12, 17, 18 -> in.skipNBytes(4);
        case 5, 6 -> {
          in.skipNBytes(8);
          i++; // these take two places
        }
        default -> throw new IllegalStateException("constant of kind " + tag);
      }
    }
    return texts;
  }
}
