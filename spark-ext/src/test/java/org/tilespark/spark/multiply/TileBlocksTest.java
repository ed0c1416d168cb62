package org.tilespark.spark.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.arrow.panels.PanelMultiplier.FinishedTile;
import org.tilespark.arrow.panels.PanelMultiplier.Rectangle;
import org.tilespark.kernels.host.HostTransposer;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.memory.MemoryRows;
import org.tilespark.kernels.multiply.Extents;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.multiply.TileBlocks.Tile;
import org.tilespark.spark.multiply.TileBlocks.Tiles;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.MultiplyOptions.Strategy;
import org.tilespark.spark.rows.PendingRowMemory;
import scala.Option;

/** Blocks of tiles, copied by the CPU or fetched: the same rows. */
class TileBlocksTest {
  private static final int BLOCK_ROWS = 20;
  private static final int BLOCK_COLS = 32;
  private static final long BLOCK_BYTES = 8L * BLOCK_ROWS * BLOCK_COLS;
  private static final Tile TILE = new Tile(50, 90, 7, 101); // it begins and ends within blocks
  private static final int MATRICES = 3;

  private static final PanelTask.Listener UNHEARD =
      new PanelTask.Listener() {
        @Override
        public void panel(double flops) {}

        @Override
        public void block() {}
      };

  private static PanelTask.Job job(boolean partial) {
    MultiplySpec.Side side = new MultiplySpec.Side(false, 16, 16, false, false, false, 1);
    MultiplySpec spec =
        new MultiplySpec(
            "test",
            false,
            side,
            side,
            new Extents(200, 10, 300),
            new MultiplySpec.Result(
                ElementType.FLOAT64,
                Precision.FULL,
                BLOCK_ROWS,
                BLOCK_COLS,
                Missing.ERROR,
                Option.empty(),
                MultiplySpec.Epilogue.NONE),
            Strategy.AUTO,
            1);
    List<DataType> types =
        new ArrayList<>(
            List.of(
                DataTypes.LongType,
                DataTypes.LongType,
                DataTypes.IntegerType,
                DataTypes.IntegerType,
                DataTypes.createArrayType(DataTypes.DoubleType, false)));
    if (partial) {
      types.addAll(
          List.of(DataTypes.LongType, DataTypes.LongType, DataTypes.LongType, DataTypes.LongType));
    }
    return new PanelTask.Job(
        spec, partial, List.of(DataTypes.LongType), List.of("g"), types, MATRICES);
  }

  private static List<UnsafeRow> groups() {
    return IntStream.range(0, MATRICES)
        .mapToObj(
            g -> {
              UnsafeRow group = UnsafeRow.createFromByteArray(16, 1);
              group.setLong(0, 100 + g);
              return group;
            })
        .toList();
  }

  private static double[] numbers() {
    double[] values = new double[(int) (MATRICES * TILE.rows() * TILE.cols())];
    Arrays.setAll(values, i -> i);
    return values;
  }

  private static final Tiles TILES = new Tiles(TILE, groups(), 4, 6);

  /** A tile in host memory that is fetched as a device's is. */
  private static final class PlayedTile implements FinishedTile {
    private final HostMemory values = HostMemory.ofArray(numbers());
    private final long mostBytes;
    private final List<Integer> fetches = new ArrayList<>(); // rectangles of each
    private boolean isPassed;

    PlayedTile(long mostBytes) {
      this.mostBytes = mostBytes;
    }

    @Override
    public long mostBytes() {
      return mostBytes;
    }

    @Override
    public void fetch(List<Rectangle> rectangles, boolean isLast) {
      assertFalse(isPassed, "after the last");
      isPassed = isLast;
      fetches.add(rectangles.size());
      for (Rectangle each : rectangles) {
        assertEquals(each.rows() * each.rowBytes(), each.to().bytes());
        assertTrue(each.to().isOffHeap());
        new MemoryRows(values, each.start(), TILE.cols() * 8, each.rowBytes(), each.rows())
            .copyTo(each.to(), 0, each.rowBytes());
      }
    }
  }

  private static List<InternalRow> rows(TileBlocks blocks) {
    List<InternalRow> rows = new ArrayList<>();
    blocks.forEachRemaining(row -> rows.add(row.copy()));
    return rows;
  }

  private interface Body {
    void run(BufferAllocator allocator, PendingRowMemory memory);
  }

