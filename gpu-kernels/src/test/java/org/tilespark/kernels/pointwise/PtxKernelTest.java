package org.tilespark.kernels.pointwise;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Input;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Output;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

class PtxKernelTest {
  private static final DeviceLimits H200 =
      new DeviceLimits(9, 0, 132, 1024, Integer.MAX_VALUE, 48 << 10, 140L << 30);

  private static ElementwiseProgram productAndSum(ElementType type, long bits, Input second) {
    return new ElementwiseProgram(
        2,
        List.of(Input.of(type, false), second),
        List.of(),
        List.of(
            new Instruction.Load(0, 0),
            new Instruction.Load(1, 0),
            new Instruction.Binary(BinaryFunction.MULTIPLY, 0, 1),
            new Instruction.Constant(type, bits),
            new Instruction.Binary(BinaryFunction.ADD, 2, 3)),
        List.of(Output.real(4)));
  }

  @Test
  void productsAreRoundedBeforeTheyAreAdded() {
    ElementwiseProgram program =
        productAndSum(ElementType.FLOAT32, 1, Input.of(ElementType.FLOAT32, false));
    String ptx = new PtxKernel(program, 4).ptx(PtxLibrary.NONE);
    assertTrue(ptx.startsWith(".version "), ptx);
    assertTrue(ptx.contains("ld.global.v4.f32 {%i1_0, %i1_1, %i1_2, %i1_3}, [%address];"), ptx);
    assertTrue(ptx.contains("mul.rn.f32 %v2_3, %v0_3, %v1_3;"), ptx);
    assertTrue(ptx.contains("add.rn.f32 %v4_3, %v2_3, %v3_3;"), ptx);
    assertTrue(ptx.contains("ld.param.f32 %v3_3, [arguments+72];"), ptx);
    assertTrue(ptx.contains("st.global.v4.f32 [%address], {%v4_0, %v4_1, %v4_2, %v4_3};"), ptx);
    assertFalse(ptx.contains("div.u64"), ptx); // of one row
  }

  @Test
  void anotherConstantNeedsNoOtherKernel() {
    Input column = new Input(ElementType.FLOAT64, false, Set.of(1));
    ElementwiseProgram one = productAndSum(ElementType.FLOAT64, 1, column);
    ElementwiseProgram two = productAndSum(ElementType.FLOAT64, 2, column);
    Shape shape = Shape.of(30, 1000);
    long[] addresses = {256, 512, 1024};
    assertEquals(PtxKernel.of(one, shape, addresses), PtxKernel.of(two, shape, addresses));
    KernelLaunch launch =
        PtxKernel.of(one, shape, addresses).launch(two, shape, new long[] {7, 9}, H200);
    assertEquals(new LaunchConfig(59, 256, 0), launch.config());
    assertArrayEquals(new long[] {30_000, 30, 1000, 7, 9, 1000, 1, 1, 0, 2}, launch.words());
  }

  @Test
  void constantsBeyondTheArgumentsArePartOfTheKernel() {
    ElementwiseProgram program = ElementwiseCases.manyConstants(ElementType.INT64);
    PtxKernel kernel = new PtxKernel(program, 1);
    KernelLaunch launch = kernel.launch(program, Shape.of(10), new long[1], H200);
    assertEquals(4 + PtxKernel.MOST_ARGUMENTS, launch.words().length);
    String ptx = kernel.ptx(PtxLibrary.NONE);
    assertTrue(ptx.contains("mov.s64 %v599_0, 149;"), ptx);
    assertFalse(ptx.contains("arguments+4352"), ptx);
  }

  @Test
  void asManyLanesAsRowsAndAddressesAllow() {
    Input row = new Input(ElementType.FLOAT32, false, Set.of(0));
    ElementwiseProgram rows = productAndSum(ElementType.FLOAT32, 1, row);
    assertEquals(4, lanes(rows, Shape.of(3, 8), 256, 16, 256));
    assertEquals(2, lanes(rows, Shape.of(3, 8), 256, 8, 256));
    assertEquals(2, lanes(rows, Shape.of(3, 6), 256, 16, 256));
    assertEquals(1, lanes(rows, Shape.of(3, 7), 256, 16, 256));
    ElementwiseProgram flat =
        productAndSum(ElementType.FLOAT32, 1, Input.of(ElementType.FLOAT32, false));
    assertEquals(4, lanes(flat, Shape.of(3, 7), 256, 16, 256));
    ElementwiseProgram doubles =
        productAndSum(ElementType.FLOAT64, 1, Input.of(ElementType.FLOAT64, false));
    assertEquals(2, lanes(doubles, Shape.of(3, 7), 256, 16, 256));
    ElementwiseProgram complex =
        productAndSum(ElementType.FLOAT64, 1, Input.of(ElementType.FLOAT64, true));
    assertEquals(1, lanes(complex, Shape.of(3, 8), 256, 16, 256));
  }

