package org.tilespark.kernels.plan;

import java.util.ArrayList;
import java.util.List;
import org.tilespark.kernels.plan.MultiplyStep.Clear;
import org.tilespark.kernels.plan.MultiplyStep.Place;
import org.tilespark.kernels.plan.MultiplyStep.Run;
import org.tilespark.kernels.plan.MultiplyStep.Side;
import org.tilespark.kernels.plan.MultiplyStep.TensorMap;

/**
 * What a multiply on the tensor cores does, one thing after the other, chunk by chunk of K: brings
 * the operands into the form that the kernel reads, into the workspace, unless they lie so; runs
 * the kernel; and makes the tiles that it left alone. A pure function.
 *
 * <p>The workspace of a chunk: flags of the columns of tiles, flags of the tiles, A, B.
 */
final class TensorSteps {
  /** Rows of packed operands come in so many. */
  private static final int PACKED_ROWS = 64;

  /** The planes of a split B begin at rows of whole tiles. */
  private static final int SPLIT_TILE = 128;

  /** Rows of a box of an A of a split that is stored across. */
  private static final int SPLIT_ACROSS_BOX = 32;

  /** A piece of a tile that {@code pack.cuh} packs at a time, along both sides. */
  private static final int PACK_TILE = 64;

  /** Elements of a row that {@code pack_rows} copies at a time. */
  private static final int PIECE = 1024;

  private static final int PACK_BLOCKS_PER_PROCESSOR = 8;

  /** What repairs has little to do, as a rule, but to read flags. */
  private static final int REPAIR_BLOCKS_PER_PROCESSOR = 4;

  /**
   * Steps of K of a box of doubles; of an operand that is stored across, columns that lie side by
   * side in it too.
   */
  private static final int DOUBLE_BOX = 16;

  /** Tiles of doubles are no smaller, along both sides. */
  private static final int LEAST_DOUBLE_TILE = 64;

  /** What begins in the workspace begins at a multiple of this. */
  private static final int ALIGNMENT = 256;

  /** What the copy engine's addresses are multiples of. */
  private static final int EVEN_BYTES = 16;

  /** More than any device holds, and few enough to count bytes of several. */
  private static final long MOST_DOUBLES = 1L << 56;

  private final MultiplyStrategy.Tensor strategy;
  private final MultiplyProblem problem;
  private final boolean evenA;
  private final boolean evenB;
  private final TensorForm form;
  private final KernelIndex.TileShape shape;
  private final int width;
  private final List<MultiplyStep> steps = new ArrayList<>();

  private TensorSteps(
      MultiplyStrategy.Tensor strategy, MultiplyProblem problem, boolean evenA, boolean evenB) {
    this.strategy = strategy;
    this.problem = problem;
    this.evenA = evenA;
    this.evenB = evenB;
    this.form = strategy.form();
    this.shape = strategy.kernel().shape();
    this.width = problem.type().bytes();
  }

  /**
   * The steps for a problem.
   *
   * @param evenA true if A begins at a multiple of 16 bytes
   * @param evenB true if B does
   */
  static List<MultiplyStep> of(
      MultiplyStrategy.Tensor strategy, MultiplyProblem problem, boolean evenA, boolean evenB) {
    TensorSteps made = new TensorSteps(strategy, problem, evenA, evenB);
    for (long p = 0; p < problem.k(); p += strategy.chunk()) {
      made.addChunk(p, Math.min(strategy.chunk(), problem.k() - p));
    }
    return List.copyOf(made.steps);
  }

  /** Bytes of the workspace of a problem, and of one of smaller extents no more. */
  static long workspaceBytes(TensorForm form, MultiplyProblem problem, long chunk) {
    long k = Math.min(chunk, problem.k());
    return flagBytes(form, problem) + bytesA(form, problem, k) + bytesB(form, problem, k);
  }

  private static long flagBytes(TensorForm form, MultiplyProblem problem) {
    if (form != TensorForm.SPLIT) {
      return 0;
    }
    long cols = tiles(problem.n(), SPLIT_TILE);
    return columnFlagBytes(problem)
        + aligned(tiles(problem.m(), SPLIT_TILE) * cols * Integer.BYTES);
  }

  private static long columnFlagBytes(MultiplyProblem problem) {
    return aligned(tiles(problem.n(), SPLIT_TILE) * Integer.BYTES);
  }

