package org.tilespark.kernels.transpose;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.tilespark.kernels.launch.Ceil;

/**
 * The part of a move that one thread block of {@code permute_packed} stages in shared memory: some
 * steps of every axis, and enough steps of the innermost axes of input and output that both are
 * moved in long runs. Immutable.
 *
 * <p>A box spans an axis (all its steps), cuts it (some of them; at most one axis for each side) or
 * takes one step of the axis. {@link PackedBoxChoice} compares the boxes that fit by {@link #cost}.
 */
public final class PackedBox {
  /** The largest number of axes of a box; {@code MAX_BOX_AXES} in permute_packed.cu. */
  private static final int MAX_AXES = 4;

  /**
   * Bytes of a sector; groups of threads begin at multiples of it. {@code SECTOR} in
   * permute_packed.cu.
   */
  static final int SECTOR_BYTES = 32;

  /** The least number of bytes that a thread moves at once. */
  private static final int WORD_BYTES = 4;

  /** Bytes of {@code Run} in permute_packed.cu. */
  private static final int RUN_ENTRY_BYTES = 16;

  /** Most bytes of a box in shared memory: places there are 16-bit numbers. */
  private static final int MOST_STAGE_BYTES = 65_535;

  // The cost model, in instructions of one thread: per run, per word loaded, per word gathered from
  // 1, 2 or 4 elements, per entry of a table, and per box.
  private static final double RUN_COST = 8;
  private static final double LOAD_COST = 5;
  private static final double[] GATHER_COST = {9, 14, 20};
  private static final double ENTRY_COST = 45;
  private static final double BOX_COST = 100;

  /**
   * Relative cost of moving runs by groups of 4, 8 and 16 threads; whole warps touch fewer sectors.
   */
  private static final double[] GROUP_PENALTY = {2.5, 1.8, 1.3};

  /** Instructions per four bytes that cost as much as moving half of the bytes. */
  private static final double INSTRUCTIONS_PER_PASS = 40;

  /** Cost of a run in addition to its own bytes, since memory is faster for long runs. */
  private static final double RUN_SLACK_BYTES = 32;

  /**
   * Further cost of a run that begins in the middle of a sector: for reading here, for writing in
   * the next constant.
   */
  private static final double READ_SLACK_BYTES = 32;

  private static final double WRITE_SLACK_BYTES = 64;

  private final Move move;
  private final long[] extents; // of the box, in the order of move.axes()
  private final int width;
  private final int word; // bytes of a word
  private final int perWord; // elements of a word
  private final Ends inEnds;
  private final Ends outEnds;
  private final int inCut; // the axis that the input side cuts; -1 for none
  private final int outCut;
  private final Side in;
  private final Side out;
  private final long[] sharedStrides; // bytes between neighbours along each axis, in shared memory
  private final List<Axis> outer;
  private final long boxes;
  private final long elements;
  private final long stageBytes;
  private final long sharedBytes;
  private final double cost;

  /**
   * The runs of a box in the input, or in the output.
   *
   * @param run elements of a run
   * @param runs number of runs
   * @param inRun the axes inside a run, the fastest first
   * @param apart the axes along which runs differ, the fastest first
   * @param lanesBits logarithm to base 2 of the number of threads that move a run
   * @param threadCost instructions of one thread for its share of the runs
   */
  private record Side(
      long run,
      long runs,
      List<Integer> inRun,
      List<Integer> apart,
      int lanesBits,
      double threadCost) {}

  /**
   * The properties of the input or output of a move that do not depend on the box.
   *
   * @param order the axes in ascending order of their strides
   * @param chain the innermost axes: the contiguous ones, and those whose gaps are at most half of
   *     the memory
   * @param strided true if runs begin in the middle of a sector
   * @param strideOf the stride of an axis on this side
   */
  record Ends(
      List<Integer> order, List<Integer> chain, boolean strided, ToLongFunction<Axis> strideOf) {
    static Ends of(Move move, ToLongFunction<Axis> strideOf) {
      List<Integer> order =
          IntStream.range(0, move.axes().size())
              .boxed()
              .sorted(Comparator.comparingLong(k -> strideOf.applyAsLong(move.axes().get(k))))
              .toList();
      boolean strided =
          move.axes().stream()
              .mapToLong(strideOf)
              .anyMatch(stride -> stride != 1 && stride * move.elementBytes() % SECTOR_BYTES != 0);
      List<Integer> chain = new ArrayList<>();
      long span = 1;
      for (int k : order) {
        long stride = strideOf.applyAsLong(move.axes().get(k));
        if (chain.isEmpty() ? stride != 1 : stride > 2 * span) {
          break;
        }
        chain.add(k);
        span = Math.multiplyExact(stride, move.axes().get(k).extent());
      }
      return new Ends(order, List.copyOf(chain), strided, strideOf);
    }
  }

