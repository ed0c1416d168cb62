package org.tilespark.spark.source.zarr;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.TextNode;
import java.io.IOException;
import org.tilespark.layout.Shape;

/** Reads the JSON of metadata, and reports its defects. Stateless. */
final class Json {
  /** The most axes of an array; numpy's arrays have at most 64. */
  private static final int MOST_AXES = 64;

  private static final ObjectReader READER =
      JsonMapper.builder()
          .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS) // Python writes NaN in attributes
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .build()
          .readerFor(JsonNode.class);

  private Json() {}

  /**
   * Reads a document.
   *
   * @throws IllegalArgumentException if it is no JSON object
   */
  static JsonNode parse(byte[] bytes) {
    JsonNode node;
    try {
      node = READER.readValue(bytes);
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("no JSON: " + e.getOriginalMessage(), e);
    } catch (IOException e) {
      throw new IllegalArgumentException("no JSON: " + e.getMessage(), e);
    }
    if (node == null || !node.isObject()) {
      throw new IllegalArgumentException("expected a JSON object, found " + shown(node));
    }
    return node;
  }

  /** The JSON value of a text; if it is no JSON, the text as a string. */
  static JsonNode value(String text) {
    try {
      return READER.readValue(text);
    } catch (JsonProcessingException e) {
      return TextNode.valueOf(text);
    }
  }

  /** True if an object has a field of that name that is not null. */
  static boolean has(JsonNode object, String name) {
    return object.hasNonNull(name);
  }

  /** The value of a field. */
  static JsonNode field(JsonNode object, String name) {
    JsonNode value = object.get(name);
    if (value == null) {
      throw new IllegalArgumentException("no field '%s' in %s".formatted(name, shown(object)));
    }
    return value;
  }

  /** The string of a field. */
  static String text(JsonNode object, String name) {
    JsonNode value = field(object, name);
    if (!value.isTextual()) {
      throw new IllegalArgumentException(
          "'%s' is %s; expected a string".formatted(name, shown(value)));
    }
    return value.textValue();
  }

  /** The string of a field, or a default if it is missing. */
  static String text(JsonNode object, String name, String otherwise) {
    return has(object, name) ? text(object, name) : otherwise;
  }

  /**
   * The whole numbers of a field.
   *
   * @param least the least allowed number
   */
  static Shape shape(JsonNode object, String name, long least) {
    JsonNode value = field(object, name);
    boolean fits = value.isArray() && value.size() <= MOST_AXES;
    long[] numbers = new long[fits ? value.size() : 0];
    for (int i = 0; i < numbers.length; i++) {
      JsonNode number = value.get(i);
      fits &= number.isIntegralNumber() && number.canConvertToLong() && number.longValue() >= least;
      numbers[i] = number.longValue();
    }
    if (!fits) {
      throw new IllegalArgumentException(
          "'%s' is %s; expected at most %s whole numbers of %s or more"
              .formatted(name, shown(value), MOST_AXES, least));
    }
    return Shape.of(numbers);
  }

  /** A value's text, shortened, for messages. */
  static String shown(JsonNode node) {
    String text = String.valueOf(node);
    return text.length() <= 120 ? text : text.substring(0, 120) + "...";
  }
}
