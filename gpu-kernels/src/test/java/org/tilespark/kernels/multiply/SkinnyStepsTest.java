package org.tilespark.kernels.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;
import static org.tilespark.kernels.multiply.PlannerFixture.ONE_DOUBLE;
import static org.tilespark.kernels.multiply.PlannerFixture.ONE_FLOAT;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;
import org.tilespark.kernels.multiply.MultiplyProblem.Batch;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.MultiplyProblem.Stored;
import org.tilespark.layout.ElementType;

class SkinnyStepsTest {
  private static final DeviceLimits H200 =
      new DeviceLimits(9, 0, 132, 1024, Integer.MAX_VALUE, 48 << 10, 140L << 30);
  private static final DeviceLimits OLD =
      new DeviceLimits(7, 5, 40, 1024, Integer.MAX_VALUE, 48 << 10, 16L << 30);
  private static final KernelIndex INDEX = index("compute_75");
  private static final Availability<?> ABSENT = Availability.not("no such library");

  private static KernelIndex index(String architecture) {
    StringBuilder lines = new StringBuilder();
    for (int width = 4; width <= 8; width += 4) {
      for (String name : List.of("multiply_tiled_w%d_64x64x128", "multiply_tiled_w%d_32x32x64")) {
        lines.append("kernel multiply_tiled ").append(String.format(name, width));
        lines.append(" compute_75\n");
      }
      for (String name :
          List.of(
              "along_w%d_32x1x256",
              "along_w%d_32x16x256",
              "along_w%d_32x4x256",
              "along_w%d_32x8x256",
              "across_w%d_512x1x256",
              "across_w%d_512x4x256",
              "across_w%d_512x8x256",
              "across_w%d_512x16x256",
              "depth4_w%d_64x512x256",
              "depth16_w%d_64x512x256",
              "sum_w%d_256")) {
        lines.append("kernel multiply_skinny multiply_skinny_").append(String.format(name, width));
        lines.append(" ").append(architecture).append("\n");
      }
    }
    for (String kind : List.of("tf32", "bfloat16", "float16")) {
      for (String name : List.of("along_w4_256x16", "across_w4_256x16", "depth4_w4_64x512")) {
        lines.append(
            String.format(
                "kernel multiply_narrow multiply_skinny_%s_%sx256 %s%n", kind, name, architecture));
      }
    }
    return KernelIndex.parse(lines.toString());
  }

  private static Optional<MultiplyStrategy.Skinny> skinny(MultiplyProblem problem) {
    return SkinnySteps.of(problem, new DeviceKernels(H200, INDEX));
  }

  private static MultiplyProblem problem(
      long m, long k, long n, ElementType type, boolean transposeA, boolean transposeB) {
    return MultiplyProblem.dense(m, k, n, type, transposeA, transposeB);
  }

  /** The kernel for given extents and storage. */
  @Test
  void kernels() {
    Object[][] cases = {
      {1000, 1000, 1, false, false, "multiply_skinny_along_w4_32x1x256"},
      {1000, 1000, 2, true, false, "multiply_skinny_across_w4_512x4x256"},
      {1000, 1000, 5, false, true, "multiply_skinny_along_w4_32x8x256"},
      {1000, 1000, 16, true, true, "multiply_skinny_across_w4_512x16x256"},
      {1, 1000, 1000, false, false, "multiply_skinny_across_w4_512x1x256"},
      {9, 1000, 1000, false, true, "multiply_skinny_along_w4_32x16x256"},
      {4, 1000, 3, false, false, "multiply_skinny_along_w4_32x4x256"}, // fewer columns than rows
      {3, 1000, 4, false, false, "multiply_skinny_across_w4_512x4x256"}, // fewer rows
      {17, 3, 16, true, false, "multiply_skinny_across_w4_512x16x256"},
      {17, 4, 17, true, false, "multiply_skinny_depth4_w4_64x512x256"},
      {17, 5, 17, false, false, "multiply_skinny_depth16_w4_64x512x256"},
      {1, 1, 1, false, false, "multiply_skinny_along_w4_32x1x256"},
    };
    for (Object[] each : cases) {
      MultiplyProblem problem =
          problem(
              (int) each[0],
              (int) each[1],
              (int) each[2],
              ElementType.FLOAT32,
              (boolean) each[3],
              (boolean) each[4]);
      assertEquals(each[5], skinny(problem).orElseThrow().kernel().name(), problem.toString());
      // Lower precisions have one for all counts, and none for a K of 5 to 16.
      String rounded =
          ((String) each[5])
              .replace("skinny_", "skinny_bfloat16_")
              .replaceFirst("_(32|512)x\\d+x256", "_256x16x256");
      assertEquals(
          rounded.contains("depth16") ? Optional.empty() : Optional.of(rounded),
          skinny(problem.withPrecision(Precision.BFLOAT16))
              .map(strategy -> strategy.kernel().name()));
    }
    for (long[] none : new long[][] {{17, 17, 17}, {5, 0, 5}, {0, 5, 5}, {5, 5, 0}}) {
      assertTrue(
          skinny(problem(none[0], none[1], none[2], ElementType.FLOAT64, false, false)).isEmpty(),
          Arrays.toString(none));
    }
    assertTrue(SkinnySteps.of(any(), new DeviceKernels(OLD, index("sm_90a"))).isEmpty());
    assertTrue(
        SkinnySteps.of(any(), new DeviceKernels(OLD, INDEX)).isPresent(), "PTX for older devices");
  }

