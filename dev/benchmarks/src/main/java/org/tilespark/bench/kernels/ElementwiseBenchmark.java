package org.tilespark.bench.kernels;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.DeviceElementwise;
import org.tilespark.kernels.device.DeviceElementwise.At;
import org.tilespark.kernels.device.DeviceTransposer;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.pointwise.BinaryFunction;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Input;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Output;
import org.tilespark.kernels.pointwise.Instruction;
import org.tilespark.kernels.pointwise.UnaryFunction;
import org.tilespark.kernels.transpose.TransposePlan;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * Measures elementwise programs on the device and a device-to-device copy of the same bytes in the
 * same process. Programs run as kernels compiled for each program, and by an interpreter kernel.
 *
 * <p>{@code java org.tilespark.bench.kernels.ElementwiseBenchmark --commit ID [--runs 15]} prints
 * one line a case: milliseconds (median, by CUDA events), GB/s (bytes read and written / time), the
 * spread (maximum over minimum) and the ratio to the rate of the copy; then, for programs that the
 * driver has not compiled before, the milliseconds of the first use and the microseconds to queue
 * another.
 */
public final class ElementwiseBenchmark {
  static final double FACTOR = 1.0009765625;
  static final double TERM = -0.125;

  private static final long BYTES = 256L << 20;
  private static final long ROW = 4096;

  private final CudaDevice device;
  private final DeviceElementwise elementwise;
  private final DeviceTransposer transposer;
  private final int runs;

  private ElementwiseBenchmark(
      CudaDevice device, DeviceElementwise elementwise, DeviceTransposer transposer, int runs) {
    this.device = device;
    this.elementwise = elementwise;
    this.transposer = transposer;
    this.runs = runs;
  }

  /** Runs all cases; exits with status 1 if there is no device. */
  public static void main(String[] args) {
    KernelRun run = KernelRun.start(args, "ElementwiseBenchmark --commit ID [--runs N]", 15);
    try (CudaDevice device = LadderKernels.openDevice();
        DeviceElementwise elementwise = new DeviceElementwise(device);
        DeviceTransposer transposer = new DeviceTransposer(device)) {
      System.out.println(run.machine(device));
      new ElementwiseBenchmark(device, elementwise, transposer, run.runs()).all();
    }
  }

  private void all() {
    try (DeviceTimer timer = new DeviceTimer(device, BYTES, runs)) {
      double copy = timer.timeCopy()[runs / 2];
      double copyRate = 2.0 * BYTES / copy / 1e6;
      print("copy by the driver", timer.timeCopy(), 2.0 * BYTES, copyRate);
      for (ElementType type : List.of(ElementType.FLOAT32, ElementType.FLOAT64)) {
        for (int operations : new int[] {1, 3, 10}) {
          run(timer, copyRate, type + ", " + operations, arithmetic(type, false, operations));
          interpret(timer, copyRate, type, operations);
        }
        for (int operations : new int[] {1, 3, 10}) {
          run(
              timer,
              copyRate,
              type + " complex, " + operations,
              arithmetic(type, true, operations));
        }
        run(timer, copyRate, type + ", x * row + 1", broadcast(type, 0));
        run(timer, copyRate, type + ", x * column + 1", broadcast(type, 1));
        run(timer, copyRate, type + ", x + row + col", places(type));
        for (UnaryFunction function :
            List.of(
                UnaryFunction.SQRT,
                UnaryFunction.EXP,
                UnaryFunction.LOG,
                UnaryFunction.SIN,
                UnaryFunction.TAN,
                UnaryFunction.TANH,
                UnaryFunction.SIGMOID)) {
          run(timer, copyRate, type + ", " + function, of(type, function));
        }
        run(timer, copyRate, type + ", POW", power(type));
      }
      run(timer, copyRate, "INT8, 3", integers());
      firstUses(timer);
    }
  }

  private static Instruction.Constant number(ElementType type, double value) {
    return type == ElementType.FLOAT32
        ? Instruction.Constant.of((float) value)
        : Instruction.Constant.of(value);
  }

  /**
   * Returns a program that alternately multiplies by {@link #FACTOR} and adds {@link #TERM}, for
   * real and imaginary parts.
   */
  private static ElementwiseProgram arithmetic(
      ElementType type, boolean isComplex, int operations) {
    List<Instruction> code = new ArrayList<>();
    code.add(number(type, FACTOR));
    code.add(number(type, TERM));
    int[] last = new int[2];
    for (int part = 0; part < (isComplex ? 2 : 1); part++) {
      code.add(new Instruction.Load(0, part));
      for (int i = 0; i < operations; i++) {
        BinaryFunction function = i % 2 == 0 ? BinaryFunction.MULTIPLY : BinaryFunction.ADD;
        code.add(new Instruction.Binary(function, code.size() - 1, i % 2));
      }
      last[part] = code.size() - 1;
    }
    return new ElementwiseProgram(
        1,
        List.of(Input.of(type, isComplex)),
        List.of(),
        code,
        List.of(isComplex ? new Output(last[0], last[1]) : Output.real(last[0])));
  }

  private static ElementwiseProgram broadcast(ElementType type, int axis) {
    return new ElementwiseProgram(
        2,
        List.of(Input.of(type, false), new Input(type, false, Set.of(axis))),
        List.of(),
        List.of(
            new Instruction.Load(0, 0),
            new Instruction.Load(1, 0),
            new Instruction.Binary(BinaryFunction.MULTIPLY, 0, 1),
            number(type, 1),
            new Instruction.Binary(BinaryFunction.ADD, 2, 3)),
        List.of(Output.real(4)));
  }