  private static int lanes(ElementwiseProgram program, Shape shape, long... addresses) {
    return PtxKernel.of(program, shape, addresses).lanes();
  }

  @Test
  void takesFunctionsAndWhatTheseUse() {
    PtxLibrary library =
        PtxLibrary.parse(
            """
            // made by hand
            .version 8.0
            .target sm_75
            .address_size 64

            .func  (.param .b64 r) helper
            (
              .param .b64 x
            )
            ;
            .global .align 4 .b8 table[2] = {1, 2};
            .global .align 4 .b8 other[2] = {1, 2};
            .visible .func  (.param .b64 r) tilespark_exp_f64(
              .param .b64 x
            )
            {
              call (r), helper, (x);
            }
            .visible .func  (.param .b64 r) tilespark_sin_f64(
              .param .b64 x
            )
            {
              mov.u64 a, other;
            }
            .func  (.param .b64 r) helper(
              .param .b64 x
            )
            {
              mov.u64 a, table;
            }
            """);
    assertEquals(
        Set.of("helper", "table", "other", "tilespark_exp_f64", "tilespark_sin_f64"),
        library.names());
    PtxKernel exp = new PtxKernel(ElementwiseCases.of(UnaryFunction.EXP, ElementType.FLOAT64), 2);
    String ptx = exp.ptx(library);
    assertTrue(exp.needsLibrary());
    assertTrue(ptx.startsWith(".version 8.0\n.target sm_75\n.address_size 64\n"), ptx);
    assertTrue(ptx.indexOf("table[2]") < ptx.indexOf("mov.u64 a, table"), ptx);
    assertEquals(3, ptx.split("helper", -1).length - 1, ptx);
    assertFalse(ptx.contains("other"), ptx);
    assertFalse(ptx.contains("tilespark_sin"), ptx);
    PtxKernel log = new PtxKernel(ElementwiseCases.of(UnaryFunction.LOG, ElementType.FLOAT64), 2);
    IllegalArgumentException refusal =
        assertThrows(IllegalArgumentException.class, () -> log.ptx(library));
    assertEquals("There is no device function tilespark_log_f64", refusal.getMessage());
    assertThrows(IllegalArgumentException.class, () -> PtxLibrary.parse("int x;"));
  }

  /** NVIDIA's assembler takes every function on every type, and random programs. */
  @Test
  @EnabledOnOs(OS.LINUX)
  void isAssembled(@TempDir Path folder) throws IOException, InterruptedException {
    Availability<String> functions = KernelIndex.ofThisJar().functions(PtxLibrary.SOURCE);
    assumeTrue(functions.isPresent(), functions.whyNot());
    Process find =
        new ProcessBuilder("bash", "src/main/cuda/find-nvcc.sh", "--offline")
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    String nvcc = new String(find.getInputStream().readAllBytes()).strip();
    assumeTrue(find.waitFor() == 0, "there is no nvcc here");
    PtxLibrary library = PtxLibrary.parse(functions.get());
    List<ElementwiseProgram> programs = new ArrayList<>(ElementwiseCases.ofOneStep());
    for (int seed = 0; seed < 60; seed++) {
      programs.add(ElementwiseCases.random(new Random(seed)));
    }
    for (ElementType type : ElementType.values()) {
      programs.add(ElementwiseCases.manyConstants(type));
    }
    StringBuilder kernels = new StringBuilder();
    for (ElementwiseProgram program : programs) {
      String name = "elementwise_" + kernels.length();
      int lanes = lanes(program, Shape.of(4, 4, 4, 4), new long[16]);
      kernels.append(
          new PtxWriter(new PtxKernel(program, lanes))
              .kernel()
              .replace(PtxKernel.NAME + "(", name + "("));
    }
    Path file = folder.resolve("all.ptx");
    Files.writeString(file, library.header() + library.sections(kernels.toString()) + kernels);
    Process assembler =
        new ProcessBuilder(
                Path.of(nvcc).resolveSibling("ptxas").toString(),
                "-O0",
                "-arch=sm_90",
                "-o",
                folder.resolve("all.cubin").toString(),
                file.toString())
            .redirectErrorStream(true)
            .start();
    String said = new String(assembler.getInputStream().readAllBytes());
    assertEquals(0, assembler.waitFor(), said);
  }
}