  PackedBox(Move move, long[] extents, Ends inEnds, Ends outEnds, int threads) {
    this.move = move;
    this.extents = extents;
    this.inEnds = inEnds;
    this.outEnds = outEnds;
    width = move.elementBytes();
    word = Math.max(WORD_BYTES, width);
    perWord = word / width;
    elements = Arrays.stream(extents).reduce(1, (a, b) -> a * b);
    outCut = firstCut(outEnds.chain());
    int firstOfInput = firstCut(inEnds.chain());
    inCut = firstOfInput == outCut ? -1 : firstOfInput;

    sharedStrides = new long[extents.length];
    in = inputSide(outEnds.chain().get(0), threads);
    stageBytes = placeInShared();
    out = outputSide(threads);
    long places = (long) perWord * outWords();
    sharedBytes = stageBytes + RUN_ENTRY_BYTES * (in.runs() + out.runs()) + places * 2 * perWord;

    outer = new ArrayList<>();
    long count = 1;
    int cuts = 0;
    for (int k = 0; k < extents.length; k++) {
      Axis axis = axis(k);
      count = Math.multiplyExact(count, Ceil.div(axis.extent(), extents[k]));
      if (extents[k] == 1) {
        outer.add(axis);
      } else if (extents[k] < axis.extent()) {
        cuts++;
      }
    }
    boxes = count;
    boolean possible =
        cuts == (inCut < 0 ? 0 : 1) + (outCut < 0 ? 0 : 1)
            && outer.size() <= TransposeStrategy.MAX_OUTER
            && in.apart().size() <= MAX_AXES
            && out.apart().size() <= MAX_AXES
            && out.inRun().size() <= MAX_AXES
            && stageBytes <= MOST_STAGE_BYTES;
    cost = possible ? costOf(threads) : Double.POSITIVE_INFINITY;
  }

  private Axis axis(int k) {
    return move.axes().get(k);
  }

  private boolean isCut(int k) {
    return extents[k] > 1 && extents[k] < axis(k).extent();
  }

  private int firstCut(List<Integer> chain) {
    for (int k : chain) {
      if (isCut(k)) {
        return k;
      }
    }
    return -1;
  }

  /**
   * The number by which the kernel knows the cut of an axis: 1 for the input side's, 2 for the
   * output side's, 0 for none.
   */
  private long cutNumber(int k) {
    return k == inCut ? 1 : k == outCut ? 2 : 0;
  }

  /**
   * The runs of the input side. An axis inside output runs is kept out of the input runs if steps
   * along it would conflict on the banks of shared memory: outside of the input runs, its stride in
   * shared memory can be chosen.
   */
  private Side inputSide(int outInnermost, int threads) {
    List<Integer> inRun = new ArrayList<>();
    long run = 1;
    for (int k : inEnds.order()) {
      boolean conflicts =
          k == outInnermost && run * width >= SECTOR_BYTES && run * width % (2L * word) == 0;
      if (endsRun(inRun, run, k, inEnds) || conflicts) {
        break;
      }
      inRun.add(k);
      sharedStrides[k] = run * width;
      run *= extents[k];
    }
    return side(run, inRun, inEnds, LOAD_COST, threads);
  }

  private Side outputSide(int threads) {
    List<Integer> inRun = new ArrayList<>();
    long run = 1;
    for (int k : outEnds.order()) {
      if (endsRun(inRun, run, k, outEnds)) {
        break;
      }
      inRun.add(k);
      run *= extents[k];
    }
    double gather = GATHER_COST[Integer.numberOfTrailingZeros(perWord)];
    return side(run, inRun, outEnds, gather, threads);
  }

  /**
   * True if axis {@code k} does not continue a run of {@code run} elements whose axes are {@code
   * inRun}.
   */
  private boolean endsRun(List<Integer> inRun, long run, int k, Ends ends) {
    return extents[k] == 1
        || ends.strideOf().applyAsLong(axis(k)) != run
        || (!inRun.isEmpty() && isCut(inRun.get(inRun.size() - 1)));
  }

  private Side side(long run, List<Integer> inRun, Ends ends, double wordCost, int threads) {
    List<Integer> apart = new ArrayList<>();
    long runs = 1;
    for (int k : ends.order()) {
      if (extents[k] > 1 && !inRun.contains(k)) {
        apart.add(k);
        runs *= extents[k];
      }
    }
    long words =
        Ceil.div(run * width + word - width, word)
            + (ends.strided() ? (SECTOR_BYTES - word) / word : 0);
    int bestBits = 0;
    double best = Double.POSITIVE_INFINITY;
    for (int bits = 2; 1 << bits <= threads; bits++) {
      long rounds = Ceil.div(runs, threads >> bits);
      double each = RUN_COST + wordCost * Ceil.div(words, 1L << bits);
      double penalty = bits - 2 < GROUP_PENALTY.length ? GROUP_PENALTY[bits - 2] : 1;
      if (rounds * each * penalty < best) {
        best = rounds * each * penalty;
        bestBits = bits;
      }
    }
    return new Side(run, runs, inRun, apart, bestBits, best);
  }