  private static long bytesA(TensorForm form, MultiplyProblem problem, long k) {
    return form == TensorForm.FLOAT64
        ? rowBytes(problem.m(), k)
        : aligned(
            Math.max(
                    up(problem.m(), PACKED_ROWS) * up(k, form.panel()),
                    form == TensorForm.SPLIT
                        ? up(k, PACKED_ROWS) * up(problem.m(), form.panel())
                        : 0)
                * form.elementOfA().bytes());
  }

  private static long bytesB(TensorForm form, MultiplyProblem problem, long k) {
    return form == TensorForm.FLOAT64
        ? rowBytes(problem.n(), k)
        : aligned(
            form.planesOfB()
                * rowsOfB(form, problem)
                * up(k, form.panel())
                * form.element().bytes());
  }

  /** Rows of one plane of the packed B. */
  private static long rowsOfB(TensorForm form, MultiplyProblem problem) {
    return up(problem.n(), form == TensorForm.SPLIT ? SPLIT_TILE : PACKED_ROWS);
  }

  /** Whichever way they are stored, with rows as {@link #doubles} pads them. */
  private static long rowBytes(long extent, long k) {
    return (double) (extent + DOUBLE_BOX) * (k + 1) > MOST_DOUBLES
        ? MOST_DOUBLES * Double.BYTES
        : aligned(Math.max(extent * up(k, 2), k * up(extent, DOUBLE_BOX)) * Double.BYTES);
  }

  private void addChunk(long p, long k) {
    boolean adds = p > 0 || problem.accumulate();
    if (form == TensorForm.FLOAT64) {
      addDouble(p, k, adds);
    } else {
      addFloat(p, k, adds);
    }
  }

  /** Where the chunk begins in A or B. */
  private Place from(Side side, long p) {
    boolean across = side == Side.A ? problem.transposeA() : !problem.transposeB();
    long lead = side == Side.A ? problem.leadA() : problem.leadB();
    return new Place(side, (across ? p * lead : p) * width);
  }

  private void addFloat(long p, long k, boolean adds) {
    long paddedK = up(k, form.panel());
    long rowsB = rowsOfB(form, problem);
    Place columnFlags = new Place(Side.WORKSPACE, 0);
    Place tileFlags =
        new Place(Side.WORKSPACE, form == TensorForm.SPLIT ? columnFlagBytes(problem) : 0);
    Place packedA = new Place(Side.WORKSPACE, flagBytes(form, problem));
    Place packedB = new Place(Side.WORKSPACE, packedA.bytes() + bytesA(form, problem, k));
    long rowTiles = tiles(problem.m(), shape.rows());
    long colTiles = tiles(problem.n(), shape.cols());

    if (form == TensorForm.SPLIT) {
      steps.add(new Clear(columnFlags, colTiles * Integer.BYTES));
    }
    TensorMap mapA = form == TensorForm.SPLIT ? splitA(p, k, packedA) : packedA(p, k, packedA);
    steps.add(
        pack(
            strategy.packer(),
            List.of(
                from(Side.B, p), packedB, form == TensorForm.SPLIT ? columnFlags : Place.NOWHERE),
            problem.n(),
            k,
            problem.leadB(),
            !problem.transposeB(),
            rowsB));
    TensorMap mapB =
        map(form.element(), packedB, paddedK, form.planesOfB() * rowsB, paddedK, shape.cols());

    Place c = new Place(Side.C, 0);
    long panels = paddedK / form.panel();
    if (form == TensorForm.SPLIT) {
      // Fields of SplitArguments.
      steps.add(
          product(
              List.of(mapA, mapB),
              List.of(c, tileFlags, columnFlags),
              rowTiles * colTiles,
              problem.m(),
              problem.n(),
              problem.leadC(),
              panels,
              rowTiles,
              colTiles,
              rowsB, // of one plane
              adds ? 1 : 0,
              1,
              0,
              0,
              0));
      steps.add(repair(p, k, adds, tileFlags));
    } else {
      // Fields of TensorArguments.
      steps.add(
          product(
              List.of(mapA, mapB),
              List.of(c),
              rowTiles * colTiles,
              problem.m(),
              problem.n(),
              problem.leadC(),
              panels,
              rowTiles,
              colTiles,
              adds ? 1 : 0,
              1,
              0,
              0,
              0));
    }
  }

