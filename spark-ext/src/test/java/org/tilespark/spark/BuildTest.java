package org.tilespark.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Builds of tilespark are distinguished by their classes. */
class BuildTest {
  private static final String[] NAMES = {
    "org/tilespark/spark/B.class", "org/tilespark/spark/a/A.class", "org/other/C.class", "readme"
  };

  @TempDir Path directory;

  private Path classes(String name, String content) throws IOException {
    Path root = directory.resolve(name);
    for (String file : NAMES) {
      Files.createDirectories(root.resolve(file).getParent());
      Files.writeString(root.resolve(file), file.endsWith("A.class") ? content : "same");
    }
    return root;
  }

  private Path jar(String name, String content, String more) throws IOException {
    Path jar = directory.resolve(name);
    try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(jar))) {
      for (int i = NAMES.length - 1; i >= 0; i--) {
        out.putNextEntry(new ZipEntry(NAMES[i]));
        out.write((NAMES[i].endsWith("A.class") ? content : "same").getBytes("UTF-8"));
      }
      out.putNextEntry(new ZipEntry(more));
      out.write(1);
    }
    return jar;
  }

  private static String digest(Path file) throws IOException {
    return Build.of(file).orElseThrow().digest();
  }

  @Test
  void classesCountWhereverTheyAre() throws IOException {
    String digest = digest(classes("classes", "x"));
    assertEquals(digest, digest(jar("a.jar", "x", "com/user/Main.class")));
    assertNotEquals(digest, digest(classes("others", "y")));
    assertNotEquals(digest, digest(jar("b.jar", "y", "other")));
    assertNotEquals(digest, digest(jar("c.jar", "x", "org/tilespark/spark/D.class")));
  }

  @Test
  void filesWithoutOurClassesHaveNoBuild() throws IOException {
    assertEquals(Optional.empty(), Build.of(directory));
  }

  @Test
  void thisBuildIsKnown() {
    assertTrue(Build.running().isPresent());
  }

  @Test
  void otherBuildsAreRefused() {
    Optional<Build> here = Optional.of(new Build("new.jar", "00000001"));
    assertEquals(Optional.empty(), Build.whyRefused("3", here, "old.jar (classes 00000001)"));
    assertEquals(Optional.empty(), Build.whyRefused("3", here, Build.UNKNOWN));
    assertEquals(Optional.empty(), Build.whyRefused("3", Optional.empty(), "a (classes 1)"));
    String why = Build.whyRefused("3", here, "old.jar (classes 00000002)").orElseThrow();
    assertTrue(
        why.startsWith(
            "Executor 3 has tilespark new.jar (classes 00000001), the driver has old.jar (classes"
                + " 00000002). "),
        why);
  }
}
