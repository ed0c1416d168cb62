package org.tilespark.spark.multiply.cost;

import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.Bytes;
import org.tilespark.spark.multiply.cost.CuboidPlan.Cost;
import org.tilespark.spark.multiply.cost.CuboidPlan.Traffic;
import org.tilespark.spark.multiply.cost.MultiplyShape.Axis;
import org.tilespark.spark.multiply.cost.MultiplyShape.InPlaceOperands;

/**
 * The costs of each way to distribute one multiply: a pure function of the shape and the cluster.
 * P, Q and R are the counts of parts into which M, N and K are cut; a cuboid is the product of one
 * part each, computed by one task.
 */
final class CostModel {
  private final MultiplyShape shape;
  private final ClusterResources resources;
  private final double leastArithmetic; // seconds if all cores or devices compute

  CostModel(MultiplyShape shape, ClusterResources resources) {
    this.shape = shape;
    this.resources = resources;
    this.leastArithmetic =
        flops()
            / (rate()
                * (hasDevices() ? resources.cluster().devices() : resources.cluster().cores()));
  }

  /** The cost of P x Q x R cuboids. */
  Cost cuboid(int p, int q, int r) {
    return new Cost(
        new Traffic(
            operandBytes(),
            readBytes(p, q),
            partialBytes(q, r, shape.onGrid(p, q)),
            0,
            toDevices(uploadBytes(p, q)),
            toDevices(Bytes.sum(uploadBytes(p, q), downloadBytes(r)))),
        flops(),
        p * q * r,
        seconds(p, q, r));
  }

  /** The seconds of {@link #cuboid}, without its other figures. */
  double seconds(int p, int q, int r) {
    return seconds(
        p * q,
        (double) p * q * r * 2 * shape.largestM(p) * shape.largestN(q) * part(shape.k(), r),
        r,
        shuffle(operandBytes(), readBytes(p, q), resources.cluster().cores(), busy(p * q * r)),
        partialBytes(q, r, shape.onGrid(p, q)),
        uploadBytes(p, q));
  }

  /** A lower bound of the seconds of cuboids, if all resources are always busy. */
  double leastSeconds(int p, int q, int r) {
    ClusterResources.Rates rates = resources.rates();
    double least =
        (0.5 * operandBytes() + 0.5 * readBytes(p, q) + partialBytes(q, r, true))
                / (rates.shuffle() * resources.cluster().cores())
            + rates.taskStart() * p * q * r
            + leastArithmetic;
    return hasDevices()
        ? least
            + ((double) uploadBytes(p, q) + downloadBytes(r))
                / (rates.pcie() * resources.cluster().devices())
        : least;
  }

  /**
   * Seconds of cuboids.
   *
   * @param tiles number of tiles, P Q
   * @param flops operations of all cuboids if each were as large as the largest
   * @param r parts of K
   * @param shuffle seconds of the operands' shuffle
   * @param partials bytes of the second shuffle: see {@link #partialBytes}
   * @param upload bytes that are uploaded to devices
   */
  private double seconds(
      int tiles, double flops, int r, double shuffle, long partials, long upload) {
    int tasks = tiles * r;
    double seconds = shuffle + arithmetic(flops, tasks);
    if (hasDevices()) {
      seconds += pcie((double) upload + downloadBytes(r), tasks);
    }
    if (partials > 0) {
      seconds += shuffle(partials, partials, busy(tasks), busy(tiles));
    }
    return seconds + resources.rates().taskStart() * (tasks + (partials > 0 ? tiles : 0));
  }

