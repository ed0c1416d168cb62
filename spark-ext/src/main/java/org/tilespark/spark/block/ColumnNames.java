package org.tilespark.spark.block;

/**
 * Names of columns as Spark parses them: an axis of a stored array may have any name. Stateless.
 */
public final class ColumnNames {
  private ColumnNames() {}

  /** A name in backquotes, which Spark takes for one column whatever it contains. */
  public static String quoted(String name) {
    return "`" + name.replace("`", "``") + "`";
  }

  /** The column of a filter: Spark quotes there the names that are no identifiers. */
  public static String unquoted(String attribute) {
    boolean isQuoted = attribute.length() > 2 && attribute.startsWith("`");
    return isQuoted ? attribute.substring(1, attribute.length() - 1).replace("``", "`") : attribute;
  }
}
