package org.tilespark.spark.catalyst.compat;

import java.lang.reflect.InvocationTargetException;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;

/** A session's catalogs, whose manager is a class up to Spark 4.1 and an interface from 4.2 on. */
public final class Catalogs {
  private static final String MANAGER = "org.apache.spark.sql.connector.catalog.CatalogManager";

  private Catalogs() {}

  /** The catalog named {@code name}, which the session's configuration declares. */
  public static CatalogPlugin of(SparkSession session, String name) {
    Object manager = session.sessionState().catalogManager();
    try {
      return (CatalogPlugin)
          Class.forName(MANAGER, true, SparkSession.class.getClassLoader())
              .getMethod("catalog", String.class)
              .invoke(manager, name);
    } catch (InvocationTargetException e) {
      throw Catalogs.<RuntimeException>thrown(
          e.getCause()); // the exception of Spark's method, checked or not
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("Spark gives no catalog " + name, e);
    }
  }

  @SuppressWarnings("unchecked") // Scala's methods declare no exceptions
  private static <T extends Throwable> RuntimeException thrown(Throwable failure) throws T {
    throw (T) failure;
  }
}
