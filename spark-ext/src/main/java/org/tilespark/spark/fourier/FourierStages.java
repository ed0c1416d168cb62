package org.tilespark.spark.fourier;

import static org.tilespark.spark.block.UsualShape.LARGE_BYTES;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.tilespark.arrow.blocks.ArrayProgram;
import org.tilespark.kernels.launch.Ceil;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.KnownArray;
import org.tilespark.spark.options.FftOptions.Decomposition;

/**
 * Plans the order in which axes of a volume are transformed, and the cuts of the volume for each
 * stage: a pure function of the known facts of the volume and of the number of tasks.
 *
 * @param known facts known of the volume
 * @param complexBytes bytes of a complex number
 * @param tasks tasks that can run at once
 * @param taskBytes most bytes of a volume's complex numbers for which one task transforms the whole
 *     volume
 */
record FourierStages(KnownArray known, long complexBytes, int tasks, long taskBytes) {
  private static final int RANK = 3;

  /**
   * To balance work, a volume is cut into more blocks than there are tasks only if the blocks are
   * not smaller than about this.
   */
  private static final long LEAST_EVEN_BYTES = 64L << 20;

  /**
   * Most blocks for each task that can run at once: with only two, most tasks would be idle while
   * the last blocks are processed.
   */
  private static final int BLOCKS_PER_TASK = 4;

  /** Most bytes of a plane of a slab; if a plane is larger, the volume is cut into pencils. */
  private static final long MOST_PLANE_BYTES = 1L << 30;

  /**
   * Least bytes per task for which pencils are worth a second exchange, if there are too few planes
   * for all tasks.
   */
  private static final long LEAST_TASK_BYTES = 4L << 20;

  /**
   * A transform to be planned.
   *
   * @param axes numbers of the axes to transform, in their order; the halved one is last
   * @param halved number of the axis of which a real transform keeps only half of the frequencies,
   *     or -1
   * @param permutation order of the volume's axes in the result
   * @param padTo for some axes, the extent to which zeros are added before the axis is transformed
   */
  record Transform(
      List<Integer> axes,
      int halved,
      boolean inverse,
      Permutation permutation,
      Map<Integer, Long> padTo) {
    /** {@code extents} with the zeros that are added before some axes are transformed. */
    Shape padded(Shape extents, List<Integer> transformed) {
      long[] padded = extents.toArray();
      transformed.forEach(axis -> padded[axis] = padTo.getOrDefault(axis, padded[axis]));
      return Shape.of(padded);
    }

    /** The axes of {@code some} that are transformed, the halved one last. */
    List<Integer> only(Set<Integer> some) {
      return axes.stream().filter(some::contains).toList();
    }
  }

  /**
   * A stage: the axes that it transforms, and the axes along which its blocks are cut.
   *
   * @param cut one or two axes along which blocks are cut; empty to keep the blocks of the input
   * @param isGathered true if one task takes all blocks of a volume
   */
  record Stage(List<Integer> axes, List<Integer> cut, boolean isGathered) {
    Stage(List<Integer> axes, List<Integer> cut) {
      this(axes, cut, false);
    }
  }

  /** The stages in which axes are transformed, with the cuts of the volume for each. */
  List<Stage> stages(Transform transform, Decomposition asked) {
    boolean blocksStay =
        transform.axes().stream().allMatch(axis -> known.whole().get(axis))
            && staysSmall(transform, transform.axes());
    if (asked == Decomposition.AUTO && blocksStay) {
      return List.of(new Stage(transform.axes(), List.of()));
    }
    long volume = bytes(transform.padded(known.extents(), transform.axes()));
    if (asked == Decomposition.TASK || (asked == Decomposition.AUTO && volume <= taskBytes)) {
      return List.of(new Stage(transform.axes(), List.of(), true));
    }
    List<Stage> slabs =
        transform.axes().size() == RANK ? bySlabs(transform) : inPlace(transform, blocksStay);
    return asked == Decomposition.PENCILS
            || (asked == Decomposition.AUTO && slabsAreTooFew(transform, slabs))
        ? byPencils(transform)
        : slabs;
  }

  /**
   * True if a plane of some stage is too large for one task, or there are too few planes for all
   * tasks.
   */
  private boolean slabsAreTooFew(Transform transform, List<Stage> stages) {
    Shape extents = known.extents();
    for (Stage stage : stages) {
      extents = transform.padded(extents, stage.axes());
      for (int cut : stage.cut()) {
        long planes = extents.extent(cut);
        if (bytes(extents) / planes > MOST_PLANE_BYTES
            || (planes < tasks && bytes(extents) / tasks >= LEAST_TASK_BYTES)) {
          return true;
        }
      }
    }
    return false;
  }

  /** Bytes of the complex numbers of a volume of these extents. */
  private long bytes(Shape extents) {
    return Math.multiplyExact(complexBytes, extents.elements());
  }

  /**
   * True if no zeros are added to the input's blocks, or so few that no block becomes too large.
   */
  private boolean staysSmall(Transform transform, List<Integer> transformed) {
    Shape padded = transform.padded(known.largest(), transformed);
    return padded.equals(known.largest()) || bytes(padded) <= LARGE_BYTES;
  }

