package org.tilespark.spark.multiply;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.stream.IntStream;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.tilespark.kernels.multiply.Extents;
import org.tilespark.layout.AxisCuts;
import org.tilespark.spark.exchange.Exchange;
import org.tilespark.spark.exchange.SharedPartitions;
import org.tilespark.spark.multiply.TileBlocks.Tile;
import org.tilespark.spark.multiply.cost.Bands;
import org.tilespark.spark.multiply.cost.MultiplyShape.Axis;

/**
 * The cut of a product into cuboids, one for each task: M is cut into P ranges, N into Q and K into
 * R. The ranges of K are cut further into panels, which a task processes one after the other. For a
 * gram, only cuboids with {@code q >= p} are computed.
 *
 * <p>Cuboids with a partition each share the <em>parts</em> of the operands: A's elements in a
 * range of M and a range of K, or B's in a range of N and a range of K, are a partition of the
 * shuffle, which all cuboids that need it read. So each piece is shuffled once. Otherwise, if there
 * are many matrices or blocks stay in place, each cuboid that needs a piece gets a copy.
 *
 * <p>Immutable.
 */
public final class Cuboids implements Serializable {
  private final long[] cutsM; // P + 1 boundaries, from 0 to M
  private final long[] cutsN; // Q + 1 boundaries, from 0 to N
  private final long[] cutsK; // R + 1 boundaries, from 0 to K
  private final AxisCuts axisM;
  private final AxisCuts axisN;
  private final AxisCuts panels;
  private final long depth;
  private final boolean gram;
  private final int partitions;
  private final boolean hashed; // true if each key hashes to its cuboid's partition
  private final int[] keys; // key of each cuboid, by its number
  private final int[] partKeys; // key of each part, by its number; empty if parts are not shared
  private final Axis axisInPlace; // axis whose bands stay in their partitions; null if none do
  private final Bands bands; // the bands of that axis

  /**
   * Cuboids between given boundaries.
   *
   * @param cutsM boundaries of the ranges of M, ascending, from 0 to M
   * @param cutsK boundaries of the ranges of K, ascending, from 0 to K
   * @param cutsN boundaries of the ranges of N, ascending, from 0 to N; for a gram equal to {@code
   *     cutsM}
   * @param depth extent of a panel along K
   * @param partitions 0 for one partition per cuboid; otherwise the count of partitions, over which
   *     Spark's hash distributes the cuboids' keys
   */
  public Cuboids(
      long[] cutsM, long[] cutsK, long[] cutsN, long depth, boolean gram, int partitions) {
    this(new long[][] {cutsM, cutsK, cutsN}, depth, gram, partitions, null, null);
  }

  private Cuboids(
      long[][] cuts, long depth, boolean gram, int partitions, Axis axisInPlace, Bands bands) {
    this.axisInPlace = axisInPlace;
    this.bands = bands;
    this.cutsM = requireCuts(cuts[0], "M");
    this.cutsK = requireCuts(cuts[1], "K");
    this.cutsN = requireCuts(cuts[2], "N");
    if (depth < 1) {
      throw new IllegalArgumentException("Panels of depth " + depth + "; expected 1 or more");
    }
    if (gram && !Arrays.equals(cutsM, cutsN)) {
      throw new IllegalArgumentException(
          "A gram cut at rows %s and columns %s; expected the same cuts"
              .formatted(Arrays.toString(cutsM), Arrays.toString(cutsN)));
    }
    this.depth = depth;
    this.axisM = axis(Axis.M, cutsM, Long.MAX_VALUE);
    this.axisN = axis(Axis.N, cutsN, Long.MAX_VALUE);
    this.panels = axis(Axis.K, cutsK, depth);
    this.gram = gram;
    long count = (long) (gram ? p() * (p() + 1L) / 2 : (long) p() * q()) * r();
    int cuboids = Math.toIntExact(count);
    this.hashed = partitions == 0 || axisInPlace != null;
    this.partitions = partitions == 0 ? cuboids : partitions;
    this.keys = hashed ? ownPartitions(cuboids) : IntStream.range(0, cuboids).toArray();
    this.partKeys =
        partitions == 0
            ? Exchange.keys(Math.multiplyExact(gram ? p() : Math.addExact(p(), q()), r()))
            : new int[0];
  }

  /**
   * One cuboid for each partition that already holds bands of one axis; the other two axes are
   * whole. On this axis all indices are permuted (ranks, see {@link Bands}); pieces are cut where
   * bands end.
   *
   * @param axis the axis that is cut into bands
   * @param partitions number of partitions, including those without a band
   */
  public static Cuboids inPlace(
      Extents extents, Axis axis, Bands bands, long depth, boolean gram, int partitions) {
    return new Cuboids(
        new long[][] {
          axis == Axis.M ? bands.boundaries() : new long[] {0, extents.m()},
          axis == Axis.K ? bands.boundaries() : new long[] {0, extents.k()},
          axis == Axis.N ? bands.boundaries() : new long[] {0, extents.n()}
        },
        depth,
        gram,
        partitions,
        axis,
        bands);
  }

