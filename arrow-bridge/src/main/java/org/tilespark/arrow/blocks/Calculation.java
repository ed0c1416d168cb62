package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.reduce.ReductionProblem;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/**
 * Straight-line code on dense, row-major arrays for a step that needs several passes; CPU and
 * device run the same code. Array 0 is the step's input; all others are written before they are
 * read.
 *
 * @param arrays states of all arrays
 * @param result the number of the array that is the step's result
 * @param passes the passes, in order
 */
record Calculation(List<State> arrays, int result, List<Pass> passes) {
  /** Copies the lists. */
  Calculation {
    arrays = List.copyOf(arrays);
    passes = List.copyOf(passes);
  }

  /**
   * An element of an array, where contiguous numbers begin.
   *
   * @param array number of the array
   */
  record At(int array, long element) {
    /** The beginning of an array. */
    static At start(int array) {
      return new At(array, 0);
    }
  }

  /** One pass over arrays of the calculation. */
  interface Pass {
    /** Runs this pass on a twin. */
    void on(Twin twin);

    /** The places that this pass reads and writes. */
    List<At> places();
  }

  /** Runs passes, on the host or on a device; each kind of pass has its method. */
  interface Twin {
    void map(Map map);

    void fold(Fold fold);

    void move(Move move);
  }

  /**
   * A pass that runs an elementwise program; each input and output begins at a given place.
   *
   * @param shape shape of the outputs
   */
  record Map(ElementwiseProgram program, Shape shape, List<At> inputs, List<At> outputs)
      implements Pass {
    /** Copies the lists. */
    Map {
      inputs = List.copyOf(inputs);
      outputs = List.copyOf(outputs);
    }

    @Override
    public void on(Twin twin) {
      twin.map(this);
    }

    @Override
    public List<At> places() {
      return Stream.concat(inputs.stream(), outputs.stream()).toList();
    }
  }

  /** A reduction along axes, of a real array. */
  record Fold(ReductionProblem problem, At in, At out) implements Pass {
    @Override
    public void on(Twin twin) {
      twin.fold(this);
    }

    @Override
    public List<At> places() {
      return List.of(in, out);
    }
  }

  /** A transpose of a real array. */
  record Move(TransposeProblem problem, At in, At out) implements Pass {
    @Override
    public void on(Twin twin) {
      twin.move(this);
    }

    @Override
    public List<At> places() {
      return List.of(in, out);
    }
  }

  /** Collects the arrays and passes of a calculation. */
  static final class Builder {
    private final List<State> arrays = new ArrayList<>();
    private final List<Pass> passes = new ArrayList<>();

    /** A calculation without passes, whose input has the state {@code taken}. */
    Builder(State taken) {
      arrays.add(taken);
    }

    /** The state of the input. */
    State taken() {
      return arrays.get(0);
    }

    /** The state of an array, by its number. */
    State state(int array) {
      return arrays.get(array);
    }

    /** Adds an array; returns its number. */
    int array(State state) {
      arrays.add(state);
      return arrays.size() - 1;
    }

    /** Adds a real array; returns its number. */
    int array(Shape shape, ElementType type) {
      return array(new State(shape, type, false));
    }

    void map(ElementwiseProgram program, Shape shape, List<At> inputs, List<At> outputs) {
      passes.add(new Map(program, shape, inputs, outputs));
    }

    void fold(ReductionProblem problem, At in, At out) {
      passes.add(new Fold(problem, in, out));
    }

    void move(TransposeProblem problem, At in, At out) {
      passes.add(new Move(problem, in, out));
    }

    Calculation giving(int result) {
      return new Calculation(arrays, result, passes);
    }
  }
}
