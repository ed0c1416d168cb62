package org.tilespark.spark.aggregate;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.aggregate.ImperativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.TypedImperativeAggregate;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.BlockBoxes;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.rows.BlockArguments.Block;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * An aggregate over the blocks of a volume, which must tile it. The children are a block, as {@link
 * BlockArguments} orders it.
 *
 * @param <B> what is kept while blocks go by
 */
public abstract class VolumeAggregate<B extends VolumeAggregate.Kept>
    extends TypedImperativeAggregate<B> implements Serializable {
  private static final long serialVersionUID = 1;

  /** What is kept while blocks go by: of each, where it lies. */
  public abstract static class Kept {
    private final BlockBoxes boxes = new BlockBoxes(BlockKind.VOLUME);

    /** Bytes that {@link #putInto} writes. */
    public abstract int bytes();

    public abstract void putInto(ByteBuffer buffer);

    public abstract void takeFrom(ByteBuffer buffer);
  }

  private final BlockArguments arguments;
  private final Object parameter;
  private final Seq<Expression> children;
  private final int mutableAggBufferOffset;
  private final int inputAggBufferOffset;

  public VolumeAggregate(
      BlockArguments arguments,
      Object parameter,
      Seq<Expression> children,
      int mutableAggBufferOffset,
      int inputAggBufferOffset) {
    this.arguments = arguments;
    Objects.requireNonNull(arguments.extents(), "extents");
    this.parameter = parameter;
    this.children = children;
    this.mutableAggBufferOffset = mutableAggBufferOffset;
    this.inputAggBufferOffset = inputAggBufferOffset;
  }

  public final BlockArguments arguments() {
    return arguments;
  }

  /** The same aggregate of other children, elsewhere in the rows that Spark aggregates in. */
  public abstract VolumeAggregate<B> with(
      Seq<Expression> newChildren, int mutableOffset, int inputOffset);

  /**
   * Adds a line of a block.
   *
   * @param x place of the line in the volume; likewise y
   * @param z place of its first element
   * @param re real parts, of which the first {@code count} are the line's
   * @param im imaginary parts, zero in real blocks
   */
  public abstract void add(B buffer, long x, long y, long z, double[] re, double[] im, int count);

  /** Adds what was kept of other blocks. */
  public abstract void add(B buffer, B others);

  /** The result of all blocks. */
  public abstract Object result(B buffer);

  @Override
  public final B update(B buffer, InternalRow input) {
    Kept kept = buffer;
    ErrorBoundary.BLOCKS.run(
        () -> {
          Block block = arguments.read(ScalaInterop.list(children), 0, input);
          kept.boxes.add(block.box());
          addLines(buffer, block);
        });
    return buffer;
  }

  /** Adds the values of a block, line by line along z. */
  private void addLines(B buffer, Block block) {
    int count = block.size().get(2);
    double[][] planes = new double[2][count]; // real parts, imaginary parts; zeros in real blocks
    float[] floats = new float[arguments.type() == ElementType.FLOAT32 ? count : 0];
    long bytes = (long) count * arguments.type().bytes();
    long at = 0;
    for (int x = 0; x < block.size().get(0); x++) {
      for (int y = 0; y < block.size().get(1); y++) {
        for (int plane = 0; plane < block.planes().size(); plane++) {
          copyIn(block.planes().get(plane).slice(at, bytes), floats, planes[plane]);
        }
        add(
            buffer,
            block.offset().get(0) + x,
            block.offset().get(1) + y,
            block.offset().get(2),
            planes[0],
            planes[1],
            count);
        at += bytes;
      }
    }
  }

  private static void copyIn(HostMemory from, float[] floats, double[] doubles) {
    if (floats.length == 0) {
      from.copyTo(HostMemory.ofArray(doubles));
      return;
    }
    from.copyTo(HostMemory.ofArray(floats));
    for (int i = 0; i < floats.length; i++) {
      doubles[i] = floats[i];
    }
  }

  @Override
  public final B merge(B buffer, B others) {
    Kept kept = buffer;
    Kept more = others;
    kept.boxes.add(more.boxes);
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
    Kept kept = buffer;
    return ErrorBoundary.BLOCKS.call(
        () -> {
          kept.boxes.check(
              arguments.extents().toArray(),
              arguments.missing() == Missing.ZERO,
              arguments.operator());
          return result(buffer);
        });
  }

  @Override
  public final byte[] serialize(B buffer) {
    Kept kept = buffer;
    ByteBuffer bytes =
        ByteBuffer.allocate(
            Math.toIntExact(Math.addExact(kept.boxes.bytes(), (long) buffer.bytes())));
    kept.boxes.putInto(bytes);
    buffer.putInto(bytes);
    return bytes.array();
  }

  @Override
  public final B deserialize(byte[] bytes) {
    B buffer = createAggregationBuffer();
    Kept kept = buffer;
    ByteBuffer from = ByteBuffer.wrap(bytes);
    kept.boxes.takeFrom(from);
    buffer.takeFrom(from);
    return buffer;
  }

  @Override
  public final boolean nullable() {
    return false;
  }

  @Override
  public final Seq<Expression> children() {
    return children;
  }

  @Override
  public final Expression withNewChildrenInternal(IndexedSeq<Expression> newChildren) {
    return with(newChildren, mutableAggBufferOffset, inputAggBufferOffset);
  }

  @Override
  public final int mutableAggBufferOffset() {
    return mutableAggBufferOffset;
  }

  @Override
  public final int inputAggBufferOffset() {
    return inputAggBufferOffset;
  }

  @Override
  public final ImperativeAggregate withNewMutableAggBufferOffset(int offset) {
    return with(children, offset, inputAggBufferOffset);
  }

  @Override
  public final ImperativeAggregate withNewInputAggBufferOffset(int offset) {
    return with(children, mutableAggBufferOffset, offset);
  }

  @Override
  public final int productArity() {
    return 5;
  }

  @Override
  public final Object productElement(int n) {
    return switch (n) {
      case 0 -> arguments;
      case 1 -> parameter;
      case 2 -> children;
      case 3 -> mutableAggBufferOffset;
      case 4 -> inputAggBufferOffset;
      default -> throw new IndexOutOfBoundsException(n);
    };
  }

  @Override
  public final boolean canEqual(Object that) {
    return that != null && that.getClass() == getClass();
  }

  @Override
  public final boolean equals(Object o) {
    return o instanceof VolumeAggregate<?> that
        && canEqual(that)
        && arguments.equals(that.arguments)
        && Objects.equals(parameter, that.parameter)
        && children.equals(that.children)
        && mutableAggBufferOffset == that.mutableAggBufferOffset
        && inputAggBufferOffset == that.inputAggBufferOffset;
  }

  @Override
  public final int hashCode() {
    return Objects.hash(
        getClass().getName(),
        arguments,
        parameter,
        children,
        mutableAggBufferOffset,
        inputAggBufferOffset);
  }
}
