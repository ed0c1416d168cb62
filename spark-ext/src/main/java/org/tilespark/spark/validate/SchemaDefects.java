package org.tilespark.spark.validate;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.GroupingColumns;

/** The defects in the columns of a DataFrame of blocks, independent of its rows. Stateless. */
final class SchemaDefects {
  private SchemaDefects() {}

  /** The defects as rows of code, block, found, expected. */
  static List<Row> of(StructType found, BlockKind kind) {
    List<Row> defects = new ArrayList<>();
    kind.offsetColumns().forEach(name -> column(found, name, "BIGINT", true, defects));
    kind.sizeColumns().forEach(name -> column(found, name, "INT", true, defects));
    StructField values = column(found, BlockKind.VALUES, null, true, defects);
    StructField imag = column(found, BlockKind.IMAG, null, false, defects);
    boolean arrays = isBlockArray(values, defects);
    if (imag != null && isBlockArray(imag, defects) && arrays) {
      String type = sql(values);
      if (!type.equals(sql(imag))) {
        defects.add(row("columnType", "column imag is " + sql(imag), type + ", as values"));
      }
    }
    if (defects.isEmpty()) {
      BlockSchema blocks = BlockSchema.find(found, kind, "validate");
      List<StructField> doubled = GroupingColumns.doubled(blocks.further(List.of(found.fields())));
      if (!doubled.isEmpty()) {
        defects.add(
            row(
                "doubledColumn",
                "further columns (" + GroupingColumns.text(doubled) + ") of the same name",
                "names that tell them apart"));
      }
    }
    return defects;
  }

  private static StructField column(
      StructType found, String name, String type, boolean needed, List<Row> defects) {
    List<Integer> named = BlockSchema.named(found, name);
    StructField only = named.isEmpty() ? null : found.fields()[named.get(0)];
    if (named.size() > 1) {
      defects.add(row("doubledColumn", "two columns " + name, "one"));
      return only;
    }
    if (only == null && needed) {
      defects.add(
          row(
              "missingColumn",
              "no column " + name + " among " + String.join(", ", found.fieldNames()),
              name + (type == null ? " ARRAY<T>" : " " + type)));
    } else if (only != null && type != null && !sql(only).equals(type)) {
      defects.add(row("columnType", "column " + name + " is " + sql(only), type));
    }
    return only;
  }

  private static boolean isBlockArray(StructField field, List<Row> defects) {
    if (field == null) {
      return false;
    }
    boolean numbers =
        field.dataType() instanceof ArrayType array
            && BlockSchema.elementType(array.elementType()).isPresent();
    if (!numbers) {
      defects.add(
          row(
              "columnType",
              "column " + field.name() + " is " + sql(field),
              "an ARRAY of TINYINT, SMALLINT, INT, BIGINT, FLOAT or DOUBLE"));
    }
    return numbers;
  }

  private static Row row(String code, String found, String expected) {
    return RowFactory.create(code, "all blocks", found, expected);
  }

  private static String sql(StructField field) {
    return field.dataType().sql();
  }
}