  /** One cuboid with one panel: nothing is cut. */
  static Cuboids uncut(Extents extents) {
    return new Cuboids(
        new long[] {0, extents.m()},
        new long[] {0, extents.k()},
        new long[] {0, extents.n()},
        Math.max(1, extents.k()),
        false,
        0);
  }

  private AxisCuts axis(Axis axis, long[] boundaries, long step) {
    if (axis == axisInPlace) {
      return bands.cuts(step);
    }
    long extent = boundaries[boundaries.length - 1];
    return extent == 0 ? AxisCuts.every(1, 0) : AxisCuts.within(step, boundaries);
  }

  /** Count of ranges of M. */
  public int p() {
    return cutsM.length - 1;
  }

  /** Count of ranges of N. */
  public int q() {
    return cutsN.length - 1;
  }

  /** Count of ranges of K. */
  public int r() {
    return cutsK.length - 1;
  }

  /** Count of cuboids that are computed. */
  public int count() {
    return keys.length;
  }

  /** Count of partitions over which the cuboids are distributed, including those without one. */
  public int partitions() {
    return partitions;
  }

  /**
   * The parts of one operand that the cuboids need, in a partition for each cuboid, in the order of
   * their numbers. On the diagonal of a gram, B's part is A's: B's partition is empty, so that the
   * part is not read twice.
   *
   * @param parts parts of the operands, each in the partition with its number, see {@link #part}
   */
  RDD<InternalRow> parts(RDD<InternalRow> parts, boolean right) {
    List<List<Integer>> partitions = new ArrayList<>();
    for (int cuboid = 0; cuboid < count(); cuboid++) {
      int[] place = place(cuboid);
      partitions.add(
          right && gram && place[0] == place[1]
              ? List.of()
              : List.of(part(right, place[right ? 1 : 0], place[2])));
    }
    return SharedPartitions.of(parts, shufflePartitions(), partitions);
  }

  /** True if cuboids read parts of the operands that others read too. */
  public boolean isShared() {
    return partKeys.length > 0;
  }

  /** Count of partitions of the shuffle of the operands' pieces. */
  public int shufflePartitions() {
    return isShared() ? partKeys.length : partitions;
  }

  /**
   * The number of the part of an operand in range {@code outer} of M, or of N for B, and range
   * {@code r} of K. In a gram, A's parts are also B's.
   */
  int part(boolean right, int outer, int r) {
    return ((right && !gram ? p() : 0) + outer) * r() + r;
  }

  /** The value of the key column for a part. */
  int partKey(int part) {
    return partKeys[part];
  }

  /** Extent of a panel along K. */
  public long depth() {
    return depth;
  }

  /** True if only cuboids with {@code q >= p} are computed. */
  public boolean gram() {
    return gram;
  }

  /** The tile of C in ranges {@code p} and {@code q}. */
  Tile tile(int p, int q) {
    return new Tile(cutsM[p], cutsM[p + 1] - cutsM[p], cutsN[q], cutsN[q + 1] - cutsN[q]);
  }

  /** First index along K in range {@code r}. */
  long startK(int r) {
    return cutsK[r];
  }

  /** True if each cuboid is in the partition that already has its bands. */
  public boolean isInPlace() {
    return axisInPlace != null;
  }

  /** The index of a rank; the same number on an axis that is not in bands. */
  long element(Axis axis, long rank) {
    return axis == axisInPlace ? bands.element(rank) : rank;
  }

  /** The rank of an index; the same number on an axis that is not in bands. */
  long rank(Axis axis, long element) {
    return axis == axisInPlace ? bands.rank(element) : element;
  }

  /** End of the longest run of indices from {@code element} on whose ranks are consecutive too. */
  long runEnd(Axis axis, long element) {
    return axis == axisInPlace ? bands.bandEnd(element) : Long.MAX_VALUE;
  }

  /** The cuts of M; if it has bands, at their boundaries. */
  public AxisCuts axisM() {
    return axisM;
  }

  /** The cuts of N; if it has bands, at their boundaries. */
  public AxisCuts axisN() {
    return axisN;
  }

  /** The cuts of K, further cut into panels. */
  public AxisCuts panels() {
    return panels;
  }

  /** The range of K that holds an index. */
  int rangeK(long inner) {
    int found = Arrays.binarySearch(cutsK, inner);
    return found >= 0 ? found : -found - 2;
  }

  /** End of the range of K that begins at {@link #startK}. */
  long endK(int r) {
    return cutsK[r + 1];
  }

  /** End of the panel that begins at an index of K. */
  long panelEnd(long panelStart) {
    long end = Math.min(panelStart + depth, cutsK[rangeK(panelStart) + 1]);
    if (axisInPlace == Axis.K) {
      long element = bands.element(panelStart);
      end = Math.min(end, panelStart + bands.bandEnd(element) - element);
    }
    return end;
  }

