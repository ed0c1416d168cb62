package org.tilespark.spark.aggregate;

import java.nio.ByteBuffer;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.ArrayValues;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BoxList;
import org.tilespark.spark.catalyst.BlockAggregate;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.rows.BlockArguments.Block;
import scala.collection.immutable.Seq;

/**
 * An aggregate over the blocks of a volume, which must tile it. The children are a block, as {@link
 * BlockArguments} orders it.
 *
 * @param <B> type of the aggregation buffer
 */
public abstract class VolumeAggregate<B extends VolumeAggregate.Kept> extends BlockAggregate<B> {
  /** The aggregation buffer: numbers of the subclass, and the place of each block. */
  public abstract static class Kept {
    final BoxList boxes = new BoxList(BlockKind.VOLUME.rank());

    /** Number of bytes that {@link #putInto} writes. */
    public abstract int bytes();

    public abstract void putInto(ByteBuffer buffer);

    public abstract void takeFrom(ByteBuffer buffer);
  }

  private final BlockArguments arguments;
  private final Object parameter;

  public VolumeAggregate(
      BlockArguments arguments,
      Object parameter,
      Seq<Expression> children,
      int mutableAggBufferOffset,
      int inputAggBufferOffset) {
    super(children, mutableAggBufferOffset, inputAggBufferOffset);
    this.arguments = arguments;
    if (arguments.extents().isEmpty()) {
      throw new IllegalArgumentException("An aggregate over a volume of unknown extents");
    }
    this.parameter = parameter;
  }

  public final BlockArguments arguments() {
    return arguments;
  }

  /**
   * Adds a line of a block.
   *
   * @param x place of the line in the volume along x; likewise {@code y}
   * @param z place of the line's first element along z
   * @param re real parts, of which the first {@code count} are the line's; both arrays may be
   *     overwritten
   * @param im imaginary parts, zero in real blocks
   */
  public abstract void add(B buffer, long x, long y, long z, double[] re, double[] im, int count);

  /** Adds the buffer of other blocks to {@code buffer}. */
  public abstract void add(B buffer, B others);

  /** The result, from the buffer of all blocks. */
  public abstract Object result(B buffer);

  @Override
  public final B update(B buffer, InternalRow input) {
    ErrorBoundary.BLOCKS.run(
        () -> {
          Block block = arguments.read(childList(), 0, input);
          buffer.boxes.add(block.box());
          addLines(buffer, block);
        });
    return buffer;
  }

  /** Adds the values of a block, line by line along z. */
  private void addLines(B buffer, Block block) {
    int count = block.size().get(2);
    double[][] planes = new double[2][count]; // real parts, imaginary parts; zeros in real blocks
    float[] floats = new float[arguments.type() == ElementType.FLOAT32 ? count : 0];
    int at = 0;
    for (int x = 0; x < block.size().get(0); x++) {
      for (int y = 0; y < block.size().get(1); y++) {
        for (int plane = 0; plane < block.planes().size(); plane++) {
          ArrayValues.read(
              block.planes().get(plane), arguments.type(), at, planes[plane], floats, count);
        }
        add(
            buffer,
            block.offset().get(0) + x,
            block.offset().get(1) + y,
            block.offset().get(2),
            planes[0],
            planes[1],
            count);
        at += count;
      }
    }
  }

  @Override
  public final B merge(B buffer, B others) {
    buffer.boxes.add(others.boxes);
    add(buffer, others);
    return buffer;
  }

  /**
   * The result, if the blocks tile the volume.
   *
   * @throws IllegalArgumentException that names the place, if an element is in no block or in two
   */
  @Override
  public final Object eval(B buffer) {
    return ErrorBoundary.BLOCKS.call(
        () -> {
          buffer.boxes.check(
              arguments.extents().get().toArray(),
              BlockKind.VOLUME,
              arguments.missing() == Missing.ZERO,
              arguments.operator());
          return result(buffer);
        });
  }

  @Override
  public final byte[] serialize(B buffer) {
    ByteBuffer bytes =
        ByteBuffer.allocate(
            Math.toIntExact(Math.addExact(buffer.boxes.bytes(), (long) buffer.bytes())));
    buffer.boxes.putInto(bytes);
    buffer.putInto(bytes);
    return bytes.array();
  }

  @Override
  public final B deserialize(byte[] bytes) {
    B buffer = createAggregationBuffer();
    ByteBuffer from = ByteBuffer.wrap(bytes);
    buffer.boxes.takeFrom(from);
    buffer.takeFrom(from);
    return buffer;
  }

  @Override
  protected final List<Object> fields() {
    return List.of(arguments, parameter);
  }
}
