package org.tilespark.kernels.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.tilespark.kernels.plan.MultiplyStep.Place;
import org.tilespark.kernels.plan.MultiplyStep.Side;
import org.tilespark.kernels.plan.MultiplyStep.TensorMap;

/**
 * What a multiply on the tensor cores does, one thing after the other, so many products of a batch
 * at once, chunk by chunk of K: brings the operands into the form that the kernel reads, into the
 * workspace, unless they lie so; runs the kernel; makes the tiles that it left alone; and sums the
 * parts if K is cut. A pure function.
 *
 * <p>Parts of K are to the kernels products of a batch, or {@code parts} where doubles are
 * multiplied: part {@code q} is of steps {@code q * partSteps} on, and the last one may be shorter.
 *
 * <p>The workspace of a chunk: flags of the tiles, A, B, C's parts.
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

  /** Elements that {@code pack.cuh} packs at a time where K is along the rows. */
  private static final int PACK_PIECE = 4096;

  /** Elements of a row that {@code pack_rows} copies at a time. */
  private static final int PIECE = 1024;

  private static final int ROWS_BLOCKS_PER_PROCESSOR = 8;

  /** What repairs has little to do, as a rule, but to read flags. */
  private static final int REPAIR_BLOCKS_PER_PROCESSOR = 4;

  /**
   * Steps of K of a box of doubles; of an operand that is stored across, columns that lie side by
   * side in it too.
   */
  private static final int DOUBLE_BOX = 16;

  /** Even and odd rows, which phased kernels read apart. */
  private static final int PHASES = 2;

  /** Tiles of doubles are no smaller, along both sides. */
  private static final int LEAST_DOUBLE_TILE = 64;

  /** Panels of a part of K at least: fewer do not fill the stages of shared memory. */
  private static final long LEAST_PART_PANELS = 4;

  /** Rows and columns of a box of an operand that a fused kernel reads. */
  private static final int FUSED_BOX = 32;

  /** Teams of a thread block: each makes tiles of doubles of its own. */
  private static final int TEAMS = 2;

  /**
   * Steps of K that take as long as another product and the sums of its parts, estimated, and what
   * is to be saved. At 1536 x 1536 x 1536 and 2560 x 2560 x 2560 a rest made apart took 0.78 to
   * 0.92 times as long as halves on an H200; at 2304 and 3072, which save less, 0.98 to 1.01.
   */
  private static final double REST_STEPS = 128;

  private static final double WORTH_A_REST = 0.95;

  /** Teams of a thread block that make a tile together, each of half of K. */
  private static final int HALVES = 2;

  private static final int SUM_BLOCKS_PER_PROCESSOR = 16;

  /** Packed operands of products that go at once take no more. */
  private static final long MOST_BATCH_BYTES = 1L << 30;

  /** What kernels and maps count in 32 bits, with a tile to spare. */
  private static final long MOST_COUNT = Integer.MAX_VALUE - SPLIT_TILE;

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
  private final boolean fused; // operands are read as they are stored
  private final KernelIndex.Kernel kernel; // what multiplies
  private final KernelIndex.TileShape shape;
  private final int width;
  private final MultiplyProblem.Batch batch;
  private final List<MultiplyStep> steps = new ArrayList<>();
  private long first; // of the products that go at once
  private long products;

  private TensorSteps(
      MultiplyStrategy.Tensor strategy, MultiplyProblem problem, boolean evenA, boolean evenB) {
    this.strategy = strategy;
    this.problem = problem;
    this.evenA = evenA;
    this.evenB = evenB;
    this.form = strategy.form();
    this.fused = strategy.isFused() && isFusible(problem, evenA, evenB);
    this.kernel = fused ? strategy.kernel() : strategy.packedKernel();
    this.shape = kernel.shape();
    this.width = problem.type().bytes();
    this.batch = problem.batch();
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
    long count = problem.batch().count();
    for (long first = 0; first < count; first += strategy.atOnce()) {
      made.first = first;
      made.products = Math.min(strategy.atOnce(), count - first);
      for (long p = 0; p < problem.k(); p += strategy.chunk()) {
        made.addChunk(p, Math.min(strategy.chunk(), problem.k() - p));
      }
    }
    return List.copyOf(made.steps);
  }

  /**
   * Into how many parts K is cut: where tiles of all products are fewer than that part of the
   * multiprocessors, {@link TensorForm#fewTiles}, so many that those of one product occupy all, of
   * four panels at least. Products that are cut go one after the other, which must be worth it.
   *
   * @param processors multiprocessors of the device
   */
  static long parts(TensorForm form, MultiplyProblem problem, int processors) {
    double each = tilesOfC(problem, SPLIT_TILE);
    long count = problem.batch().count();
    if (each * count * form.fewTiles() >= processors) {
      return 1;
    }
    long parts = Math.min((long) (processors / each), mostParts(form, problem.k()));
    return parts >= 2 * count ? parts : 1;
  }

  /**
   * True if a fused kernel can read operands as they are stored.
   *
   * @param evenA true if A begins at a multiple of 16 bytes
   * @param evenB true if B does
   */
  static boolean isFusible(MultiplyProblem problem, boolean evenA, boolean evenB) {
    MultiplyProblem.Batch batch = problem.batch();
    boolean one = batch.count() == 1;
    return evenA
        && evenB
        && LongStream.of(
                problem.leadA(),
                problem.leadB(),
                one ? 0 : batch.strideA(),
                one ? 0 : batch.strideB())
            .map(elements -> elements * Float.BYTES)
            .allMatch(bytes -> bytes % EVEN_BYTES == 0 && bytes < TensorMap.MOST_LEAD_BYTES);
  }

  /**
   * True if doubles of an operand that is stored across would be copied, but for a phased kernel.
   */
  static boolean canPhase(MultiplyProblem problem) {
    MultiplyProblem.Batch batch = problem.batch();
    boolean one = batch.count() == 1;
    return problem.k() >= PHASES
        && ((problem.transposeA()
                && isRagged(problem.leadA(), problem.m(), one ? 0 : batch.strideA()))
            || (!problem.transposeB()
                && isRagged(problem.leadB(), problem.n(), one ? 0 : batch.strideB())));
  }

  /** Matrices an odd number of doubles apart are copied in any case. */
  private static boolean isRagged(long lead, long extent, long stride) {
    return (lead % 2 != 0 || extent % DOUBLE_BOX != 0) && stride % 2 == 0;
  }

  /**
   * What of a product of doubles is made apart, in parts of K, where tiles are some rounds, two for
   * each multiprocessor, and a few more: the last columns of tiles, if that is expected to be worth
   * it.
   *
   * @param processors multiprocessors of the device
   */
  static MultiplyStrategy.Tensor.Rest rest(
      MultiplyProblem problem, KernelIndex.TileShape shape, int processors) {
    MultiplyStrategy.Tensor.Rest none = MultiplyStrategy.Tensor.Rest.NONE;
    long rowTiles = tiles(rowsOfKernel(problem), shape.rows());
    long colTiles = tiles(colsOfKernel(problem), shape.cols());
    long atOnce = (long) TEAMS * processors;
    if (problem.batch().count() > 1 || rowTiles > atOnce || rowTiles * colTiles % atOnce == 0) {
      return none;
    }
    long firstTiles = rowTiles * colTiles / atOnce * atOnce / rowTiles;
    long parts =
        Math.min(
            Math.min(processors, atOnce / (rowTiles * (colTiles - firstTiles))),
            mostParts(TensorForm.FLOAT64, problem.k()));
    if (firstTiles == 0 || parts < 2) {
      return none;
    }
    long panels = tiles(problem.k(), TensorForm.FLOAT64.panel());
    MultiplyStrategy.Tensor.Rest rest =
        new MultiplyStrategy.Tensor.Rest(
            firstTiles * shape.cols(), tiles(panels, partPanels(panels, parts)));
    double whole = Math.ceil(rowTiles * colTiles / (double) processors) * problem.k();
    return restCost(problem, shape, rest, processors) <= WORTH_A_REST * whole ? rest : none;
  }

  /**
   * Steps of K that a multiprocessor takes for a product with a rest.
   *
   * @param shape of the kernel's tiles
   */
  static double restCost(
      MultiplyProblem problem,
      KernelIndex.TileShape shape,
      MultiplyStrategy.Tensor.Rest rest,
      int processors) {
    long tiles = tiles(rowsOfKernel(problem), shape.rows()) * (rest.from() / shape.cols());
    double rounds = Math.ceil(tiles / (TEAMS * (double) processors));
    return TEAMS * (rounds + 1.0 / rest.parts()) * problem.k() + REST_STEPS;
  }

  /** Bytes of the workspace for the parts' sums of a rest. */
  static long restBytes(MultiplyProblem problem, MultiplyStrategy.Tensor.Rest rest) {
    return rest.isNone()
        ? 0
        : aligned(
            rest.parts()
                * rowsOfKernel(problem)
                * (colsOfKernel(problem) - rest.from())
                * Double.BYTES);
  }

  /** Rows of C as the kernel for doubles counts them. */
  private static long rowsOfKernel(MultiplyProblem problem) {
    return TensorForm.FLOAT64.isExchanged(problem) ? problem.n() : problem.m();
  }

  private static long colsOfKernel(MultiplyProblem problem) {
    return TensorForm.FLOAT64.isExchanged(problem) ? problem.m() : problem.n();
  }

  /**
   * True if C is made of whole columns of such tiles, whose rows begin evenly if C does: fused
   * kernels of which two thread blocks share a multiprocessor write others slowly.
   */
  static boolean isEvenC(MultiplyProblem problem, KernelIndex.TileShape shape) {
    MultiplyProblem.Batch batch = problem.batch();
    return problem.n() % shape.cols() == 0
        && LongStream.of(problem.leadC(), batch.count() == 1 ? 0 : batch.strideC())
            .allMatch(elements -> elements * Float.BYTES % EVEN_BYTES == 0);
  }

  /** True if K is long enough for a kernel that makes a tile of two halves of K. */
  static boolean canHalve(TensorForm form, long k) {
    return mostParts(form, k) >= HALVES;
  }

  private static long mostParts(TensorForm form, long k) {
    return tiles(k, form.panel()) / LEAST_PART_PANELS;
  }

  /** Into how many parts K of a chunk is cut, of {@code parts} wanted; none is empty. */
  static long partsOfChunk(TensorForm form, long k, long parts) {
    long panels = tiles(k, form.panel());
    return parts == 1 ? 1 : tiles(panels, partPanels(panels, parts));
  }

  private static long partPanels(long panels, long parts) {
    return Math.max(LEAST_PART_PANELS, tiles(panels, parts));
  }

  /** How many products of a batch go at once. */
  static long atOnce(TensorForm form, MultiplyProblem problem, long chunk) {
    if (problem.batch().count() == 1) {
      return 1;
    }
    double tiles = tilesOfC(problem, form == TensorForm.FLOAT64 ? LEAST_DOUBLE_TILE : SPLIT_TILE);
    double rows =
        Math.max(
            up(Math.max(problem.m(), Math.min(chunk, problem.k())), PACKED_ROWS),
            form.planesOfB() * rowsOfB(form, problem));
    double counted = MOST_COUNT / Math.max(tiles, rows);
    double packed = (double) MOST_BATCH_BYTES / workspaceBytes(form, problem, chunk, 1, 1);
    return Math.max(
        1, (long) Math.min((double) problem.batch().count(), Math.min(counted, packed)));
  }

  /**
   * Bytes of the workspace of a problem.
   *
   * @param parts of K of the longest chunk
   * @param atOnce products
   */
  static long workspaceBytes(
      TensorForm form, MultiplyProblem problem, long chunk, long parts, long atOnce) {
    long k = Math.min(chunk, problem.k());
    MultiplyProblem.Batch batch = problem.batch();
    return flagBytes(form, problem, parts * atOnce)
        + bytesA(form, problem, k, alike(batch.strideA(), atOnce))
        + bytesB(form, problem, k, alike(batch.strideB(), atOnce))
        + partBytes(problem, parts);
  }

  /**
   * Bytes of the workspace of a problem, or of one of smaller extents or of fewer products, at
   * most.
   *
   * @param processors multiprocessors of the device; 0 if K is never cut
   */
  static long mostWorkspaceBytes(TensorForm form, MultiplyProblem problem, int processors) {
    MultiplyProblem one = problem.first();
    long whole = workspaceBytes(form, one, MultiplyStrategy.Tensor.chunk(form, one.k(), 1), 1, 1);
    long count = problem.batch().count();
    long most =
        count == 1 || whole >= MOST_BATCH_BYTES
            ? whole
            : Math.max(whole, (long) Math.min(MOST_BATCH_BYTES, (double) count * whole));
    long parts = Math.min(processors, mostParts(form, one.k()));
    if (parts < 2) {
      return most;
    }
    // Of p parts there are where p times the tiles are no more than the multiprocessors.
    long scratch =
        (long)
            Math.min(
                (double) processors * SPLIT_TILE * SPLIT_TILE, (double) parts * one.m() * one.n());
    long cut = 0;
    for (long p = 2; p <= Math.min(parts, MultiplyStrategy.Tensor.MOST_CHUNKS); p++) {
      long tiles = processors / p;
      long k = Math.min(one.k(), MultiplyStrategy.Tensor.chunk(form, one.k(), p));
      for (long high = 1; high <= tiles; high++) {
        long m = Math.min(one.m(), high * SPLIT_TILE);
        long n = Math.min(one.n(), tiles / high * SPLIT_TILE);
        MultiplyProblem few =
            MultiplyProblem.dense(m, k, n, one.type(), one.transposeA(), one.transposeB());
        cut = Math.max(cut, bytesA(form, few, k, 1) + bytesB(form, few, k, 1));
      }
    }
    long flags = form == TensorForm.SPLIT ? aligned((long) processors * Integer.BYTES) : 0;
    // A rest of doubles is made beside the copies of all.
    long beside = form == TensorForm.FLOAT64 ? Math.max(most, cut) : cut;
    return Math.max(most, flags + beside + aligned(scratch * one.type().bytes()));
  }

  /** Operands of products, of which all may have the same. */
  private static long alike(long stride, long count) {
    return stride == 0 ? 1 : count;
  }

  private static double tilesOfC(MultiplyProblem problem, int tile) {
    return (double) tiles(problem.m(), tile) * tiles(problem.n(), tile);
  }

  private static long partBytes(MultiplyProblem problem, long parts) {
    return parts == 1 ? 0 : aligned(parts * problem.m() * problem.n() * problem.type().bytes());
  }

  private static long flagBytes(TensorForm form, MultiplyProblem problem, long batches) {
    return form != TensorForm.SPLIT
        ? 0
        : aligned(
            batches
                * tiles(problem.m(), SPLIT_TILE)
                * tiles(problem.n(), SPLIT_TILE)
                * Integer.BYTES);
  }

  private static long bytesA(TensorForm form, MultiplyProblem problem, long k, long count) {
    return form == TensorForm.FLOAT64
        ? rowBytes(problem.m(), k, count)
        : aligned(
            count
                * Math.max(
                    up(problem.m(), PACKED_ROWS) * up(k, form.panel()),
                    form == TensorForm.SPLIT
                        ? up(k, PACKED_ROWS) * up(problem.m(), form.panel())
                        : 0)
                * form.elementOfA().bytes());
  }

  private static long bytesB(TensorForm form, MultiplyProblem problem, long k, long count) {
    return form == TensorForm.FLOAT64
        ? rowBytes(problem.n(), k, count)
        : aligned(
            count
                * form.planesOfB()
                * rowsOfB(form, problem)
                * up(k, form.panel())
                * form.element().bytes());
  }

  /** Rows of one plane of the packed B. */
  private static long rowsOfB(TensorForm form, MultiplyProblem problem) {
    return up(problem.n(), form == TensorForm.SPLIT ? SPLIT_TILE : PACKED_ROWS);
  }

  /** Whichever way they are stored, with rows as {@link #readable} pads them. */
  private static long rowBytes(long extent, long k, long count) {
    return (double) (extent + DOUBLE_BOX) * (k + 1) > MOST_DOUBLES
        ? MOST_DOUBLES * Double.BYTES
        : aligned(count * Math.max(extent * up(k, 2), k * up(extent, DOUBLE_BOX)) * Double.BYTES);
  }

  /** Where C's products of a chunk go: to C, or part by part to the workspace. */
  private record Target(Place at, long lead, long step, boolean adds) {}

  private void addChunk(long p, long k) {
    boolean adds = p > 0 || problem.accumulate();
    long panels = tiles(k, form.panel());
    long parts = partsOfChunk(form, k, strategy.parts());
    long partPanels = parts == 1 ? panels : tiles(panels, parts);
    Place c = new Place(Side.C, first * batch.strideC() * width);
    if (!strategy.rest().isNone()) {
      addWithRest(p, k, panels, c, adds);
      return;
    }
    if (parts == 1) {
      Target whole = new Target(c, problem.leadC(), products > 1 ? batch.strideC() : 0, adds);
      addProduct(p, k, 1, partPanels, whole);
      return;
    }
    Place scratch =
        new Place(Side.WORKSPACE, strategy.workspaceBytes() - partBytes(problem, strategy.parts()));
    long plane = problem.m() * problem.n();
    addProduct(p, k, parts, partPanels, new Target(scratch, problem.n(), plane, false));
    steps.add(sum(scratch, c, problem.m(), problem.n(), parts, adds));
  }

  /** Whole rounds of tiles, then what is left in parts of K. */
  private void addWithRest(long p, long k, long panels, Place c, boolean adds) {
    boolean exchanged = form.isExchanged(problem);
    long from = strategy.rest().from();
    long rest = colsOfKernel(problem) - from;
    long parts = strategy.rest().parts();
    DoublePair operands = operands(p, k);
    addDouble(operands.first(from), k, 1, panels, new Target(c, problem.leadC(), 0, adds));
    Place scratch =
        new Place(Side.WORKSPACE, strategy.workspaceBytes() - restBytes(problem, strategy.rest()));
    long m = exchanged ? rest : problem.m();
    long n = exchanged ? problem.n() : rest;
    addDouble(
        operands.from(from), k, parts, tiles(panels, parts), new Target(scratch, n, m * n, false));
    Place restOfC =
        new Place(c.side(), c.bytes() + from * (exchanged ? problem.leadC() : 1) * width);
    steps.add(sum(scratch, restOfC, m, n, parts, adds));
  }

  private void addProduct(long p, long k, long parts, long partPanels, Target c) {
    if (form == TensorForm.FLOAT64) {
      addDouble(operands(p, k), k, parts, partPanels, c);
    } else if (fused) {
      addFused(p, k, parts, partPanels, c);
    } else {
      addFloat(p, k, parts, partPanels, c);
    }
  }

  /** Where the chunk begins in A or B of the first product. */
  private Place from(Side side, long p) {
    boolean isA = side == Side.A;
    boolean across = isA ? problem.transposeA() : !problem.transposeB();
    long lead = isA ? problem.leadA() : problem.leadB();
    long stride = isA ? batch.strideA() : batch.strideB();
    return new Place(side, (first * stride + (across ? p * lead : p)) * width);
  }

  /** Matrices that differ among the products that go at once. */
  private long countA() {
    return alike(batch.strideA(), products);
  }

  private long countB() {
    return alike(batch.strideB(), products);
  }

  /** A map of the matrices of the products that go at once. */
  private record Operand(TensorMap map, long step) {}

  /**
   * Copies that a launch of {@code pack.cuh} makes of an operand; fields of {@code PackOperand}.
   *
   * @param count operands, {@code stride} elements apart; 0 if there is nothing to copy
   */
  private record Packing(
      Place from,
      Place to,
      long extent,
      long k,
      long lead,
      boolean across,
      long paddedExtent,
      long paddedK,
      long count,
      long stride) {
    static final Packing NONE =
        new Packing(Place.NOWHERE, Place.NOWHERE, 0, 0, 0, false, 0, 0, 0, 0);

    long pieces() {
      return across
          ? count * (paddedExtent / PACK_TILE) * tiles(paddedK, PACK_TILE)
          : tiles(count * paddedExtent * paddedK, PACK_PIECE);
    }

    LongStream words() {
      return LongStream.of(
          extent, k, lead, across ? 1 : 0, paddedExtent, paddedK, count, count > 1 ? stride : 0);
    }
  }

  /** An operand as the kernel reads it, and what brings it there. */
  private record Packed(Packing packing, Operand operand) {}

  private void addFloat(long p, long k, long parts, long partPanels, Target c) {
    long batches = parts * products;
    Place tileFlags = new Place(Side.WORKSPACE, 0);
    Place placeA = new Place(Side.WORKSPACE, flagBytes(form, problem, strategy.parts() * products));
    Place placeB = new Place(Side.WORKSPACE, placeA.bytes() + bytesA(form, problem, k, countA()));
    long rowTiles = tiles(problem.m(), shape.rows());
    long colTiles = tiles(problem.n(), shape.cols());

    boolean split = form == TensorForm.SPLIT;
    Packed packedA = split ? splitA(p, k, placeA) : packed(Side.A, p, k, placeA);
    Packed packedB = packed(Side.B, p, k, placeB);
    pack(packedA.packing(), packedB.packing());
    Operand a = packedA.operand();
    Operand b = packedB.operand();
    long stepK = parts > 1 ? partPanels * form.panel() : 0;
    if (split) {
      // Fields of SplitArguments.
      steps.add(
          product(
              List.of(a.map(), b.map()),
              List.of(c.at(), tileFlags),
              batches * rowTiles * colTiles,
              problem.m(),
              problem.n(),
              c.lead(),
              partPanels,
              rowTiles,
              colTiles,
              countB() * rowsOfB(form, problem),
              c.adds() ? 1 : 0,
              batches,
              a.step(),
              b.step(),
              c.step(),
              stepK));
      steps.add(repair(p, k, batches, stepK, c, tileFlags));
    } else if (strategy.isMma()) {
      // Fields of MmaArguments.
      steps.add(
          product(
              List.of(),
              List.of(placeA, placeB, c.at()),
              batches * rowTiles * colTiles,
              problem.m(),
              problem.n(),
              c.lead(),
              countA() * up(problem.m(), PACKED_ROWS),
              countB() * rowsOfB(form, problem),
              tiles(k, form.panel()),
              partPanels,
              rowTiles,
              colTiles,
              c.adds() ? 1 : 0,
              batches,
              a.step(),
              b.step(),
              c.step(),
              parts > 1 ? partPanels : 0));
    } else {
      // Fields of TensorArguments.
      steps.add(
          product(
              List.of(a.map(), b.map()),
              List.of(c.at()),
              batches * rowTiles * colTiles,
              problem.m(),
              problem.n(),
              c.lead(),
              partPanels,
              rowTiles,
              colTiles,
              c.adds() ? 1 : 0,
              batches,
              a.step(),
              b.step(),
              c.step(),
              stepK));
    }
  }

  /** Products, or parts of one, of operands as they are stored. */
  private void addFused(long p, long k, long parts, long partPanels, Target c) {
    long batches = parts * products;
    long rowTiles = tiles(problem.m(), shape.rows());
    long colTiles = tiles(problem.n(), shape.cols());
    // Fields of FusedArguments.
    steps.add(
        product(
            List.of(
                fusedMap(
                    from(Side.A, p),
                    problem.transposeA() ? problem.m() : k,
                    problem.transposeA() ? k : problem.m(),
                    problem.leadA(),
                    countA(),
                    batch.strideA()),
                fusedMap(
                    from(Side.B, p),
                    problem.transposeB() ? k : problem.n(),
                    problem.transposeB() ? problem.n() : k,
                    problem.leadB(),
                    countB(),
                    batch.strideB())),
            List.of(c.at()),
            batches * rowTiles * colTiles,
            problem.m(),
            problem.n(),
            c.lead(),
            partPanels,
            rowTiles,
            colTiles,
            c.adds() ? 1 : 0,
            batches,
            countA() > 1 ? 1 : 0,
            countB() > 1 ? 1 : 0,
            c.step(),
            parts > 1 ? partPanels * form.panel() : 0));
  }

  /** Matrices as stored; of one the stride is any that the driver takes. */
  private TensorMap fusedMap(Place at, long cols, long rows, long lead, long count, long stride) {
    return new TensorMap(
        at,
        form == TensorForm.TF32 ? MultiplyStep.Element.TF32 : MultiplyStep.Element.FLOAT32,
        List.of(cols, rows, count),
        List.of(lead * width, (count > 1 ? stride : lead) * width),
        List.of(FUSED_BOX, FUSED_BOX, 1));
  }

  /** A as stored, or a copy of it with even rows. */
  private Packed splitA(long p, long k, Place to) {
    long rows = problem.transposeA() ? k : problem.m();
    long cols = problem.transposeA() ? problem.m() : k;
    int boxRows = problem.transposeA() ? SPLIT_ACROSS_BOX : shape.rows();
    Place at = from(Side.A, p);
    // Below the rows of a product lie the next one's: half a tile, or a panel, that reached there
    // would be flagged for values that are not its own.
    int whole = problem.transposeA() ? form.panel() : PACKED_ROWS;
    if ((countA() == 1 || rows % whole == 0)
        && isMapped(evenA, at, rows, problem.leadA(), batch.strideA(), countA())) {
      return new Packed(
          Packing.NONE,
          mapped(
              form.elementOfA(),
              at,
              cols,
              rows,
              problem.leadA(),
              batch.strideA(),
              countA(),
              boxRows));
    }
    long paddedRows = up(rows, PACKED_ROWS);
    long paddedCols = up(cols, form.panel());
    return new Packed(
        new Packing(
            at,
            to,
            rows,
            cols,
            problem.leadA(),
            false,
            paddedRows,
            paddedCols,
            countA(),
            batch.strideA()),
        packed(form.elementOfA(), to, paddedCols, paddedRows, 1, countA(), boxRows));
  }

  /** A or B, rounded or cut, with K along its rows: a copy, or as stored. */
  private Packed packed(Side side, long p, long k, Place to) {
    boolean isA = side == Side.A;
    long extent = isA ? problem.m() : problem.n();
    long lead = isA ? problem.leadA() : problem.leadB();
    boolean across = isA ? problem.transposeA() : !problem.transposeB();
    long count = isA ? countA() : countB();
    long stride = isA ? batch.strideA() : batch.strideB();
    int boxRows = isA ? shape.rows() : shape.cols();
    Place at = from(side, p);
    // The copy engine rounds to tf32, and transposes nothing.
    if (form == TensorForm.TF32
        && !strategy.isMma()
        && !across
        && isMapped(isA ? evenA : evenB, at, extent, lead, stride, count)) {
      return new Packed(
          Packing.NONE,
          mapped(MultiplyStep.Element.TF32, at, k, extent, lead, stride, count, boxRows));
    }
    long paddedRows = isA ? up(extent, PACKED_ROWS) : rowsOfB(form, problem);
    long paddedK = up(k, form.panel());
    return new Packed(
        new Packing(at, to, extent, k, lead, across, paddedRows, paddedK, count, stride),
        packed(
            form.element(), to, paddedK, paddedRows, isA ? 1 : form.planesOfB(), count, boxRows));
  }

  /**
   * True if the copy engine can read matrices as they are stored; it tells products apart by rows.
   */
  private boolean isMapped(boolean even, Place at, long rows, long lead, long stride, long count) {
    return isEven(even, at, lead)
        && (count == 1 || (stride % lead == 0 && stride / lead <= (MOST_COUNT - rows) / count));
  }

  private Operand mapped(
      MultiplyStep.Element element,
      Place at,
      long cols,
      long rows,
      long lead,
      long stride,
      long count,
      int boxRows) {
    long step = count > 1 ? stride / lead : 0;
    return new Operand(map(element, at, cols, (count - 1) * step + rows, lead, boxRows), step);
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

  /** What the kernel for doubles reads, in its order. */
  private record DoublePair(Doubles left, Doubles right) {
    /** For the first columns of C, so many. */
    DoublePair first(long cols) {
      return new DoublePair(left, right.cut(0, cols));
    }

    /** For those from there on. */
    DoublePair from(long col) {
      return new DoublePair(left, right.cut(col, right.extent() - col));
    }
  }

  private DoublePair operands(long p, long k) {
    Place packedA = new Place(Side.WORKSPACE, 0);
    Place packedB = new Place(Side.WORKSPACE, bytesA(form, problem, k, countA()));
    Doubles a =
        readable(
            new Doubles(
                from(Side.A, p),
                evenA,
                problem.transposeA() ? k : problem.m(),
                problem.transposeA() ? problem.m() : k,
                problem.leadA(),
                countA(),
                countA() > 1 ? batch.strideA() : 0,
                problem.transposeA(),
                problem.transposeA() && strategy.isPhased()),
            packedA);
    Doubles b =
        readable(
            new Doubles(
                from(Side.B, p),
                evenB,
                problem.transposeB() ? problem.n() : k,
                problem.transposeB() ? k : problem.n(),
                problem.leadB(),
                countB(),
                countB() > 1 ? batch.strideB() : 0,
                !problem.transposeB(),
                !problem.transposeB() && strategy.isPhased()),
            packedB);
    return form.isExchanged(problem) ? new DoublePair(b, a) : new DoublePair(a, b);
  }

  private void addDouble(DoublePair operands, long k, long parts, long partPanels, Target c) {
    boolean exchanged = form.isExchanged(problem);
    Doubles left = operands.left();
    Doubles right = operands.right();
    long rows = left.extent();
    long cols = right.extent();
    long rowTiles = tiles(rows, shape.rows());
    long colTiles = tiles(cols, shape.cols());
    long panels = tiles(k, form.panel());
    // Fields of DoubleArguments.
    steps.add(
        product(
            List.of(
                map(left, 0, shape.rows()),
                map(left, 1, shape.rows()),
                map(right, 0, shape.cols()),
                map(right, 1, shape.cols())),
            List.of(c.at()),
            parts * products * rowTiles * colTiles,
            rows,
            cols,
            exchanged ? 1 : c.lead(),
            exchanged ? c.lead() : 1,
            panels,
            strategy.chain(),
            rowTiles,
            colTiles,
            c.adds() ? 1 : 0,
            products,
            parts > 1 ? 0 : c.step(),
            parts,
            strategy.isHalved() ? tiles(panels, HALVES) : partPanels,
            parts > 1 ? c.step() : 0,
            left.count() > 1 ? 1 : 0,
            right.count() > 1 ? 1 : 0,
            left.shifts(),
            right.shifts()));
  }

  /**
   * Matrices of doubles.
   *
   * @param even true if what they are a part of begins at a multiple of 16 bytes
   * @param count matrices, {@code stride} elements apart
   * @param across true if K goes down their columns: 16 columns are one axis and their number
   *     another, so rows must go on to whole 16
   * @param phased true if even and odd rows are read apart instead
   */
  private record Doubles(
      Place at,
      boolean even,
      long rows,
      long cols,
      long lead,
      long count,
      long stride,
      boolean across,
      boolean phased) {
    /** Rows or columns of C that are made of them. */
    long extent() {
      return across ? cols : rows;
    }

    /** What is needed for so many of these, from one on that begins a tile. */
    Doubles cut(long from, long count) {
      return new Doubles(
          new Place(at.side(), at.bytes() + from * (across ? 1 : lead) * Double.BYTES),
          even,
          across ? rows : count,
          across ? count : cols,
          lead,
          this.count,
          stride,
          across,
          phased);
    }

    /** Where even (0) or odd rows begin, in bytes. */
    private long begin(int phase) {
      return at.bytes() + (phased ? phase * lead * Double.BYTES : 0);
    }

    /** 1 if that is one double beyond a multiple of 16 bytes, else 0. */
    long shift(int phase) {
      return Math.floorMod(begin(phase) / Double.BYTES + (even ? 0 : 1), 2L);
    }

    /** Bit f is set if columns of phase f are shifted by one. */
    long shifts() {
      return phased ? shift(0) | shift(1) << 1 : 0;
    }

    /** True if the copy engine can read them. */
    boolean isReadable() {
      return stride % 2 == 0
          && stride * Double.BYTES < TensorMap.MOST_LEAD_BYTES
          && PHASES * lead * Double.BYTES < TensorMap.MOST_LEAD_BYTES
          && (phased || (shift(0) == 0 && lead % 2 == 0 && (!across || cols % DOUBLE_BOX == 0)));
    }

    /** The multiple of 16 bytes at or before the beginning of a phase. */
    Place from(int phase) {
      return new Place(at.side(), begin(phase) - shift(phase) * Double.BYTES);
    }
  }

  /** The matrices as stored, or copies with rows that begin evenly. */
  private Doubles readable(Doubles of, Place packed) {
    if (of.isReadable()) {
      return of;
    }
    long padded = up(of.cols(), of.across() ? DOUBLE_BOX : 2);
    KernelIndex.Kernel kernel = strategy.packer();
    steps.add(
        new MultiplyStep(
            // Fields of PackRowsArguments.
            new KernelLaunch(
                kernel.name(),
                blocks(
                    of.count() * of.rows() * tiles(padded, PIECE),
                    most(ROWS_BLOCKS_PER_PROCESSOR),
                    kernel),
                of.rows(),
                of.cols(),
                of.lead(),
                padded,
                of.count(),
                of.stride()),
            List.of(),
            List.of(of.at(), packed)));
    return new Doubles(
        packed,
        true,
        of.rows(),
        of.cols(),
        padded,
        of.count(),
        of.count() > 1 ? of.rows() * padded : 0,
        of.across(),
        of.phased());
  }

  /**
   * As {@code DoubleArguments} says; of one matrix the stride is any that the driver takes.
   *
   * @param phase 0 for the even rows, 1 for the odd ones, if they are read apart
   * @param tile rows, or columns where across, of a tile
   */
  private TensorMap map(Doubles of, int phase, int tile) {
    long leadBytes = of.lead() * width;
    long strideBytes = of.count() > 1 ? of.stride() * width : leadBytes;
    if (of.phased()) {
      return new TensorMap(
          of.from(phase),
          form.element(),
          List.of(of.cols() + of.shift(phase), tiles(of.rows() - phase, PHASES), of.count()),
          List.of(PHASES * leadBytes, of.count() > 1 ? strideBytes : PHASES * leadBytes),
          List.of(tile + PHASES, DOUBLE_BOX / PHASES, 1),
          false);
    }
    return of.across()
        ? new TensorMap(
            of.at(),
            form.element(),
            List.of((long) DOUBLE_BOX, of.rows(), tiles(of.cols(), DOUBLE_BOX), of.count()),
            List.of(leadBytes, (long) DOUBLE_BOX * width, strideBytes),
            List.of(DOUBLE_BOX, DOUBLE_BOX, tile / DOUBLE_BOX, 1))
        : new TensorMap(
            of.at(),
            form.element(),
            List.of(of.cols(), of.rows(), 1L, of.count()),
            List.of(leadBytes, leadBytes, strideBytes),
            List.of(DOUBLE_BOX, tile, 1, 1));
  }

  /** Packs what there is to pack, in one launch. */
  private void pack(Packing a, Packing b) {
    long pieces = a.pieces() + b.pieces();
    if (pieces > 0) {
      KernelIndex.Kernel kernel = strategy.packer();
      steps.add(
          new MultiplyStep(
              // Fields of PackArguments.
              new KernelLaunch(
                  kernel.name(),
                  // A thread block for each: fewer, in turns, were slower by a tenth.
                  new LaunchConfig(
                      (int) Math.min(pieces, Integer.MAX_VALUE), kernel.shape().threads(), 0),
                  LongStream.concat(a.words(), b.words()).toArray()),
              List.of(),
              List.of(a.from(), a.to(), b.from(), b.to())));
    }
  }

  /** Makes what is flagged, of products or of parts of one. */
  private MultiplyStep repair(long p, long k, long batches, long stepK, Target c, Place tileFlags) {
    KernelIndex.Kernel kernel = strategy.repairer();
    long rowTiles = tiles(problem.m(), kernel.shape().rows());
    long colTiles = tiles(problem.n(), kernel.shape().cols());
    boolean parts = stepK > 0;
    long each = parts ? stepK : k;
    long strideA = products > 1 ? batch.strideA() : 0;
    long strideB = products > 1 ? batch.strideB() : 0;
    return new MultiplyStep(
        // Fields of RepairArguments.
        new KernelLaunch(
            kernel.name(),
            blocks(batches * rowTiles * colTiles, most(REPAIR_BLOCKS_PER_PROCESSOR), kernel),
            problem.m(),
            each,
            problem.n(),
            problem.leadA(),
            problem.leadB(),
            c.lead(),
            problem.transposeA() ? 1 : 0,
            problem.transposeB() ? 1 : 0,
            c.adds() ? 1 : 0,
            MultiplyStrategy.Tiled.chunk(each),
            rowTiles,
            colTiles,
            batches,
            parts ? (problem.transposeA() ? stepK * problem.leadA() : stepK) : strideA,
            parts ? (problem.transposeB() ? stepK : stepK * problem.leadB()) : strideB,
            c.step(),
            parts ? k - (batches - 1) * stepK : k),
        List.of(),
        List.of(tileFlags, from(Side.A, p), from(Side.B, p), c.at()));
  }

  /** Adds the parts of one product, in the order of K. */
  private MultiplyStep sum(Place scratch, Place c, long m, long n, long parts, boolean adds) {
    KernelIndex.Kernel kernel = strategy.summing().orElseThrow();
    return new MultiplyStep(
        // Fields of SumArguments.
        new KernelLaunch(
            kernel.name(),
            blocks(tiles(m * n, kernel.shape().threads()), most(SUM_BLOCKS_PER_PROCESSOR), kernel),
            m,
            n,
            problem.leadC(),
            1,
            parts,
            adds ? 1 : 0,
            1,
            0),
        List.of(),
        List.of(scratch, c));
  }

  private MultiplyStep product(
      List<TensorMap> maps, List<Place> pointers, long tiles, long... words) {
    LaunchConfig blocks = blocks(tiles, most(kernel.blocksPerProcessor()), kernel);
    return new MultiplyStep(new KernelLaunch(kernel.name(), blocks, words), maps, pointers);
  }

  /** The map of an operand with K along its rows. */
  private TensorMap map(
      MultiplyStep.Element element, Place at, long cols, long rows, long lead, int boxRows) {
    return new TensorMap(at, element, cols, rows, lead * element.bytes(), form.panel(), boxRows);
  }

  private LaunchConfig blocks(long pieces, int most, KernelIndex.Kernel kernel) {
    return new LaunchConfig(
        (int) Math.min(pieces, most), kernel.shape().threads(), kernel.dynamicBytes());
  }

  private int most(int perProcessor) {
    return Math.multiplyExact(strategy.processors(), perProcessor);
  }

  /** True if the copy engine can read rows from there, of a side that begins evenly. */
  private boolean isEven(boolean sideBeginsEven, Place at, long lead) {
    return sideBeginsEven
        && at.bytes() % EVEN_BYTES == 0
        && lead * width % EVEN_BYTES == 0
        && lead * width < TensorMap.MOST_LEAD_BYTES;
  }

  /** True if extents and strides of one product are such as the kernels can count. */
  static boolean canCount(MultiplyProblem problem, TensorForm form) {
    if (problem.m() > MOST_COUNT || problem.n() > MOST_COUNT / form.planesOfB() - SPLIT_TILE) {
      return false;
    }
    // The kernels for double count steps of K and tiles in 32 bits.
    return form != TensorForm.FLOAT64
        || (problem.k() <= MOST_COUNT && tilesOfC(problem, LEAST_DOUBLE_TILE) <= Integer.MAX_VALUE);
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
