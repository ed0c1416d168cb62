package org.tilespark.spark.block;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/** Metadata that others wrote: of any type, with any text. */
class ArrayMetadataTest {
  private static final Map<String, Consumer<ArrayMetadata>> READERS =
      Map.of(
          ArrayMetadata.EXTENTS, metadata -> metadata.extents(3),
          ArrayMetadata.BLOCK_SHAPE, metadata -> metadata.blockShape(3),
          ArrayMetadata.AXES, ArrayMetadata::axes,
          ArrayMetadata.FILE_TYPE, ArrayMetadata::fileType,
          ArrayMetadata.SPECTRUM, ArrayMetadata::spectrum);

  /** Metadata that others may have put, and its text in a message. */
  private static Map<String, Function<String, MetadataBuilder>> values() {
    Map<String, Function<String, MetadataBuilder>> values = new LinkedHashMap<>();
    values.put("Long 5", key -> new MetadataBuilder().putLong(key, 5));
    values.put("Double 0.5", key -> new MetadataBuilder().putDouble(key, 0.5));
    values.put("Boolean true", key -> new MetadataBuilder().putBoolean(key, true));
    values.put("an array", key -> new MetadataBuilder().putStringArray(key, new String[] {"2"}));
    values.put("an array ", key -> new MetadataBuilder().putLongArray(key, new long[] {4, 4, 4}));
    values.put("null", key -> new MetadataBuilder().putNull(key));
    values.put("Metadata {}", key -> new MetadataBuilder().putMetadata(key, Metadata.empty()));
    return values;
  }

  @Test
  void valuesOfWrongTypes() {
    READERS.forEach(
        (key, read) ->
            values()
                .forEach(
                    (found, with) -> {
                      ArrayMetadata metadata = ArrayMetadata.of(with.apply(key).build());
                      String message =
                          assertThrows(IllegalArgumentException.class, () -> read.accept(metadata))
                              .getMessage();
                      assertEquals(
                          "Column metadata "
                              + key
                              + " is "
                              + found.strip()
                              + "; expected a string. If it is not yours, drop it with"
                              + " withoutExtents(df), or state the extents with"
                              + " withExtents(df, ...), which drops it too",
                          message);
                      // What the message advises helps, and other people's keys stay.
                      Metadata others = new MetadataBuilder().putLong("theirs", 1).build();
                      ArrayMetadata dropped =
                          ArrayMetadata.of(with.apply(key).withMetadata(others).build())
                              .withoutUnreadable();
                      read.accept(dropped);
                      assertEquals(1, dropped.toMetadata().getLong("theirs"));
                    }));
  }

  @Test
  void axesHaveEachLetterOnce() {
    for (String letters : new String[] {"xxx", "xyx", "yy"}) {
      ArrayMetadata metadata =
          ArrayMetadata.empty().withExtents(Shape.of(2, 3, 4)).withAxes(letters);
      String message = assertThrows(IllegalArgumentException.class, metadata::axes).getMessage();
      assertTrue(
          message.startsWith(
              "Column metadata tilespark.axes is '" + letters + "'; expected each letter once"),
          message);
      assertThrows(
          IllegalArgumentException.class, () -> metadata.permuted(Permutation.of(1, 2, 0)));
      assertEquals(Optional.empty(), metadata.withoutUnreadable().axes());
      assertEquals(Shape.of(2, 3, 4), metadata.withoutUnreadable().extents(3).orElseThrow());
    }
    assertEquals("yzx", ArrayMetadata.empty().withAxes("yzx").axes().orElseThrow());
  }
}
