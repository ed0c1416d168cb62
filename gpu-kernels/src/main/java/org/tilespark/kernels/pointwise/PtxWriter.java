package org.tilespark.kernels.pointwise;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Input;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Output;
import org.tilespark.layout.ElementType;

/**
 * Writes the kernel of an elementwise program in PTX.
 *
 * <p>A thread processes groups of neighbouring elements, one element per lane, and moves on by the
 * size of the grid; elements after the last whole group are processed one by one. Each value of the
 * program is a register in each lane: {@code %v3_0} is value 3 in lane 0. Rounding modes are
 * explicit, so that the driver's compiler makes no fused multiply-add of a product and a sum.
 */
final class PtxWriter implements Instruction.Visitor<Void> {
  private static final String INT_LEAST = "0x80000000";
  private static final String LONG_LEAST = "0x8000000000000000";

  private final PtxKernel kernel;
  private final ElementwiseProgram program;
  private final FusedAxes axes;
  private final List<ElementType> types;
  private final StringBuilder text = new StringBuilder();
  // Places of the struct's parts, counted in its fields of 64 bits.
  private final int elementsField;
  private final int extentsField;
  private final int originField;
  private final int stridesField;
  private final int constantsField;
  private final int fields;
  // State of the body that is being written.
  private int lanes;
  private final Map<Integer, Boolean> loaded = new HashMap<>(); // inputs; true: one element a lane
  private int now; // number of the instruction that is being written
  private int constant; // number of the next constant
  private int labels;

  PtxWriter(PtxKernel kernel) {
    this.kernel = kernel;
    program = kernel.program();
    axes = FusedAxes.of(program);
    types = program.types();
    elementsField = program.inputs().size() + program.outputs().size() + program.vectors().size();
    extentsField = elementsField + 1;
    originField = extentsField + axes.rank();
    stridesField = originField + program.rank();
    constantsField = stridesField + program.inputs().size() * axes.rank();
    fields =
        constantsField
            + (int)
                program.code().stream()
                    .filter(i -> i.constantBits().isPresent())
                    .limit(PtxKernel.MOST_ARGUMENTS)
                    .count();
  }

  /** The entry point, without the functions that it calls. */
  String kernel() {
    text.setLength(0);
    line(".visible .entry %s(.param .align 8 .b8 arguments[%d])", PtxKernel.NAME, 8 * fields);
    line(".maxntid %d, 1, 1", PtxKernel.THREADS);
    line("{");
    line(".reg .pred %%more;");
    line(".reg .b32 %%thread, %%block, %%threads;");
    line(".reg .b64 %%group, %%step, %%groups, %%elements, %%element;");
    line("mov.u32 %%thread, %%tid.x;");
    line("mov.u32 %%block, %%ctaid.x;");
    line("mov.u32 %%threads, %%ntid.x;");
    line("mul.wide.u32 %%group, %%block, %%threads;");
    line("cvt.u64.u32 %%step, %%thread;");
    line("add.u64 %%group, %%group, %%step;");
    line("mov.u32 %%block, %%nctaid.x;");
    line("mul.wide.u32 %%step, %%block, %%threads;");
    parameter("u64", "%elements", elementsField);
    line("shr.u64 %%groups, %%elements, %d;", Integer.numberOfTrailingZeros(kernel.lanes()));
    line("GROUP:");
    line("setp.ge.u64 %%more, %%group, %%groups;");
    line("@%%more bra REST;");
    line("shl.b64 %%element, %%group, %d;", Integer.numberOfTrailingZeros(kernel.lanes()));
    elements(kernel.lanes());
    line("add.u64 %%group, %%group, %%step;");
    line("bra GROUP;");
    line("REST:");
    if (kernel.lanes() > 1) {
      // The first threads without a group process one remaining element each.
      line("mul.lo.u64 %%step, %%groups, %d;", kernel.lanes() - 1);
      line("add.u64 %%element, %%group, %%step;");
      line("setp.ge.u64 %%more, %%element, %%elements;");
      line("@%%more bra END;");
      elements(1);
      line("END:");
    }
    line("ret;");
    line("}");
    return text.toString();
  }

  /** Writes the code for {@code count} elements, from {@code %element} on. */
  private void elements(int count) {
    lanes = count;
    loaded.clear();
    constant = 0;
    line("{");
    locate();
    for (now = 0; now < types.size(); now++) {
      line(".reg .%s %%v%d_<%d>;", type(now), now, lanes);
      program.code().get(now).accept(this);
    }
    for (int o = 0; o < program.outputs().size(); o++) {
      store(o);
    }
    line("}");
  }

