package org.tilespark.spark.multiply;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.Queue;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.tilespark.arrow.panels.PanelMultiplier;
import org.tilespark.kernels.host.HostElementwise;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayValues;
import org.tilespark.spark.multiply.MultiplyBlocks.Column;
import org.tilespark.spark.multiply.TileBlocks.Tile;
import org.tilespark.spark.multiply.TileBlocks.Tiles;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.rows.BlockCursor;
import scala.Option;

/**
 * Multiplies blocks that stay in place with a matrix that every task holds completely. Each block
 * is multiplied separately, so the result does not depend on how blocks are partitioned. In
 * addition to the broadcast matrix a task holds one block, two panels and a tile of C. A row is
 * valid until the next one is requested.
 */
final class BroadcastTask implements Iterator<InternalRow> {
  private final PanelTask.Job job;
  private final MultiplySpec spec;
  private final LargeBlocks.Side large;
  private final LargeBlocks blocks;
  private final Map<UnsafeRow, Pieces> small;
  private final PanelMultiplier multiplier;
  private final List<UnsafeRow> groups = new ArrayList<>(); // grouping columns of each matrix
  private final PanelPair panels;
  private final TileBlocks tiles;
  private final Marks marks;
  private final boolean isMarking; // true if this task gives Marks for its blocks' matrices
  private UnsafeRow marked; // the matrix whose marks came last; null before the first
  private final Iterator<Zeros> zeros;

  private HostMemory zero; // elements of zero blocks; null until needed

  // The part of the current block that remains to be multiplied.
  private boolean inBlock;
  private long nextOuter;

  /** One partition of the side that stays in place, with its number. */
  record Partition(int number, BlockCursor blocks) {}

  /**
   * The broadcast side, which all executors hold.
   *
   * @param pieces rows of the broadcast operand's pieces, in any order
   * @param ranges result of {@link CheckPlacesExec}; empty if products are partial
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  record Broadcast(InternalRow[] pieces, Option<InternalRow[]> ranges) {}

  /**
   * The products of one partition.
   *
   * @param partition the partition of the operand that stays; if products are partial, partition 0
   *     also gives the {@link Marks} of all broadcast matrices, unless one matrix serves all
   * @param tiles cuts tiles into blocks
   */
  BroadcastTask(
      PanelTask.Job job,
      LargeBlocks.Side large,
      Partition partition,
      Broadcast broadcast,
      PanelMultiplier multiplier,
      TileBlocks tiles,
      PanelTask.Listener listener) {
    this.job = job;
    this.spec = job.spec();
    this.large = large;
    this.blocks = new LargeBlocks(job, large, partition.blocks());
    this.small = pieces(broadcast.pieces());
    this.multiplier = multiplier;
    Cuboids uncut = Cuboids.uncut(spec.extents()); // so that places of tiles are indices, not ranks
    this.panels = new PanelPair(job, uncut, multiplier, listener);
    this.tiles = tiles;
    boolean isMarked = job.partial() && spec.m() > 0 && spec.n() > 0;
    this.marks = new Marks();
    if (isMarked && !isCommon() && partition.number() == 0) {
      marks.add(small.keySet());
    }
    this.isMarking = isMarked && isCommon();
    this.zeros =
        !job.partial() && partition.number() == 0 && spec.result().missing() == Missing.ZERO
            ? zeros(broadcast.ranges().get()).iterator()
            : Collections.emptyIterator();
  }

  /** A zero block of C: one in a range of M or N that no block of the large operand covers. */
  private record Zeros(UnsafeRow group, Tile tile) {}

  private List<Zeros> zeros(InternalRow[] ranges) {
    Map<UnsafeRow, List<InternalRow>> there = job.matrices(ranges, CheckPlacesExec.COUNT);
    List<Zeros> zeros = new ArrayList<>();
    for (UnsafeRow matrix : isCommon() ? there.keySet() : small.keySet()) {
      if (!there.containsKey(matrix)) {
        addZeros(zeros, matrix, 0, large.right() ? spec.n() : spec.m());
      }
      for (InternalRow range : there.getOrDefault(matrix, List.of())) {
        addZeros(
            zeros,
            matrix,
            range.getLong(CheckPlacesExec.START),
            range.getLong(CheckPlacesExec.END));
      }
    }
    return zeros;
  }

