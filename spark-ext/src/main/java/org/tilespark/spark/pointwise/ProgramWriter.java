package org.tilespark.spark.pointwise;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.tilespark.kernels.pointwise.Instruction;

/**
 * Turns values into straight-line code. Equal instructions on equal operands are written once, and
 * unused values are left out.
 */
final class ProgramWriter {
  private final List<Instruction> code = new ArrayList<>();
  private final Map<Instruction, Integer> numbers = new HashMap<>();
  private final Map<Value, Integer> written = new IdentityHashMap<>();

  /** The number of a value in the code; writes the instructions that it needs. */
  int write(Value value) {
    Integer known = written.get(value);
    if (known != null) {
      return known;
    }
    List<Integer> operands = new ArrayList<>();
    value.operands().forEach(operand -> operands.add(write(operand)));
    int number =
        numbers.computeIfAbsent(
            value.instruction(operands),
            instruction -> {
              code.add(instruction);
              return code.size() - 1;
            });
    written.put(value, number);
    return number;
  }

  /** The instructions written so far. */
  List<Instruction> code() {
    return List.copyOf(code);
  }
}
