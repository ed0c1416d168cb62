package org.tilespark.kernels.pointwise;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.pointwise.ElementwiseCases.Block;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Input;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Output;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/** Two programs as one, against one after the other. */
class CompositionTest {
  @Test
  void oneProgramHasTheBitsOfTwo() {
    int composed = 0;
    for (int seed = 0; seed < 4000; seed++) {
      Random random = new Random(seed);
      ElementwiseProgram next = ElementwiseCases.random(random);
      ElementwiseProgram first = ElementwiseCases.random(random);
      int input = random.nextInt(next.inputs().size());
      first = giving(first, next.inputs().get(input));
      if (first == null
          || first.rank() != next.rank()
          || !next.inputs().get(input).broadcast().isEmpty()) {
        continue;
      }
      assertAgrees(next, input, first, random, "seed " + seed);
      composed++;
    }
    assertTrue(composed > 100, "only " + composed + " pairs fit");
  }

  /** The program with one output of an input's kind; null if it has no values of that type. */
  private static ElementwiseProgram giving(ElementwiseProgram program, Input input) {
    int value = program.types().lastIndexOf(input.type());
    int other = program.types().indexOf(input.type());
    return value < 0
        ? null
        : new ElementwiseProgram(
            program.rank(),
            program.inputs(),
            program.vectors(),
            program.code(),
            List.of(input.isComplex() ? new Output(value, other) : Output.real(value)));
  }

  private static void assertAgrees(
      ElementwiseProgram next, int input, ElementwiseProgram first, Random random, String what) {
    ElementwiseProgram both = next.behind(input, first);
    long[] extents = LongStream.generate(() -> 1 + random.nextInt(4)).limit(next.rank()).toArray();
    Shape shape = Shape.of(extents);
    Block block = ElementwiseCases.block(both, shape, random);
    int end = input + first.inputs().size();
    Block ofFirst =
        new Block(
            next.inputs().get(input).shape(shape),
            block.origin(),
            block.vectors().subList(0, first.vectors().size()),
            block.inputs().subList(input, end));
    List<List<long[]>> inputs = new ArrayList<>(block.inputs().subList(0, input));
    inputs.add(ElementwiseCases.results(first, ofFirst).get(0));
    inputs.addAll(block.inputs().subList(end, block.inputs().size()));
    Block ofNext =
        new Block(
            shape,
            block.origin(),
            block.vectors().subList(first.vectors().size(), block.vectors().size()),
            inputs);
    assertEquals(
        "",
        ElementwiseCases.difference(
            both,
            block,
            ElementwiseCases.results(next, ofNext),
            ElementwiseCases.results(both, block)),
        what);
  }

  /** Steps before a repeated element are computed for each place where it is repeated. */
  @Test
  void anInputThatIsRepeated() {
    ElementwiseProgram first =
        FilterPrograms.factor(new FilterPrograms.Taken(2, ElementType.FLOAT32, true), 0.1);
    ElementwiseProgram next = sum(Set.of(1));
    assertEquals(Set.of(1), next.behind(1, first).inputs().get(1).broadcast());
    assertAgrees(next, 1, first, new Random(1), "");
    ElementwiseProgram ofVectors =
        FilterPrograms.window(new FilterPrograms.Taken(2, ElementType.FLOAT32, true));
    assertEquals(List.of(0, 1), sum(Set.of()).behind(1, ofVectors).vectors());
    assertThrows(IllegalArgumentException.class, () -> next.behind(1, ofVectors));
  }

  private static ElementwiseProgram sum(Set<Integer> broadcast) {
    return new ElementwiseProgram(
        2,
        List.of(
            Input.of(ElementType.FLOAT32, true), new Input(ElementType.FLOAT32, true, broadcast)),
        List.of(),
        List.of(
            new Instruction.Load(0, 0),
            new Instruction.Load(1, 0),
            new Instruction.Binary(BinaryFunction.ADD, 0, 1),
            new Instruction.Load(1, 1)),
        List.of(new Output(2, 3)));
  }

  @Test
  void whatDoesNotFit() {
    ElementwiseProgram next = sum(Set.of());
    for (FilterPrograms.Taken other :
        List.of(
            new FilterPrograms.Taken(1, ElementType.FLOAT32, true),
            new FilterPrograms.Taken(2, ElementType.FLOAT64, true),
            new FilterPrograms.Taken(2, ElementType.FLOAT32, false))) {
      IllegalArgumentException refused =
          assertThrows(
              IllegalArgumentException.class,
              () -> next.behind(0, FilterPrograms.factor(other, 2)));
      assertTrue(refused.getMessage().contains("of rank 2"), refused.getMessage());
    }
  }

  @Test
  void programsDoNotGrowForEver() {
    FilterPrograms.Taken taken = new FilterPrograms.Taken(3, ElementType.FLOAT32, true);
    ElementwiseProgram window = FilterPrograms.window(taken);
    ElementwiseProgram all = window;
    while (window.isShortBehind(all)) {
      all = window.behind(0, all);
    }
    assertTrue(all.code().size() > 200 && all.code().size() < 300, "code of " + all.code().size());
    ElementwiseProgram few = FilterPrograms.factor(taken, 2);
    assertTrue(few.isShortBehind(few));
    assertFalse(few.isShortBehind(all.behind(0, few)));
  }

  @Test
  void arraysBehindEachOther() {
    ElementwiseProgram program = sum(Set.of(1)).repeated();
    assertEquals(3, program.rank());
    assertEquals(Set.of(2), program.inputs().get(1).broadcast());
    ElementwiseProgram window =
        FilterPrograms.window(new FilterPrograms.Taken(2, ElementType.FLOAT32, true));
    assertThrows(IllegalArgumentException.class, window::repeated);
    ElementwiseProgram ofCols =
        new ElementwiseProgram(
            2,
            List.of(),
            List.of(),
            List.of(new Instruction.Place(1)),
            List.of(ElementwiseProgram.Output.real(0)));
    assertEquals(List.of(new Instruction.Place(2)), ofCols.repeated().code());
  }
}