  /**
   * Writes code that puts the first element's index along each fused axis into {@code %index0} and
   * so on.
   */
  private void locate() {
    int rank = axes.rank();
    line(".reg .b64 %%index<%d>, %%address, %%stride, %%place;", rank);
    line("mov.u64 %%index0, %%element;");
    for (int axis = rank - 1; axis > 0; axis--) {
      // %index0 gets the quotient and this axis's index the remainder, in 32-bit arithmetic where
      // that suffices.
      int label = labels++;
      line("{");
      line(".reg .pred p; .reg .b64 e, q, m; .reg .b32 a, b;");
      parameter("u64", "e", extentsField + axis);
      line("or.b64 m, %%index0, e; shr.u64 m, m, 32; setp.eq.u64 p, m, 0;");
      line("@p bra SHORT%d;", label);
      line("div.u64 q, %%index0, e;");
      line("bra DIVIDED%d;", label);
      line("SHORT%d:", label);
      line("cvt.u32.u64 a, %%index0; cvt.u32.u64 b, e; div.u32 a, a, b; cvt.u64.u32 q, a;");
      line("DIVIDED%d:", label);
      line("mul.lo.u64 m, q, e; sub.u64 %%index%d, %%index0, m; mov.u64 %%index0, q;", axis);
      line("}");
    }
  }

  private void line(String format, Object... arguments) {
    text.append(format.formatted(arguments)).append('\n');
  }

  private void parameter(String type, String register, int field) {
    line("ld.param.%s %s, [arguments+%d];", type, register, 8 * field);
  }

  private PtxType type(int value) {
    return PtxType.of(types.get(value));
  }

  private static String register(int value, int lane) {
    return "%v" + value + "_" + lane;
  }

  /**
   * Writes code that sets {@code %address} to the address of an element; the array's address is in
   * the struct's field {@code field}.
   */
  private void address(int field, String element, int elementBytes) {
    line(".reg .b64 a, o;");
    parameter("u64", "a", field);
    line("mul.lo.u64 o, %s, %d;", element, elementBytes);
    line("add.u64 %%address, a, o;");
  }

  @Override
  public Void load(Instruction.Load load) {
    Input input = program.inputs().get(load.input());
    if (!loaded.containsKey(load.input())) {
      loaded.put(load.input(), loadElements(load.input(), input));
    }
    int parts = input.isComplex() ? 2 : 1;
    for (int lane = 0; lane < lanes; lane++) {
      int from = (loaded.get(load.input()) ? lane * parts : 0) + load.part();
      line("mov.b%d %s, %%i%d_%d;", type(now).bits(), register(now, lane), load.input(), from);
    }
    return null;
  }

  /**
   * Writes code that loads an input's elements into {@code %iINPUT_0} and so on; false if all lanes
   * have the same element.
   */
  private boolean loadElements(int number, Input input) {
    boolean along = input.broadcast().stream().noneMatch(axis -> axes.of(axis) == axes.rank() - 1);
    int parts = input.isComplex() ? 2 : 1;
    int count = (along ? lanes : 1) * parts;
    PtxType type = PtxType.of(input.type());
    line(".reg .%s %%i%d_<%d>;", type, number, count);
    line("{");
    if (input.broadcast().isEmpty()) {
      address(number, "%element", parts * input.type().bytes());
    } else {
      line("mov.u64 %%place, 0;");
      for (int axis = 0; axis < axes.rank(); axis++) {
        parameter("u64", "%stride", stridesField + number * axes.rank() + axis);
        line("mad.lo.u64 %%place, %%index%d, %%stride, %%place;", axis);
      }
      address(number, "%place", parts * input.type().bytes());
    }
    line(
        "ld.global%s %s, [%%address];",
        memory(input.type(), count), registers("%i" + number + "_", count));
    line("}");
    return along;
  }

  /**
   * The type suffix with which {@code ld} moves {@code count} elements, such as {@code .v4.s8}; for
   * one element also that of {@code st} and {@code cvt}.
   */
  private static String memory(ElementType type, int count) {
    String name =
        switch (type) {
          case INT8 -> "s8";
          case INT16 -> "s16";
          case INT32, INT64, FLOAT32, FLOAT64 -> PtxType.of(type).toString();
        };
    return (count == 1 ? "." : ".v" + count + ".") + name;
  }

