package org.tilespark.spark.multiply.cost;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tilespark.kernels.host.HostProfile;
import org.tilespark.kernels.multiply.Extents;
import org.tilespark.layout.AxisCuts;
import org.tilespark.layout.Cuts;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.PieceCursor;
import org.tilespark.spark.multiply.cost.ClusterResources.Rates;
import org.tilespark.spark.multiply.cost.CuboidPlan.Candidate;
import org.tilespark.spark.multiply.cost.CuboidPlan.Strategy;
import org.tilespark.spark.multiply.cost.MultiplyShape.InPlaceOperands;

/** The way that a multiply is spread over tasks, and its predicted cost. */
class CuboidPlannerTest {
  private static final long KIB = 1L << 10;
  private static final long MIB = 1L << 20;
  private static final long GIB = 1L << 30;

  /** A CPU whose cores do 40 GFLOP/s on FLOAT and 20 on DOUBLE, whatever this machine does. */
  private static final HostProfile CPU =
      new HostProfile(256, 16, 32 * KIB, 512 * KIB, 2 * MIB, 16, 40e9 / 0.9 / 32);

  private static final Rates RATES = Rates.of(false, CPU);

  /** One machine of 16 cores with one GPU, nothing broadcast. */
  private static ClusterResources gpu(int usefulTasks) {
    return new ClusterResources(
        new ClusterSize(16, 1, 1), usefulTasks, 8 * GIB, 4 * GIB, GIB, 0, 0, RATES);
  }

  private static ClusterResources cpu(int cores, int usefulTasks) {
    return new ClusterResources(
        new ClusterSize(cores, 1, 0), usefulTasks, 0, 4 * GIB, GIB, 0, 0, RATES);
  }

