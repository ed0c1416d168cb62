package org.tilespark.bench.spark;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.mllib.linalg.DenseMatrix;
import org.apache.spark.mllib.linalg.Matrix;
import org.apache.spark.mllib.linalg.distributed.BlockMatrix;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.storage.StorageLevel;
import scala.Tuple2;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** The product of two generated matrices by MLlib's BlockMatrix, which supports only double. */
final class MllibMultiply implements AutoCloseable {
  /** The first element of a block of the product, and its position. */
  record Corner(long row, long col, double value) implements Serializable {}

  private final BlockMatrix a;
  private final BlockMatrix b;
  private final int block;

  /**
   * Creates and caches both matrices.
   *
   * @param block rows and columns of a block
   */
  MllibMultiply(
      SparkSession spark,
      GeneratedMatrix a,
      GeneratedMatrix b,
      int block,
      int partitions,
      StorageLevel level) {
    this.block = block;
    this.a = blockMatrix(spark, a, block, partitions, level);
    this.b = blockMatrix(spark, b, block, partitions, level);
  }

  /** Computes the product and returns one element of each block. */
  List<Corner> multiply(int midDimSplits) {
    int size = block;
    return a.multiply(b, midDimSplits)
        .blocks()
        .toJavaRDD()
        .map(
            each ->
                new Corner(
                    Math.multiplyExact((long) (Integer) each._1()._1(), (long) size),
                    Math.multiplyExact((long) (Integer) each._1()._2(), (long) size),
                    each._2().apply(0, 0)))
        .collect();
  }

  @Override
  public void close() {
    a.blocks().unpersist(true);
    b.blocks().unpersist(true);
  }

  private static BlockMatrix blockMatrix(
      SparkSession spark, GeneratedMatrix of, int block, int partitions, StorageLevel level) {
    GeneratedMatrix cut =
        new GeneratedMatrix(of.rows(), of.cols(), block, block, of.type(), of.content(), of.seed());
    long across = -Math.floorDiv(-of.cols(), (long) block);
    JavaRDD<Long> numbers = spark.range(0, cut.blocks(), 1, partitions).javaRDD();
    RDD<Tuple2<Tuple2<Object, Object>, Matrix>> blocks =
        numbers.map(number -> block(cut, (int) (number / across), (int) (number % across))).rdd();
    // MLlib needs the RDD's class tag, which an RDD from Java's map lacks.
    ClassTag<Tuple2<Tuple2<Object, Object>, Matrix>> tag = ClassTag$.MODULE$.apply(Tuple2.class);
    BlockMatrix matrix =
        new BlockMatrix(JavaRDD.fromRDD(blocks, tag).rdd(), block, block, of.rows(), of.cols());
    matrix.blocks().persist(level).count();
    return matrix;
  }

  private static Tuple2<Tuple2<Object, Object>, Matrix> block(
      GeneratedMatrix of, int down, int across) {
    long row = Math.multiplyExact((long) down, (long) of.blockRows());
    long col = Math.multiplyExact((long) across, (long) of.blockCols());
    int rows = (int) Math.min(of.blockRows(), of.rows() - row);
    int cols = (int) Math.min(of.blockCols(), of.cols() - col);
    double[] values = new double[Math.multiplyExact(rows, cols)];
    for (int i = 0, place = 0; i < rows; i++) {
      long rowKey = GeneratedMatrix.rowKey(of.seed(), row + i);
      for (int j = 0; j < cols; j++) {
        values[place++] = GeneratedMatrix.element(rowKey, col + j, of.content());
      }
    }
    return new Tuple2<>(
        new Tuple2<>(down, across), new DenseMatrix(rows, cols, values, true)); // row-major
  }
}
