package org.tilespark.bench.spark;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.tilespark.layout.Shape;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.ArrayMetadata;

/** A complex volume in slabs along x, made from a matrix whose rows are planes of constant x. */
final class GeneratedVolume {
  private GeneratedVolume() {}

  /**
   * Returns the volume with metadata that declares its slabs, so that operators need not move them.
   * The imaginary part of a block is its real part in reverse order.
   *
   * @param planes a matrix with one row for each plane, in blocks of whole rows
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
                // Replaces the matrix's column metadata. Spark 4.0 would keep the old one if the
                // new one were empty.
                functions
                    .col("values")
                    .as("values", ArrayMetadata.empty().withExtents(shape).toMetadata()),
                functions.reverse(functions.col("values")).as("imag"));
    return VolumeBlocks.slabs(volume, "x", planes.blockRows());
  }
}