  @ParameterizedTest(name = "{0}: {1} x {2} x {3}")
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          cube               | 100000  | 100000   | 100000  | cuboid(6,8,1)
          inner dimension    | 1000    | 10000000 | 1000    | cuboid(1,1,16)
          outer product      | 1000000 | 1000     | 1000000 | cuboid(59,64,1)
          tall times small   | 1000000 | 1000     | 100     | cuboid(16,1,1)
          small times wide   | 100     | 1000     | 1000000 | cuboid(1,16,1)
          row times matrix   | 1       | 100000   | 100000  | cuboid(1,16,1)
          matrix times row   | 100000  | 100000   | 1       | cuboid(16,1,1)
          row times column   | 1       | 1000000  | 1       | cuboid(1,1,5)
          column times row   | 30000   | 1        | 30000   | cuboid(2,2,1)
          one element        | 1       | 1        | 1       | cuboid(1,1,1)
          tiny               | 7       | 5        | 3       | cuboid(1,1,1)
          """)
  void choosesByShape(String name, long m, long k, long n, String expected) {
    CuboidPlan plan =
        CuboidPlanner.plan(MultiplyShape.dense(m, k, n, ElementType.FLOAT32), gpu(64));
    assertEquals(expected, plan.chosen().name(), plan::toString);
  }

  /** A reduction needs K whole, and its vectors in a task's memory; its candidates are shuffled. */
  @Test
  void reducedProductsHaveKWhole() {
    CuboidPlan deep = CuboidPlanner.plan(reduced(1000, 10_000_000, 1000, 80), cpu(16, 16));
    assertEquals(1, deep.chosen().r(), deep::toString);
    for (Candidate candidate : deep.rejected()) {
      assertEquals(1, candidate.r(), candidate::toString);
      assertFalse(candidate.strategy().isBroadcast() && candidate.isAllowed());
    }
    MultiplyShape shape = reduced(5000, 128, 50_000, 160);
    Candidate columns = CuboidPlanner.forced(shape, cpu(2, 2), Strategy.CUBOID, 1, 2, 1).chosen();
    assertEquals(2L * 5000 * 160, columns.cost().traffic().partial());
    Candidate rows = CuboidPlanner.forced(shape, cpu(2, 2), Strategy.CUBOID, 2, 1, 1).chosen();
    assertEquals(0, rows.cost().traffic().partial());
    // C of 4 TB does not matter, 4 GiB of vectors do.
    Candidate large =
        CuboidPlanner.plan(reduced(1_000_000, 1024, 1_000_000, 160), cpu(16, 16)).chosen();
    long most = 1_000_000L / large.p() + 1_000_000 / large.q();
    assertTrue(most * 1024 * 4 <= 4 * GIB, large::toString);
    assertTrue(large.p() * large.q() <= 32, large::toString);
    assertThrows(
        CuboidPlanner.NoRoomException.class,
        () -> CuboidPlanner.plan(reduced(10, 1_000_000_000, 10, 160), cpu(2, 2)));
  }

  /** Few queries go to all tasks; what these keep of them is shuffled, unless it is final. */
  @Test
  void reducedProductsLeaveTheVectorsOfTheLargerSideWhereTheyAre() {
    ClusterResources resources =
        new ClusterResources(new ClusterSize(16, 1, 0), 16, 0, 4 * GIB, GIB, 64 * MIB, 0, RATES);
    for (boolean left : new boolean[] {true, false}) {
      MultiplyShape dense = reduced(left ? 10_000 : 1_000_000, 256, left ? 1_000_000 : 10_000, 160);
      MultiplyShape shape =
          new MultiplyShape(
              dense.extents(),
              dense.type(),
              new MultiplyShape.Operand(dense.a().bytes(), 8192, 256, !left),
              new MultiplyShape.Operand(dense.b().bytes(), 8192, 256, left),
              1,
              1,
              dense.reduced());
      CuboidPlan plan = CuboidPlanner.plan(shape, resources);
      assertEquals(left ? "broadcast(left)" : "broadcast(right)", plan.chosen().name());
      CuboidPlan.Traffic moved = plan.chosen().cost().traffic();
      assertEquals(0, moved.operands());
      assertEquals(left ? 16L * 10_000 * 160 : 0, moved.partial());
      CuboidPlan unknown = CuboidPlanner.plan(dense, resources);
      assertEquals(Strategy.CUBOID, unknown.chosen().strategy());
      assertTrue(unknown.toString().contains("hold whole vectors"), unknown::toString);
    }
    MultiplyShape many = reduced(10_000, 256, 1_000_000, 160_000);
    MultiplyShape whole =
        new MultiplyShape(
            many.extents(),
            many.type(),
            many.a(),
            new MultiplyShape.Operand(many.b().bytes(), 8192, 256, true),
            1,
            1,
            many.reduced());
    CuboidPlan plan = CuboidPlanner.plan(whole, resources);
    assertTrue(plan.toString().contains("candidates of 1.5 GiB"), plan::toString);
  }

  private static MultiplyShape reduced(long m, long k, long n, long candidateBytes) {
    MultiplyShape dense = MultiplyShape.dense(m, k, n, ElementType.FLOAT32);
    return new MultiplyShape(
        dense.extents(),
        dense.type(),
        dense.a(),
        dense.b(),
        1,
        1,
        Optional.of(new MultiplyShape.Reduced(candidateBytes)));
  }

  @Test
  void everyCandidateCostsWhatTheFormulaSays() {
    Random random = new Random(7);
    for (int round = 0; round < 200; round++) {
      MultiplyShape shape =
          new MultiplyShape(
              new Extents(extent(random), extent(random), extent(random)),
              random.nextBoolean() ? ElementType.FLOAT32 : ElementType.FLOAT64,
              new MultiplyShape.Operand(
                  1 + random.nextInt(1 << 30),
                  1 + random.nextInt(2048),
                  1 + random.nextInt(2048),
                  random.nextBoolean()),
              new MultiplyShape.Operand(
                  1 + random.nextInt(1 << 30),
                  1 + random.nextInt(2048),
                  1 + random.nextInt(2048),
                  random.nextBoolean()),
              1 + random.nextInt(3000),
              1 + random.nextInt(3000));
      ClusterResources resources =
          new ClusterResources(
              new ClusterSize(1 + random.nextInt(64), 1 + random.nextInt(4), random.nextInt(3)),
              1 + random.nextInt(200),
              GIB << random.nextInt(6),
              GIB << random.nextInt(4),
              256 * MIB << random.nextInt(4),
              random.nextInt(1 << 30),
              random.nextBoolean() ? 0 : random.nextInt(1 << 30),
              RATES);
      CuboidPlan plan = CuboidPlanner.plan(shape, resources);
      List<Candidate> all = new ArrayList<>(plan.rejected());
      all.add(0, plan.chosen());
      for (Candidate candidate : all) {
        check(shape, resources, candidate);
      }
    }
  }

  /** The best candidate is the best of all, found by trying every triple. */
  @Test
  void nothingAllowedIsCheaper() {
    Random random = new Random(11);
    for (int round = 0; round < 60; round++) {
      MultiplyShape shape =
          MultiplyShape.dense(extent(random), extent(random), extent(random), ElementType.FLOAT64);
      ClusterResources resources =
          new ClusterResources(
              new ClusterSize(1 + random.nextInt(32), 1, random.nextInt(2)),
              1 + random.nextInt(60),
              2 * GIB,
              4 * GIB,
              GIB,
              0,
              random.nextBoolean() ? 0 : Long.MAX_VALUE,
              RATES);
      Candidate chosen = CuboidPlanner.plan(shape, resources).chosen();
      double best = Double.MAX_VALUE;
      int most = Math.max(resources.usefulTasks(), chosen.cost().tasks());
      for (int p = 1; p <= Math.min(most, shape.m()); p++) {
        for (int q = 1; q <= Math.min(most / p, shape.n()); q++) {
          for (int r = 1; r <= Math.min(most / p / q, shape.k()); r++) {
            if (fits(shape, resources, p, q)) {
              best = Math.min(best, seconds(shape, resources, p, q, r));
            }
          }
        }
      }
      assertEquals(best, chosen.cost().seconds(), best * 1e-9, shape + " " + resources);
    }
  }

  @Test
  void volumesAreThoseOfTheFormula() {
    MultiplyShape shape = MultiplyShape.dense(4096, 8192, 2048, ElementType.FLOAT32);
    long a = 4096L * 8192 * 4;
    long b = 8192L * 2048 * 4;
    long c = 4096L * 2048 * 4;
    Candidate flat = CuboidPlanner.forced(shape, gpu(64), Strategy.CUBOID, 4, 2, 1).chosen();
    assertEquals(a + b, flat.cost().traffic().operands(), "tasks share the operands' parts");
    assertEquals(2 * a + 4 * b, flat.cost().traffic().read());
    assertEquals(0, flat.cost().traffic().partial(), "nothing is summed where K is whole");
    assertEquals(2 * a + 4 * b + c, flat.cost().traffic().pcie());
    assertEquals(2.0 * 4096 * 8192 * 2048, flat.cost().flops());
    Candidate deep = CuboidPlanner.forced(shape, gpu(64), Strategy.CUBOID, 4, 2, 3).chosen();
    assertEquals(a + b, deep.cost().traffic().operands());
    assertEquals(2 * a + 4 * b, deep.cost().traffic().read());
    assertEquals(3 * c, deep.cost().traffic().partial());
    assertEquals(2 * a + 4 * b + 3 * c, deep.cost().traffic().pcie());
    assertEquals(24, deep.cost().tasks());
    assertEquals(a + b, deep.cost().traffic().operands());
    assertEquals(3 * c, deep.cost().traffic().partial());
    ClusterResources room =
        new ClusterResources(new ClusterSize(16, 1, 1), 64, 8 * GIB, 4 * GIB, GIB, 0, a + b, RATES);
    Candidate shared = CuboidPlanner.forced(shape, room, Strategy.CUBOID, 4, 2, 3).chosen();
    assertEquals(a + b, shared.cost().traffic().upload());
    assertEquals(a + b + 3 * c, shared.cost().traffic().pcie());
    assertEquals(2 * a + 4 * b, shared.cost().traffic().read(), "from the shuffle as before");
    assertTrue(
        shared.toString().contains(", PCIe 288.0 MiB with 192.0 MiB up,"), shared.toString());
    ClusterResources tight =
        new ClusterResources(
            new ClusterSize(16, 1, 1), 64, 8 * GIB, 4 * GIB, GIB, 0, a + b - 1, RATES);
    assertEquals(
        2 * a + 4 * b,
        CuboidPlanner.forced(shape, tight, Strategy.CUBOID, 4, 2, 3)
            .chosen()
            .cost()
            .traffic()
            .upload());
    Candidate onCpu = CuboidPlanner.forced(shape, cpu(8, 8), Strategy.CUBOID, 4, 2, 3).chosen();
    assertEquals(0, onCpu.cost().traffic().pcie());
  }

  @Test
  void moreTasksThanElements() {
    CuboidPlan plan =
        CuboidPlanner.plan(MultiplyShape.dense(3, 2, 2, ElementType.FLOAT64), cpu(1000, 1000));
    assertTrue(plan.chosen().p() <= 3 && plan.chosen().q() <= 2 && plan.chosen().r() <= 2);
    new PieceCursor(Cuts.of(plan.cuts().m(), plan.cuts().k()))
        .start(new long[2], new long[] {3, 2});
    CuboidPlan flopsOnly =
        CuboidPlanner.plan(
            MultiplyShape.dense(3, 2, 2, ElementType.FLOAT64),
            new ClusterResources(
                new ClusterSize(1000, 1, 0),
                1000,
                0,
                GIB,
                GIB,
                0,
                0,
                new Rates(1e18, 1, 1, 1, 1, 1, 1, 0)));
    assertEquals("cuboid(3,2,2)", flopsOnly.chosen().name(), "each element of the product alone");
  }

  @Test
  void smallSidesAreBroadcastUpToTheLimit() {
    MultiplyShape shape =
        new MultiplyShape(
            new Extents(1_000_000, 784, 16),
            ElementType.FLOAT32,
            new MultiplyShape.Operand(3_136_000_000L, 1000, 784, true),
            new MultiplyShape.Operand(50_176, 16, 784, false),
            1000,
            16);
    ClusterResources none = gpu(64);
    ClusterResources enough =
        new ClusterResources(
            new ClusterSize(16, 1, 1), 64, 8 * GIB, 4 * GIB, GIB, 64 * KIB, 0, RATES);
    ClusterResources scant =
        new ClusterResources(
            new ClusterSize(16, 1, 1), 64, 8 * GIB, 4 * GIB, GIB, 50_175, 0, RATES);
    assertEquals("broadcast(right)", CuboidPlanner.plan(shape, enough).chosen().name());
    CuboidPlan.Traffic moved = CuboidPlanner.plan(shape, enough).chosen().cost().traffic();
    assertEquals(0, moved.operands() + moved.partial());
    assertEquals(
        2 * 50_176, CuboidPlanner.plan(shape, enough).chosen().cost().traffic().broadcast());
    for (ClusterResources resources : List.of(none, scant)) {
      CuboidPlan plan = CuboidPlanner.plan(shape, resources);
      assertEquals(Strategy.CUBOID, plan.chosen().strategy());
      Candidate refused =
          plan.rejected().stream()
              .filter(c -> c.strategy() == Strategy.BROADCAST_RIGHT)
              .findFirst()
              .orElseThrow();
      assertTrue(
          refused.refusal().orElseThrow().contains("B of 49.0 KiB is larger than"),
          refused::toString);
    }
    MultiplyShape mirrored =
        new MultiplyShape(
            new Extents(16, 784, 1_000_000),
            ElementType.FLOAT32,
            new MultiplyShape.Operand(50_176, 16, 784, false),
            new MultiplyShape.Operand(3_136_000_000L, 1000, 784, true),
            16,
            1000);
    assertEquals("broadcast(left)", CuboidPlanner.plan(mirrored, enough).chosen().name());
    // Asked for, it may be larger than the limit.
    assertEquals(
        "broadcast(right)",
        CuboidPlanner.forced(shape, none, Strategy.BROADCAST_RIGHT, 1, 1, 1).chosen().name());
  }

  @Test
  void aBroadcastBesideBlocksCutAlongKShufflesPartialProducts() {
    MultiplyShape shape =
        new MultiplyShape(
            new Extents(100_000, 4000, 100),
            ElementType.FLOAT64,
            // where there are several along K, whole blocks do not count
            new MultiplyShape.Operand(3_200_000_000L, 1000, 1000, true),
            new MultiplyShape.Operand(3_200_000, 100, 4000, false),
            1000,
            100);
    Candidate candidate =
        CuboidPlanner.forced(shape, cpu(16, 64), Strategy.BROADCAST_RIGHT, 1, 1, 1).chosen();
    assertEquals(4, candidate.r());
    assertEquals(4 * 100_000L * 100 * 8, candidate.cost().traffic().partial());
  }

  /** Every shape with a small side; which strategy, and what it shuffles and sends. */
  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          # name                          | m       | k    | n       | bm    | bkA  | bkB  | bn    | whole | executors | chosen           | partial
          tall, blocks span K             | 1000000 | 784  | 16      | 1000  | 784  | 784  | 16    | true  | 4         | broadcast(right) | 0
          wide, blocks span K             | 16      | 784  | 1000000 | 16    | 784  | 784  | 1000  | true  | 4         | broadcast(left)  | 0
          tall, holes unknown: C shuffled | 1000000 | 784  | 16      | 1000  | 784  | 784  | 16    | false | 4         | broadcast(right) | 64000000
          tall, K in four                 | 1000000 | 4096 | 16      | 1024  | 1024 | 1024 | 16    | true  | 4         | broadcast(right) | 256000000
          C larger than A                 | 1000000 | 100  | 1000    | 1000  | 100  | 100  | 1000  | false | 4         | cuboid           | 0
          C larger than A, but stays      | 1000000 | 100  | 1000    | 1000  | 100  | 100  | 1000  | true  | 4         | broadcast(right) | 0
          K in so many that C weighs      | 1000000 | 4096 | 16      | 1024  | 8    | 4096 | 16    | true  | 4         | cuboid           | 0
          square                          | 8192    | 8192 | 8192    | 1024  | 1024 | 1024 | 1024  | true  | 4         | cuboid           | 0
          small, but on many machines     | 200000  | 2000 | 2000    | 1000  | 2000 | 2000 | 2000  | true  | 1         | broadcast(right) | 0
          small, and too many of them     | 200000  | 2000 | 2000    | 1000  | 2000 | 2000 | 2000  | true  | 100       | cuboid           | 0
          """)
  void broadcastWhereItIsCheaper(
      String name,
      long m,
      long k,
      long n,
      long blockM,
      long blockKA,
      long blockKB,
      long blockN,
      boolean whole,
      int executors,
      String expected,
      long partialBytes) {
    MultiplyShape shape =
        new MultiplyShape(
            new Extents(m, k, n),
            ElementType.FLOAT32,
            new MultiplyShape.Operand(4 * m * k, blockM, blockKA, whole),
            new MultiplyShape.Operand(4 * k * n, blockN, blockKB, whole),
            blockM,
            blockN);
    ClusterResources resources =
        new ClusterResources(
            new ClusterSize(16, executors, 0), 16, 0, 4 * GIB, GIB, 256 * MIB, 0, RATES);
    CuboidPlan plan = CuboidPlanner.plan(shape, resources);
    assertTrue(plan.chosen().name().startsWith(expected), plan::toString);
    boolean broadcast = expected.startsWith("broadcast");
    assertEquals(broadcast, plan.chosen().strategy().isBroadcast());
    if (broadcast) {
      assertEquals(partialBytes, plan.chosen().cost().traffic().partial(), plan::toString);
    }
    assertEquals(
        broadcast ? (executors + 1) * Math.min(4 * m * k, 4 * k * n) : 0,
        plan.chosen().cost().traffic().broadcast());
    // The other way is among what EXPLAIN shows as rejected, with its cost.
    assertTrue(
        plan.rejected().stream()
            .anyMatch(
                c ->
                    c.isAllowed()
                        && (c.strategy() == Strategy.CUBOID) == broadcast
                        && (broadcast || c.cost().traffic().broadcast() > 0)),
        plan::toString);
  }

  /** If blocks are exchanged in memory, to broadcast one operand saves less. */
  @Test
  void exchangesInMemoryAreCheaper() {
    MultiplyShape shape =
        new MultiplyShape(
            new Extents(200_000, 2000, 2000),
            ElementType.FLOAT32,
            new MultiplyShape.Operand(4 * 200_000L * 2000, 1000, 2000, true),
            new MultiplyShape.Operand(4 * 2000L * 2000, 2000, 2000, true),
            1000,
            2000);
    List<String> chosen = new ArrayList<>();
    for (boolean inMemory : new boolean[] {false, true}) {
      ClusterResources resources =
          new ClusterResources(
              new ClusterSize(16, 2, 0),
              16,
              0,
              4 * GIB,
              GIB,
              256 * MIB,
              0,
              Rates.of(inMemory, CPU));
      chosen.add(CuboidPlanner.plan(shape, resources).chosen().strategy().toString());
    }
    assertEquals(List.of("BROADCAST_RIGHT", "CUBOID"), chosen);
  }

  /**
   * Operands that are in partitions already: those that stay, and those that are shuffled still.
   */
  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          # name                       | m       | k       | n       | axis | parts | left  | right | chosen                             | operands   | partials
          A by columns                 | 1000    | 4000000 | 1000    | K    | 64    | true  | false | cuboid(1,1,64) with A in place     | 16000000000 | 256000000
          B by rows                    | 1000    | 4000000 | 1000    | K    | 64    | false | true  | cuboid(1,1,64) with B in place     | 16000000000 | 256000000
          both along K                 | 1000    | 4000000 | 1000    | K    | 64    | true  | true  | cuboid(1,1,64) with A and B in place | 0          | 256000000
          A by rows                    | 1000000 | 10000   | 1000    | M    | 32    | true  | false | cuboid(32,1,1) with A in place     | 1280000000 | 0
          B by columns                 | 1000    | 10000   | 1000000 | N    | 32    | false | true  | cuboid(1,32,1) with B in place     | 1280000000 | 0
          by rows, but B is the larger | 10000   | 20000   | 100000  | M    | 32    | true  | false | cuboid                             | 0          | 0
          large C in many parts        | 20000   | 20000   | 20000   | K    | 2000  | true  | false | cuboid                             | 0          | 0
          """)
  void whatLiesRightStays(
      String name,
      long m,
      long k,
      long n,
      MultiplyShape.Axis axis,
      int parts,
      boolean left,
      boolean right,
      String expected,
      long operandBytes,
      long partialBytes) {
    MultiplyShape shape = MultiplyShape.dense(m, k, n, ElementType.FLOAT32);
    long extent = axis == MultiplyShape.Axis.M ? m : axis == MultiplyShape.Axis.N ? n : k;
    InPlaceOperands operandsInPlace =
        new InPlaceOperands(left, right, axis, parts, (extent + parts - 1) / parts, true);
    ClusterResources resources =
        new ClusterResources(new ClusterSize(16, 1, 0), 64, 0, 16 * GIB, 4 * GIB, 0, 0, RATES);
    CuboidPlan plan = CuboidPlanner.plan(shape, resources, List.of(operandsInPlace));
    assertTrue(plan.chosen().name().startsWith(expected), plan::toString);
    assertEquals(expected.contains("place"), plan.chosen().strategy().isInPlace());
    if (plan.chosen().strategy().isInPlace()) {
      assertEquals(operandBytes, plan.chosen().cost().traffic().operands());
      assertEquals(partialBytes, plan.chosen().cost().traffic().partial());
      assertEquals(parts, plan.chosen().cost().tasks());
    } else {
      // What could stay is told.
      assertTrue(plan.rejected().stream().anyMatch(c -> c.strategy().isInPlace()), plan::toString);
    }
    // It is what the forced one costs too, and where memory does not hold a part it is refused.
    Candidate same = CuboidPlanner.inPlace(shape, resources, operandsInPlace);
    assertTrue(plan.chosen().equals(same) || plan.rejected().contains(same));
    ClusterResources scant =
        new ClusterResources(new ClusterSize(16, 1, 0), 64, 0, 16 * GIB, 1000, 0, 0, RATES);
    assertTrue(
        CuboidPlanner.inPlace(shape, scant, operandsInPlace)
            .refusal()
            .orElseThrow()
            .contains("tile of C"),
        name);
  }

  @ParameterizedTest
  @CsvSource({
    "4096, 1024, 3, '0 1024 2048 4096', true",
    "4096, 1024, 4, '0 1024 2048 3072 4096', true",
    "4000, 1024, 2, '0 2048 4000', true",
    "4000, 1024, 5, '0 800 1600 2400 3200 4000', false", // blocks of C are put together
    "10, 100, 1, '0 10', true"
  })
  void cutsBetweenBlocksOfTheResult(
      long extent, long grid, int parts, String expected, boolean onGrid) {
    MultiplyShape shape =
        new MultiplyShape(
            new Extents(extent, 8, extent),
            ElementType.FLOAT32,
            new MultiplyShape.Operand(1, 1, 1, false),
            new MultiplyShape.Operand(1, 1, 1, false),
            grid,
            grid);
    AxisCuts cuts =
        AxisCuts.at(Arrays.stream(expected.split(" ", -1)).mapToLong(Long::parseLong).toArray());
    assertEquals(cuts, shape.cutsM(parts));
    assertEquals(cuts, shape.cutsN(parts));
    assertEquals(cuts.largest(), shape.largestM(parts));
    assertEquals(onGrid, shape.onGrid(parts, 1));
    assertEquals(onGrid, shape.onGrid(1, parts));
  }

  @Test
  void memoryCutsTheResultFurther() {
    MultiplyShape shape = MultiplyShape.dense(100_000, 100_000, 100_000, ElementType.FLOAT64);
    for (long tile : new long[] {4 * GIB, GIB, 256 * MIB, 16 * MIB, MIB}) {
      ClusterResources resources =
          new ClusterResources(
              new ClusterSize(16, 1, 1), 64, 140 * GIB, 64 * GIB, tile, 0, 0, RATES);
      CuboidPlan plan = CuboidPlanner.plan(shape, resources);
      CuboidPlan.CuboidCuts cuts = plan.cuts();
      assertTrue(cuts.m().largest() * cuts.n().largest() * 8 <= tile, plan::toString);
      assertTrue(
          plan.rejected().stream()
              .anyMatch(
                  c ->
                      c.name().equals("cuboid(1,1,1)")
                          && c.refusal()
                              .orElse("")
                              .contains("its tile of C of 74.5 GiB is larger than")),
          plan::toString);
    }
    // The panels count too: two of each side, 256 deep.
    MultiplyShape wide = MultiplyShape.dense(1, 1000, 1_000_000, ElementType.FLOAT32);
    ClusterResources small =
        new ClusterResources(new ClusterSize(16, 1, 1), 1, 512 * MIB, GIB, GIB, 0, 0, RATES);
    CuboidPlan plan = CuboidPlanner.plan(wide, small);
    assertTrue(plan.cuts().n().largest() * (2 * 256 + 1) * 4 <= 512 * MIB, plan::toString);
    assertTrue(plan.chosen().q() > 1, "more tasks than useful ones, since one does not fit");
    ClusterResources hopeless =
        new ClusterResources(new ClusterSize(16, 1, 1), 16, 64, GIB, GIB, 0, 0, RATES);
    IllegalArgumentException none =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                CuboidPlanner.plan(MultiplyShape.dense(10, 10, 10, ElementType.FLOAT32), hopeless));
    assertTrue(none.getMessage().contains("of device memory and has 64 B"), none.getMessage());
  }

  @Test
  void askedForInVain() {
    MultiplyShape shape = MultiplyShape.dense(10, 20, 30, ElementType.FLOAT32);
    IllegalArgumentException parts =
        assertThrows(
            IllegalArgumentException.class,
            () -> CuboidPlanner.forced(shape, cpu(4, 4), Strategy.CUBOID, 11, 1, 1));
    assertTrue(parts.getMessage().contains("expected 1 to 10 parts of M"), parts.getMessage());
    IllegalArgumentException memory =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                CuboidPlanner.forced(
                    MultiplyShape.dense(100_000, 10, 100_000, ElementType.FLOAT32),
                    cpu(4, 4),
                    Strategy.CUBOID,
                    1,
                    1,
                    1));
    assertTrue(
        memory.getMessage().contains("Strategy cuboid(1,1,1) was asked for, but its tile of C"),
        memory.getMessage());
  }

  /**
   * A square product on many cores: mirrored triples cost the same, one of them is always taken.
   */
  @Test
  void tiesAreDeterministic() {
    MultiplyShape shape = MultiplyShape.dense(8192, 8192, 8192, ElementType.FLOAT32);
    CuboidPlan plan = CuboidPlanner.plan(shape, cpu(12, 12));
    for (int i = 0; i < 10; i++) {
      assertEquals(plan, CuboidPlanner.plan(shape, cpu(12, 12)));
    }
    Candidate chosen = plan.chosen();
    assertEquals("cuboid(3,4,1)", chosen.name(), plan::toString);
    assertEquals("cuboid(4,3,1)", plan.rejected().get(0).name(), plan::toString);
    assertEquals(chosen.cost().seconds(), plan.rejected().get(0).cost().seconds());
  }

  @Test
  void rankedWithTheirCosts() {
    CuboidPlan plan =
        CuboidPlanner.plan(
            MultiplyShape.dense(20_000, 20_000, 20_000, ElementType.FLOAT64), gpu(256));
    double before = plan.chosen().cost().seconds();
    int allowed = 0;
    for (Candidate candidate : plan.rejected()) {
      if (candidate.isAllowed()) {
        assertTrue(candidate.cost().seconds() >= before);
        before = candidate.cost().seconds();
        allowed++;
      }
    }
    assertEquals(4, allowed);
    assertFalse(plan.rejected().contains(plan.chosen()));
    assertTrue(plan.toString().contains("; rejected: cuboid("), plan.toString());
    assertTrue(plan.toString().contains("shuffle "), plan.toString());
  }

  @Test
  void plansInMilliseconds() {
    MultiplyShape shape = MultiplyShape.dense(100_000, 100_000, 100_000, ElementType.FLOAT32);
    List<ClusterResources> clusters = List.of(gpu(64), gpu(1000), cpu(2048, 8192), gpu(100_000));
    for (ClusterResources resources : clusters) {
      long fastest = Long.MAX_VALUE;
      for (int i = 0; i < 20; i++) {
        // Of this thread alone: other work on the machine does not count.
        long start = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
        CuboidPlanner.plan(shape, resources);
        long spent = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - start;
        fastest = Math.min(fastest, spent);
      }
      // 1 to 13 ms were seen; all triples of 100 000 tasks would be 7.5 million.
      assertTrue(fastest < 100_000_000, fastest / 1000 + " us for " + resources);
    }
  }

  /** Extents of a block that is said to be far out: there are millions of cuboids to look at. */
  @Test
  @Timeout(120) // 2 s; it was 170
  void plansForShapesThatHardlyFit() {
    ClusterResources resources =
        new ClusterResources(
            new ClusterSize(4, 1, 0),
            8,
            0,
            GIB / 8,
            GIB / 16,
            0,
            0,
            RATES); // of the tests' session
    CuboidPlan plan =
        CuboidPlanner.plan(MultiplyShape.dense(1L << 40, 20, 30, ElementType.FLOAT32), resources);
    assertEquals(Strategy.CUBOID, plan.chosen().strategy());
    assertTrue(plan.chosen().p() > 1_000_000, plan.toString());
    IllegalArgumentException refused =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                CuboidPlanner.plan(
                    MultiplyShape.dense(1L << 40, 20, 1000, ElementType.FLOAT32), resources));
    assertTrue(refused.getMessage().contains("no cut fits"), refused.getMessage());
  }

  // ---- the formula again, from its description

  private static void check(MultiplyShape shape, ClusterResources resources, Candidate candidate) {
    long c = shape.m() * shape.n() * shape.type().bytes();
    int r = candidate.r();
    if (candidate.strategy() == Strategy.CUBOID) {
      assertEquals(shape.a().bytes() + shape.b().bytes(), candidate.cost().traffic().operands());
      long read = candidate.q() * shape.a().bytes() + candidate.p() * shape.b().bytes();
      assertEquals(read, candidate.cost().traffic().read());
      boolean assembled =
          r > 1
              || candidate.p() > Math.ceil((double) shape.m() / shape.gridM())
              || candidate.q() > Math.ceil((double) shape.n() / shape.gridN());
      assertEquals(assembled ? r * c : 0, candidate.cost().traffic().partial());
      long up = (long) up(shape, resources, candidate.p(), candidate.q());
      assertEquals(resources.cluster().devices() > 0 ? up : 0, candidate.cost().traffic().upload());
      assertEquals(
          resources.cluster().devices() > 0 ? up + r * c : 0, candidate.cost().traffic().pcie());
      assertEquals(candidate.p() * candidate.q() * r, candidate.cost().tasks());
      double expected = seconds(shape, resources, candidate.p(), candidate.q(), r);
      assertEquals(expected, candidate.cost().seconds(), expected * 1e-9, candidate::toString);
      assertEquals(fits(shape, resources, candidate.p(), candidate.q()), candidate.isAllowed());
      return;
    }
    boolean left = candidate.strategy() == Strategy.BROADCAST_LEFT;
    long small = left ? shape.a().bytes() : shape.b().bytes();
    double blocksK = Math.ceil((double) shape.k() / (left ? shape.b().inner() : shape.a().inner()));
    double across =
        left
            ? Math.ceil((double) shape.n() / shape.b().outer())
            : Math.ceil((double) shape.m() / shape.a().outer());
    int tasks = (int) Math.min(resources.usefulTasks(), blocksK * across);
    assertEquals(tasks, candidate.cost().tasks());
    assertEquals(blocksK, r);
    assertEquals(
        small * (1 + resources.cluster().machines()), candidate.cost().traffic().broadcast());
    assertEquals(0, candidate.cost().traffic().operands());
    boolean whole = r == 1 && (left ? shape.b().whole() : shape.a().whole());
    assertEquals(whole ? 0 : r * c, candidate.cost().traffic().partial());
    double waves = Math.ceil((double) tasks / resources.cluster().cores());
    double busy = tasks / waves;
    boolean single = shape.type() == ElementType.FLOAT32;
    double flops = 2.0 * shape.m() * shape.k() * shape.n();
    double expected = small * (1.0 + resources.cluster().machines()) / RATES.broadcast();
    expected += tasks * RATES.taskStart() * (whole ? 1 : 2);
    expected += whole ? 0 : r * c / (RATES.shuffle() * busy);
    if (resources.cluster().devices() > 0) {
      double devices = Math.min(resources.cluster().devices(), busy);
      double times = small <= resources.sharedBytes() ? 1 : across;
      double moved = small * times + (left ? shape.b().bytes() : shape.a().bytes()) + r * c;
      assertEquals((long) moved, candidate.cost().traffic().pcie());
      expected += moved / RATES.pcie() / devices;
      expected += flops / devices / (single ? RATES.deviceFloat() : RATES.deviceDouble());
    } else {
      expected += flops / busy / (single ? RATES.coreFloat() : RATES.coreDouble());
    }
    assertEquals(expected, candidate.cost().seconds(), expected * 1e-9, candidate::toString);
  }

  private static double seconds(
      MultiplyShape shape, ClusterResources resources, int p, int q, int r) {
    int w = shape.type().bytes();
    double c = (double) shape.m() * shape.n() * w;
    double written = (double) shape.a().bytes() + shape.b().bytes();
    double read = (double) q * shape.a().bytes() + (double) p * shape.b().bytes();
    int tasks = p * q * r;
    double waves = Math.ceil((double) tasks / resources.cluster().cores());
    double busy = tasks / waves;
    double seconds = tasks * RATES.taskStart();
    seconds +=
        written / RATES.shuffle() / resources.cluster().cores() / 2
            + read / RATES.shuffle() / busy / 2;
    if (r > 1
        || p > Math.ceil((double) shape.m() / shape.gridM())
        || q > Math.ceil((double) shape.n() / shape.gridN())) {
      double sums = p * q / Math.ceil((double) p * q / resources.cluster().cores());
      seconds += p * q * RATES.taskStart();
      seconds += r * c / RATES.shuffle() * (1 / busy + 1 / sums) / 2;
    }
    double one =
        2.0
            * largest(shape.m(), p, shape.gridM())
            * largest(shape.n(), q, shape.gridN())
            * Math.ceil((double) shape.k() / r);
    boolean single = shape.type() == ElementType.FLOAT32;
    if (resources.cluster().devices() > 0) {
      double devices = Math.min(busy, resources.cluster().devices());
      seconds += (up(shape, resources, p, q) + r * c) / RATES.pcie() / devices;
      seconds += one * tasks / devices / (single ? RATES.deviceFloat() : RATES.deviceDouble());
    } else {
      seconds += waves * one / (single ? RATES.coreFloat() : RATES.coreDouble());
    }
    return seconds;
  }

  /** Bytes up: each panel for every cuboid that has it, or once where all can be shared. */
  private static double up(MultiplyShape shape, ClusterResources resources, int p, int q) {
    boolean shared = shape.a().bytes() + shape.b().bytes() <= resources.sharedBytes();
    return (shared ? 1.0 : q) * shape.a().bytes() + (shared ? 1.0 : p) * shape.b().bytes();
  }

  private static boolean fits(MultiplyShape shape, ClusterResources resources, int p, int q) {
    double m = largest(shape.m(), p, shape.gridM());
    double n = largest(shape.n(), q, shape.gridN());
    int w = shape.type().bytes();
    double tile = m * n * w;
    double panels = 2 * (m + n) * Math.min(256, shape.k()) * w;
    return tile <= resources.tileBytes()
        && (resources.cluster().devices() == 0 || tile + panels <= resources.deviceBytes())
        && (resources.cluster().devices() > 0 ? panels : tile + panels) <= resources.hostBytes();
  }

  /** Elements of the largest part: whole blocks of C, if there are enough. */
  private static double largest(long extent, int parts, long grid) {
    double blocks = Math.ceil((double) extent / grid);
    return parts > blocks
        ? Math.ceil((double) extent / parts)
        : Math.min((double) extent, Math.ceil(blocks / parts) * grid);
  }

  private static long extent(Random random) {
    return 1L + random.nextInt(1 << (1 + random.nextInt(18)));
  }
}
