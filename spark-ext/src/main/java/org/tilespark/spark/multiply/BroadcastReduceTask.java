package org.tilespark.spark.multiply;

import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.spark.block.ArrayValues;
import org.tilespark.spark.multiply.TileBlocks.Tile;
import org.tilespark.spark.multiply.neighbours.NeighbourRows;
import org.tilespark.spark.multiply.scores.BestScores;
import org.tilespark.spark.multiply.scores.Neighbours;
import org.tilespark.spark.multiply.scores.Reduction;
import org.tilespark.spark.multiply.scores.TileSearch;
import org.tilespark.spark.multiply.scores.TileSides;

/**
 * Reduces products of vectors that stay in place with a matrix that every task holds completely,
 * one block after the other. If the queries are in that matrix, the task keeps the best candidates
 * of each query over all blocks, and gives them at the end. A row is valid until the next one is
 * requested.
 */
final class BroadcastReduceTask implements Iterator<InternalRow>, AutoCloseable {
  private final MultiplySpec spec;
  private final PanelTask.Job job;
  private final LargeBlocks blocks;
  private final boolean largeIsRight;
  private final Map<UnsafeRow, List<InternalRow>> small;
  private final Cuboids uncut;
  private final VectorSide sideA;
  private final VectorSide sideB;
  private final TileProducts products;
  private final UnsafeProjection heads;
  // Best candidates, by the grouping columns of the queries' matrix
  private final Map<UnsafeRow, BestScores> best = new LinkedHashMap<>();
  private UnsafeRow held; // the matrix whose vectors the small side holds; null before the first
  private Iterator<InternalRow> results = Collections.emptyIterator();
  // Matrices whose candidates are not given yet; null until all blocks are reduced
  private Iterator<UnsafeRow> unsent;

  /**
   * The reductions of one partition. Closing it frees the vectors.
   *
   * @param pieces pieces of the broadcast side, in any order
   */
  BroadcastReduceTask(
      PanelTask.Job job,
      LargeBlocks.Side large,
      LargeBlocks blocks,
      InternalRow[] pieces,
      TileProducts.Means means) {
    this.job = job;
    this.spec = job.spec();
    this.blocks = blocks;
    this.largeIsRight = large.right();
    this.small = job.matrices(pieces);
    this.uncut = Cuboids.uncut(spec.extents());
    this.sideA = new VectorSide(spec, uncut, false, means.allocator());
    this.sideB = new VectorSide(spec, uncut, true, means.allocator());
    this.products = new TileProducts(spec, sideA, sideB, means);
    this.heads = job.heads(0);
  }

  @Override
  public boolean hasNext() {
    while (!results.hasNext()) {
      if (unsent == null && blocks.advance()) {
        reduce();
      } else {
        unsent = unsent == null ? best.keySet().iterator() : unsent;
        if (!unsent.hasNext()) {
          return false;
        }
        UnsafeRow matrix = unsent.next();
        results = new Candidates(best.get(matrix), head(matrix));
      }
    }
    return true;
  }

  @Override
  public InternalRow next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return results.next();
  }

  private UnsafeRow head(UnsafeRow matrix) {
    return heads.apply(matrix).copy();
  }

  /** Reduces the products of a block with the broadcast matrix. */
  private void reduce() {
    UnsafeRow matrix = blocks.group();
    if (!matrix.equals(held)) {
      hold(matrix);
    }
    long start = blocks.outerStart();
    long count = blocks.outerEnd() - start;
    VectorSide side = largeIsRight ? sideB : sideA;
    side.begin(start, count);
    blocks.addTo(side.panel());
    if (largeIsRight && spec.reduction().get() instanceof Reduction.Nearest nearest) {
      keepNearest(nearest, matrix, start, count);
      return;
    }
    Tile tile =
        largeIsRight ? new Tile(0, spec.m(), start, count) : new Tile(start, count, 0, spec.n());
    results =
        new ReducedRows(
            spec,
            uncut,
            tile,
            NeighbourRows.of(spec.reduction().get(), true, head(matrix)),
            products);
  }

  /** Gathers the broadcast vectors of a matrix, given by its grouping columns. */
  private void hold(UnsafeRow matrix) {
    VectorSide side = largeIsRight ? sideA : sideB;
    side.begin(0, largeIsRight ? spec.m() : spec.n());
    for (InternalRow piece : small.getOrDefault(matrix, List.of())) {
      side.panel()
          .add(
              piece.getLong(PieceColumns.ROW),
              piece.getLong(PieceColumns.COL),
              piece.getInt(PieceColumns.ROWS),
              piece.getInt(PieceColumns.COLS),
              ArrayValues.memory(piece.getArray(PieceColumns.VALUES), spec.type()),
              false);
    }
    side.requireFull(job.groupText(matrix));
    held = matrix;
  }

  private void keepNearest(Reduction.Nearest nearest, UnsafeRow matrix, long start, long count) {
    TileSides sides = products.sides();
    BestScores kept =
        best.computeIfAbsent(
            matrix, each -> new BestScores(Math.toIntExact(spec.m()), nearest.k()));
    TileSearch search =
        TileSearch.of(nearest, kept, sideA.vectors(), sideB.vectors(), index -> start + index);
    for (long row = 0; row < spec.m(); row += sides.rows()) {
      int rows = (int) Math.min(sides.rows(), spec.m() - row);
      search.rows(row, rows);
      for (long col = 0; col < count; col += sides.cols()) {
        products.reduce(search, row, rows, col, (int) Math.min(sides.cols(), count - col));
      }
    }
  }

  /** Candidates for the queries of one matrix. */
  private final class Candidates implements Iterator<InternalRow> {
    private final BestScores kept;
    private final NeighbourRows output;
    private final Neighbours taken = new Neighbours();
    private int query;

    Candidates(BestScores kept, UnsafeRow head) {
      this.kept = kept;
      this.output = NeighbourRows.of(spec.reduction().get(), false, head);
    }

    @Override
    public boolean hasNext() {
      return query < spec.m();
    }

    @Override
    public InternalRow next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      kept.take(query, taken);
      output.write(query++, taken, 0);
      return output.row();
    }
  }

  @Override
  public void close() {
    Closing.all(List.of(sideA, sideB));
  }
}
