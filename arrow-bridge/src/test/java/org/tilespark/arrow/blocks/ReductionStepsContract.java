package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.arrow.memory.ArrowBuf;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.blocks.ArrayProgram.Part;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.kernels.pointwise.BinaryFunction;
import org.tilespark.kernels.pointwise.ElementwiseCode;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.reduce.BaseReduction;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/** Arrays in cells, each cell reduced alone, and their states merged. */
abstract class ReductionStepsContract extends PipelineFixture {
  /** An array of DOUBLE, or of BIGINT or FLOAT values that a double holds. */
  private record Array(Shape shape, ElementType type, double[] values) {
    static Array random(Shape shape, ElementType type, boolean nan, Random random) {
      double[] values = new double[(int) shape.elements()];
      for (int i = 0; i < values.length; i++) {
        values[i] =
            switch (type) {
              case FLOAT32, FLOAT64 -> (float) (100 + random.nextGaussian());
              default -> random.nextInt(40) - 20;
            };
        if (nan && random.nextInt(20) == 0) {
          values[i] = Double.NaN;
        }
      }
      return new Array(shape, type, values);
    }

    private int index(long[] at) {
      int index = 0;
      for (int axis = 0; axis < at.length; axis++) {
        index = (int) (index * shape.extent(axis) + at[axis]);
      }
      return index;
    }

    Array part(Box box) {
      Array part = new Array(Shape.of(box.sizes()), type, new double[(int) box.volume()]);
      part.forEach(
          at -> {
            long[] there = at.clone();
            Arrays.setAll(there, axis -> at[axis] + box.low(axis));
            part.values[part.index(at)] = values[index(there)];
          });
      return part;
    }

    void put(Box box, Array part) {
      part.forEach(
          at -> {
            long[] there = at.clone();
            Arrays.setAll(there, axis -> at[axis] + box.low(axis));
            values[index(there)] = part.values[part.index(at)];
          });
    }

    void forEach(Consumer<long[]> action) {
      for (int i = 0; i < values.length; i++) {
        long[] at = new long[shape.rank()];
        int left = i;
        for (int axis = at.length - 1; axis >= 0; axis--) {
          at[axis] = left % shape.extent(axis);
          left /= (int) shape.extent(axis);
        }
        action.accept(at);
      }
    }

    byte[] bytes() {
      byte[] bytes = new byte[values.length * type.bytes()];
      ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder());
      for (double value : values) {
        switch (type) {
          case INT8 -> buffer.put((byte) value);
          case INT16 -> buffer.putShort((short) value);
          case INT32 -> buffer.putInt((int) value);
          case INT64 -> buffer.putLong((long) value);
          case FLOAT32 -> buffer.putFloat((float) value);
          case FLOAT64 -> buffer.putDouble(value);
        }
      }
      return bytes;
    }

