package org.tilespark.kernels.multiply;

import java.util.List;
import java.util.stream.LongStream;
import org.tilespark.kernels.launch.Ceil;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;
import org.tilespark.kernels.multiply.MultiplyStep.Place;
import org.tilespark.kernels.multiply.MultiplyStep.Side;
import org.tilespark.kernels.multiply.MultiplyStep.TensorMap;

/**
 * Packs float operands into the form that the kernel reads, unless they have it already, and
 * multiplies them; tiles that a split kernel skips are computed afterwards ({@code pack.cuh},
 * {@code split.cuh}, {@code tensor.cuh}, {@code mma.cuh}).
 */
final class PackedSteps extends TensorSteps {
  /** Rows of a box of A for {@code SPLIT}, if K runs along A's columns. */
  private static final int SPLIT_ACROSS_BOX = 32;

  /** Side of the square that {@code pack.cuh} packs at a time. */
  private static final int PACK_TILE = 64;

  /** Elements that {@code pack.cuh} packs at a time if K runs along the rows. */
  private static final int PACK_PIECE = 4096;

  /**
   * Thread blocks per multiprocessor of {@code repair_split}, which usually only reads the tiles'
   * flags, as it has no tile to repair.
   */
  private static final int REPAIR_BLOCKS_PER_PROCESSOR = 4;

  private final boolean evenA;
  private final boolean evenB;

  PackedSteps(
      MultiplyStrategy.Tensor strategy, MultiplyProblem problem, boolean evenA, boolean evenB) {
    super(strategy, problem, strategy.packedKernel(), strategy.workspaceBytes());
    this.evenA = evenA;
    this.evenB = evenB;
  }

  /**
   * The tensor map of an operand's matrices of all products that run at once, and the rows in it
   * from one product's matrix to the next one's.
   */
  private record Operand(TensorMap map, long step) {}

  /**
   * The copies of an operand that a launch of {@code pack.cuh} makes; its words are the fields of
   * {@code PackOperand}.
   *
   * @param from the matrices to copy; their count is 0 if nothing is copied
   * @param across true if K runs along the columns of {@code from}
   */
  private record Packing(Matrices from, Place to, boolean across, long paddedExtent, long paddedK) {
    static final Packing NONE =
        new Packing(new Matrices(Place.NOWHERE, 0, 0, 0, 0, 0), Place.NOWHERE, false, 0, 0);

    long pieces() {
      return across
          ? from.count() * (paddedExtent / PACK_TILE) * Ceil.div(paddedK, PACK_TILE)
          : Ceil.div(from.count() * paddedExtent * paddedK, PACK_PIECE);
    }

    LongStream words() {
      return LongStream.of(
          across ? from.cols() : from.rows(),
          across ? from.rows() : from.cols(),
          from.lead(),
          across ? 1 : 0,
          paddedExtent,
          paddedK,
          from.count(),
          from.stride());
    }
  }

  /** An operand as the kernel reads it, and the copies that must be made for that. */
  private record Packed(Packing packing, Operand operand) {}

