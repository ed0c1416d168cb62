package org.tilespark.spark.cluster;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.testing.TestArray;
import org.tilespark.spark.testing.TestField;
import org.tilespark.spark.testing.TestProduct;

/**
 * A query of each kind, for the classes of Spark that it loads: those that {@link ClassArchive}
 * keeps. Its arguments are a directory for a file, and what the class path has besides Spark.
 */
public final class ClassArchiveJob {
  private ClassArchiveJob() {}

  public static void main(String[] args) throws Exception {
    List<URL> others = new ArrayList<>();
    for (String path : args) {
      others.add(Path.of(path).toUri().toURL());
    }
    ClassLoader loader =
        new URLClassLoader(others.toArray(URL[]::new), ClassLoader.getSystemClassLoader());
    Thread.currentThread().setContextClassLoader(loader);
    loader
        .loadClass(Queries.class.getName())
        .getMethod("run", Path.class)
        .invoke(null, Path.of(args[0]));
  }

  /** Loaded with our other classes. */
  public static final class Queries {
    private Queries() {}

    public static void run(Path directory) throws IOException {
      try (SparkSession spark = SparkSession.builder().getOrCreate()) {
        TestArray array = TestArray.matrix(ElementType.FLOAT32, 40, 60, 10, 10);
        Dataset<Row> blocks = array.toDataFrame(spark, 2);
        array.assertPermuted(Permutation.of(1, 0), MatrixBlocks.transpose(blocks));

        TestProduct a = TestProduct.random(ElementType.FLOAT64, 20, 15, 1);
        TestProduct b = TestProduct.random(ElementType.FLOAT64, 15, 10, 2);
        TestProduct.assertProduct(
            a, b, MatrixBlocks.multiply(a.frame(spark, 10, 7), b.frame(spark, 8, 9)));

        String file = directory.resolve("array.npy").toString();
        blocks.drop("tag").write().format("npy").mode(SaveMode.Overwrite).save(file);
        Dataset<Row> again = spark.read().format("npy").option("blockShape", "10,10").load(file);
        array.assertPermuted(
            Permutation.of(0, 1), again.selectExpr("*", "cast(null AS STRING) AS tag"));

        TestField field = TestField.random(3, true, 4, 4, 5);
        FftOptions bySlabs = FftOptions.defaults().withDecomposition("slabs");
        Dataset<Row> spectrum =
            VolumeBlocks.fft(field.blocks(spark, ElementType.FLOAT64, true, 1, 4, 5), bySlabs);
        TestField.of(VolumeBlocks.ifft(spectrum, bySlabs), 4, 4, 5)
            .assertNear(field, ElementType.FLOAT64, "fft and back");
      }
    }
  }
}