  private void addZeros(List<Zeros> zeros, UnsafeRow matrix, long from, long to) {
    long grain = large.right() ? spec.blockCols() : spec.blockRows();
    long other = large.right() ? spec.blockRows() : spec.blockCols();
    long otherEnd = large.right() ? spec.m() : spec.n();
    for (long start = from; start < to; ) {
      long end = Math.min(to, (start / grain + 1) * grain);
      for (long at = 0; at < otherEnd; at += other) {
        Tile tile = new Tile(start, end - start, at, Math.min(other, otherEnd - at));
        zeros.add(new Zeros(matrix, large.right() ? tile.transposed() : tile));
      }
      start = end;
    }
  }

  /** Starts giving a block of zeros, or of the epilogue's results for zeros. */
  private void handOut(Zeros block) {
    long elements = block.tile().rows() * block.tile().cols();
    long bytes = elements * spec.type().bytes();
    if (zero == null || zero.bytes() < bytes) {
      zero = HostMemory.ofArray(new byte[Math.toIntExact(bytes)]);
      new HostElementwise().run(job.epilogue(), Shape.of(1, elements), zero);
    }
    Tiles zeroTile = new Tiles(block.tile(), List.of(block.group()), 0, spec.k());
    tiles.begin(zero.slice(0, bytes), zeroTile, false);
  }

  private Map<UnsafeRow, Pieces> pieces(InternalRow[] broadcast) {
    Map<UnsafeRow, Pieces> pieces = new LinkedHashMap<>();
    job.ofSide(!large.right())
        .matrices(broadcast)
        .forEach(
            (each, rows) -> pieces.put(each, new Pieces(rows, spec.innerIsRow(!large.right()))));
    return pieces;
  }

  @Override
  public boolean hasNext() {
    while (!tiles.hasNext() && !marks.hasNext()) {
      if (inBlock || nextBlock()) {
        multiplySlice();
      } else if (zeros.hasNext()) {
        handOut(zeros.next());
      } else {
        return false;
      }
    }
    return true;
  }