  /** The cost of cuboids in the partitions that hold blocks already, with the cuts of these. */
  Cost inPlace(InPlaceOperands where) {
    int p = where.parts(Axis.M);
    int q = where.parts(Axis.N);
    int r = where.parts(Axis.K);
    double largest =
        (double) where.parts()
            * 2
            * where.largest(Axis.M, shape.m())
            * where.largest(Axis.N, shape.n())
            * where.largest(Axis.K, shape.k());
    long shuffled =
        Bytes.sum(
            where.left() ? 0 : Bytes.product(q, shape.a().bytes()),
            where.right() ? 0 : Bytes.product(p, shape.b().bytes()));
    long partials = partialBytes(q, r, where.onGrid());
    return new Cost(
        new Traffic(
            shuffled,
            shuffled,
            partials,
            0,
            toDevices(uploadBytes(p, q)),
            toDevices(Bytes.sum(uploadBytes(p, q), downloadBytes(r)))),
        flops(),
        where.parts(),
        seconds(
            p * q,
            largest,
            r,
            shuffle(shuffled, shuffled, resources.cluster().cores(), busy(where.parts())),
            partials,
            uploadBytes(p, q)));
  }

  /**
   * Number of blocks along K of the side that stays in place; 1 if C is reduced.
   *
   * @param left true if A is broadcast and B stays
   */
  int broadcastParts(boolean left) {
    return shape.reduced().isPresent()
        ? 1
        : (int) Math.min(part(shape.k(), stays(left).inner()), Integer.MAX_VALUE);
  }

  /**
   * The cost of a broadcast: one side (A if {@code left} is true) goes to all machines, the other
   * stays in its blocks. Unless these give whole blocks of C, their products are partial and are
   * shuffled and added. Reduced results of a row are merged if B stays. Each block is multiplied
   * separately, so the small side is uploaded once per block, unless tasks share it.
   */
  Cost broadcast(boolean left) {
    long small = (left ? shape.a() : shape.b()).bytes();
    MultiplyShape.Operand large = stays(left);
    long blocksAlongK = part(shape.k(), large.inner());
    long blocksAcross = part(left ? shape.n() : shape.m(), large.outer());
    int r = broadcastParts(left);
    int tasks = (int) Math.min(resources.usefulTasks(), Bytes.product(blocksAlongK, blocksAcross));
    long partials =
        shape.reduced().isPresent()
            ? partialBytes(left ? tasks : 1, 1, true)
            : r == 1 && large.whole() ? 0 : resultBytes(r);
    long sent = Bytes.product(small, resources.cluster().machines() + 1L);
    double up =
        (double) small * (small <= resources.sharedBytes() ? 1 : blocksAcross) + large.bytes();
    double pcie = up + downloadBytes(r);
    double seconds =
        sent / resources.rates().broadcast()
            + arithmetic(flops(), tasks)
            + resources.rates().taskStart() * tasks;
    if (hasDevices()) {
      seconds += pcie(pcie, tasks);
    }
    if (partials > 0) {
      seconds +=
          shuffle(partials, partials, busy(tasks), busy(tasks))
              + resources.rates().taskStart() * tasks;
    }
    return new Cost(
        new Traffic(0, 0, partials, sent, toDevices((long) up), toDevices((long) pcie)),
        flops(),
        tasks,
        seconds);
  }

  /**
   * The cost of a gram's P (P + 1) / 2 tiles in R parts: A is read by each task row and each task
   * column once, {@code P |A|} in all.
   */
  Cost gram(int p, int r) {
    long once = shape.a().bytes();
    long read = readBytes(p, p) / 2;
    long partials = partialBytes(p, r, shape.onGrid(p, p));
    int tasks = Math.toIntExact(GramPlanner.tiles(p) * r);
    double share = GramPlanner.tiles(p) / ((double) p * p);
    double busy = Math.min(tasks, resources.cluster().cores());
    double devices = Math.min(resources.cluster().devices(), busy);
    double flops = flops() * share;
    long up = once <= resources.sharedBytes() ? once : read;
    long pcie = hasDevices() ? up + (long) (downloadBytes(r) * share) : 0;
    double seconds =
        (0.5 * once + 0.5 * read + partials) / (resources.rates().shuffle() * busy)
            + flops / (rate() * (hasDevices() ? devices : busy))
            + (hasDevices() ? pcie / (resources.rates().pcie() * devices) : 0)
            + resources.rates().taskStart() * tasks;
    return new Cost(
        new Traffic(once, read, partials, 0, toDevices(up), pcie), flops, tasks, seconds);
  }