  private static String registers(String name, int count) {
    List<String> all = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      all.add(name + i);
    }
    return braced(all);
  }

  private static String braced(List<String> registers) {
    return registers.size() == 1 ? registers.get(0) : "{" + String.join(", ", registers) + "}";
  }

  private void store(int number) {
    Output output = program.outputs().get(number);
    ElementType type = types.get(output.real());
    List<String> values = new ArrayList<>();
    for (int lane = 0; lane < lanes; lane++) {
      values.add(register(output.real(), lane));
      if (output.isComplex()) {
        values.add(register(output.imag(), lane));
      }
    }
    line("{");
    address(
        program.inputs().size() + number, "%element", type.bytes() * (output.isComplex() ? 2 : 1));
    line("st.global%s [%%address], %s;", memory(type, values.size()), braced(values));
    line("}");
  }

  @Override
  public Void constant(Instruction.Constant value) {
    for (int lane = 0; lane < lanes; lane++) {
      if (constant < PtxKernel.MOST_ARGUMENTS) {
        parameter(type(now).toString(), register(now, lane), constantsField + constant);
      } else {
        line("mov.%s %s, %s;", type(now), register(now, lane), type(now).literal(value.bits()));
      }
    }
    constant++;
    return null;
  }

  @Override
  public Void place(Instruction.Place place) {
    int fused = axes.of(place.axis());
    boolean along = fused == axes.rank() - 1;
    parameter("u64", "%place", originField + place.axis());
    line("add.u64 %%place, %%place, %%index%d;", fused);
    for (int lane = 0; lane < lanes; lane++) {
      line("add.s64 %s, %%place, %d;", register(now, lane), along ? lane : 0);
    }
    return null;
  }

  @Override
  public Void axisValue(Instruction.AxisValue value) {
    int fused = axes.of(program.vectors().get(value.vector()));
    boolean along = fused == axes.rank() - 1;
    line("{");
    address(
        program.inputs().size() + program.outputs().size() + value.vector(),
        "%index" + fused,
        Double.BYTES);
    for (int lane = 0; lane < lanes; lane++) {
      line(
          "ld.global.f64 %s, [%%address+%d];",
          register(now, lane), along ? lane * Double.BYTES : 0);
    }
    line("}");
    return null;
  }

  @Override
  public Void unary(Instruction.Unary unary) {
    apply(unary.function().ptx(), unary.operand(), unary.operand());
    return null;
  }

  @Override
  public Void binary(Instruction.Binary binary) {
    apply(binary.function().ptx(), binary.left(), binary.right());
    return null;
  }

  private void apply(PtxFunction function, int left, int right) {
    for (int lane = 0; lane < lanes; lane++) {
      String result = register(now, lane);
      text.append(
              function.text(types.get(left), register(left, lane), register(right, lane), result))
          .append('\n');
      narrow(result);
    }
  }

  /**
   * Writes code that sign-extends the low bits of a value of INT8 or INT16 to its register's 32
   * bits.
   */
  private void narrow(String register) {
    ElementType type = types.get(now);
    if (type == ElementType.INT8 || type == ElementType.INT16) {
      line("cvt.s32%s %s, %s;", memory(type, 1), register, register);
    }
  }

  @Override
  public Void select(Instruction.Select select) {
    for (int lane = 0; lane < lanes; lane++) {
      line(
          "{ .reg .pred p; setp.ne.s32 p, %s, 0; selp.b%d %s, %s, %s, p; }",
          register(select.condition(), lane),
          type(now).bits(),
          register(now, lane),
          register(select.yes(), lane),
          register(select.no(), lane));
    }
    return null;
  }

  @Override
  public Void cast(Instruction.Cast cast) {
    PtxType from = type(cast.operand());
    PtxType to = type(now);
    for (int lane = 0; lane < lanes; lane++) {
      String x = register(cast.operand(), lane);
      String result = register(now, lane);
      if (from == to) {
        line("mov.b%d %s, %s;", to.bits(), result, x);
      } else if (from.isFloat() && !to.isFloat()) {
        // PTX converts values outside the range to the nearest integer in it, and NaN to 0.
        line(
            "{ .reg .pred p; .reg .%s i; cvt.rzi.%s.%s i, %s; setp.lt.%s p, %s, %s;"
                + " selp.%s %s, i, %s, p; }",
            to, to, from, x, from, x, end(from, to), to, result, least(to));
      } else {
        boolean rounds = to.isFloat() && !(from == PtxType.F32 && to == PtxType.F64);
        line("cvt%s.%s.%s %s, %s;", rounds ? ".rn" : "", to, from, result, x);
      }
      narrow(result);
    }
    return null;
  }

  private static String least(PtxType type) {
    return type == PtxType.S32 ? INT_LEAST : LONG_LEAST;
  }

  /** The first number above the range of an integer type, as a literal of a floating-point type. */
  private static String end(PtxType from, PtxType to) {
    double end = to == PtxType.S32 ? 0x1p31 : 0x1p63;
    return from == PtxType.F32
        ? "0f%08X".formatted(Float.floatToRawIntBits((float) end))
        : "0d%016X".formatted(Double.doubleToRawLongBits(end));
  }
}
