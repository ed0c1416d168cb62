package org.tilespark.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.kernels.transpose.Transposer;
import org.tilespark.spark.options.Missing;

/** Classes of ours that could read bytes of others, by the names in their bytecode. */
class ForeignBytesTest {
  /** Ways to make objects, or run code, from bytes. */
  private static final Pattern OBJECTS =
      Pattern.compile(
          "(java/io/ObjectInputStream|java/io/ObjectInput|java/beans/XMLDecoder"
              + "|javax/script/|javax/naming/|java/rmi/"
              + "|org/apache/spark/serializer/|org/apache/commons/lang3?/SerializationUtils"
              + "|com/esotericsoftware/kryo/).*");

  /** Ways to files, of the JDK and of Hadoop. */
  private static final Pattern FILES =
      Pattern.compile(
          "(java/io/(File|RandomAccessFile)|java/nio/file/|java/nio/channels/FileChannel"
              + "|org/apache/hadoop/fs/).*");

  @Test
  void nothingMakesObjectsOfForeignBytes() {
    Map<String, Set<String>> all = new TreeMap<>();
    for (Class<?> member : new Class<?>[] {Transposer.class, ArrowMemory.class, Missing.class}) {
      Map<String, Set<String>> module = ClassReferences.of(member);
      assertTrue(module.size() > 10, member + " was found alone");
      all.putAll(module);
    }
    // Spark's serializer hands its stream to cached batches, which read bytes from it.
    assertEquals(
        Map.of("org/tilespark/spark/cache/ImageBatch", Set.of("java/io/ObjectInput")),
        referring(all, OBJECTS));
  }

  @Test
  void theSearchFindsWhatIsThere() {
    Map<String, Set<String>> tests = ClassReferences.of(ForeignBytesTest.class);
    Map<String, Set<String>> found = referring(tests, OBJECTS);
    assertEquals(
        // The first is a name in the test above.
        Set.of("java/io/ObjectInput", "java/io/ObjectInputStream"),
        found.get(ForeignBytesTest.class.getName().replace('.', '/')),
        found::toString);
  }

  /** So that {@link #theSearchFindsWhatIsThere} has something to find. */
  static Object read(byte[] bytes) throws IOException, ClassNotFoundException {
    return new ObjectInputStream(new ByteArrayInputStream(bytes)).readObject();
  }

  /**
   * SQL functions are for whoever may send SQL, and what they may read and write is what Spark lets
   * them. So neither they nor the plans and tasks they lead to have a way to files: only sources
   * and sinks have one, which nothing else refers to, what keeps the tuned tilings (and the type of
   * settings that name a directory), the exchange, whose files are in Spark's own directories, what
   * reads the footers of Parquet files that Spark reads for the query, the digest of our own
   * classes, and the program that an archive of classes is made with.
   */
  @Test
  void sqlFunctionsTouchNoFiles() {
    Map<String, Set<String>> files = referring(ClassReferences.of(Missing.class), FILES);
    Set<String> others = new TreeSet<>(files.keySet());
    others.removeIf(name -> name.startsWith("org/tilespark/spark/source/"));
    assertEquals(
        Set.of(
            "org/tilespark/spark/ArchiveClasses",
            "org/tilespark/spark/Build",
            "org/tilespark/spark/block/StoredMetadata",
            "org/tilespark/spark/conf/ConfigKey",
            "org/tilespark/spark/runtime/Gpu",
            "org/tilespark/spark/shuffle/LocalDisks",
            "org/tilespark/spark/shuffle/TileShuffleResolver",
            "org/tilespark/spark/shuffle/TileShuffleResolver$ChecksumChannel"),
        others);
    assertTrue(files.size() > 5, "the source and sink were not found: " + files);

    Map<String, Set<String>> all = new TreeMap<>(ClassReferences.of(Missing.class));
    all.keySet().removeIf(name -> name.startsWith("org/tilespark/spark/source/"));
    assertEquals(Map.of(), referring(all, Pattern.compile("org/tilespark/spark/source/.*")));
  }

  /** One conversion between numpy's elements and columns, for files and for packed blocks. */
  @Test
  void numpysElementsAreConvertedInOnePlace() {
    Map<String, Set<String>> all = ClassReferences.of(Missing.class);
    String numpy = "org/tilespark/spark/numpy/";
    Set<String> converters = Set.of(numpy + "NpyDecoder", numpy + "NpyEncoder");
    Map<String, Set<String>> halves = referring(all, Pattern.compile(numpy + "HalfFloat"));
    halves.remove(numpy + "HalfFloat");
    assertEquals(converters, halves.keySet());
    // Nobody else of those who read or write elements looks at numbers one by one.
    Map<String, Set<String>> users = new TreeMap<>(all);
    users
        .keySet()
        .removeIf(
            name ->
                !name.matches(
                    "org/tilespark/spark/(source/npy|source/contiguous|numpy|transfer)/.*"));
    Pattern access =
        Pattern.compile(
            "(sun/misc/Unsafe|org/apache/spark/unsafe/Platform|java/lang/invoke/VarHandle)");
    assertEquals(converters, referring(users, access).keySet());
    for (String user :
        new String[] {"source/contiguous/ContiguousReader", "transfer/UnpackBlock"}) {
      assertTrue(all.get("org/tilespark/spark/" + user).contains(numpy + "NpyDecoder"), user);
    }
    for (String user : new String[] {"source/npy/NpyBlockWriter", "transfer/PackBlock"}) {
      assertTrue(all.get("org/tilespark/spark/" + user).contains(numpy + "NpyEncoder"), user);
    }
  }

  /** The classes with names that match, and which. */
  private static Map<String, Set<String>> referring(
      Map<String, Set<String>> classes, Pattern pattern) {
    Map<String, Set<String>> found = new TreeMap<>();
    classes.forEach(
        (name, texts) -> {
          Stream<String> matching = texts.stream().filter(t -> pattern.matcher(t).matches());
          Set<String> set = new TreeSet<>(matching.toList());
          if (!set.isEmpty()) {
            found.put(name, set);
          }
        });
    return found;
  }
}