  private static MultiplyProblem any() {
    return problem(1000, 1000, 1, ElementType.FLOAT32, false, false);
  }

  private static MultiplyStep.Place at(MultiplyStep.Side side, long bytes) {
    return new MultiplyStep.Place(side, bytes);
  }

  /** The structs as the kernels read them. */
  @Test
  void launches() {
    MultiplyProblem fewRows =
        new MultiplyProblem(
            new Extents(3, 1000, 700),
            ElementType.FLOAT64,
            Precision.FULL,
            new Stored(true, 5),
            new Stored(false, 701),
            702,
            Factors.ADD,
            Batch.ONE);
    MultiplyStrategy.Skinny strategy = skinny(fewRows).orElseThrow();
    assertEquals(4 * 700 * 3 * 8, strategy.workspaceBytes());
    assertEquals(
        List.of(
            new MultiplyStep(
                new KernelLaunch(
                    "multiply_skinny_across_w8_512x4x256",
                    new LaunchConfig(8, 256, 0),
                    700, // extent
                    1000,
                    3, // count
                    701, // lead of B
                    5, // of A from one p to the next
                    1,
                    3, // scratch: (parts, 700, 3)
                    1,
                    256,
                    2100,
                    16, // chain
                    2,
                    4,
                    ONE_DOUBLE,
                    0),
                List.of(),
                List.of(
                    at(MultiplyStep.Side.B, 0),
                    at(MultiplyStep.Side.A, 0),
                    at(MultiplyStep.Side.WORKSPACE, 0))),
            new MultiplyStep(
                new KernelLaunch(
                    "multiply_skinny_sum_w8_256",
                    new LaunchConfig(9, 256, 0),
                    700,
                    3,
                    1,
                    702,
                    4,
                    ONE_DOUBLE,
                    ONE_DOUBLE),
                List.of(),
                List.of(at(MultiplyStep.Side.WORKSPACE, 0), at(MultiplyStep.Side.C, 0)))),
        strategy.steps());
    // Enough rows that parts go straight to C, one after the other.
    MultiplyProblem tall =
        new MultiplyProblem(
            new Extents(5_000_000, 2000, 2),
            ElementType.FLOAT32,
            Precision.FULL,
            new Stored(false, 2001),
            new Stored(true, 2002),
            3,
            new MultiplyProblem.Factors(2, 3),
            MultiplyProblem.Batch.ONE);
    strategy = skinny(tall).orElseThrow();
    assertEquals(0, strategy.workspaceBytes());
    MultiplyStep first = strategy.steps().get(0);
    MultiplyStep second = strategy.steps().get(1);
    assertEquals(2, strategy.steps().size());
    assertEquals(
        new KernelLaunch(
            "multiply_skinny_along_w4_32x4x256",
            new LaunchConfig(156_250, 256, 0),
            5_000_000,
            2000 - 1536,
            2,
            2001,
            1,
            2002,
            3,
            1,
            1536,
            10_000_000,
            24,
            156_250,
            1,
            Float.floatToRawIntBits(2),
            ONE_FLOAT),
        second.launch());
    assertEquals(Float.floatToRawIntBits(2), first.launch().words()[13], "alpha");
    assertEquals(Float.floatToRawIntBits(3), first.launch().words()[14], "beta");
    assertEquals(
        List.of(
            at(MultiplyStep.Side.A, 1536 * 4),
            at(MultiplyStep.Side.B, 1536 * 4),
            at(MultiplyStep.Side.C, 0)),
        second.pointers());
    MultiplyProblem shallow =
        new MultiplyProblem(
            new Extents(65, 16, 1025),
            ElementType.FLOAT32,
            Precision.FULL,
            new Stored(true, 70),
            new Stored(true, 20),
            1030,
            Factors.ADD,
            Batch.ONE);
    assertEquals(
        List.of(
            new MultiplyStep(
                new KernelLaunch(
                    "multiply_skinny_depth16_w4_64x512x256",
                    new LaunchConfig(6, 256, 0),
                    65,
                    16,
                    1025,
                    1,
                    70,
                    1,
                    20,
                    1030,
                    2,
                    3,
                    ONE_FLOAT,
                    ONE_FLOAT),
                List.of(),
                List.of(
                    at(MultiplyStep.Side.A, 0),
                    at(MultiplyStep.Side.B, 0),
                    at(MultiplyStep.Side.C, 0)))),
        skinny(shallow).orElseThrow().steps());
  }

