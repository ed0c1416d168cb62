package org.tilespark.kernels.pointwise;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Input;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Output;

/**
 * Joins two elementwise programs into one; the first computes an input of the second. Values keep
 * their types, so each is rounded as if the array between the two had been stored.
 */
final class Composition implements Instruction.Visitor<Integer> {
  private final ElementwiseProgram first;
  private final ElementwiseProgram next;
  private final int input; // number of the input of next
  private final List<Instruction> code = new ArrayList<>();
  private List<Integer> values = new ArrayList<>(); // by value of a program: its number in code
  // The output of first in the joined code; null while first's instructions are added
  private Output given;

  private Composition(ElementwiseProgram first, ElementwiseProgram next, int input) {
    this.first = first;
    this.next = next;
    this.input = input;
  }

  /**
   * Composes two programs as {@link ElementwiseProgram#behind} does; {@code input} is an input of
   * {@code next}.
   */
  static ElementwiseProgram of(ElementwiseProgram first, ElementwiseProgram next, int input) {
    requireFits(first, next, input);
    return new Composition(first, next, input).program();
  }

  private static void requireFits(ElementwiseProgram first, ElementwiseProgram next, int input) {
    Input taken = next.inputs().get(input);
    boolean fits = first.rank() == next.rank() && first.outputs().size() == 1;
    if (fits) {
      Output given = first.outputs().get(0);
      fits =
          first.types().get(given.real()) == taken.type() && given.isComplex() == taken.isComplex();
    }
    boolean dependsOnPlace = first.readsPlaces() || !first.vectors().isEmpty();
    if (!fits || (dependsOnPlace && !taken.broadcast().isEmpty())) {
      throw new IllegalArgumentException(
          "A program that gives %s arrays of rank %s%s in place of %s of a program of rank %s"
              .formatted(
                  first.outputs().size(),
                  first.rank(),
                  dependsOnPlace ? ", and depends on places," : "",
                  taken,
                  next.rank()));
    }
  }

  private ElementwiseProgram program() {
    first.code().forEach(instruction -> values.add(instruction.accept(this)));
    given = placed(first.outputs().get(0));
    values = new ArrayList<>();
    next.code().forEach(instruction -> values.add(instruction.accept(this)));

    List<Input> inputs = new ArrayList<>(next.inputs().subList(0, input));
    Set<Integer> repeated = next.inputs().get(input).broadcast();
    for (Input each : first.inputs()) {
      Set<Integer> broadcast = new HashSet<>(each.broadcast());
      broadcast.addAll(repeated);
      inputs.add(new Input(each.type(), each.isComplex(), broadcast));
    }
    inputs.addAll(next.inputs().subList(input + 1, next.inputs().size()));
    List<Integer> vectors = new ArrayList<>(first.vectors());
    vectors.addAll(next.vectors());
    List<Output> outputs = next.outputs().stream().map(this::placed).toList();
    return new ElementwiseProgram(next.rank(), inputs, vectors, code, outputs);
  }

  /**
   * An output of the program that was added last, by the numbers of its values in the joined code.
   */
  private Output placed(Output output) {
    return new Output(
        values.get(output.real()), output.isComplex() ? values.get(output.imag()) : -1);
  }

  private int add(Instruction instruction) {
    code.add(instruction);
    return code.size() - 1;
  }

  @Override
  public Integer load(Instruction.Load load) {
    if (given == null) {
      return add(new Instruction.Load(load.input() + input, load.part()));
    }
    if (load.input() == input) {
      return load.part() == 0 ? given.real() : given.imag();
    }
    int shift = load.input() > input ? first.inputs().size() - 1 : 0;
    return add(new Instruction.Load(load.input() + shift, load.part()));
  }

  @Override
  public Integer constant(Instruction.Constant constant) {
    return add(constant);
  }

  @Override
  public Integer place(Instruction.Place place) {
    return add(place);
  }

  @Override
  public Integer axisValue(Instruction.AxisValue value) {
    int shift = given == null ? 0 : first.vectors().size();
    return add(new Instruction.AxisValue(value.vector() + shift));
  }

  @Override
  public Integer unary(Instruction.Unary unary) {
    return add(new Instruction.Unary(unary.function(), values.get(unary.operand())));
  }

  @Override
  public Integer binary(Instruction.Binary binary) {
    return add(
        new Instruction.Binary(
            binary.function(), values.get(binary.left()), values.get(binary.right())));
  }

  @Override
  public Integer select(Instruction.Select select) {
    return add(
        new Instruction.Select(
            values.get(select.condition()), values.get(select.yes()), values.get(select.no())));
  }

  @Override
  public Integer cast(Instruction.Cast cast) {
    return add(new Instruction.Cast(cast.type(), values.get(cast.operand())));
  }
}
