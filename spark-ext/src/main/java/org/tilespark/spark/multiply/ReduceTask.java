package org.tilespark.spark.multiply;

import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.spark.multiply.TileBlocks.Tile;
import org.tilespark.spark.multiply.neighbours.NeighbourRows;

/**
 * Computes the reductions of one partition: it gathers the vectors of both sides, whole along K,
 * multiplies them in small tiles, and gives the results that the reduction keeps of each tile. It
 * holds the vectors of both sides and one tile, for any number of pairs.
 */
final class ReduceTask extends CuboidTask implements AutoCloseable {
  private final VectorSide sideA;
  private final VectorSide sideB;
  private final TileProducts products;
  private final TileProducts productsOfA; // A with itself: tiles on the diagonal of a gram
  private Iterator<InternalRow> results = Collections.emptyIterator();

  /** The reductions of one partition. Closing it frees the vectors. */
  ReduceTask(
      PanelTask.Job job, Cuboids cuboids, int partition, Pieces pieces, TileProducts.Means means) {
    super(job, cuboids, partition, pieces);
    this.sideA = new VectorSide(spec, cuboids, false, means.allocator());
    this.sideB = new VectorSide(spec, cuboids, true, means.allocator());
    this.products = new TileProducts(spec, sideA, sideB, means);
    this.productsOfA = new TileProducts(spec, sideA, sideA, means);
  }

  @Override
  Iterator<InternalRow> results() {
    return results;
  }

  @Override
  void compute(int cuboid, UnsafeRow group) {
    int[] place = cuboids.place(cuboid);
    Tile tile = cuboids.tile(place[0], place[1]);
    if (tile.rows() == 0 || tile.cols() == 0) {
      return; // no pieces are sent to an empty tile
    }
    requireInPlace();
    int key = cuboids.key(cuboid);
    // The pieces of both sides are the same, and come once
    boolean diagonal = cuboids.gram() && place[0] == place[1];
    sideA.begin(tile.row(), tile.rows());
    if (!diagonal) {
      sideB.begin(tile.col(), tile.cols());
    }
    fill(key, group, 0, sideA.panel(), sideB.panel());
    requireNoneLeft(key, group);
    sideA.requireFull(job.groupText(group));
    if (!diagonal) {
      sideB.requireFull(job.groupText(group));
    }
    UnsafeRow head = job.heads(0).apply(group).copy();
    results =
        new ReducedRows(
            spec,
            cuboids,
            tile,
            NeighbourRows.of(spec.reduction().get(), !spec.isMerged(cuboids.q() > 1), head),
            diagonal ? productsOfA : products);
  }

  @Override
  public void close() {
    Closing.all(List.of(sideA, sideB));
  }
}
