package org.tilespark.arrow.blocks;

import static java.util.stream.Collectors.joining;

import java.io.Serializable;
import java.util.List;
import java.util.Set;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.kernels.launch.Ceil;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.reduce.BaseReduction;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/**
 * The first half of a reduction: it reduces each cell of a tiling along some axes to the states of
 * base reductions ({@link BaseReduction}). A state is a few numbers. Along the first reduced axis,
 * the result has the numbers of each cell's states, one state after the other; along the other
 * reduced axes, it has one element for each cell. {@link Merge} is the second half.
 *
 * <p>Worked case: the means of the columns of a (5, 9) matrix in blocks of (2, 4) need one sum
 * each: along axis 0 there are 3 blocks, so the result is (3, 9), in blocks of (1, 4).
 *
 * @param axes reduced axes, ascending, at least one
 * @param grid elements of a full cell along each axis
 * @param bases base reductions, at least one
 * @param type element type of all states
 */
public record Reduce(List<Integer> axes, Shape grid, List<Base> bases, ElementType type)
    implements ArrayStep {
  /**
   * A base reduction of an expression.
   *
   * @param reduction the base reduction
   * @param of elementwise program from the array to the reduced numbers, which are real
   */
  public record Base(BaseReduction reduction, ElementwiseProgram of) implements Serializable {}

  /** Copies the lists. */
  public Reduce {
    axes = List.copyOf(axes);
    bases = List.copyOf(bases);
  }

  /** Count of numbers in all states of a cell. */
  public int numbers() {
    return bases.stream().mapToInt(base -> base.reduction().numbers()).sum();
  }

  /** Number of result elements for each cell along a reduced axis. */
  private long ofCell(int axis) {
    return axis == axes.get(0) ? numbers() : 1;
  }

  @Override
  public State after(State before) {
    long[] extents = before.shape().toArray();
    for (int axis : axes) {
      extents[axis] = Ceil.div(extents[axis], grid.extent(axis)) * ofCell(axis);
    }
    return new State(Shape.of(extents), type, false);
  }

  /** The shape of the states of a full cell. */
  public Shape cell() {
    long[] extents = grid.toArray();
    axes.forEach(axis -> extents[axis] = ofCell(axis));
    return Shape.of(extents);
  }

  @Override
  public Set<Integer> sliced(State before) {
    return Set.copyOf(axes);
  }

  @Override
  public boolean takesCells() {
    return true;
  }

  @Override
  public Shape blockShape(State before, Shape blocks) {
    long[] shape = blocks.toArray();
    axes.forEach(axis -> shape[axis] = ofCell(axis));
    return Shape.of(shape);
  }

  @Override
  public Box place(State before, Box part) {
    long[] low = part.offset();
    long[] size = part.sizes();
    for (int axis : axes) {
      low[axis] = low[axis] / grid.extent(axis) * ofCell(axis);
      size[axis] = ofCell(axis);
    }
    return Box.at(low, size);
  }

  /**
   * This step for a cell.
   *
   * @throws IllegalArgumentException if the part is not a cell of the tiling along a reduced axis
   */
  @Override
  public BlockStep onPart(State before, Box part, Given given) {
    for (int axis : axes) {
      long cell = grid.extent(axis);
      long end = Math.min(part.low(axis) + cell, before.shape().extent(axis));
      if (part.low(axis) % cell != 0 || part.high(axis) != end) {
        throw new IllegalArgumentException(
            "%s needs cells of %s in a tiling of %s; the block has %s elements along axis %s"
                .formatted(this, grid, before.shape(), part.size(axis), axis));
      }
    }
    return new ReduceBlock(
        axes,
        bases,
        type,
        axes.stream().map(axis -> givesPlaces() ? part.low(axis) : 0).toList(), // 0: equal steps
        before.shape());
  }

  private boolean givesPlaces() {
    return bases.stream()
        .map(Base::reduction)
        .anyMatch(each -> each == BaseReduction.ARGMIN || each == BaseReduction.ARGMAX);
  }

  @Override
  public String toString() {
    return "%s along %s of each block"
        .formatted(
            bases.stream().map(base -> base.reduction().toString()).collect(joining(" and ")),
            axes);
  }
}