  /**
   * The steps, run as the kernels would on memory of just the needed length: results are right,
   * whatever is asked.
   */
  @Test
  void stepsMultiply() {
    SplittableRandom random = new SplittableRandom(8);
    long[] small = {1, 2, 3, 4, 5, 8, 9, 15, 16};
    long[] large = {1, 16, 17, 31, 33, 63, 65, 255, 257, 512, 513, 1000};
    for (int round = 0; round < 2000; round++) {
      long[] extents = new long[3];
      int which = random.nextInt(3);
      for (int i = 0; i < 3; i++) {
        long[] from = i == which ? small : large;
        extents[i] = from[random.nextInt(from.length)];
      }
      if (extents[0] * extents[1] * extents[2] < 1_000_000) {
        check(extents, round, random);
      }
    }
    check(new long[] {1, 300_000, 2}, 0, random);
    check(new long[] {2, 300_000, 1}, 3, random);
    check(new long[] {2, 300_000, 1}, 1, random);
    check(new long[] {1, 300_000, 2}, 2, random);
  }

  private static void check(long[] extents, int round, SplittableRandom random) {
    boolean transposeA = (round & 1) != 0;
    boolean transposeB = (round & 2) != 0;
    long m = extents[0];
    long k = extents[1];
    long n = extents[2];
    boolean isTooDeep = k > 4 && k <= 16 && m > 16 && n > 16; // for lower precisions
    Precision precision = Precision.values()[isTooDeep ? 0 : random.nextInt(4)];
    MultiplyProblem problem =
        new MultiplyProblem(
                new Extents(m, k, n),
                precision == Precision.FULL && random.nextBoolean()
                    ? ElementType.FLOAT64
                    : ElementType.FLOAT32,
                precision,
                new Stored(transposeA, (transposeA ? m : k) + random.nextInt(3)),
                new Stored(transposeB, (transposeB ? k : n) + random.nextInt(3)),
                n + random.nextInt(3),
                Factors.OVERWRITE,
                Batch.ONE)
            .withFactors(new MultiplyProblem.Factors(random.nextInt(1, 4), random.nextInt(0, 3)));
    int width = problem.type().bytes();
    // Sums are exact; lower precisions round most values.
    double[] a = fractions(problem.bytesA() / width, random);
    double[] b = fractions(problem.bytesB() / width, random);
    double[] c = new double[(int) (problem.bytesC() / width)];
    Arrays.fill(c, problem.factors().readsC() ? 3 : Double.NaN);
    MultiplyStrategy.Skinny strategy = skinny(problem).orElseThrow();
    Device device =
        new Device(a, b, c, new double[(int) (strategy.workspaceBytes() / width)], width);
    strategy.steps().forEach(step -> device.run(step));
    for (long i = 0; i < m; i++) {
      for (long j = 0; j < n; j++) {
        double sum = 0;
        for (long p = 0; p < k; p++) {
          double left =
              a[(int) (transposeA ? p * problem.a().lead() + i : i * problem.a().lead() + p)];
          double right =
              b[(int) (transposeB ? j * problem.b().lead() + p : p * problem.b().lead() + j)];
          sum += (double) precision.round((float) left) * precision.round((float) right);
        }
        double expected = problem.factors().alpha() * sum + 3 * problem.factors().beta();
        if (expected != c[(int) (i * problem.leadC() + j)]) {
          fail(problem + ": " + i + ", " + j);
        }
      }
    }
  }

