package org.tilespark.kernels.fourier;

import java.util.List;
import org.tilespark.kernels.fourier.FourierProblem.Kind;
import org.tilespark.layout.ElementType;

/**
 * One plan of cuFFT, and how often it is executed: a batch of transforms of one to three adjacent
 * axes, element (b, i, j, k) is at {@code b * distance + ((i * embed1 + j) * embed2 + k) * stride}.
 * Offsets are counted in elements of the input or output, real or complex.
 *
 * @param kind kinds of numbers on the two sides
 * @param type type of the parts
 * @param lengths extents of the transformed axes, on the real side if there is one
 * @param in layout of the input
 * @param out layout of the output
 * @param batch transforms of one execution
 * @param repeats number of executions, each at a later offset
 */
public record FourierPass(
    Kind kind, ElementType type, List<Long> lengths, Side in, Side out, long batch, long repeats) {
  /**
   * The layout of the input or of the output.
   *
   * @param embed extents of the array that holds one transform's elements
   * @param stride elements between neighbours of the innermost axis
   * @param distance elements between the transforms of a batch
   * @param start first element of the first execution
   * @param step elements between executions
   */
  public record Side(List<Long> embed, long stride, long distance, long start, long step) {
    /** Copies the list. */
    public Side {
      embed = List.copyOf(embed);
    }
  }

  /** Copies the list. */
  public FourierPass {
    lengths = List.copyOf(lengths);
  }

  /** This pass with offset 0 and one execution, as the key of cuFFT's plan. */
  public FourierPass plan() {
    return new FourierPass(kind, type, lengths, atZero(in), atZero(out), batch, 1);
  }

  private static Side atZero(Side side) {
    return new Side(side.embed(), side.stride(), side.distance(), 0, 0);
  }
}
