package org.tilespark.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.tilespark.spark.MatrixBlocks;

/** docs/dependencies.md says what the jar holds. */
class DependenciesTest {
  private static final Path ROOT = Path.of("..");

  private static final Pattern ROW =
      Pattern.compile("\\| (\\S+:\\S+) \\| (\\S+) \\| ([^|]+) \\| `([^`]+)` \\| .*");

  private record Dependency(String artifact, String version, String licence, String place) {}

  private static List<Dependency> documented() throws IOException {
    List<Dependency> rows = new ArrayList<>();
    for (String line : Files.readAllLines(ROOT.resolve("docs/dependencies.md"))) {
      Matcher row = ROW.matcher(line);
      if (row.matches()) {
        rows.add(new Dependency(row.group(1), row.group(2), row.group(3), row.group(4)));
      }
    }
    assertTrue(rows.size() >= 3, "the table of docs/dependencies.md was not found");
    return rows;
  }

  @Test
  void whatThePomPutsIntoTheJarIsListed() throws IOException {
    String pom = Files.readString(ROOT.resolve("spark-ext/pom.xml"));
    Matcher include = Pattern.compile("<include>([\\w.-]+:[\\w.*-]+)</include>").matcher(pom);
    List<Dependency> rows = documented();
    int found = 0;
    while (include.find()) {
      String artifact = include.group(1);
      if (!artifact.startsWith("org.tilespark:")) {
        found++;
        assertTrue(
            rows.stream().anyMatch(row -> row.artifact().matches(artifact.replace("*", ".*"))),
            artifact + " is not in docs/dependencies.md");
      }
    }
    assertTrue(found >= 2, "spark-ext/pom.xml includes " + found + " artifacts");
  }

  @Test
  void versionsAreThePoms() throws IOException {
    String pom = Files.readString(ROOT.resolve("pom.xml"));
    Map<String, String> properties = new TreeMap<>();
    Matcher property = Pattern.compile("<([\\w.-]+)\\.version>([^<$]+)</").matcher(pom);
    while (property.find()) {
      properties.put(property.group(1), property.group(2));
    }
    int compared = 0;
    for (Dependency row : documented()) {
      String[] name = row.artifact().split(":", 2);
      Matcher managed =
          Pattern.compile(
                  "<groupId>"
                      + Pattern.quote(name[0])
                      + "</groupId>\\s*<artifactId>"
                      + Pattern.quote(name[1])
                      + "</artifactId>\\s*<version>\\$\\{([\\w.-]+)\\.version}</version>")
              .matcher(pom);
      if (managed.find()) {
        compared++;
        assertEquals(properties.get(managed.group(1)), row.version(), row.artifact());
      }
    }
    assertTrue(compared >= 3, "only " + compared + " versions were compared");
  }

  @Test
  void theJarHoldsNothingElse() throws IOException, URISyntaxException {
    Path jar =
        Path.of(MatrixBlocks.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    assumeTrue(Files.isRegularFile(jar), "the jar is there after mvn verify only");
    List<String> places = new ArrayList<>(List.of("org/tilespark/", "META-INF/"));
    documented().forEach(row -> places.add(row.place()));
    List<String> unknown = new ArrayList<>();
    List<String> benchmarks = new ArrayList<>();
    Map<String, Integer> counts = new TreeMap<>();
    try (JarFile file = new JarFile(jar.toFile())) {
      file.stream()
          .filter(entry -> !entry.isDirectory())
          .forEach(
              entry -> {
                String name = entry.getName();
                if (name.matches(".*/ladder[^/]*\\.fatbin|org/tilespark/bench/.*")) {
                  benchmarks.add(name);
                }
                String longest = "";
                for (String place : places) {
                  if (name.startsWith(place) && place.length() > longest.length()) {
                    longest = place;
                  }
                }
                boolean foreign = name.startsWith("org/tilespark/shaded/");
                if (longest.isEmpty() || foreign && longest.equals("org/tilespark/")) {
                  unknown.add(name);
                } else {
                  counts.merge(longest, 1, Integer::sum);
                }
              });
    }
    assertEquals(List.of(), unknown, "in the jar, but not in docs/dependencies.md");
    assertEquals(List.of(), benchmarks, "what only benchmarks use, in the user's jar");
    assertTrue(counts.keySet().containsAll(List.of("jcuda/", "com/sun/jna/")), counts::toString);
  }
}
