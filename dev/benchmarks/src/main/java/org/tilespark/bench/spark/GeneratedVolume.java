package org.tilespark.bench.spark;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.tilespark.layout.Shape;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.ArrayMetadata;

/** A complex volume in slabs along x, made of a matrix whose rows are planes of constant x. */
final class GeneratedVolume {
  private GeneratedVolume() {}

  /**
   * The volume, as others have slabs: its metadata says how they are cut, so that nothing is moved
   * for it. The imaginary part is the real one's values of the block, backwards.
   *
   * @param planes a row for each plane, in blocks as long as a row
   */
  static Dataset<Row> slabs(SparkSession spark, GeneratedMatrix planes, Shape shape) {
    Dataset<Row> volume =
        planes
            .read(spark, Math.toIntExact(planes.blocks()))
            .select(
                functions.col("row").as("x"),
                functions.lit(0L).as("y"),
                functions.lit(0L).as("z"),
                functions.col("rows").as("nx"),
                functions.lit(Math.toIntExact(shape.extent(1))).as("ny"),
                functions.lit(Math.toIntExact(shape.extent(2))).as("nz"),
                // In place of what it says of a matrix; Spark 4.0 would take empty metadata for
                // none.
                functions
                    .col("values")
                    .as("values", ArrayMetadata.empty().withExtents(shape).toMetadata()),
                functions.reverse(functions.col("values")).as("imag"));
    return VolumeBlocks.slabs(volume, "x", planes.blockRows());
  }
}