  private static double[] fractions(long count, SplittableRandom random) {
    return random.ints(count, -0x8000, 0x8001).mapToDouble(value -> value / 4096.0).toArray();
  }

  /** Simulates {@code skinny.cuh} with the words of a launch. */
  private record Device(double[] a, double[] b, double[] c, double[] scratch, int width) {
    private double[] memory(MultiplyStep.Place place) {
      return switch (place.side()) {
        case A -> a;
        case B -> b;
        case C -> c;
        case WORKSPACE -> scratch;
        case NOWHERE -> throw new AssertionError("no such pointer is read");
      };
    }

    void run(MultiplyStep run) {
      long[] words = run.launch().words();
      String kernel = run.launch().kernel();
      Precision precision =
          Arrays.stream(Precision.values())
              .filter(each -> kernel.contains("_" + each.name().toLowerCase(Locale.ROOT) + "_"))
              .findFirst()
              .orElse(Precision.FULL);
      if (kernel.contains("_depth")) {
        depth(run.pointers(), words, kernel.contains("_depth4_") ? 4 : 16, precision);
      } else if (kernel.contains("_sum_")) {
        sum(run.pointers(), words);
      } else {
        multiply(
            run.pointers(),
            words,
            kernel.contains("_across_"),
            INDEX.find(kernel).orElseThrow().shape(),
            precision);
      }
    }

    private void multiply(
        List<MultiplyStep.Place> at,
        long[] w,
        boolean across,
        KernelIndex.TileShape shape,
        Precision precision) {
      double[] big = memory(at.get(0));
      double[] small = memory(at.get(1));
      double[] to = memory(at.get(2));
      long fromBig = at.get(0).bytes() / width;
      long fromSmall = at.get(1).bytes() / width;
      assertEquals(0, at.get(2).bytes());
      assertTrue(w[2] <= shape.cols() && w[8] % 256 == 0 && w[10] % 8 == 0, "words of " + shape);
      for (long number = 0; number < w[11] * w[12]; number++) {
        long part = number / w[11];
        long begin = part * w[8];
        assertTrue(begin < w[1], "a part is empty");
        long first = number % w[11] * shape.rows();
        for (long x = first; x < Math.min(w[0], first + shape.rows()); x++) {
          for (long j = 0; j < w[2]; j++) {
            double sum = 0;
            for (long p = begin; p < Math.min(w[1], begin + w[8]); p++) {
              sum +=
                  rounded(big[(int) (fromBig + (across ? p * w[3] + x : x * w[3] + p))], precision)
                      * rounded(small[(int) (fromSmall + p * w[4] + j * w[5])], precision);
            }
            int place = (int) (part * w[9] + x * w[6] + j * w[7]);
            put(to, place, sum, w[13], w[14]);
          }
        }
      }
    }

    private double rounded(double value, Precision precision) {
      return width == Double.BYTES ? value : precision.round((float) value);
    }

    /** Words of factors.cuh. */
    private void put(double[] to, int place, double sum, long alpha, long beta) {
      double product = factor(alpha) * sum;
      to[place] = factor(beta) == 0 ? product : product + factor(beta) * to[place];
    }

    private double factor(long word) {
      return width == Double.BYTES
          ? Double.longBitsToDouble(word)
          : Float.intBitsToFloat((int) word);
    }