    static Array of(Shape shape, ElementType type, byte[] bytes) {
      ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder());
      double[] values = new double[(int) shape.elements()];
      for (int i = 0; i < values.length; i++) {
        values[i] =
            switch (type) {
              case INT8 -> buffer.get();
              case INT16 -> buffer.getShort();
              case INT32 -> buffer.getInt();
              case INT64 -> buffer.getLong();
              case FLOAT32 -> buffer.getFloat();
              case FLOAT64 -> buffer.getDouble();
            };
      }
      return new Array(shape, type, values);
    }
  }

  private Array run(BlockProgram program, Array array) {
    pipeline.begin(program);
    put(
        BlockPipeline.Part.whole(array.shape()),
        array.shape(),
        array.type(),
        List.of(array.bytes()),
        true);
    BlockProgram.State output = program.output();
    pipeline.run(List.of(BlockPipeline.Part.whole(output.shape())));
    List<ArrowBuf> results = pipeline.take();
    byte[] bytes = new byte[(int) output.planeBytes()];
    results.get(0).getBytes(0, bytes);
    Closing.all(results);
    return Array.of(output.shape(), output.type(), bytes);
  }

  /** The cells of a tiling, in any order. */
  private static List<Box> cells(Shape shape, Shape grid, Random random) {
    List<Box> cells = new ArrayList<>();
    cells(shape, grid, new long[shape.rank()], 0, cells);
    Collections.shuffle(cells, random);
    return cells;
  }

  private static void cells(Shape shape, Shape grid, long[] low, int axis, List<Box> cells) {
    if (axis == low.length) {
      long[] size = new long[low.length];
      Arrays.setAll(size, a -> Math.min(grid.extent(a), shape.extent(a) - low[a]));
      cells.add(Box.at(low.clone(), size));
      return;
    }
    for (low[axis] = 0; low[axis] < shape.extent(axis); low[axis] += grid.extent(axis)) {
      cells(shape, grid, low, axis + 1, cells);
    }
    low[axis] = 0;
  }

  private Array reduced(Array array, Reduce reduce, ElementwiseProgram finish, Random random) {
    ArrayProgram first = new ArrayProgram(array.shape(), array.type(), false, List.of(reduce));
    BlockProgram.State states = first.output();
    Array all =
        new Array(states.shape(), states.type(), new double[(int) states.shape().elements()]);
    ArrayProgram.Binding binding = first.binding();
    for (Box cell : cells(array.shape(), reduce.grid(), random)) {
      Part part = binding.on(List.of(cell), null);
      all.put(part.place(), run(part.program(), array.part(cell)));
    }
    Merge merge =
        new Merge(
            reduce.axes(), reduce.bases().stream().map(Reduce.Base::reduction).toList(), finish);
    return run(new BlockProgram(all.shape(), all.type(), false, List.of(merge)), all);
  }

  private static ElementwiseProgram itself(int rank, ElementType type, boolean inDouble) {
    ElementwiseCode code = new ElementwiseCode();
    int value = code.input(type);
    return code.program(
        rank,
        inDouble && type != ElementType.FLOAT64 ? code.cast(ElementType.FLOAT64, value) : value);
  }

  /** The number of a state as it is. */
  private static ElementwiseProgram number(int rank, ElementType type, int count, int which) {
    ElementwiseCode code = new ElementwiseCode();
    int found = -1;
    for (int i = 0; i < count; i++) {
      int value = code.input(type);
      found = i == which ? value : found;
    }
    return code.program(rank, found);
  }

  @Test
  void everyBaseReduction() {
    Random random = new Random(1);
    for (int i = 0; i < 150; i++) {
      int rank = 1 + random.nextInt(3);
      long[] extents = new long[rank];
      long[] grid = new long[rank];
      for (int axis = 0; axis < rank; axis++) {
        extents[axis] = 1L + random.nextInt(rank == 1 ? 3000 : rank == 2 ? 60 : 13);
        grid[axis] = 1L + random.nextInt((int) extents[axis]);
        grid[axis] = Math.max(grid[axis], extents[axis] / 4);
      }
      Set<Integer> axes = new TreeSet<>(Set.of(random.nextInt(rank)));
      if (random.nextBoolean()) {
        axes.add(random.nextInt(rank));
      }
      ElementType type = ElementType.values()[random.nextInt(ElementType.values().length)];
      boolean isFloat = type == ElementType.FLOAT32 || type == ElementType.FLOAT64;
      Array array =
          Array.random(Shape.of(extents), type, isFloat && random.nextInt(3) == 0, random);
      for (BaseReduction base : BaseReduction.values()) {
        boolean inDouble = base == BaseReduction.MOMENTS || random.nextBoolean();
        ElementType states =
            inDouble || random.nextBoolean() ? ElementType.FLOAT64 : base.state(type);
        Reduce reduce =
            new Reduce(
                List.copyOf(axes),
                Shape.of(grid),
                List.of(new Reduce.Base(base, itself(rank, type, inDouble))),
                states);
        for (int which = 0; which < base.numbers(); which++) {
          ElementwiseProgram finish = number(rank, states, base.numbers(), which);
          Array found = reduced(array, reduce, finish, random);
          Array expected = expected(array, axes, base, which);
          String message =
              base + " " + which + " of " + array.shape() + type + reduce.grid() + axes;
          assertEquals(expected.shape(), found.shape(), message);
          for (int e = 0; e < expected.values().length; e++) {
            double value = expected.values()[e];
            double error = Double.isNaN(value) ? 1 : Math.abs(value) * 1e-12 + 1e-9;
            assertEquals(value, found.values()[e], error, message);
          }
          // In another order of cells, and on the CPU: the same bits.
          Array again = onHost(() -> reduced(array, reduce, finish, random));
          assertTrue(Arrays.equals(found.values(), again.values()), message);
        }
      }
    }
  }

  /** The result of a piece of the test with the pipeline of the CPU. */
  private Array onHost(Supplier<Array> work) {
    BlockPipeline own = pipeline;
    try (HostTwin host = new HostTwin();
        BlockPipeline other = host.open(allocator, PipelineListener.NONE)) {
      pipeline = other;
      return work.get();
    } finally {
      pipeline = own;
    }
  }

  private static Array expected(Array array, Set<Integer> axes, BaseReduction base, int which) {
    long[] extents = array.shape().toArray();
    axes.forEach(axis -> extents[axis] = 1);
    Shape shape = Shape.of(extents);
    Array result = new Array(shape, ElementType.FLOAT64, new double[(int) shape.elements()]);
    List<List<Double>> sequences = new ArrayList<>();
    for (int i = 0; i < shape.elements(); i++) {
      sequences.add(new ArrayList<>());
    }
    array.forEach(
        at -> {
          long[] there = at.clone();
          axes.forEach(axis -> there[axis] = 0);
          sequences.get(result.index(there)).add(array.values()[array.index(at)]);
        });
    for (int i = 0; i < sequences.size(); i++) {
      result.values()[i] = value(sequences.get(i), base, which);
    }
    return result;
  }

  private static double value(List<Double> sequence, BaseReduction base, int which) {
    double sum = sequence.stream().mapToDouble(x -> x).sum();
    double mean = sum / sequence.size();
    boolean least = base == BaseReduction.MINIMUM || base == BaseReduction.ARGMIN;
    int best = 0;
    for (int i = 1; i < sequence.size(); i++) {
      double x = sequence.get(i);
      double y = sequence.get(best);
      if ((Double.isNaN(x) && !Double.isNaN(y)) || (least ? x < y : x > y)) {
        best = i;
      }
    }
    return switch (base) {
      case SUM -> sum;
      case MINIMUM, MAXIMUM -> sequence.get(best);
      case ARGMIN, ARGMAX -> which == 0 ? sequence.get(best) : best;
      case MOMENTS ->
          which == 0
              ? sequence.size()
              : which == 1
                  ? mean
                  : sequence.stream().mapToDouble(x -> (x - mean) * (x - mean)).sum();
    };
  }

  /** Two bases share an array of states; the finish takes both. */
  @Test
  void severalBasesAndAFinish() {
    Random random = new Random(2);
    Array array = Array.random(Shape.of(30, 7), ElementType.FLOAT32, false, random);
    ElementwiseProgram same = itself(2, ElementType.FLOAT32, false);
    Reduce reduce =
        new Reduce(
            List.of(0),
            Shape.of(8, 3),
            List.of(
                new Reduce.Base(BaseReduction.MAXIMUM, same),
                new Reduce.Base(BaseReduction.MINIMUM, same)),
            ElementType.FLOAT64);
    assertEquals(Shape.of(2, 3), reduce.cell());
    ElementwiseCode code = new ElementwiseCode();
    int most = code.input(ElementType.FLOAT64);
    int least = code.input(ElementType.FLOAT64);
    ElementwiseProgram finish =
        code.program(
            2, code.cast(ElementType.FLOAT32, code.apply(BinaryFunction.SUBTRACT, most, least)));
    Array found = reduced(array, reduce, finish, random);
    assertEquals(ElementType.FLOAT32, found.type());
    Array top = expected(array, Set.of(0), BaseReduction.MAXIMUM, 0);
    Array bottom = expected(array, Set.of(0), BaseReduction.MINIMUM, 0);
    for (int i = 0; i < 7; i++) {
      assertEquals((float) (top.values()[i] - bottom.values()[i]), found.values()[i]);
    }
  }

  /** Only whole axes are asked of a part that Merge takes, not of what Reduce takes. */
  @Test
  void partsOfReductions() {
    ElementwiseProgram same = itself(2, ElementType.INT32, false);
    Reduce reduce =
        new Reduce(
            List.of(1),
            Shape.of(4, 5),
            List.of(new Reduce.Base(BaseReduction.SUM, same)),
            ElementType.INT64);
    ArrayProgram program =
        new ArrayProgram(Shape.of(10, 13), ElementType.INT32, false, List.of(reduce));
    assertEquals(Set.of(), program.cutAxes().whole());
    assertEquals(Shape.of(10, 3), program.output().shape());
    Part last = program.binding().on(List.of(Box.at(new long[] {3, 10}, new long[] {6, 3})), null);
    assertEquals(Box.at(new long[] {3, 2}, new long[] {6, 1}), last.place());
    assertEquals(Shape.of(6, 1), last.program().output().shape());
    IllegalArgumentException refusal =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                program.binding().on(List.of(Box.at(new long[] {0, 5}, new long[] {4, 4})), null));
    assertTrue(refusal.getMessage().contains("4 elements along axis 1"), refusal.getMessage());
    ArrayProgram merging =
        new ArrayProgram(
            Shape.of(10, 3),
            ElementType.INT64,
            false,
            List.of(
                new Merge(
                    List.of(1), List.of(BaseReduction.SUM), number(2, ElementType.INT64, 1, 0))));
    assertEquals(Set.of(1), merging.cutAxes().whole());
  }
}
