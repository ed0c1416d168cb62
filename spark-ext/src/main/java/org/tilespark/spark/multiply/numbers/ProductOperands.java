package org.tilespark.spark.multiply.numbers;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import org.tilespark.arrow.blocks.ArrayProgram;
import org.tilespark.arrow.blocks.ArrayStep;
import org.tilespark.arrow.blocks.Elementwise;
import org.tilespark.arrow.blocks.Interleave;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Input;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Output;
import org.tilespark.kernels.pointwise.Instruction;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.stage.ProgramBlocks;

/**
 * Converts operands of any number type to real FLOAT or DOUBLE matrices, in the stage that reads
 * the blocks. Real and imaginary parts of complex numbers alternate.
 */
public final class ProductOperands {
  /** Integer types whose values FLOAT holds exactly. */
  private static final Set<ElementType> SHORT = Set.of(ElementType.INT8, ElementType.INT16);

  private ProductOperands() {}

  /**
   * The type of a product, by numpy's promotion where at least one type is floating-point: FLOAT if
   * it can represent all values of both operands, otherwise DOUBLE. A product of integers is
   * DOUBLE.
   */
  public static ElementType type(ElementType a, ElementType b) {
    boolean isFloating = a == ElementType.FLOAT32 || b == ElementType.FLOAT32;
    return isFloating ? scoreType(a, b) : ElementType.FLOAT64;
  }

  /**
   * The type of operands whose products are summed in double: FLOAT if it can represent their
   * values.
   */
  public static ElementType scoreType(ElementType a, ElementType b) {
    return holds(a) && holds(b) ? ElementType.FLOAT32 : ElementType.FLOAT64;
  }

  private static boolean holds(ElementType type) {
    return type == ElementType.FLOAT32 || SHORT.contains(type);
  }

  /**
   * An operand as a real matrix.
   *
   * @param extents extents of the operand as it is stored
   * @param type type of the product
   * @param axis axis, as stored, along which real and imaginary parts alternate: the axis that C
   *     has too
   */
  public static BlockFrame real(BlockFrame operand, Shape extents, ElementType type, int axis) {
    BlockSchema blocks = operand.blocks();
    List<ArrayStep> steps = new ArrayList<>();
    if (blocks.elementType() != type) {
      String name = BlockSchema.sparkType(type).sql();
      steps.add(new Elementwise(cast(blocks, type), "CAST(v AS %s)".formatted(name)));
    }
    if (blocks.isComplex()) {
      steps.add(new Interleave(axis));
    }
    if (steps.isEmpty()) {
      return operand;
    }
    ArrayProgram program =
        new ArrayProgram(extents, blocks.elementType(), blocks.isComplex(), steps);
    Optional<Shape> blockShape = operand.blockShape().map(program::blockShape);
    ArrayMetadata known = ArrayMetadata.empty().withExtents(program.output().shape());
    return BlockFrame.of(
        ProgramBlocks.of(
            operand.plan(),
            BlockKind.MATRIX,
            program,
            blockShape.map(known::withBlockShape).orElse(known).toMetadata(),
            Optional.empty(),
            Missing.ERROR,
            operand.operator()),
        BlockKind.MATRIX,
        operand.operator());
  }

  private static ElementwiseProgram cast(BlockSchema blocks, ElementType type) {
    int planes = blocks.planes().size();
    List<Instruction> code = new ArrayList<>();
    IntStream.range(0, planes).forEach(plane -> code.add(new Instruction.Load(0, plane)));
    IntStream.range(0, planes).forEach(plane -> code.add(new Instruction.Cast(type, plane)));
    return new ElementwiseProgram(
        blocks.kind().rank(),
        List.of(Input.of(blocks.elementType(), blocks.isComplex())),
        List.of(),
        code,
        List.of(new Output(planes, blocks.isComplex() ? planes + 1 : -1)));
  }
}