  private static void withMemory(Body body) {
    try (NativeMemorySource source = new NativeMemorySource(1 << 20);
        ArrowMemory plain = new ArrowMemory(source);
        BufferAllocator allocator = plain.newChild("test")) {
      try (PendingRowMemory memory = new PendingRowMemory(allocator)) {
        body.run(allocator, memory);
      }
      assertEquals(0, allocator.getAllocatedMemory());
    }
  }

  private static TileBlocks blocks(boolean partial, PendingRowMemory memory) {
    PanelTask.Job job = job(partial);
    return new TileBlocks(
        job, Cuboids.uncut(job.spec().extents()), new HostTransposer(), memory, UNHEARD);
  }

  /** 4 + 2 by 4 + 1 blocks: a few at a time, one at a time, and all at once. */
  @Test
  void fetchedBlocksAreThoseThatAreCopied() {
    for (boolean partial : new boolean[] {false, true}) {
      withMemory(
          (allocator, memory) -> {
            TileBlocks blocks = blocks(partial, memory);
            blocks.begin(HostMemory.ofArray(numbers()), TILES, false);
            List<InternalRow> copied = rows(blocks);
            requireBlocks(copied, partial);
            for (long most : new long[] {2 * BLOCK_BYTES, 0, 1 << 20}) {
              PlayedTile tile = new PlayedTile(most);
              blocks.begin(tile, TILES);
              assertTrue(blocks.hasNext());
              assertEquals(List.of(), tile.fetches, "nothing before it is asked for");
              assertEquals(copied, rows(blocks));
              assertTrue(tile.isPassed);
              assertEquals(copied.size(), tile.fetches.stream().mapToInt(n -> n).sum());
              if (most == 0) {
                assertEquals(copied.size(), tile.fetches.size());
              } else if (most == 1 << 20) {
                assertEquals(1, tile.fetches.size());
              }
              assertTrue(
                  allocator.getAllocatedMemory() <= 2 * (BLOCK_BYTES + 1024),
                  "the row that was handed out last, and a spare one");
            }
          });
    }
  }

  /** Places and values by the definition. */
  private static void requireBlocks(List<InternalRow> rows, boolean partial) {
    long elements = 0;
    for (InternalRow row : rows) {
      long fromRow = row.getLong(0);
      long fromCol = row.getLong(1);
      int height = row.getInt(2);
      int width = row.getInt(3);
      assertEquals(fromRow / BLOCK_ROWS, (fromRow + height - 1) / BLOCK_ROWS, "one block");
      assertEquals(fromCol / BLOCK_COLS, (fromCol + width - 1) / BLOCK_COLS, "one block");
      long matrix = row.getLong(partial ? PieceColumns.PARTIAL_COUNT : 5) - 100;
      double[] values = row.getArray(4).toDoubleArray();
      for (int at = 0; at < values.length; at++) {
        long inRow = fromRow - TILE.row() + at / width;
        long inCol = fromCol - TILE.col() + at % width;
        assertEquals((double) ((matrix * TILE.rows() + inRow) * TILE.cols() + inCol), values[at]);
      }
      elements += values.length;
      if (partial) {
        assertEquals(fromRow / BLOCK_ROWS * BLOCK_ROWS, row.getLong(PieceColumns.CELL_ROW));
        assertEquals(fromCol / BLOCK_COLS * BLOCK_COLS, row.getLong(PieceColumns.CELL_COL));
        assertEquals(4, row.getLong(PieceColumns.PART));
        assertEquals(6, row.getLong(PieceColumns.PART_EXTENT));
      }
    }
    assertEquals(MATRICES * TILE.rows() * TILE.cols(), elements);
  }

  /** A device may have begun to write to rows: they stay until the memory is closed. */
  @Test
  void rowsStayWhenFetchingFails() {
    withMemory(
        (allocator, memory) -> {
          TileBlocks blocks = blocks(false, memory);
          List<Rectangle> begun = new ArrayList<>();
          IllegalStateException failure = new IllegalStateException("device lost");
          blocks.begin(
              new FinishedTile() {
                @Override
                public long mostBytes() {
                  return 3 * BLOCK_BYTES;
                }

                @Override
                public void fetch(List<Rectangle> rectangles, boolean isLast) {
                  begun.addAll(rectangles);
                  throw failure;
                }
              },
              TILES);
          assertEquals(failure, assertThrows(IllegalStateException.class, blocks::next));
          long bytes = begun.stream().mapToLong(each -> each.to().bytes()).sum();
          assertTrue(bytes > 0 && allocator.getAllocatedMemory() >= bytes);
          begun.forEach(each -> each.to().fill((byte) 1)); // as a copy that goes on
        });
  }
}
