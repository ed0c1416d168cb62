package org.tilespark.spark.multiply;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.tilespark.arrow.panels.PanelMultiplier;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.multiply.MultiplyBlocks.Column;
import org.tilespark.spark.multiply.TileBlocks.Tile;
import org.tilespark.spark.multiply.TileBlocks.Tiles;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.rows.ArrayRowWriter;
import org.tilespark.spark.rows.PendingRowMemory;
import scala.collection.immutable.Seq;

/**
 * Computes the products of one partition: it gathers pieces in panels, adds the panels' products to
 * a tile of C, and cuts the tile into blocks. Its memory does not grow with K.
 */
final class PanelTask extends CuboidTask {
  /**
   * The work of the tasks of one product.
   *
   * @param partial true if the results are partial sums, with the columns of {@link
   *     PieceColumns#partials}
   * @param groupTypes types of the grouping columns
   * @param outputTypes types of the output columns before the grouping ones
   * @param matrices most matrices that are multiplied at once
   */
  record Job(
      MultiplySpec spec,
      boolean partial,
      List<DataType> groupTypes,
      List<String> groupNames,
      List<DataType> outputTypes,
      long matrices)
      implements Serializable {
    /**
     * The job of a node, which multiplies one matrix at a time.
     *
     * @param output columns of the node, the grouping columns last
     */
    static Job of(MultiplySpec spec, boolean partial, Seq<Attribute> output) {
      List<Attribute> columns = ScalaInterop.list(output);
      int groupsFrom = columns.size() - spec.groups();
      List<DataType> types = columns.stream().map(Attribute::dataType).toList();
      return new Job(
          spec,
          partial,
          List.copyOf(types.subList(groupsFrom, types.size())),
          columns.subList(groupsFrom, types.size()).stream().map(Attribute::name).toList(),
          List.copyOf(types.subList(0, groupsFrom)),
          1);
    }

    /** This job, with at most {@code most} matrices multiplied at once. */
    Job withMatrices(long most) {
      return new Job(spec, partial, groupTypes, groupNames, outputTypes, most);
    }

    /** The job for a side's pieces: without grouping columns if the side is one common matrix. */
    Job ofSide(boolean right) {
      return spec.side(right).common()
          ? new Job(spec, partial, List.of(), List.of(), outputTypes, matrices)
          : this;
    }

    /** The programs on each element of a tile; none for partial sums. */
    List<ElementwiseProgram> epilogue() {
      return partial ? List.of() : spec.result().epilogue().programs();
    }

    /** Projects rows to their grouping columns at {@code ordinals}. */
    UnsafeProjection groups(List<Integer> ordinals) {
      return PieceColumns.heads(List.of(), ordinals, groupTypes);
    }

    /** Projects rows to their grouping columns from {@code first} on. */
    UnsafeProjection groups(int first) {
      return groups(ordinals(first));
    }

    /**
     * Projects rows with grouping columns from {@code first} on to an output row without values.
     */
    UnsafeProjection heads(int first) {
      return PieceColumns.heads(outputTypes, ordinals(first), groupTypes);
    }

    private List<Integer> ordinals(int first) {
      return IntStream.range(first, first + groupTypes.size()).boxed().toList();
    }

    /** Writes the output rows, one at a time. */
    ArrayRowWriter writer() {
      return new ArrayRowWriter(columns(), Column.VALUES.ordinal(), spec.type());
    }

    /** Writes output rows in {@code memory}, which is borrowed. */
    ArrayRowWriter writer(PendingRowMemory memory) {
      return new ArrayRowWriter(columns(), Column.VALUES.ordinal(), spec.type(), memory);
    }

    private int columns() {
      return outputTypes.size() + groupTypes.size();
    }

    /** Rows grouped by their matrix, with grouping columns from {@code first} on. */
    Map<UnsafeRow, List<InternalRow>> matrices(InternalRow[] rows, int first) {
      UnsafeProjection matrixOf = groups(first);
      Map<UnsafeRow, List<InternalRow>> matrices = new LinkedHashMap<>();
      for (InternalRow row : rows) {
        matrices.computeIfAbsent(matrixOf.apply(row).copy(), each -> new ArrayList<>()).add(row);
      }
      return matrices;
    }

    /**
     * Pieces grouped by their matrix. Without grouping columns there is a matrix even if it has no
     * pieces.
     */
    Map<UnsafeRow, List<InternalRow>> matrices(InternalRow[] pieces) {
      Map<UnsafeRow, List<InternalRow>> matrices = matrices(pieces, PieceColumns.COUNT);
      if (groupTypes.isEmpty()) {
        matrices.putIfAbsent(groups(0).apply(NO_GROUP).copy(), List.of());
      }
      return matrices;
    }

    /** Grouping columns in words, for messages: {@code " of sample 3"}; "" if there are none. */
    String groupText(UnsafeRow group) {
      if (groupTypes.isEmpty()) {
        return "";
      }
      List<String> texts = new ArrayList<>();
      for (int i = 0; i < groupTypes.size(); i++) {
        texts.add(groupNames.get(i) + " " + group.get(i, groupTypes.get(i)));
      }
      return " of " + String.join(", ", texts);
    }
  }

  /** Receives events of multiplied panels and of blocks, for metrics. */
  interface Listener {
    /**
     * Called when panels of both sides were multiplied, in {@code flops} floating-point operations.
     */
    void panel(double flops);

