package org.tilespark.spark.stage;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.tilespark.arrow.blocks.ArrayProgram;
import org.tilespark.arrow.blocks.BlockPipeline;
import org.tilespark.arrow.blocks.BlockPipeline.Part;
import org.tilespark.arrow.blocks.Plane;
import org.tilespark.arrow.pipeline.TaskScope;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.ArrayValues;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.BoxCopy;
import org.tilespark.spark.block.BoxList;
import org.tilespark.spark.block.StaleMetadata;
import org.tilespark.spark.exchange.RowKeys;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.rows.BlockCheck;
import org.tilespark.spark.rows.BlockCursor;
import org.tilespark.spark.rows.PieceInPlace;
import org.tilespark.spark.rows.RetainedRows;
import org.tilespark.spark.runtime.StayingMemory;
import org.tilespark.spark.stage.StageInput.Beside;

/**
 * The arrays of a partition's rows for a {@link BlockPipeline}, one after another: each is a block,
 * or the pieces of a block, or all blocks of a volume. Used by one thread.
 */
abstract class ArraySource implements AutoCloseable {
  private final BufferAllocator allocator;
  private ArrowBuf zeros; // a buffer of zeros; null until needed

  ArraySource(BufferAllocator allocator) {
    this.allocator = allocator;
  }

  /**
   * Moves to the next array; false if there is none.
   *
   * @throws IllegalArgumentException as {@link #walk}, if the array has no parts and must have some
   */
  abstract boolean next();

  /** The array's place and size in the whole matrix or volume. */
  abstract Box box();

  /**
   * The box of the array, then those of the arrays joined to it: small arrays in the rows of its
   * blocks.
   */
  List<Box> boxes() {
    return List.of(box());
  }

  /**
   * A row of the array, for its further columns and the trend to subtract from it; valid until
   * {@link #put} or {@link #check}. All its columns are null if the array has no parts.
   */
  abstract InternalRow row();

  /** Takes the parts of an array. */
  @FunctionalInterface
  interface Taker {
    /**
     * Takes one part.
     *
     * @param part box of the part in the array
     * @param held box of the planes' elements: the part, or a block that contains it
     */
    void take(Box part, Box held, List<Plane> planes);
  }

  /**
   * Passes the array's parts to {@code parts}.
   *
   * @throws IllegalArgumentException that names the place, if a part is bad, doubled or missing
   */
  abstract void walk(Taker parts);

  /**
   * Puts all parts into the pipeline: those of this array, and of arrays joined to it. Called after
   * {@link BlockPipeline#begin}.
   *
   * @param number number of the array among the pipeline's inputs
   * @param isComplex true if the pipeline's array is complex
   * @throws IllegalArgumentException as {@link #walk}
   */
  final void put(BlockPipeline pipeline, int number, boolean isComplex) {
    List<List<Plane>> beside = beside();
    walk((part, held, planes) -> put(pipeline, number, isComplex, part, held, planes));
    for (int i = 0; i < beside.size(); i++) {
      pipeline.putWhole(number + 1 + i, beside.get(i));
    }
  }

  /** The arrays that are joined to the array; valid as long as the array. */
  List<List<Plane>> beside() {
    return List.of();
  }

  /**
   * Checks the array's parts without putting them.
   *
   * @throws IllegalArgumentException as {@link #walk}
   */
  final void check() {
    walk((part, held, planes) -> {});
  }

  /** True if an array is one part, which stays valid until the next array is requested. */
  boolean staysUntilRun() {
    return false;
  }

  /** Frees the zeros that were read as imaginary parts. */
  @Override
  public void close() {
    if (zeros != null) {
      zeros.close();
      zeros = null;
    }
  }

  /** Puts one part, with imaginary parts of zero if the array is complex and the values are not. */
  private void put(
      BlockPipeline pipeline,
      int number,
      boolean isComplex,
      Box part,
      Box held,
      List<Plane> planes) {
    try (TaskScope copies = new TaskScope()) {
      List<Plane> all = new ArrayList<>();
      for (Plane plane : planes) {
        all.add(part.equals(held) ? plane : taken(plane, part, held, copies));
      }
      if (isComplex && all.size() == 1) {
        all.add(zeros(all.get(0).values().bytes()));
      }
      if (staysUntilRun()) {
        pipeline.putWhole(number, all);
      } else {
        pipeline.put(number, Part.at(part.offset(), part.sizes()), all);
      }
    }
  }

  /** The part of a plane: in place if it is one range of memory, otherwise a copy. */
  private Plane taken(Plane plane, Box part, Box held, TaskScope copies) {
    int width = Math.toIntExact(plane.values().bytes() / held.volume());
    long bytes = part.volume() * width;
    OptionalLong first = contiguous(part, held);
    if (first.isPresent()) {
      return new Plane(plane.values().slice(first.getAsLong() * width, bytes), plane.owner());
    }
    ArrowBuf copy = copies.own(allocator.buffer(bytes));
    HostMemory values = HostMemory.ofAddress(copy.memoryAddress(), bytes);
    BoxCopy.copy(
        new BoxCopy.Block(plane.values(), held.offset(), held.sizes()),
        new BoxCopy.Block(values, part.offset(), part.sizes()),
        part.offset(),
        IntStream.range(0, part.rank()).mapToLong(part::high).toArray(),
        width);
    return new Plane(values, Optional.of(copy));
  }