  private static ElementwiseProgram places(ElementType type) {
    return new ElementwiseProgram(
        2,
        List.of(Input.of(type, false)),
        List.of(),
        List.of(
            new Instruction.Place(0),
            new Instruction.Place(1),
            new Instruction.Binary(BinaryFunction.ADD, 0, 1),
            new Instruction.Cast(type, 2),
            new Instruction.Load(0, 0),
            new Instruction.Binary(BinaryFunction.ADD, 3, 4)),
        List.of(Output.real(5)));
  }

  private static ElementwiseProgram of(ElementType type, UnaryFunction function) {
    return new ElementwiseProgram(
        1,
        List.of(Input.of(type, false)),
        List.of(),
        List.of(new Instruction.Load(0, 0), new Instruction.Unary(function, 0)),
        List.of(Output.real(1)));
  }

  private static ElementwiseProgram power(ElementType type) {
    return new ElementwiseProgram(
        1,
        List.of(Input.of(type, false)),
        List.of(),
        List.of(
            new Instruction.Load(0, 0),
            number(type, 1.7),
            new Instruction.Binary(BinaryFunction.POW, 0, 1)),
        List.of(Output.real(2)));
  }

  private static ElementwiseProgram integers() {
    return new ElementwiseProgram(
        1,
        List.of(Input.of(ElementType.INT8, false)),
        List.of(),
        List.of(
            new Instruction.Load(0, 0),
            new Instruction.Constant(ElementType.INT8, 3),
            new Instruction.Binary(BinaryFunction.MULTIPLY, 0, 1),
            new Instruction.Binary(BinaryFunction.ADD, 2, 1),
            new Instruction.Binary(BinaryFunction.MAXIMUM, 3, 0)),
        List.of(Output.real(4)));
  }

  private void run(DeviceTimer timer, double copyRate, String name, ElementwiseProgram program) {
    print(
        name + ", written",
        timer.time((in, out, at) -> queue(timer, program, new At(in, at), new At(out, at))),
        2.0 * BYTES,
        copyRate);
  }

  /** Queues a program. All inputs start at the same address; inputs after the first are small. */
  private void queue(DeviceTimer timer, ElementwiseProgram program, At in, At out) {
    Input input = program.inputs().get(0);
    long elements = BYTES / ((long) input.type().bytes() * (input.isComplex() ? 2 : 1));
    Shape shape = program.rank() == 1 ? Shape.of(elements) : Shape.of(elements / ROW, ROW);
    List<At> inputs = program.inputs().stream().map(each -> in).toList();
    elementwise.run(
        program, shape, new long[program.rank()], List.of(), inputs, List.of(out), timer.stream());
  }

  private void interpret(DeviceTimer timer, double copyRate, ElementType type, int operations) {
    Optional<KernelIndex.Kernel> kernel =
        device.kernels().index().find(InterpreterRung.FAMILY, type.bytes(), device.limits());
    long elements = BYTES / type.bytes();
    InterpreterRung rung =
        new InterpreterRung(
            elements,
            operations,
            kernel.orElseThrow(() -> new IllegalStateException("No interpreter in this build")));
    TransposePlan plan =
        new TransposePlan(
            new TransposeProblem(Shape.of(elements), Permutation.of(0), type.bytes()),
            rung,
            rung.launch(device.limits()));
    print(
        type + ", " + operations + ", interpreted",
        timer.time((in, out, at) -> transposer.enqueue(plan, in, at, out, at, timer.stream())),
        2.0 * BYTES,
        copyRate);
  }

  private void print(String name, double[] millis, double bytes, double copyRate) {
    double rate = bytes / millis[runs / 2] / 1e6;
    System.out.printf(
        Locale.ROOT,
        "%-36s %9.4f ms %6.0f GB/s  spread %5.2f  %5.2f of the copy%n",
        name,
        millis[runs / 2],
        rate,
        millis[millis.length - 1] / millis[0],
        rate / copyRate);
  }

  /** Measures the driver's compilation, with programs that it has never compiled. */
  private void firstUses(DeviceTimer timer) {
    Random random = new Random(System.nanoTime());
    Map<String, ElementwiseProgram> programs = new LinkedHashMap<>();
    programs.put("10 operations", arithmetic(ElementType.FLOAT32, false, 10));
    programs.put("SIN of doubles", of(ElementType.FLOAT64, UnaryFunction.SIN));
    programs.put("POW of doubles", power(ElementType.FLOAT64));
    programs.put("x + row + col", places(ElementType.FLOAT32));
    programs.forEach(
        (name, program) -> {
          // Unused constants make the program a new one, which is in no cache.
          List<Instruction> code = new ArrayList<>(program.code());
          for (int i = random.nextInt(1000); i >= 0; i--) {
            code.add(new Instruction.Constant(ElementType.INT32, 0));
          }
          ElementwiseProgram fresh =
              new ElementwiseProgram(
                  program.rank(), program.inputs(), List.of(), code, program.outputs());
          timer.stream().synchronize();
          double[] first = new double[1];
          timer.queueMicros(
              (in, out, at) -> {
                long start = System.nanoTime();
                queue(timer, fresh, new At(in, at), new At(out, at));
                first[0] = Math.max(first[0], (System.nanoTime() - start) / 1e6);
              });
          System.out.printf(
              Locale.ROOT,
              "first use of %-22s %8.1f ms; queueing it again %6.1f us%n",
              name,
              first[0],
              timer.queueMicros(
                  (in, out, at) -> queue(timer, program, new At(in, at), new At(out, at))));
        });
  }
}
