package org.tilespark.spark.ui;

import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.json4s.JArray;
import org.json4s.JLong;
import org.json4s.JObject;
import org.json4s.JString;
import org.json4s.JValue;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.Tuple2;

/**
 * Records as JSON: components become fields of the same name, and absent ones are left out; the
 * entries of a map become fields of the record, by their keys. Stateless.
 */
final class RecordJson {
  private RecordJson() {}

  /**
   * The JSON of a value.
   *
   * @throws IllegalArgumentException if it is, or holds, anything but records, lists, maps,
   *     options, strings and whole numbers
   */
  static JValue of(Object value) {
    if (value instanceof Record record) {
      return object(record);
    } else if (value instanceof List<?> list) {
      return new JArray(
          ScalaInterop.<JValue>seq(list.stream().map(RecordJson::of).toList()).toList());
    } else if (value instanceof String text) {
      return new JString(text);
    } else if (value instanceof Integer || value instanceof Long) {
      return new JLong(((Number) value).longValue());
    }
    throw new IllegalArgumentException("No JSON for " + value);
  }

  private static JValue object(Record record) {
    List<Tuple2<String, JValue>> fields = new ArrayList<>();
    for (RecordComponent component : record.getClass().getRecordComponents()) {
      Object value = read(component, record);
      if (value instanceof Map<?, ?> map) {
        map.forEach((key, entry) -> fields.add(Tuple2.apply(key.toString(), of(entry))));
      } else if (value instanceof Optional<?> option) {
        option.ifPresent(present -> fields.add(Tuple2.apply(component.getName(), of(present))));
      } else {
        fields.add(Tuple2.apply(component.getName(), of(value)));
      }
    }
    return new JObject(ScalaInterop.<Tuple2<String, JValue>>seq(fields).toList());
  }

  private static Object read(RecordComponent component, Record record) {
    try {
      return component.getAccessor().invoke(record);
    } catch (ReflectiveOperationException e) {
      throw new IllegalArgumentException("No access to " + component, e);
    }
  }
}