  /** The map of A as stored, or of a copy of it with even rows. */
  private TensorMap splitA(long p, long k, Place packed) {
    long rows = problem.transposeA() ? k : problem.m();
    long cols = problem.transposeA() ? problem.m() : k;
    int boxRows = problem.transposeA() ? SPLIT_ACROSS_BOX : shape.rows();
    Place at = from(Side.A, p);
    if (isEven(evenA, problem.leadA())) {
      return map(form.elementOfA(), at, cols, rows, problem.leadA(), boxRows);
    }
    long paddedRows = up(rows, PACKED_ROWS);
    long paddedCols = up(cols, form.panel());
    steps.add(
        pack(
            strategy.rawPacker(),
            List.of(at, packed, Place.NOWHERE),
            rows,
            cols,
            problem.leadA(),
            false,
            paddedRows));
    return map(form.elementOfA(), packed, paddedCols, paddedRows, paddedCols, boxRows);
  }

  /** The map of a copy of A, rounded, with K along its rows. */
  private TensorMap packedA(long p, long k, Place packed) {
    long paddedRows = up(problem.m(), PACKED_ROWS);
    long paddedK = up(k, form.panel());
    steps.add(
        pack(
            strategy.packer(),
            List.of(from(Side.A, p), packed, Place.NOWHERE),
            problem.m(),
            k,
            problem.leadA(),
            problem.transposeA(),
            paddedRows));
    return map(form.element(), packed, paddedK, paddedRows, paddedK, shape.rows());
  }

  private void addDouble(long p, long k, boolean adds) {
    Place packedA = new Place(Side.WORKSPACE, 0);
    Place packedB = new Place(Side.WORKSPACE, bytesA(form, problem, k));
    boolean exchanged = form.isExchanged(problem);
    long rows = exchanged ? problem.n() : problem.m();
    long cols = exchanged ? problem.m() : problem.n();
    long rowTiles = tiles(rows, shape.rows());
    long colTiles = tiles(cols, shape.cols());
    TensorMap mapA =
        doubles(
            from(Side.A, p),
            packedA,
            isEven(evenA, problem.leadA()),
            problem.transposeA() ? k : problem.m(),
            problem.transposeA() ? problem.m() : k,
            problem.leadA(),
            problem.transposeA(),
            exchanged ? shape.cols() : shape.rows());
    TensorMap mapB =
        doubles(
            from(Side.B, p),
            packedB,
            isEven(evenB, problem.leadB()),
            problem.transposeB() ? problem.n() : k,
            problem.transposeB() ? k : problem.n(),
            problem.leadB(),
            !problem.transposeB(),
            exchanged ? shape.rows() : shape.cols());
    long panels = tiles(k, form.panel());
    // Fields of DoubleArguments.
    steps.add(
        product(
            exchanged ? List.of(mapB, mapA) : List.of(mapA, mapB),
            List.of(new Place(Side.C, 0)),
            rowTiles * colTiles,
            rows,
            cols,
            exchanged ? 1 : problem.leadC(),
            exchanged ? problem.leadC() : 1,
            panels,
            strategy.chain(),
            rowTiles,
            colTiles,
            adds ? 1 : 0,
            1,
            0,
            1,
            panels,
            0));
  }

  /**
   * The map of a matrix of doubles as stored, or of a copy of it with rows that begin evenly.
   *
   * @param lies true if its own rows do
   * @param across true if K goes down its columns: 16 columns are one axis and their number
   *     another, so rows must go on to whole 16
   * @param tile its rows, or columns where across, that are copied at once
   */
  private TensorMap doubles(
      Place at,
      Place packed,
      boolean lies,
      long rows,
      long cols,
      long lead,
      boolean across,
      int tile) {
    if (lies && (!across || cols % DOUBLE_BOX == 0)) {
      return doubles(at, rows, cols, lead, across, tile);
    }
    long padded = up(cols, across ? DOUBLE_BOX : 2);
    KernelIndex.Kernel kernel = strategy.packer();
    steps.add(
        new Run(
            // Fields of PackRowsArguments.
            new KernelLaunch(
                kernel.name(),
                blocks(rows * tiles(padded, PIECE), PACK_BLOCKS_PER_PROCESSOR, kernel),
                rows,
                cols,
                lead,
                padded),
            List.of(),
            List.of(at, packed)));
    return doubles(packed, rows, cols, padded, across, tile);
  }