  /** One stage that transforms one or two axes, in slabs cut along the longest of the others. */
  private List<Stage> inPlace(Transform transform, boolean blocksStay) {
    if (blocksStay) {
      return List.of(new Stage(transform.axes(), List.of()));
    }
    int cut = -1;
    for (int axis = 0; axis < RANK; axis++) {
      if (!transform.axes().contains(axis)
          && (cut < 0 || known.extents().extent(axis) > known.extents().extent(cut))) {
        cut = axis;
      }
    }
    return List.of(new Stage(transform.axes(), List.of(cut)));
  }

  /** A stage for each axis, in pencils; between two stages, the cut along the third axis stays. */
  private List<Stage> byPencils(Transform transform) {
    List<Integer> order = new ArrayList<>(transform.axes());
    order.sort(
        Comparator.comparingInt(
            axis -> {
              if (axis == transform.halved()) {
                return transform.inverse() ? RANK + 1 : -RANK - 1;
              }
              return known.whole().get(axis) ? -RANK : -axis;
            }));
    List<Integer> all = new ArrayList<>(order);
    for (int axis = 0; axis < RANK; axis++) {
      if (!all.contains(axis)) {
        all.add(axis);
      }
    }
    List<List<Integer>> cuts =
        List.of(
            List.of(all.get(2), all.get(1)),
            List.of(all.get(2), all.get(0)),
            List.of(all.get(1), all.get(0)));
    List<Stage> stages = new ArrayList<>();
    for (int i = 0; i < order.size(); i++) {
      List<Integer> axis = List.of(order.get(i));
      boolean blocksStay = i == 0 && known.whole().get(order.get(0)) && staysSmall(transform, axis);
      stages.add(new Stage(axis, blocksStay ? List.of() : cuts.get(i)));
    }
    return stages;
  }

  private List<Stage> bySlabs(Transform transform) {
    // Keep the input's slabs if the first axes can be transformed in them.
    int cut = -1;
    for (int axis = 0; axis < RANK; axis++) {
      if (cut < 0
          && known.isSlabs(axis)
          && maybeCutFirst(transform, axis)
          && staysSmall(transform, transform.only(others(axis)))) {
        cut = axis;
      }
    }
    boolean blocksStay = cut >= 0;
    for (int axis = 0; axis < RANK && cut < 0; axis++) {
      cut = maybeCutFirst(transform, axis) ? axis : -1;
    }
    int then = -1;
    for (int axis : transform.permutation().toArray()) {
      boolean maybe = axis != cut && !(transform.inverse() && axis == transform.halved());
      then = then < 0 && maybe ? axis : then;
    }
    Set<Integer> first = transform.inverse() ? Set.of(then) : others(cut);
    Set<Integer> second = transform.inverse() ? others(then) : Set.of(cut);
    return List.of(
        new Stage(transform.only(first), blocksStay ? List.of() : List.of(cut)),
        new Stage(transform.only(second), List.of(then)));
  }

  /**
   * True if the axis may be cut in the first stage. A real transform begins with its halved axis,
   * so blocks must be whole along that one.
   */
  private static boolean maybeCutFirst(Transform transform, int axis) {
    return transform.inverse() || axis != transform.halved();
  }

  private static Set<Integer> others(int axis) {
    return IntStream.range(0, RANK)
        .filter(other -> other != axis)
        .boxed()
        .collect(Collectors.toSet());
  }

  /**
   * The shape of blocks of a complex volume that are cut along some axes: enough blocks for all
   * tasks, several per task if they are large, and none too large.
   */
  long[] shape(List<Integer> cut, Shape extents) {
    return shape(cut, extents, extents);
  }

  /**
   * The shape of blocks as {@link #shape(List, Shape)}, if zeros are added to the blocks.
   *
   * @param padded extents with these zeros; unchanged along the cut axes
   */
  long[] shape(List<Integer> cut, Shape extents, Shape padded) {
    long[] shape = extents.toArray();
    long whole = bytes(padded);
    long even = Math.min(Ceil.div(whole, LEAST_EVEN_BYTES), (long) BLOCKS_PER_TASK * tasks);
    long parts = Math.max(Ceil.div(whole, LARGE_BYTES), Math.max(even, tasks));
    for (int i = 0; i < cut.size(); i++) {
      int axis = cut.get(i);
      int left = cut.size() - i;
      long along = left == 1 ? parts : (long) Math.ceil(Math.sqrt((double) parts));
      along = Math.min(along, shape[axis]);
      shape[axis] = Ceil.div(shape[axis], along);
      parts = Ceil.div(parts, along);
    }
    return shape;
  }

  /**
   * The shape of the result's blocks if one task transforms the whole volume: slabs along axis 0.
   */
  Shape gatheredShape(ArrayProgram program) {
    int cut = program.permutation().axis(0);
    long[] before = program.permutation().apply(program.extents().require()).toArray();
    long[] shape = program.output().shape().toArray();
    long plane = complexBytes;
    for (int axis = 1; axis < RANK; axis++) {
      plane = Math.multiplyExact(plane, Math.max(before[axis], shape[axis]));
    }
    long most = Math.max(1, (LARGE_BYTES - 1) / plane);
    if (known.isSlabs(cut)) {
      most = Math.min(most, known.largest().extent(cut));
    }
    if (most < shape[0]) {
      shape[0] = Ceil.div(shape[0], Ceil.div(shape[0], most));
    }
    return Shape.of(shape);
  }
}
