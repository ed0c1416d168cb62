package org.tilespark.kernels.fourier;

import java.util.List;
import org.tilespark.kernels.fourier.FourierProblem.Kind;
import org.tilespark.layout.ElementType;

/**
 * One plan of cuFFT, and how often it is executed: a batch of transforms of one to three adjacent
 * axes, whose element (b, i, j, k) is at {@code b * distance + ((i * embed1 + j) * embed2 + k) *
 * stride}. Offsets are counted in elements of the input or output, real or complex.
 *
 * @param kind kinds of numbers of input and output
 * @param type type of real numbers and of the parts of complex ones
 * @param lengths extents of the transformed axes, of real numbers if input or output is real
 * @param in layout of the input
 * @param out layout of the output
 * @param batch how many transforms one execution makes
 * @param repeats number of executions, each at a later offset
 */
public record FourierPass(
    Kind kind, ElementType type, List<Long> lengths, Side in, Side out, long batch, long repeats) {
  /**
   * The layout of the input or of the output.
   *
   * @param embed extents of the array that holds one transform's elements
   * @param stride elements between neighbours of the innermost axis
   * @param distance elements from one transform of a batch to the next
   * @param start first element of the first execution
   * @param step elements from the first element of an execution to that of the next
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

  /** This pass with offset 0 and one execution: the key of its plan of cuFFT. */
  public FourierPass plan() {
    return new FourierPass(kind, type, lengths, atZero(in), atZero(out), batch, 1);
  }

  private static Side atZero(Side side) {
    return new Side(side.embed(), side.stride(), side.distance(), 0, 0);
  }
}