    private void sum(List<MultiplyStep.Place> at, long[] w) {
      double[] from = memory(at.get(0));
      double[] to = memory(at.get(1));
      for (long e = 0; e < w[0] * w[1]; e++) {
        double sum = 0;
        for (long part = 0; part < w[4]; part++) {
          sum += from[(int) (part * w[0] * w[1] + e)];
        }
        int place = (int) (e / w[1] * w[2] + e % w[1] * w[3]);
        put(to, place, sum, w[5], w[6]);
      }
    }

    private void depth(List<MultiplyStep.Place> at, long[] w, int most, Precision precision) {
      double[] left = memory(at.get(0));
      double[] right = memory(at.get(1));
      double[] to = memory(at.get(2));
      assertTrue(w[1] <= most);
      assertTrue(w[8] * 64 >= w[0] && w[9] * 512 >= w[2]);
      for (long i = 0; i < w[0]; i++) {
        for (long j = 0; j < w[2]; j++) {
          double sum = 0;
          for (long p = 0; p < w[1]; p++) {
            sum +=
                rounded(left[(int) (i * w[3] + p * w[4])], precision)
                    * rounded(right[(int) (p * w[5] + j * w[6])], precision);
          }
          int place = (int) (i * w[7] + j);
          put(to, place, sum, w[10], w[11]);
        }
      }
    }
  }

  /** As in the tiled kernels, chains together are not much longer than 2 sqrt(K). */
  @Test
  void chainsAreShort() {
    for (long k :
        new long[] {
          17, 64, 100, 256, 257, 1000, 4096, 16_384, 65_536, 150_000, 270_336, 1_000_000, 10_000_000
        }) {
      for (long extent : new long[] {1, 100, 513, 10_000, 100_000, 10_000_000}) {
        for (long count : new long[] {1, 3, 16}) {
          for (boolean across : new boolean[] {false, true}) {
            MultiplyProblem problem = problem(extent, k, count, ElementType.FLOAT64, across, false);
            if (extent < count) {
              continue;
            }
            MultiplyStrategy.Skinny strategy = skinny(problem).orElseThrow();
            long[] words = strategy.steps().get(0).launch().words();
            double steps = Math.min(k, words[8]);
            double inPart = across ? words[10] + steps / words[10] : steps / 32 + 5;
            double chains = inPart + Math.ceil(k / (double) words[8]);
            assertTrue(chains <= 2 * Math.sqrt((double) k) + 16, problem + ": " + chains);
            assertTrue(strategy.workspaceBytes() <= SkinnySteps.MOST_SCRATCH_BYTES);
          }
        }
      }
    }
  }

  /** Cuts do not depend on the device, so neither do the sums' bits. */
  @Test
  void allDevicesSumAlike() {
    for (long extent : new long[] {1, 700, 100_000}) {
      MultiplyProblem problem = problem(3, 100_000, extent, ElementType.FLOAT32, false, false);
      MultiplyStrategy.Skinny one =
          SkinnySteps.of(problem, new DeviceKernels(H200, INDEX)).orElseThrow();
      MultiplyStrategy.Skinny other =
          SkinnySteps.of(problem, new DeviceKernels(OLD, INDEX)).orElseThrow();
      assertEquals(one.part(), other.part());
      assertEquals(one.workspaceBytes(), other.workspaceBytes());
    }
  }

  private static String way(
      MultiplyProblem problem, MultiplyEngine engine, Availability<?> cublas) {
    return new MultiplyPlanner(new DeviceKernels(H200, INDEX), cublas, engine)
        .plan(problem, problem.k())
        .get()
        .strategy()
        .way()
        .orElseThrow()
        .name();
  }