  /** As {@code DoubleArguments} says; one product, whose stride is any that the driver takes. */
  private TensorMap doubles(Place at, long rows, long cols, long lead, boolean across, int tile) {
    long leadBytes = lead * width;
    return across
        ? new TensorMap(
            at,
            form.element(),
            List.of((long) DOUBLE_BOX, rows, tiles(cols, DOUBLE_BOX), 1L),
            List.of(leadBytes, (long) DOUBLE_BOX * width, leadBytes),
            List.of(DOUBLE_BOX, DOUBLE_BOX, tile / DOUBLE_BOX, 1))
        : new TensorMap(
            at,
            form.element(),
            List.of(cols, rows, 1L, 1L),
            List.of(leadBytes, leadBytes, leadBytes),
            List.of(DOUBLE_BOX, tile, 1, 1));
  }

  private Run pack(
      KernelIndex.Kernel kernel,
      List<Place> pointers,
      long extent,
      long k,
      long lead,
      boolean across,
      long paddedExtent) {
    long paddedK = up(k, form.panel());
    long pieces = paddedExtent / PACK_TILE * tiles(paddedK, PACK_TILE);
    return new Run(
        // Fields of PackArguments.
        new KernelLaunch(
            kernel.name(),
            blocks(pieces, PACK_BLOCKS_PER_PROCESSOR, kernel),
            extent,
            k,
            lead,
            across ? 1 : 0,
            paddedExtent,
            paddedK,
            1,
            0),
        List.of(),
        pointers);
  }

  /** Makes what is flagged. */
  private Run repair(long p, long k, boolean adds, Place tileFlags) {
    KernelIndex.Kernel kernel = strategy.repairer();
    long rowTiles = tiles(problem.m(), kernel.shape().rows());
    long colTiles = tiles(problem.n(), kernel.shape().cols());
    return new Run(
        // Fields of RepairArguments.
        new KernelLaunch(
            kernel.name(),
            blocks(rowTiles * colTiles, REPAIR_BLOCKS_PER_PROCESSOR, kernel),
            problem.m(),
            k,
            problem.n(),
            problem.leadA(),
            problem.leadB(),
            problem.leadC(),
            problem.transposeA() ? 1 : 0,
            problem.transposeB() ? 1 : 0,
            adds ? 1 : 0,
            MultiplyStrategy.Tiled.chunk(k),
            rowTiles,
            colTiles),
        List.of(),
        List.of(tileFlags, from(Side.A, p), from(Side.B, p), new Place(Side.C, 0)));
  }

  private Run product(List<TensorMap> maps, List<Place> pointers, long tiles, long... words) {
    KernelIndex.Kernel kernel = strategy.kernel();
    return new Run(
        new KernelLaunch(kernel.name(), blocks(tiles, kernel.blocksPerProcessor(), kernel), words),
        maps,
        pointers);
  }

  /** The map of an operand with K along its rows. */
  private TensorMap map(
      MultiplyStep.Element element, Place at, long cols, long rows, long lead, int boxRows) {
    return new TensorMap(at, element, cols, rows, lead * element.bytes(), form.panel(), boxRows);
  }

  private LaunchConfig blocks(long pieces, int perProcessor, KernelIndex.Kernel kernel) {
    long most = (long) strategy.processors() * perProcessor;
    return new LaunchConfig(
        (int) Math.min(pieces, most), kernel.shape().threads(), kernel.dynamicBytes());
  }

  private boolean isEven(boolean beginsEven, long lead) {
    return beginsEven && lead * width % EVEN_BYTES == 0 && lead * width < TensorMap.MOST_LEAD_BYTES;
  }

  /** True if extents and strides are such as the kernels can count. */
  static boolean canCount(MultiplyProblem problem, TensorForm form) {
    long most = Integer.MAX_VALUE - SPLIT_TILE;
    if (problem.m() > most || problem.n() > most / form.planesOfB() - SPLIT_TILE) {
      return false;
    }
    // The kernels for double count steps of K and tiles in 32 bits.
    return form != TensorForm.FLOAT64
        || (problem.k() <= most
            && tiles(problem.m(), LEAST_DOUBLE_TILE) * tiles(problem.n(), LEAST_DOUBLE_TILE)
                <= Integer.MAX_VALUE);
  }

  private static long up(long extent, long of) {
    return Math.multiplyExact(tiles(extent, of), of);
  }

  private static long tiles(long extent, long of) {
    return extent / of + (extent % of == 0 ? 0 : 1);
  }

  private static long aligned(long bytes) {
    return up(bytes, ALIGNMENT);
  }
}
