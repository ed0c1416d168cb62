package org.tilespark.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.tilespark.spark.conf.TileSparkConf;

/** The jar for users says whose works it holds. */
class ThirdPartyTest {
  private static final Pattern BUNDLED = Pattern.compile("<include>([\\w.]+:[\\w*-]+)</include>");

  private static List<String> bundled() throws IOException {
    List<String> artifacts = new ArrayList<>();
    Matcher matcher = BUNDLED.matcher(Files.readString(Path.of("pom.xml")));
    while (matcher.find()) {
      artifacts.add(matcher.group(1));
    }
    artifacts.remove("org.tilespark:*");
    return artifacts;
  }

  @Test
  void everyBundledLibraryIsNamedWithItsLicence() throws IOException {
    List<String> bundled = bundled();
    assertTrue(bundled.contains("net.java.dev.jna:jna"), bundled.toString());
    String text = Files.readString(Path.of("..", "THIRD-PARTY"));
    for (String artifact : bundled) {
      assertTrue(
          text.contains(artifact.endsWith(":*") ? artifact.replace("*", "") : artifact), artifact);
    }
  }

  @Test
  void theJarHoldsLicenceAndNotices() throws IOException {
    for (String name : List.of("LICENSE", "NOTICE", "THIRD-PARTY")) {
      Path made = Path.of("target", "classes", "META-INF", name);
      assertEquals(Files.readString(Path.of("..", name)), Files.readString(made), name);
    }
    try (InputStream in = TileSparkConf.class.getResourceAsStream("/META-INF/THIRD-PARTY")) {
      assertNotNull(in);
      assertTrue(new String(in.readAllBytes(), StandardCharsets.UTF_8).contains("JCuda"));
    }
  }
}