  /**
   * Gives the axes along which input runs differ their strides in shared memory, and returns the
   * bytes of the box there. Strides are congruent to those in global memory modulo a word, so that
   * words are aligned on both sides, and odd in words, so that steps along them meet different
   * banks. The last word of a run must not be the first word of another.
   */
  private long placeInShared() {
    long span = in.run() * width;
    for (int k : in.apart()) {
      long least = span + 2L * (word - width);
      long stride = least / word * word + axis(k).inStride() * width % word;
      while (stride < least || stride / word % 2 == 0) {
        stride += word;
      }
      sharedStrides[k] = stride;
      span += stride * (extents[k] - 1);
    }
    // The first run begins one sector after the start, since its sector may begin before it, plus
    // up to a word for its alignment; its last word may end up to a word after the span. The third
    // word is spare.
    return Ceil.div(span + SECTOR_BYTES + 3L * word, 16) * 16;
  }

  /** The largest number of words that an output run touches. */
  private long outWords() {
    return Ceil.div(out.run() + perWord - 1, perWord);
  }

  private double costOf(int threads) {
    long entries =
        Ceil.div(in.runs(), threads) + Ceil.div(out.runs(), threads) + Ceil.div(out.run(), threads);
    double instructions =
        (in.threadCost() + out.threadCost() + ENTRY_COST * entries + BOX_COST) * threads;
    double covered =
        (double) boxes * elements; // more elements than exist, if boxes at the edge are partial
    double existing = 1;
    for (Axis axis : move.axes()) {
      existing *= axis.extent();
    }
    double perFourBytes = instructions / (elements * width / 4.0) * covered / existing;
    double read = RUN_SLACK_BYTES + (inEnds.strided() ? READ_SLACK_BYTES : 0);
    double written = RUN_SLACK_BYTES + (outEnds.strided() ? WRITE_SLACK_BYTES : 0);
    return perFourBytes / INSTRUCTIONS_PER_PASS
        + read / (in.run() * width)
        + written / (out.run() * width);
  }

  /**
   * The box's cost by the model, comparable with other boxes; infinite if the kernel cannot run it.
   */
  double cost() {
    return cost;
  }

  /** The number of boxes. */
  public long boxes() {
    return boxes;
  }

  /** The number of elements of a box. */
  public long elements() {
    return elements;
  }

  /** Bytes of an input run. */
  public long inRunBytes() {
    return in.run() * width;
  }

  /** Bytes of an output run. */
  public long outRunBytes() {
    return out.run() * width;
  }

  /** Bytes of shared memory of a thread block. */
  public int sharedBytes() {
    return Math.toIntExact(sharedBytes);
  }

  /** The words of the kernel's argument struct, after the two pointers. */
  long[] words() {
    List<Long> words =
        new ArrayList<>(
            List.of(
                boxes,
                stageBytes,
                in.runs(),
                in.run(),
                runCut(in),
                (long) in.lanesBits(),
                out.runs(),
                out.run(),
                runCut(out),
                (long) out.lanesBits()));
    addAxes(words, in.apart(), Axis::inStride);
    addAxes(words, out.apart(), Axis::outStride);
    addAxes(words, out.inRun(), axis -> 0);
    addCut(words, inCut);
    addCut(words, outCut);
    TransposeStrategy.addOuter(words, outer);
    return words.stream().mapToLong(Long::longValue).toArray();
  }

  private long runCut(Side side) {
    return side.inRun().stream().mapToLong(this::cutNumber).max().orElse(0);
  }

  private void addAxes(List<Long> words, List<Integer> axes, ToLongFunction<Axis> stride) {
    for (int k : axes) {
      words.addAll(
          List.of(
              withReciprocal(extents[k]),
              stride.applyAsLong(axis(k)) * width,
              sharedStrides[k],
              cutNumber(k)));
    }
    for (int k = axes.size(); k < MAX_AXES; k++) {
      words.addAll(List.of(1L, 0L, 0L, 0L));
    }
  }

  private void addCut(List<Long> words, int k) {
    if (k < 0) {
      words.addAll(List.of(1L, 1L, 1L, 0L, 0L));
      return;
    }
    long step = extents[k] * width;
    words.addAll(
        List.of(
            Ceil.div(axis(k).extent(), extents[k]),
            axis(k).extent(),
            extents[k],
            Math.multiplyExact(axis(k).inStride(), step),
            Math.multiplyExact(axis(k).outStride(), step)));
  }

  /** A word with a divisor of more than 1 and, in its upper half, ceil(2^32 / divisor). */
  private static long withReciprocal(long divisor) {
    return Ceil.div(1L << 32, divisor) << 32 | divisor;
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof PackedBox other
        && move.equals(other.move)
        && Arrays.equals(extents, other.extents)
        && in.equals(other.in)
        && out.equals(other.out);
  }

  @Override
  public int hashCode() {
    return 31 * move.hashCode() + Arrays.hashCode(extents);
  }

  /**
   * The extents of the box and of the array, in output order: {@code 3 x 24 x 96 of 3 x 4097 x
   * 4095}.
   */
  @Override
  public String toString() {
    return Arrays.stream(extents).mapToObj(Long::toString).collect(Collectors.joining(" x "))
        + " of "
        + move.axes().stream()
            .map(axis -> Long.toString(axis.extent()))
            .collect(Collectors.joining(" x "));
  }
}