  /**
   * The position of a part's first element among those of {@code held}, if the part is contiguous
   * there.
   */
  private static OptionalLong contiguous(Box part, Box held) {
    boolean isInside = false; // true once the part has several elements along an outer axis
    long first = 0;
    for (int axis = 0; axis < part.rank(); axis++) {
      if (isInside && part.size(axis) < held.size(axis)) {
        return OptionalLong.empty();
      }
      isInside |= part.size(axis) > 1;
      first = first * held.size(axis) + part.low(axis) - held.low(axis);
    }
    return OptionalLong.of(first);
  }

  private Plane zeros(long bytes) {
    if (zeros == null || zeros.capacity() < bytes) {
      close();
      zeros = allocator.buffer(bytes);
      // Clears the whole buffer, which may be larger than requested and be used for a larger part
      // later.
      HostMemory.ofAddress(zeros.memoryAddress(), zeros.capacity()).fill((byte) 0);
    }
    return new Plane(HostMemory.ofAddress(zeros.memoryAddress(), bytes), Optional.of(zeros));
  }

  private static List<Plane> planes(BlockCursor blocks, BlockSchema in) {
    List<Plane> planes = new ArrayList<>();
    for (int ordinal : in.planes()) {
      planes.add(blocks.values(ordinal, in.elementType()));
    }
    return planes;
  }

  /** Each block is an array. */
  static final class Blocks extends ArraySource {
    // Programs of the array, then of the arrays joined to it
    private final List<ArrayProgram> programs;
    private final StageInput columns; // columns, by the child's ordinals
    private final BlockSchema in;
    private final BlockCursor blocks;
    private final BlockCheck check;
    private final Set<Integer> whole;

    /**
     * @param programs program of a block, then programs of the arrays joined to it
     */
    Blocks(
        List<ArrayProgram> programs,
        StageInput columns,
        BlockCursor blocks,
        BufferAllocator allocator) {
      super(allocator);
      this.programs = programs;
      this.columns = columns;
      this.in = columns.blocks();
      this.blocks = blocks;
      this.check = checkOf(columns, programs.get(0));
      this.whole = programs.get(0).cutAxes().whole();
    }

    @Override
    boolean next() {
      if (!blocks.advance()) {
        return false;
      }
      check.check(blocks);
      for (int axis : whole) {
        Shape extents = programs.get(0).extents().require();
        if (check.size()[axis] != extents.extent(axis)) {
          String letter = in.kind().offsetColumns().get(axis);
          throw new IllegalArgumentException(
              ("%s: it has %s of %s elements along %s; the column metadata %s says"
                      + " that blocks are whole along it; %s (in %s)")
                  .formatted(
                      in.kind().describe(check.offset()),
                      check.size()[axis],
                      extents.extent(axis),
                      letter,
                      ArrayMetadata.BLOCK_SHAPE,
                      StaleMetadata.HELP,
                      columns.operator()));
        }
      }
      return true;
    }

    @Override
    List<Box> boxes() {
      List<Box> boxes = new ArrayList<>(List.of(box()));
      columns.beside().forEach(each -> boxes.add(boxBeside(each)));
      return boxes;
    }

    private Box boxBeside(Beside beside) {
      long[] low = check.offset().clone();
      long[] size = check.size().clone();
      for (int axis : beside.repeated()) {
        low[axis] = 0;
        size[axis] = 1;
      }
      return Box.at(low, size);
    }

    @Override
    List<List<Plane>> beside() {
      List<List<Plane>> all = new ArrayList<>();
      for (int i = 0; i < columns.beside().size(); i++) {
        Beside beside = columns.beside().get(i);
        ElementType type = programs.get(1 + i).type();
        long bytes = boxBeside(beside).volume() * type.bytes();
        List<Plane> planes = new ArrayList<>();
        for (int ordinal : beside.planes()) {
          boolean isThere =
              !blocks.row().isNullAt(ordinal)
                  && blocks.firstNull(ordinal) < 0
                  && blocks.values(ordinal, type).values().bytes() == bytes;
          if (!isThere) {
            throw BoxList.bad(
                in.kind(),
                check.offset(),
                "what is combined with it is not there, or holds nulls; expected %s elements"
                    .formatted(boxBeside(beside).volume()),
                columns.operator());
          }
          planes.add(blocks.values(ordinal, type));
        }
        all.add(planes);
      }
      return all;
    }

    @Override
    boolean staysUntilRun() {
      return true;
    }

