package org.tilespark.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.tilespark.arrow.blocks.BlockVectors;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;

/**
 * Our classes, compiled against one Spark, find all they refer to in each Spark that
 * docs/versions.md names. {@code dev/spark-distribution all} brings these; {@code
 * tilespark.test.distributions} names their directory where they must be there.
 */
@Tag("versions")
class LinkageTest {
  private static final String DISTRIBUTIONS = "tilespark.test.distributions";
  private static final String UNDER_TEST = "tilespark.test.sparkVersion";

  /** The versions that {@code dev/spark-distribution} can bring. */
  static List<String> versions() throws IOException {
    Path list = Path.of("..", "dev", "spark-distributions.txt");
    try (Stream<String> lines = Files.lines(list)) {
      return lines
          .filter(line -> line.startsWith("pyspark=="))
          .map(line -> line.substring("pyspark==".length(), line.indexOf(' ')))
          .toList();
    }
  }

  @ParameterizedTest
  @MethodSource("versions")
  void ourClassesFindAllTheyReferTo(String version) throws Exception {
    Map<String, Set<String>> defects = Linkage.defects(ours(), sparkJars(version));
    assertTrue(
        defects.isEmpty(),
        () ->
            "Spark "
                + version
                + ":\n"
                + defects.entrySet().stream()
                    .map(defect -> defect.getKey() + "\n    in " + defect.getValue())
                    .collect(Collectors.joining("\n")));
  }

  /** That the check above can fail. */
  @Test
  void whatIsNotThereIsFound() throws Exception {
    List<Path> all = sparkJars(versions().get(0));
    List<Path> some =
        all.stream()
            .filter(jar -> !jar.getFileName().toString().startsWith("spark-catalyst_"))
            .toList();
    assertEquals(all.size() - 1, some.size());
    Set<String> found = Linkage.defects(ours(), some).keySet();
    assertTrue(
        found.contains("no class org/apache/spark/sql/catalyst/plans/logical/LogicalPlan"),
        found::toString);
  }

  /** The classes of all modules: directories where they were compiled, or jars of these. */
  private static Set<Path> ours() throws URISyntaxException {
    Set<Path> places = new LinkedHashSet<>();
    for (Class<?> member :
        List.of(
            Permutation.class, BlockVectors.class, MatrixBlocks.class, TransposeMatrixJob.class)) {
      places.add(Path.of(member.getProtectionDomain().getCodeSource().getLocation().toURI()));
    }
    return places;
  }

  private static List<Path> sparkJars(String version) throws IOException {
    String given = System.getProperty(DISTRIBUTIONS);
    Path cache = given != null ? Path.of(given) : Path.of(cacheHome()).resolve("tilespark");
    Path jars = cache.resolve("spark-" + version).resolve("pyspark").resolve("jars");
    assumeTrue(
        version.equals(System.getProperty(UNDER_TEST)) || Files.isDirectory(jars),
        () -> "there is no " + jars + "; dev/spark-distribution " + version + " brings it");
    try (Stream<Path> files = Files.list(jars)) {
      return files.filter(file -> file.toString().endsWith(".jar")).toList();
    }
  }

  private static String cacheHome() {
    String home = System.getenv("XDG_CACHE_HOME");
    return home == null || home.isEmpty() ? System.getProperty("user.home") + "/.cache" : home;
  }
}