  /** The cuboid that a partition holds; empty if it holds no cuboid, or several. */
  OptionalInt ofPartition(int partition) {
    if (axisInPlace != null) {
      return IntStream.range(0, bands.ranges())
          .filter(range -> bands.partition(range) == partition)
          .findFirst();
    }
    boolean isOne = hashed || partitions == 1 && keys.length == 1;
    return isOne && partition < keys.length ? OptionalInt.of(partition) : OptionalInt.empty();
  }

  /**
   * The number of the range of M or N that holds part {@code part} of {@link #axisM} or {@link
   * #axisN}.
   */
  int range(Axis axis, long part) {
    return axis == axisInPlace
        ? bands.range(bands.rank((axis == Axis.M ? axisM : axisN).low(part)))
        : (int) part;
  }

  /**
   * The number of a cuboid, from 0. Spark begins tasks in this order: those with the same part of A
   * follow each other, so that the part stays on a device for a short time.
   */
  int cuboid(int p, int q, int r) {
    return gram ? firstOfRow(p) + r * (q() - p) + (q - p) : (p * r() + r) * q() + q;
  }

  /** The number of a gram's first cuboid in range {@code p} of M. */
  private int firstOfRow(int p) {
    return (p * q() - p * (p - 1) / 2) * r();
  }

  /**
   * The preferred device of a partition's cuboid, so that as few operands as possible are uploaded
   * to each device. If K is cut, ranges of K go to different devices, since they share no part;
   * otherwise ranges of N do.
   *
   * @return number of the device, from 0; empty if there is no preference, or if devices would get
   *     unequal shares of cuboids
   */
  OptionalInt device(int partition, int devices) {
    boolean alongK = r() % devices == 0;
    if (devices == 1 || gram || !isShared() || !alongK && q() % devices != 0) {
      return OptionalInt.empty();
    }
    return ofPartition(partition).stream()
        .map(cuboid -> place(cuboid)[alongK ? 2 : 1] % devices)
        .findFirst();
  }

  /** The value of the key column for a cuboid. */
  int key(int cuboid) {
    return keys[cuboid];
  }

  /** The number of the cuboid that has a key. */
  int ofKey(int key) {
    return (hashed ? ofPartition(Exchange.partition(key, partitions)) : OptionalInt.of(key))
        .stream()
            .filter(cuboid -> cuboid >= 0 && cuboid < keys.length && keys[cuboid] == key)
            .findFirst()
            .orElseThrow(
                () -> new IllegalStateException("No cuboid of " + this + " has key " + key));
  }

  /** The ranges {@code p}, {@code q} and {@code r} of a cuboid. */
  int[] place(int cuboid) {
    if (!gram) {
      return new int[] {cuboid / (q() * r()), cuboid % q(), cuboid / q() % r()};
    }
    int p = 0;
    while (cuboid >= firstOfRow(p + 1)) {
      p++;
    }
    int within = cuboid - firstOfRow(p);
    return new int[] {p, p + within % (q() - p), within / (q() - p)};
  }

  /** Keys, one per cuboid, each of which hashes to its cuboid's partition. */
  private int[] ownPartitions(int count) {
    int[] ofPartition = Exchange.keys(partitions);
    int[] keys = new int[count];
    Arrays.setAll(
        keys, cuboid -> ofPartition[axisInPlace == null ? cuboid : bands.partition(cuboid)]);
    return keys;
  }

  private static long[] requireCuts(long[] cuts, String axis) {
    boolean ascending = cuts.length > 1 && cuts[0] == 0;
    for (int i = 1; i < cuts.length; i++) {
      ascending &= cuts[i] > cuts[i - 1] || cuts.length == 2; // an axis may be empty
    }
    if (!ascending) {
      throw new IllegalArgumentException(
          "Cuts of %s at %s; expected ascending boundaries from 0"
              .formatted(axis, Arrays.toString(cuts)));
    }
    return cuts.clone();
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof Cuboids that
        && Arrays.equals(cutsM, that.cutsM)
        && Arrays.equals(cutsN, that.cutsN)
        && Arrays.equals(cutsK, that.cutsK)
        && depth == that.depth
        && gram == that.gram
        && hashed == that.hashed
        && partitions == that.partitions
        && axisInPlace == that.axisInPlace
        && Objects.equals(bands, that.bands)
        && Arrays.equals(keys, that.keys);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(
        new int[] {
          Arrays.hashCode(cutsM),
          Arrays.hashCode(cutsN),
          Arrays.hashCode(cutsK),
          Long.hashCode(depth),
          partitions
        });
  }

  @Override
  public String toString() {
    return "(%s,%s,%s)%s%s"
        .formatted(
            p(),
            q(),
            r(),
            gram ? ", upper half" : "",
            axisInPlace == null ? "" : ", " + axisInPlace + " in " + bands);
  }
}
