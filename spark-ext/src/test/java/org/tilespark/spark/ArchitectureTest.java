package org.tilespark.spark;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.core.importer.Location;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.Exchange;

/**
 * The packages keep to the rules of docs/architecture.md; read from the class files of the shipped
 * modules.
 */
@AnalyzeClasses(
    packages = "org.tilespark",
    importOptions = {ImportOption.DoNotIncludeTests.class, ArchitectureTest.Shipped.class})
class ArchitectureTest {
  /** Of one package, so that a reader keeps an overview. */
  private static final int MOST_CLASSES = 35;

  /** Packages with more, and why. */
  private static final Map<String, String> LARGE =
      Map.of("org.tilespark.arrow.blocks", "one class a step, and both twins of the pipeline");

  private static final int MOST_COMPONENTS = 8;
  private static final int MOST_PARAMETERS = 7;

  /** Classes whose constructors have more parameters, and why. */
  private static final Map<String, String> LONG =
      Map.of(
          "org.tilespark.spark.stage.BlockStageExec",
          "a node of Catalyst, which copies nodes through the list of their fields",
          "org.tilespark.spark.multiply.MultiplyBroadcastExec",
          "the same",
          "org.tilespark.spark.multiply.MultiplyPanelsExec",
          "the same");

  /**
   * No fixtures that modules share, and no jobs: dev/test-versions has them on the class path.
   * {@code DependenciesTest} of the examples checks that the user's jar holds no benchmark.
   */
  static final class Shipped implements ImportOption {
    @Override
    public boolean includes(Location location) {
      return !location.contains("-tests.jar")
          && !location.contains("/org/tilespark/examples/")
          && !location.contains("/org/tilespark/bench/");
    }
  }

  @ArchTest
  static final ArchRule packagesHaveNoCycles =
      slices().matching("org.tilespark.(**)").should().beFreeOfCycles();

  @ArchTest
  static final ArchRule kernelsKnowNeitherArrowNorSpark =
      noClasses()
          .that()
          .resideInAnyPackage("org.tilespark.layout..", "org.tilespark.kernels..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "org.apache.arrow..",
              "org.apache.spark..",
              "scala..",
              "org.tilespark.arrow..",
              "org.tilespark.spark..");

  @ArchTest
  static final ArchRule arrowKnowsNoSpark =
      noClasses()
          .that()
          .resideInAPackage("org.tilespark.arrow..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("org.apache.spark..", "scala..", "org.tilespark.spark..");

  @ArchTest
  static final ArchRule onlyTheDeviceKnowsCuda =
      noClasses()
          .that()
          .resideOutsideOfPackage("org.tilespark.kernels.device..")
          .should()
          .dependOnClassesThat()
          .resideInAPackage("jcuda..");

  @ArchTest
  static final ArchRule nothingDependsOnTheFacade =
      noClasses()
          .that()
          .resideOutsideOfPackage("org.tilespark.spark")
          .should()
          .dependOnClassesThat()
          .resideInAPackage("org.tilespark.spark");

  /** Users touch options, and may see the errors of what they ask. */
  @ArchTest
  static final ArchRule optionsStandAlone =
      noClasses()
          .that()
          .resideInAPackage("org.tilespark.spark.options")
          .should()
          .dependOnClassesThat(
              resideInAPackage("org.tilespark.spark..")
                  .and(
                      describe(
                          "neither options nor errors",
                          type ->
                              !resideInAnyPackage(
                                      "org.tilespark.spark.options", "org.tilespark.spark.error")
                                  .test(type))));

  /** Costs are a pure function of facts about a product and a cluster. */
  @ArchTest
  static final ArchRule costsKnowNoSpark =
      noClasses()
          .that()
          .resideInAPackage("org.tilespark.spark.multiply.cost")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("org.apache.spark..", "scala..");

  @ArchTest
  static final ArchRule scalaCollectionsAreConvertedInOneClass =
      noClasses()
          .that()
          .doNotBelongToAnyOf(ScalaInterop.class)
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("scala.jdk..");

  /** The level of a cached plan is not one of them. */
  @ArchTest
  static final ArchRule onlyExchangeAndCacheKnowHowSparkStoresAndShuffles =
      noClasses()
          .that()
          .resideOutsideOfPackages("org.tilespark.spark.shuffle", "org.tilespark.spark.cache")
          .should()
          .dependOnClassesThat(
              resideInAnyPackage(
                      "org.apache.spark.shuffle..",
                      "org.apache.spark.storage..",
                      "org.apache.spark.network..")
                  .and(
                      describe(
                          "no StorageLevel and no JavaUtils",
                          type ->
                              !type.getSimpleName().matches("StorageLevel|JavaUtils|ByteUnit"))));

  @ArchTest
  static final ArchRule shufflesAreMadeInOneClass =
      noClasses()
          .that()
          .doNotBelongToAnyOf(Exchange.class)
          .and()
          .resideOutsideOfPackage("..catalyst.compat..")
          .should()
          .dependOnClassesThat(
              describe(
                  "say where rows must be, or hash as Spark does",
                  type ->
                      type.getSimpleName()
                          .matches(
                              "Murmur3_x86_32|ShuffleExchange\\w*|ClusteredDistributions?"
                                  + "|BroadcastDistribution|AllTuples\\$?"
                                  + "|UnspecifiedDistribution\\$?")));

  /** Others see {@code Partitioning} alone, and ask {@link Exchange} for one. */
  @ArchTest
  static final ArchRule theExchangeKnowsHowSparkPartitions =
      noClasses()
          .that()
          .resideOutsideOfPackages("org.tilespark.spark.exchange", "..catalyst.compat..")
          .should()
          .dependOnClassesThat(
              describe(
                  "are partitionings of Spark",
                  type ->
                      type.getSimpleName()
                          .matches(
                              "(Hash|Range|Unknown|RoundRobin)Partitioning|SinglePartition\\$?")));

  @ArchTest
  static void packagesAreSmall(JavaClasses classes) {
    Map<String, Long> counts =
        classes.stream()
            .filter(type -> !type.isNestedClass() && !type.getSimpleName().equals("package-info"))
            .collect(Collectors.groupingBy(JavaClass::getPackageName, Collectors.counting()));
    assertTrue(counts.size() > 30, "the class files were not found: " + counts);
    counts.values().removeIf(count -> count <= MOST_CLASSES);
    assertEquals(LARGE.keySet(), counts.keySet(), "packages of more classes: " + counts);
  }

  /** Longer lists are grouped into values with a name. */
  @ArchTest
  static void recordsAndMethodsAreShort(JavaClasses classes) {
    Set<String> found = new TreeSet<>();
    for (JavaClass type : classes) {
      if (!type.getPackageName().startsWith("org.tilespark.spark") || type.isAnonymousClass()) {
        continue;
      }
      long components =
          type.getFields().stream()
              .filter(field -> !field.getModifiers().contains(JavaModifier.STATIC))
              .count();
      if (type.isRecord() && components > MOST_COMPONENTS) {
        found.add(type.getName());
      }
      for (JavaCodeUnit unit : type.getCodeUnits()) {
        boolean isLong = unit.getRawParameterTypes().size() > MOST_PARAMETERS;
        boolean isWritten = !unit.getModifiers().contains(JavaModifier.SYNTHETIC);
        if (isLong && isWritten && !(type.isRecord() && unit.isConstructor())) {
          found.add(unit.getName().equals("<init>") ? type.getName() : unit.getFullName());
        }
      }
    }
    assertEquals(LONG.keySet(), found, "only these have long lists, each for its reason: " + LONG);
  }
}