  @Test
  void byRule() {
    Availability<?> present = Availability.of("cuBLAS");
    MultiplyEngine auto = MultiplyEngine.AUTO;
    MultiplyEngine own = MultiplyEngine.OWN;
    ElementType f = ElementType.FLOAT32;
    ElementType d = ElementType.FLOAT64;
    String skinny = "multiply_skinny";
    String tiled = "multiply_tiled";
    Object[][] rules = {
      {problem(16_384, 16_384, 1, f, false, false), auto, present, skinny},
      {problem(16_384, 16_384, 16, f, false, false), auto, present, skinny},
      {problem(8, 16_384, 16_384, d, false, false), auto, present, skinny},
      {problem(9, 16_384, 16_384, d, false, false), auto, present, "cublas"},
      {problem(9, 16_384, 16_384, d, false, false), auto, ABSENT, skinny},
      {problem(9, 16_384, 16_384, d, false, false), own, present, skinny},
      {problem(1, 16_384, 16_384, d, false, false), MultiplyEngine.CUBLAS, present, "cublas"},
      {problem(17, 16_384, 16_384, d, false, false), own, present, tiled},
      {problem(16_384, 16, 16_384, d, false, true), auto, present, skinny},
      {problem(16_384, 17, 16_384, f, false, true), auto, present, tiled},
      {problem(1000, 16, 1000, f, false, true), auto, present, tiled}, // few tiles
      {problem(200, 300, 5, f, false, true), auto, present, tiled}, // small
      {problem(1, 1_000_000, 1, f, false, true), auto, present, skinny},
      {problem(1_000_000, 10, 3, d, true, true), auto, present, skinny},
      // One launch for each product of a batch, so they must be larger.
      {batch(problem(4096, 4096, 4, f, false, false), 3), auto, present, skinny},
      {batch(problem(512, 512, 4, f, false, false), 3), auto, present, tiled},
    };
    for (Object[] rule : rules) {
      MultiplyProblem problem = (MultiplyProblem) rule[0];
      String way = way(problem, (MultiplyEngine) rule[1], (Availability<?>) rule[2]);
      assertTrue(way.startsWith((String) rule[3]), problem + " " + rule[1] + ": " + way);
    }
    // The tuner tries it among the others, unless other bits are not wanted.
    MultiplyProblem wide = problem(9, 16_384, 16_384, d, false, false);
    assertEquals(
        List.of(
            "cublas",
            "multiply_tiled_w8_64x64x128",
            "multiply_tiled_w8_32x32x64",
            "multiply_skinny_across_w8_512x16x256"),
        choices(wide, auto));
    assertEquals(List.of("multiply_skinny_across_w8_512x16x256"), choices(wide, own));
    // What was chosen is taken for smaller products of the kind.
    MultiplyWay chosen = new MultiplyWay("multiply_skinny_across_w8_512x16x256");
    MultiplyStrategy strategy =
        new MultiplyPlanner(new DeviceKernels(H200, INDEX), present, MultiplyEngine.AUTO)
            .plan(problem(9, 10, 9, d, true, false), 10, chosen)
            .get()
            .strategy();
    assertInstanceOf(MultiplyStrategy.Skinny.class, strategy);
    assertEquals(Optional.of(chosen), strategy.way());
    assertEquals("multiply_skinny_across_w8_512x16x256, sums of 256", strategy.describe());
  }

  /** More than 8 columns of FLOAT are the tensor cores', where A is large and stored along K. */
  @Test
  void manyColumnsAlong() {
    KernelIndex index = PlannerFixture.CUTTING;
    KernelIndex both =
        KernelIndex.parse(
            Stream.concat(index.kernels().stream(), INDEX.kernels().stream())
                .map(
                    kernel ->
                        String.format(
                            "kernel %s %s %s%n",
                            kernel.source(),
                            kernel.name(),
                            kernel.architectures().iterator().next()))
                .collect(Collectors.joining()));
    ElementType f = ElementType.FLOAT32;
    Object[][] rules = {
      {problem(1_000_000, 256, 16, f, false, false), "multiply_split"},
      {problem(2048, 1024, 9, f, false, true), "multiply_split"},
      {problem(1_000_000, 256, 8, f, false, false), "multiply_skinny"},
      {problem(1_000_000, 256, 16, f, true, false), "multiply_skinny"},
      {problem(1000, 1000, 16, f, false, false), "multiply_skinny"},
      {problem(16, 16_384, 16_384, f, true, true), "multiply_skinny"},
      {problem(200, 1_000_000, 16, f, false, false), "multiply_skinny"}, // few rows
      {problem(1_000_000, 257, 16, f, false, false), "multiply_skinny"}, // A would be copied
      {problem(3_000_000, 2500, 16, f, false, false), "multiply_skinny"}, // 30 GB for that
      {problem(1_000_000, 60, 16, f, false, false), "multiply_skinny"}, // too short to be split
      {problem(16_384, 16, 16_384, f, false, true), "multiply_skinny"},
      {problem(1_000_000, 256, 16, ElementType.FLOAT64, false, false), "multiply_skinny"},
    };
    for (Object[] rule : rules) {
      MultiplyProblem problem = (MultiplyProblem) rule[0];
      String way =
          new MultiplyPlanner(new DeviceKernels(H200, both), ABSENT, MultiplyEngine.OWN)
              .plan(problem, problem.k())
              .get()
              .strategy()
              .way()
              .orElseThrow()
              .name();
      assertTrue(way.startsWith((String) rule[1]), problem + ": " + way);
    }
  }