  @Override
  void addMultiply(long p, long k, long parts, long partPanels, Target c) {
    long batches = parts * products();
    Place tileFlags = new Place(Side.WORKSPACE, 0);
    Place placeA =
        new Place(
            Side.WORKSPACE,
            TensorWorkspace.flagBytes(form, problem, strategy.sums().parts() * products()));
    Place placeB =
        new Place(
            Side.WORKSPACE, placeA.bytes() + TensorWorkspace.bytesA(form, problem, k, countA()));

    boolean split = form == TensorForm.SPLIT;
    Packed packedA = split ? splitA(p, k, placeA) : packed(Side.A, p, k, placeA);
    Packed packedB = packed(Side.B, p, k, placeB);
    pack(packedA.packing(), packedB.packing());
    Operand a = packedA.operand();
    Operand b = packedB.operand();
    long stepK = parts > 1 ? partPanels * form.panel() : 0;
    long pieces = batches * rowTiles() * colTiles();
    long[] tail = tail(c, batches, a.step(), b.step(), stepK);
    if (split) {
      long rowsOfB = countB() * TensorWorkspace.rowsOfB(form, problem);
      // Fields of SplitArguments.
      launch(
          List.of(a.map(), b.map()),
          List.of(c.at(), tileFlags),
          pieces,
          words(head(c, partPanels), new long[] {rowsOfB}, tail));
      addRepair(p, k, batches, stepK, c, tileFlags);
    } else if (strategy.isMma()) {
      long[] head = {
        problem.m(),
        problem.n(),
        c.lead(),
        countA() * Ceil.to(problem.m(), TensorWorkspace.PACKED_ROWS),
        countB() * TensorWorkspace.rowsOfB(form, problem),
        Ceil.div(k, form.panel()),
        partPanels,
        rowTiles(),
        colTiles()
      };
      // Fields of MmaArguments.
      launch(
          List.of(),
          List.of(placeA, placeB, c.at()),
          pieces,
          words(head, tail(c, batches, a.step(), b.step(), parts > 1 ? partPanels : 0)));
    } else {
      // Fields of TensorArguments.
      launch(List.of(a.map(), b.map()), List.of(c.at()), pieces, words(head(c, partPanels), tail));
    }
  }

  /**
   * The operand A for {@code SPLIT}: A as stored, or a copy whose rows begin at multiples of 16
   * bytes.
   */
  private Packed splitA(long p, long k, Place to) {
    Matrices a = stored(Side.A, p, k);
    int boxRows = problem.a().transposed() ? SPLIT_ACROSS_BOX : shape.rows();
    // In a batch, the next product's A follows directly. A half tile (or panel, if A is transposed)
    // that reached into it would be skipped and repaired because of that product's values. So A is
    // copied unless its rows are a multiple of {@code whole}.
    int whole = problem.a().transposed() ? form.panel() : TensorWorkspace.PACKED_ROWS;
    if ((a.count() == 1 || a.rows() % whole == 0) && isMapped(evenA, a)) {
      return new Packed(Packing.NONE, mapped(form.elementOfA(), a, boxRows));
    }
    long paddedRows = Ceil.to(a.rows(), TensorWorkspace.PACKED_ROWS);
    long paddedCols = Ceil.to(a.cols(), form.panel());
    return new Packed(
        new Packing(a, to, false, paddedRows, paddedCols),
        packed(form.elementOfA(), to, paddedCols, paddedRows, 1, a.count(), boxRows));
  }

  /** A or B, rounded or split, with K along its rows: a packed copy, or the operand as stored. */
  private Packed packed(Side side, long p, long k, Place to) {
    boolean isA = side == Side.A;
    boolean across = isAcross(side);
    Matrices stored = stored(side, p, k);
    int boxRows = isA ? shape.rows() : shape.cols();
    // The copy engine rounds to tf32, and transposes nothing.
    if (form == TensorForm.TF32
        && !strategy.isMma()
        && !across
        && isMapped(isA ? evenA : evenB, stored)) {
      return new Packed(Packing.NONE, mapped(MultiplyStep.Element.TF32, stored, boxRows));
    }
    long paddedRows =
        isA
            ? Ceil.to(problem.m(), TensorWorkspace.PACKED_ROWS)
            : TensorWorkspace.rowsOfB(form, problem);
    long paddedK = Ceil.to(k, form.panel());
    int planes = isA ? 1 : form.planesOfB();
    return new Packed(
        new Packing(stored, to, across, paddedRows, paddedK),
        packed(form.element(), to, paddedK, paddedRows, planes, stored.count(), boxRows));
  }

  /**
   * True if the copy engine can read matrices as they are stored; it finds a product's matrix by
   * the number of its first row.
   */
  private boolean isMapped(boolean even, Matrices of) {
    return isEven(even, of.at(), of.lead())
        && (of.count() == 1
            || (of.stride() % of.lead() == 0
                && of.stride() / of.lead()
                    <= (TensorWorkspace.MOST_COUNT - of.rows()) / of.count()));
  }

