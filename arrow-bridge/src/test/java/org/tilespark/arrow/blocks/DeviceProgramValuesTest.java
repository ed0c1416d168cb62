package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.DeviceOperation.Transform;

/** Results and buffers of plans with several inputs, played through on the host. */
class DeviceProgramValuesTest {
  /** Bit for bit, also with neighbouring elementwise steps as one. */
  @Test
  void programsWithoutTransforms() {
    int several = 0;
    int joined = 0;
    for (int seed = 0; seed < 600; seed++) {
      Random random = new Random(seed);
      RandomPrograms programs = new RandomPrograms(random, false);
      BlockProgram program = programs.giving(programs.state(), 2);
      List<List<byte[]>> inputs = new ArrayList<>();
      List<byte[]> onDevice = new ArrayList<>();
      for (State input : program.inputs()) {
        List<byte[]> planes = new ArrayList<>();
        for (int p = 0; p < input.planes(); p++) {
          byte[] plane = new byte[(int) input.planeBytes()];
          random.nextBytes(plane);
          planes.add(plane);
        }
        inputs.add(planes);
        onDevice.add(ExactPlanes.interleaved(planes, input.type().bytes()));
      }
      byte[] expected =
          ExactPlanes.interleaved(
              ExactPlanes.result(program, inputs.iterator()), program.output().type().bytes());
      BlockProgram fewer =
          new BlockProgram(
              program.shape(),
              program.type(),
              program.isComplex(),
              BlockProgram.joined(program.steps(), new Compositions()));
      assertEquals(program.inputs(), fewer.inputs());
      assertEquals(program.output(), fewer.output());
      for (BlockProgram each : List.of(program, fewer)) {
        DeviceProgram plan = DeviceProgram.of(each, 1, Transform::workLimit);
        byte[] found = PlayedProgram.result(plan, plan.buffers(), onDevice);
        assertArrayEquals(expected, found, "seed " + seed + ": " + each);
      }
      several += inputs.size() > 1 ? 1 : 0;
      joined += fewer.equals(program) ? 0 : 1;
    }
    assertTrue(several > 100 && joined > 50, several + " of several inputs, joined " + joined);
  }

  @Test
  void programsWithTransforms() {
    int factors = 0;
    for (int seed = 0; seed < 600; seed++) {
      Random random = new Random(seed);
      RandomPrograms programs = new RandomPrograms(random, true);
      BlockProgram program = programs.giving(programs.state(), 2);
      List<OracleArray> inputs = new ArrayList<>();
      List<byte[]> onDevice = new ArrayList<>();
      for (State input : program.inputs()) {
        OracleArray array =
            OracleArray.random(input.shape(), input.isComplex(), input.type(), seed);
        inputs.add(array);
        onDevice.add(
            ExactPlanes.interleaved(
                PipelineFixture.bytes(array, input.type()), input.type().bytes()));
      }
      State output = program.output();
      DeviceProgram plan = DeviceProgram.of(program, 1, transform -> 100);
      byte[] bytes = PlayedProgram.result(plan, plan.buffers(), onDevice);
      List<byte[]> planes = ExactPlanes.planes(bytes, output.planes(), output.type().bytes());
      OracleArray found = OracleArray.ofBytes(output.shape(), output.type(), planes);
      for (int i = 0; i < found.re().length; i++) {
        found.re()[i] *= plan.factor();
        if (found.isComplex()) {
          found.im()[i] *= plan.factor();
        }
      }
      OracleArray expected = OracleArray.result(program, inputs.iterator());
      double error = expected.relativeError(found);
      assertTrue(error < 2e-5, "seed " + seed + ": error " + error + " of " + program);
      factors += plan.factor() == 1 ? 0 : 1;
    }
    assertTrue(factors > 20, "factors at the end: " + factors);
  }

  /** Buffers of one input: two, and one for work areas, whatever comes after what. */
  @Test
  void programsOfOneInputNeedTwoBuffers() {
    for (int seed = 0; seed < 300; seed++) {
      RandomPrograms programs = new RandomPrograms(new Random(seed), true);
      BlockProgram program = programs.giving(programs.state(), 0);
      DeviceProgram without = DeviceProgram.of(program, 1, transform -> 0);
      assertTrue(without.buffers().size() <= 2, program + ": " + without.buffers());
      DeviceProgram with = DeviceProgram.of(program, 1, transform -> 1);
      assertTrue(with.buffers().size() <= 3, program + ": " + with.buffers());
    }
  }
}
