package org.tilespark.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Member;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.conf.ConfigKey;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.functions.TableFunctions;
import org.tilespark.spark.options.Assume;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.Metric;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.options.RowOptions;
import org.tilespark.spark.options.RowPolicy;
import org.tilespark.spark.source.nifti.NiftiDataSource;
import org.tilespark.spark.source.npy.NpyDataSource;
import org.tilespark.spark.source.raw.RawDataSource;
import org.tilespark.spark.source.zarr.ZarrDataSource;

/**
 * The API that users write against is recorded in {@code api.txt}, and changes of it are seen.
 * Public API is:
 *
 * <ul>
 *   <li>the public and protected members of {@link #CALLED} and of their nested types;
 *   <li>the names of {@link #NAMED}, which Spark makes instances of;
 *   <li>the SQL functions, with their arguments in order;
 *   <li>the options of the formats, the keys of the configuration and of columns' metadata.
 * </ul>
 *
 * All other classes are ours to change, public or not. The record is a text, as no release is there
 * to compare with (japicmp and revapi need one), and of a few classes, while the signature files of
 * sigtest hold whole packages and what they inherit from Spark.
 */
class PublicApiTest {
  private static final List<Class<?>> CALLED =
      List.of(
          MatrixBlocks.class,
          VolumeBlocks.class,
          MllibMatrices.class,
          Eigh.class,
          Lstsq.class,
          Qr.class,
          Svd.class,
          MultiplyOptions.class,
          FftOptions.class,
          RowOptions.class,
          RowPolicy.class,
          Assume.class,
          Metric.class,
          Missing.class);
  private static final List<Class<?>> NAMED =
      List.of(
          TileSparkExtensions.class,
          TileSparkPlugin.class,
          NpyDataSource.class,
          ZarrDataSource.class,
          RawDataSource.class,
          NiftiDataSource.class);

  private static final Set<String> OF_ANY_OBJECT = Set.of("equals", "hashCode", "toString");

  private static final Path RECORD = Path.of("src/test/resources/api.txt");

  @Test
  void changesOfThePublicApiAreRecorded() throws Exception {
    List<String> recorded = Files.readAllLines(RECORD);
    List<String> found = api();
    Path written = Files.write(Path.of("target/api.txt"), found);
    String change =
        "The public API is not as recorded. Gone, so that users' code breaks: %s. New: %s. If this"
            + " is meant, add a line to CHANGELOG and run: cp spark-ext/%s spark-ext/%s";
    assertEquals(
        recorded,
        found,
        () ->
            change.formatted(without(recorded, found), without(found, recorded), written, RECORD));
  }

  /** A member, a nested type's member, an argument of SQL: none of these goes unseen. */
  @Test
  void theRecordHoldsEachKindOfName() throws IOException {
    List<String> recorded = Files.readAllLines(RECORD);
    for (String start :
        List.of(
            "java options.FftOptions$Detrend: public static final options.FftOptions$Detrend"
                + " options.FftOptions$Detrend.MEAN",
            "java MatrixBlocks: public static Dataset<Row> MatrixBlocks.transpose(Dataset<Row>)",
            "spark org.tilespark.spark.TileSparkPlugin",
            "sql matrix_multiply(a, b, transposeA",
            "npy blockShape",
            "nifti as",
            "conf spark.tilespark.backend",
            "metadata tilespark.extents")) {
      assertTrue(recorded.stream().anyMatch(line -> line.startsWith(start)), start);
    }
  }

  private static List<String> api() throws Exception {
    TreeSet<String> lines = new TreeSet<>();
    for (Class<?> type : CALLED) {
      addMembers(type, lines);
    }
    for (Class<?> type : NAMED) {
      Constructor<?> constructor = type.getConstructor();
      lines.add("spark " + constructor.getName());
    }
    for (TableFunctions function : TableFunctions.values()) {
      lines.add("sql " + function.signature());
    }
    for (String format : List.of("npy.Npy", "zarr.Zarr", "raw.Raw", "nifti.Nifti")) {
      Class<?> options = Class.forName("org.tilespark.spark.source." + format + "Options");
      Field names = options.getDeclaredField("NAMES");
      names.setAccessible(true);
      for (Object option : (List<?>) names.get(null)) {
        lines.add(format.replaceAll("[.].*", " ") + option);
      }
    }
    for (ConfigKey<?> key : TileSparkConf.all()) {
      lines.add("conf " + key.name());
    }
    for (String key : constants(ArrayMetadata.class)) {
      if (key.startsWith("tilespark.")) {
        lines.add("metadata " + key);
      }
    }
    return List.copyOf(lines);
  }

  private static void addMembers(Class<?> type, TreeSet<String> lines) {
    List<String> signatures = new ArrayList<>(List.of(type.toGenericString()));
    Stream.of(type.getDeclaredFields())
        .filter(PublicApiTest::isSeen)
        .forEach(field -> signatures.add(field.toGenericString()));
    Stream.of(type.getDeclaredConstructors())
        .filter(PublicApiTest::isSeen)
        .forEach(constructor -> signatures.add(constructor.toGenericString()));
    Stream.of(type.getMethods(), type.getDeclaredMethods())
        .flatMap(Arrays::stream)
        .filter(PublicApiTest::isSeen)
        .filter(method -> !OF_ANY_OBJECT.contains(method.getName()))
        .forEach(method -> signatures.add(method.toGenericString()));
    String name = shortened(type.getName());
    signatures.forEach(signature -> lines.add("java " + name + ": " + shortened(signature)));
    for (Class<?> nested : type.getDeclaredClasses()) {
      if (Modifier.isPublic(nested.getModifiers()) || Modifier.isProtected(nested.getModifiers())) {
        addMembers(nested, lines);
      }
    }
  }

  /** A line that fits a screen: without the packages that most names are of. */
  private static String shortened(String signature) {
    return signature.replaceAll(
        "\\b(java\\.lang|java\\.util|org\\.apache\\.spark\\.sql|org\\.tilespark\\.spark)\\.", "");
  }

  private static boolean isSeen(Member member) {
    return (Modifier.isPublic(member.getModifiers()) || Modifier.isProtected(member.getModifiers()))
        && !member.isSynthetic()
        && member.getDeclaringClass().getName().startsWith("org.tilespark.");
  }

  private static List<String> constants(Class<?> type) throws ReflectiveOperationException {
    List<String> values = new ArrayList<>();
    for (Field field : type.getDeclaredFields()) {
      if (Modifier.isStatic(field.getModifiers()) && field.getType() == String.class) {
        field.setAccessible(true);
        values.add((String) field.get(null));
      }
    }
    return values;
  }

  private static List<String> without(List<String> lines, List<String> others) {
    return lines.stream().filter(Predicate.not(others::contains)).toList();
  }
}