  private Operand mapped(MultiplyStep.Element element, Matrices of, int boxRows) {
    long step = of.stride() / of.lead();
    long rows = (of.count() - 1) * step + of.rows();
    return new Operand(map(element, of.at(), of.cols(), rows, of.lead(), boxRows), step);
  }

  private Operand packed(
      MultiplyStep.Element element,
      Place at,
      long cols,
      long rows,
      int planes,
      long count,
      int boxRows) {
    return new Operand(
        map(element, at, cols, planes * count * rows, cols, boxRows), count > 1 ? rows : 0);
  }

  /** The tensor map of an operand with K along its rows. */
  private TensorMap map(
      MultiplyStep.Element element, Place at, long cols, long rows, long lead, int boxRows) {
    return new TensorMap(at, element, cols, rows, lead * element.bytes(), form.panel(), boxRows);
  }

  /**
   * True if the copy engine can read an operand's rows from this place on.
   *
   * @param sideBeginsEven true if the whole operand begins at a multiple of 16 bytes
   */
  private boolean isEven(boolean sideBeginsEven, Place at, long lead) {
    return sideBeginsEven
        && at.bytes() % EVEN_BYTES == 0
        && lead * width % EVEN_BYTES == 0
        && lead * width < TensorMap.MOST_LEAD_BYTES;
  }

  /** Packs both operands in one launch; no launch if neither is copied. */
  private void pack(Packing a, Packing b) {
    long pieces = a.pieces() + b.pieces();
    if (pieces > 0) {
      KernelIndex.Kernel kernel = strategy.packer();
      add(
          new MultiplyStep(
              // Fields of PackArguments.
              new KernelLaunch(
                  kernel.name(),
                  // A thread block for each piece: fewer thread blocks that loop were slower by a
                  // tenth.
                  new LaunchConfig(
                      (int) Math.min(pieces, Integer.MAX_VALUE), kernel.shape().threads(), 0),
                  LongStream.concat(a.words(), b.words()).toArray()),
              List.of(),
              List.of(a.from().at(), a.to(), b.from().at(), b.to())));
    }
  }

  /**
   * Adds the launch that computes the tiles which the split kernel skipped, of several products or
   * of the parts of one.
   */
  private void addRepair(long p, long k, long batches, long stepK, Target c, Place tileFlags) {
    KernelIndex.Kernel kernel = strategy.repairer();
    long rowTiles = Ceil.div(problem.m(), kernel.shape().rows());
    long colTiles = Ceil.div(problem.n(), kernel.shape().cols());
    boolean parts = stepK > 0;
    long each = parts ? stepK : k;
    long strideA = products() > 1 ? batch.strideA() : 0;
    long strideB = products() > 1 ? batch.strideB() : 0;
    add(
        new MultiplyStep(
            // Fields of RepairArguments.
            new KernelLaunch(
                kernel.name(),
                blocks(batches * rowTiles * colTiles, most(REPAIR_BLOCKS_PER_PROCESSOR), kernel),
                problem.m(),
                each,
                problem.n(),
                problem.a().lead(),
                problem.b().lead(),
                c.lead(),
                problem.a().transposed() ? 1 : 0,
                problem.b().transposed() ? 1 : 0,
                problem.alphaWord(c.factors()),
                problem.betaWord(c.factors()),
                MultiplyStrategy.Tiled.chunk(each),
                rowTiles,
                colTiles,
                batches,
                parts ? (problem.a().transposed() ? stepK * problem.a().lead() : stepK) : strideA,
                parts ? (problem.b().transposed() ? stepK : stepK * problem.b().lead()) : strideB,
                c.step(),
                parts ? k - (batches - 1) * stepK : k),
            List.of(),
            List.of(tileFlags, from(Side.A, p), from(Side.B, p), c.at())));
  }
}