  @Override
  public InternalRow next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return marks.hasNext() ? marks.next() : tiles.next();
  }

  private boolean nextBlock() {
    inBlock = blocks.advance();
    nextOuter = inBlock ? blocks.outerStart() : 0;
    if (inBlock && isMarking && !blocks.group().equals(marked)) {
      marked = blocks.group();
      marks.add(List.of(marked)); // a matrix may be marked twice, without effect
    }
    return inBlock;
  }

  /** Identity of the small matrix's panels for blocks that begin at one place along K. */
  private record Part(UnsafeRow group, long innerStart) {}

  /**
   * Multiplies as much of the block as a tile holds, and starts giving the tile's rows. Blocks that
   * are whole matrices are multiplied together.
   */
  private void multiplySlice() {
    long step = large.mostOuter();
    UnsafeRow group = blocks.group();
    long innerStart = blocks.innerStart();
    long innerEnd = blocks.innerEnd();
    long from = nextOuter;
    long to = Math.min(blocks.outerEnd(), (from / step + 1) * step);
    Tile tile =
        large.right()
            ? new Tile(0, spec.m(), from, to - from)
            : new Tile(from, to - from, 0, spec.n());
    // The number of blocks that need these panels is unknown, unless this tile is all of C.
    boolean alone = isWhole(from, to);
    Optional<PanelPair.Stripe> stripe =
        alone
            ? Optional.empty()
            : Optional.of(
                new PanelPair.Stripe(
                    new Part(isCommon() ? PanelTask.NO_GROUP : group, innerStart),
                    Integer.MAX_VALUE,
                    0,
                    true));
    panels.beginTile(
        tile,
        innerEnd - innerStart,
        large.depth(),
        false,
        large.right() ? stripe : Optional.empty(),
        large.right() ? Optional.empty() : stripe,
        alone && !job.partial() ? job.matrices() : 1);
    groups.clear();
    groups.add(group);
    inBlock = to < blocks.outerEnd();
    nextOuter = to;
    for (long inner = innerStart; inner < innerEnd; inner += large.depth()) {
      long end = Math.min(innerEnd, inner + large.depth());
      panels.begin(inner, end - inner);
      addMatrix(group, inner, end);
      while (panels.hasRoom() && nextBlock() && isWhole(nextOuter, blocks.outerEnd())) {
        inBlock = false;
        groups.add(blocks.group());
        addMatrix(blocks.group(), inner, end);
      }
      panels.multiply();
    }
    Tiles made = new Tiles(tile, groups, innerStart, innerEnd - innerStart);
    if (!tiles.begin(multiplier, job.epilogue(), made)) {
      tiles.begin(multiplier.finish(job.epilogue()), made, false);
    }
  }

  /** True if a range of M, or of N, is the whole axis. */
  private boolean isWhole(long from, long to) {
    return to - from == (large.right() ? spec.n() : spec.m());
  }

  /**
   * Puts the block's and the broadcast matrix's elements between two places of K into the panels.
   */
  private void addMatrix(UnsafeRow group, long from, long to) {
    blocks.addTo(panels.side(large.right()));
    Pieces others = isCommon() ? small.values().iterator().next() : small.get(group);
    if (others != null && panels.isWanted(!large.right())) {
      others.addTo(panels.side(!large.right()), from, to, spec);
    }
    panels.endMatrix(group);
  }

  /** True if one broadcast matrix serves all matrices of the large side. */
  private boolean isCommon() {
    return spec.side(!large.right()).common();
  }

  /** The pieces of the broadcast matrix of one group, by their place along K. */
  private static final class Pieces {
    private final InternalRow[] rows; // ascending along K
    private final long[] starts; // along K
    private final long most; // the largest extent along K

    Pieces(List<InternalRow> unsorted, boolean innerIsRow) {
      int start = innerIsRow ? PieceColumns.ROW : PieceColumns.COL;
      int extent = innerIsRow ? PieceColumns.ROWS : PieceColumns.COLS;
      this.rows = unsorted.toArray(InternalRow[]::new);
      Arrays.sort(
          rows,
          Comparator.<InternalRow>comparingLong(row -> row.getLong(start))
              .thenComparingLong(row -> row.getLong(PieceColumns.ROW))
              .thenComparingLong(row -> row.getLong(PieceColumns.COL)));
      this.starts = new long[rows.length];
      long longest = 0;
      for (int i = 0; i < rows.length; i++) {
        starts[i] = rows[i].getLong(start);
        longest = Math.max(longest, rows[i].getInt(extent));
      }
      this.most = longest;
    }

    /** Adds the elements between two places along K to a panel. */
    void addTo(PanelSide panel, long from, long to, MultiplySpec spec) {
      int first = Arrays.binarySearch(starts, from - most + 1);
      if (first < 0) {
        first = -first - 1;
      }
      while (first > 0 && starts[first - 1] > from - most) {
        first--; // the binary search finds any of several equal starts
      }
      for (int i = first; i < rows.length && starts[i] < to; i++) {
        InternalRow row = rows[i];
        panel.add(
            row.getLong(PieceColumns.ROW),
            row.getLong(PieceColumns.COL),
            row.getInt(PieceColumns.ROWS),
            row.getInt(PieceColumns.COLS),
            ArrayValues.memory(row.getArray(PieceColumns.VALUES), spec.type()),
            false);
      }
    }
  }

  /**
   * Gives one row without values for each block of C, so that {@link SumBlocksExec} notices blocks
   * without any partial product.
   */
  private final class Marks implements Iterator<InternalRow> {
    private final Queue<UnsafeRow> groups = new ArrayDeque<>();
    private final UnsafeProjection heads = job.heads(0);
    private UnsafeRow head;
    private long row;
    private long col;

    void add(Collection<UnsafeRow> matrices) {
      groups.addAll(matrices);
      if (head == null) {
        nextGroup();
      }
    }

    private void nextGroup() {
      head = groups.isEmpty() ? null : heads.apply(groups.remove());
      row = 0;
      col = 0;
    }

    @Override
    public boolean hasNext() {
      return head != null;
    }

    @Override
    public InternalRow next() {
      if (head == null) {
        throw new NoSuchElementException();
      }
      UnsafeRow mark = head.copy();
      mark.setLong(Column.ROW.ordinal(), row);
      mark.setLong(Column.COL.ordinal(), col);
      mark.setInt(Column.ROWS.ordinal(), (int) Math.min(spec.blockRows(), spec.m() - row));
      mark.setInt(Column.COLS.ordinal(), (int) Math.min(spec.blockCols(), spec.n() - col));
      mark.setLong(PieceColumns.CELL_ROW, row);
      mark.setLong(PieceColumns.CELL_COL, col);
      mark.setLong(PieceColumns.PART, PieceColumns.MARK);
      col += spec.blockCols();
      if (col >= spec.n()) {
        col = 0;
        row += spec.blockRows();
      }
      if (row >= spec.m()) {
        nextGroup();
      }
      return mark;
    }
  }
}