    @Override
    Box box() {
      return Box.at(check.offset(), check.size());
    }

    @Override
    InternalRow row() {
      return blocks.row();
    }

    @Override
    void walk(Taker parts) {
      Box all = Box.at(new long[in.kind().rank()], check.size());
      parts.take(all, all, planes(blocks, in));
    }
  }

  private static BlockCheck checkOf(StageInput columns, ArrayProgram program) {
    Shape extents = program.extents().known().orElse(null);
    return new BlockCheck(columns.blocks(), columns.operator(), extents);
  }

  /** All consecutive blocks with equal further columns form one array. */
  static final class Volumes extends ArraySource {
    private final ArrayProgram program;
    private final StageInput columns; // columns, by the child's ordinals
    private final BlockSchema in;
    private final BlockCursor blocks;
    private final BlockCheck check;
    private final RowKeys groups;
    private final BoxList boxes;
    private final InternalRow noBlock; // the row of a volume without blocks
    private final boolean isOneVolume; // true if there is one volume even without blocks
    private boolean pending; // true if the cursor is at the first block of the next array
    private boolean started; // true once next() was called

    /**
     * @param columns columns of which the further ones distinguish volumes; if there are none, all
     *     blocks are one volume
     * @param schema schema of the child's rows
     */
    Volumes(
        ArrayProgram program,
        StageInput columns,
        StructType schema,
        BlockCursor blocks,
        BufferAllocator allocator) {
      super(allocator);
      this.program = program;
      this.columns = columns;
      this.in = columns.blocks();
      this.blocks = blocks;
      this.isOneVolume = columns.further().isEmpty();
      this.noBlock = new GenericInternalRow(schema.length());
      this.check = checkOf(columns, program);
      this.boxes = new BoxList(in.kind().rank());
      this.groups = RowKeys.at(schema, columns.further());
    }

    @Override
    boolean next() {
      pending = pending || blocks.advance();
      boolean isWithoutBlocks = isOneVolume && !started && !pending;
      started = true;
      if (isWithoutBlocks) {
        check(); // before the volume's trend or memory is requested
      }
      return pending || isWithoutBlocks;
    }

    @Override
    Box box() {
      Shape extents = program.extents().require();
      return Box.at(new long[extents.rank()], extents.toArray());
    }

    @Override
    InternalRow row() {
      return pending ? blocks.row() : noBlock;
    }

    @Override
    void walk(Taker parts) {
      boxes.clear();
      UnsafeRow group = pending ? groups.of(blocks.row()).copy() : null;
      while (pending && groups.compare(group, groups.of(blocks.row())) == 0) {
        check.check(blocks);
        boxes.add(check.offset(), check.size());
        Box part = Box.at(check.offset(), check.size());
        parts.take(part, part, planes(blocks, in));
        pending = blocks.advance();
      }
      boxes.check(
          box().offset(),
          box().sizes(),
          in.kind(),
          columns.missing() == Missing.ZERO,
          columns.operator());
    }
  }

  /**
   * The pieces of each cell of a tiling are an array, sorted as {@link
   * org.tilespark.spark.exchange.AssembleTask AssembleTask} wants them.
   */
  static final class Pieces extends ArraySource {
    private final PieceGroups groups;
    private final BlockSchema in; // block columns, by the child's ordinals
    private final RetainedRows retained;
    private final StayingMemory staying;

    /**
     * The pieces of a partition; borrows the owner of retained rows, which outlives the pipeline.
     */
    Pieces(
        BlockSchema in,
        PieceGroups groups,
        RetainedRows retained,
        StayingMemory staying,
        BufferAllocator allocator) {
      super(allocator);
      this.retained = retained;
      this.in = in;
      this.groups = groups;
      this.staying = staying;
    }

    @Override
    boolean next() {
      return groups.next();
    }

    @Override
    Box box() {
      return Box.at(groups.low(), groups.size());
    }

    @Override
    InternalRow row() {
      return groups.row();
    }

    @Override
    void walk(Taker parts) {
      long[] low = groups.low();
      while (groups.nextPiece()) {
        Box part = local(groups.pieceLow(), groups.pieceSize(), low);
        Box held =
            groups.row() instanceof PieceInPlace piece
                ? local(piece.block().offset(), piece.block().sizes(), low)
                : part;
        List<Plane> planes = new ArrayList<>();
        boolean stays = retained.retains(groups.row());
        for (int ordinal : in.planes()) {
          HostMemory values = ArrayValues.memory(groups.row().getArray(ordinal), in.elementType());
          planes.add(new Plane(values, stays ? staying.owner(values) : Optional.empty()));
        }
        parts.take(part, held, planes);
      }
    }

    /** The box with its places counted from the array's first element. */
    private static Box local(long[] offset, long[] size, long[] first) {
      long[] local = new long[first.length];
      for (int axis = 0; axis < first.length; axis++) {
        local[axis] = offset[axis] - first[axis];
      }
      return Box.at(local, size);
    }
  }
}