  private static MultiplyProblem batch(MultiplyProblem one, long count) {
    return one.withBatch(
        new MultiplyProblem.Batch(count, one.m() * one.k(), one.k() * one.n(), one.m() * one.n()));
  }

  /** Each product by the steps of one. */
  @Test
  void batches() {
    MultiplyProblem one = problem(4096, 4096, 4, ElementType.FLOAT32, false, false);
    assertEquals(skinny(one), skinny(batch(one, 100)));
  }

  private static List<String> choices(MultiplyProblem problem, MultiplyEngine engine) {
    Availability<?> cublas =
        engine == MultiplyEngine.AUTO ? Availability.of("cuBLAS") : Availability.not("not asked");
    MultiplyPlan byRule =
        new MultiplyPlanner(new DeviceKernels(H200, INDEX), cublas, engine)
            .plan(problem, problem.k())
            .get();
    return new MultiplyPlanner(new DeviceKernels(H200, INDEX), cublas, engine)
        .choices(byRule, MultiplyPlanner.trial(problem), problem.k()).stream()
            .map(plan -> plan.strategy().way().orElseThrow().name())
            .toList();
  }

  /** The memory reserved for a product is enough for smaller ones; frugal ways take none. */
  @Test
  void workspace() {
    SplittableRandom random = new SplittableRandom(9);
    for (int round = 0; round < 3000; round++) {
      long[] most = {
        random.nextLong(1, 3000), random.nextLong(1, 200_000), random.nextLong(1, 3000)
      };
      ElementType type = random.nextBoolean() ? ElementType.FLOAT32 : ElementType.FLOAT64;
      Precision precision =
          type == ElementType.FLOAT64
              ? Precision.FULL
              : Precision.values()[random.nextInt(Precision.values().length)];
      long reserved =
          new MultiplyPlanner(new DeviceKernels(H200, INDEX), ABSENT, MultiplyEngine.AUTO)
              .mostWorkspaceBytes(
                  problem(most[0], most[1], most[2], type, true, false).withPrecision(precision));
      MultiplyProblem less =
          problem(
                  random.nextLong(1, 1 + Math.min(most[0], random.nextBoolean() ? 16 : most[0])),
                  random.nextLong(1, most[1] + 1),
                  random.nextLong(1, 1 + Math.min(most[2], random.nextBoolean() ? 16 : most[2])),
                  type,
                  random.nextBoolean(),
                  random.nextBoolean())
              .withPrecision(precision);
      Optional<MultiplyStrategy.Skinny> strategy = skinny(less);
      if (strategy.isPresent()) {
        assertTrue(strategy.get().workspaceBytes() <= reserved, less + " of " + reserved);
        assertTrue(reserved <= SkinnySteps.MOST_SCRATCH_BYTES);
      }
    }
    MultiplyProblem vector = problem(16_384, 16_384, 1, ElementType.FLOAT32, false, false);
    assertEquals(
        0,
        new MultiplyPlanner(new DeviceKernels(OLD, KernelIndex.EMPTY), ABSENT, MultiplyEngine.AUTO)
            .mostWorkspaceBytes(any()));
    for (Availability<?> cublas : List.of(Availability.of("cuBLAS"), ABSENT)) {
      String frugal =
          new MultiplyPlanner(new DeviceKernels(H200, INDEX), cublas, MultiplyEngine.AUTO)
              .lowMemoryWay(vector, 16_384)
              .orElseThrow()
              .name();
      assertFalse(frugal.startsWith("multiply_skinny"), frugal);
    }
  }
}