  /**
   * The cost of a gram in the partitions that hold blocks already: A is also B, so it is uploaded
   * only once.
   */
  Cost gramInPlace(InPlaceOperands where) {
    Cost cost = inPlace(where);
    Traffic traffic = cost.traffic();
    long saved = traffic.upload() - toDevices(shape.a().bytes());
    return new Cost(
        new Traffic(0, 0, traffic.partial(), 0, traffic.upload() - saved, traffic.pcie() - saved),
        cost.flops(),
        cost.tasks(),
        cost.seconds());
  }

  // ---- bytes and times

  private MultiplyShape.Operand stays(boolean broadcastLeft) {
    return broadcastLeft ? shape.b() : shape.a();
  }

  private boolean hasDevices() {
    return resources.cluster().devices() > 0;
  }

  private long toDevices(long bytes) {
    return hasDevices() ? bytes : 0;
  }

  /** Bytes of both operands. */
  private long operandBytes() {
    return Bytes.sum(shape.a().bytes(), shape.b().bytes());
  }

  /** Bytes of operands that all cuboids together read. */
  private long readBytes(int p, int q) {
    return Bytes.sum(Bytes.product(q, shape.a().bytes()), Bytes.product(p, shape.b().bytes()));
  }

  /**
   * Bytes of uploaded panels: each is uploaded once per cuboid that uses it, or only once if tasks
   * share panels.
   */
  private long uploadBytes(int p, int q) {
    long once = operandBytes();
    return once <= resources.sharedBytes() ? once : readBytes(p, q);
  }

  /**
   * Bytes of the second shuffle: partial sums, or blocks of C that were cut; or, in a reduction,
   * candidates if C's columns are cut. 0 if there is no second shuffle.
   */
  private long partialBytes(int q, int r, boolean onGrid) {
    if (shape.reduced().isPresent()) {
      return q > 1 ? Bytes.product(q, shape.m(), shape.reduced().get().candidateBytes()) : 0;
    }
    return r > 1 || !onGrid ? resultBytes(r) : 0;
  }

  private long resultBytes(int r) {
    return Bytes.product(r, shape.bytesC());
  }

  /** Bytes that are downloaded from devices; almost none for tiles that are reduced. */
  private long downloadBytes(int r) {
    return shape.reduced().isPresent() ? 0 : resultBytes(r);
  }

  private double flops() {
    return 2.0 * shape.m() * shape.k() * shape.n();
  }

  private double shuffle(long written, long read, double writers, double readers) {
    return 0.5 * (written / writers + read / readers) / resources.rates().shuffle();
  }

  private double pcie(double bytes, int tasks) {
    return bytes
        / (resources.rates().pcie() * Math.min(resources.cluster().devices(), busy(tasks)));
  }

  private double arithmetic(double flops, int tasks) {
    double busy = busy(tasks);
    return flops / (rate() * (hasDevices() ? Math.min(resources.cluster().devices(), busy) : busy));
  }

  /** Floating-point operations per second of one device, or of one core where there is none. */
  private double rate() {
    boolean single = shape.type() == ElementType.FLOAT32;
    ClusterResources.Rates rates = resources.rates();
    return hasDevices()
        ? single ? rates.deviceFloat() : rates.deviceDouble()
        : single ? rates.coreFloat() : rates.coreDouble();
  }

  /** Average number of busy cores while tasks run in waves. */
  private double busy(int tasks) {
    return (double) tasks / part(tasks, resources.cluster().cores());
  }

  /** The quotient of a division, rounded up. */
  private static long part(long whole, long parts) {
    return whole / parts + (whole % parts == 0 ? 0 : 1);
  }
}
