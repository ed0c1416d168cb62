package org.tilespark.layout;

import java.io.Serializable;
import java.util.List;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;

/**
 * Maps the elements of an array to the cells of another array, which may overlap: an {@link
 * AxisImages} for each axis, independently of the others.
 *
 * @param axes the images along each axis, outermost axis first
 * @param fill value of target elements without a source element, with {@link Edge#CONSTANT}
 */
public record Images(List<AxisImages> axes, double fill) implements Serializable {
  /** Copies the list. */
  public Images {
    axes = List.copyOf(axes);
  }

  /** The cells of the target, without shared elements and without an end of the axes. */
  public Cuts cells() {
    return Cuts.of(axes.stream().map(axis -> AxisCuts.every(axis.cell())).toArray(AxisCuts[]::new));
  }

  /** The extents of the target array. */
  public Shape target() {
    return shape(AxisImages::target);
  }

  /** The shape of the largest cell, with the elements that it shares with its neighbours. */
  public Shape largest() {
    return shape(AxisImages::largest);
  }

  /** True if cells share elements with their neighbours. */
  public boolean overlap() {
    return axes.stream().anyMatch(axis -> axis.before() + axis.after() > 0);
  }

  /** True if every image is a plain copy, in the order of the source. */
  public boolean areInOrder() {
    return axes.stream().allMatch(AxisImages::isInOrder);
  }

  private Shape shape(ToLongFunction<AxisImages> extent) {
    return Shape.of(axes.stream().mapToLong(extent).toArray());
  }

  /** The text for plans: {@code "4 at 2 in 9 constant x 5 at 0 in 5 constant"}. */
  @Override
  public String toString() {
    return axes.stream()
        .map(
            axis ->
                "%s at %s in %s%s %s"
                    .formatted(
                        axis.extent(),
                        axis.shift(),
                        axis.target(),
                        axis.before() + axis.after() == 0
                            ? ""
                            : " by %s + %s + %s"
                                .formatted(axis.before(), axis.cell(), axis.after()),
                        axis.edge()))
        .collect(Collectors.joining(" x "));
  }
}