    /** Called when a block of C is handed on. */
    void block();
  }

  static final UnsafeRow NO_GROUP = UnsafeRow.createFromByteArray(0, 0);

  private final PanelMultiplier multiplier;
  private final List<UnsafeRow> groups = new ArrayList<>(); // grouping columns of each matrix
  private final PanelPair panels;
  private final TileBlocks blocks;

  /**
   * The products of one partition.
   *
   * @param blocks cuts tiles into blocks
   */
  PanelTask(
      Job job,
      Cuboids cuboids,
      int partition,
      Pieces pieces,
      PanelMultiplier multiplier,
      TileBlocks blocks,
      Listener listener) {
    super(job, cuboids, partition, pieces);
    this.multiplier = multiplier;
    this.panels = new PanelPair(job, cuboids, multiplier, listener);
    this.blocks = blocks;
  }

  @Override
  Iterator<InternalRow> results() {
    return blocks;
  }

  @Override
  void compute(int cuboid, UnsafeRow group) {
    int[] place = cuboids.place(cuboid);
    Tile tile = cuboids.tile(place[0], place[1]);
    int part = place[2];
    boolean diagonal = cuboids.gram() && place[0] == place[1];
    if (tile.rows() == 0 || tile.cols() == 0) {
      return; // no pieces are sent to an empty tile
    }
    int key = cuboids.key(cuboid);
    requireInPlace();
    long start = cuboids.startK(part);
    long end = cuboids.endK(part);
    panels.beginTile(
        tile,
        end - start,
        cuboids.depth(),
        diagonal,
        stripe(group, place, false),
        stripe(group, place, true),
        job.matrices());
    groups.clear();
    groups.add(group);
    boolean complete = spec.result().missing() == Missing.ERROR;
    long inner = start;
    // With missing=zero, panels without pieces are skipped.
    while (complete ? inner < end : isOf(key, group)) {
      inner = complete ? inner : piece().getLong(PieceColumns.INNER);
      long panelEnd = cuboids.panelEnd(inner);
      panel(key, group, inner, panelEnd - inner);
      inner = panelEnd;
    }
    requireNoneLeft(key, groups.get(groups.size() - 1));
    Tiles tiles = new Tiles(tile, groups, start, end - start);
    if (!cuboids.gram() && blocks.begin(multiplier, job.epilogue(), tiles)) {
      return;
    }
    HostMemory values = multiplier.finish(job.epilogue());
    if (diagonal) {
      for (int i = 0; i < groups.size(); i++) {
        mirrorDiagonal(values.slice(i * panels.tileBytes(), panels.tileBytes()), tile.rows());
      }
    }
    blocks.begin(values, tiles, cuboids.gram() && !diagonal);
  }

  /**
   * Identity of the panels of one operand over one range of M or N and one of K. Both sides of a
   * gram are the same operand, stored alike.
   */
  private record Part(UnsafeRow group, boolean right, int outer, int inner) {}

  /** The stripe of a side's panels, if other cuboids use the same panels. */
  private Optional<PanelPair.Stripe> stripe(UnsafeRow group, int[] place, boolean right) {
    int uses = right ? cuboids.p() : cuboids.q();
    if (uses == 1) {
      return Optional.empty();
    }
    int outer = place[right ? 1 : 0];
    int user = place[right ? 0 : 1];
    boolean asB = right && !cuboids.gram();
    boolean usedNext = !asB && !cuboids.gram() && cuboids.partitions() == cuboids.count();
    return Optional.of(
        new PanelPair.Stripe(new Part(group, asB, outer, place[2]), uses, user, usedNext));
  }

  /**
   * Gathers one panel of each side and adds their product, together with following matrices if the
   * panels have room for them.
   */
  private void panel(int key, UnsafeRow group, long inner, long depth) {
    panels.begin(inner, depth);
    fill(key, group, inner, panels.side(false), panels.side(true));
    panels.endMatrix(group);
    UnsafeRow last = group;
    while (panels.hasRoom() && isOf(key)) {
      requireNoneLeft(key, last);
      last = group();
      groups.add(last);
      fill(key, last, inner, panels.side(false), panels.side(true));
      panels.endMatrix(last);
    }
    panels.multiply();
  }

  /** Makes a tile on the diagonal exactly symmetric: the elements below it mirror those above. */
  private void mirrorDiagonal(HostMemory tile, long extent) {
    int bytes = spec.type().bytes();
    assert tile.bytes() >= extent * extent * bytes : tile.bytes() + " bytes of " + extent;
    // Mirrors square by square, so that a square stays in the cache.
    long square = 64;
    for (long i0 = 0; i0 < extent; i0 += square) {
      for (long j0 = 0; j0 <= i0; j0 += square) {
        long i1 = Math.min(extent, i0 + square);
        for (long i = i0; i < i1; i++) {
          long j1 = Math.min(i, j0 + square);
          for (long j = j0; j < j1; j++) {
            long from = tile.offset() + (j * extent + i) * bytes;
            long to = tile.offset() + (i * extent + j) * bytes;
            if (bytes == Float.BYTES) {
              HostMemory.unsafe()
                  .putInt(tile.base(), to, HostMemory.unsafe().getInt(tile.base(), from));
            } else {
              HostMemory.unsafe()
                  .putLong(tile.base(), to, HostMemory.unsafe().getLong(tile.base(), from));
            }
          }
        }
      }
    }
  }
}
