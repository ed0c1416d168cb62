package org.tilespark.spark.runtime;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.spark.SparkContext;
import org.tilespark.kernels.device.DeviceFactorizer;
import org.tilespark.kernels.device.DeviceFourier;
import org.tilespark.kernels.device.DeviceProbe;
import org.tilespark.kernels.factor.Factorizer;
import org.tilespark.kernels.host.HostProfile;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.multiply.Multiplier;
import org.tilespark.spark.conf.Backend;
import org.tilespark.spark.conf.TileSparkConf;

/**
 * Predicts on the driver which backend will compute. In local mode that is known; on a cluster each
 * executor decides by its configuration and devices, which the plugin reports to the driver.
 *
 * <p>The width of vectors and the library that factorizes on the CPU are those of the driver.
 * Executors may have others.
 */
public final class BackendPlanner {
  private static final String PLUGIN = "org.tilespark.spark.TileSparkPlugin";

  /**
   * Limit of small arrays. A core copies small arrays for a GPU, which costs more than computing
   * them: 100,000 FLOAT arrays of 64 x 64 cost 16 cores 2.9 to 7.1 s with an H200, and 1.4 to 2.6 s
   * without it. Transforms of groups of arrays are an exception (4.0 s with the H200 and 10.1 s
   * without). An array that a GPU transforms alone costs a core 0.6 ms, in which the core could
   * transform about this many bytes.
   */
  static final long SMALL_BYTES = 128 << 10;

  private BackendPlanner() {}

  /** The backend of operators that need no external library. */
  public static BackendChoice choose(Backend requested, SparkContext context) {
    return choose(requested, context, cpu());
  }

  private static BackendChoice choose(Backend requested, SparkContext context, String cpu) {
    if (requested == Backend.CPU) {
      return new BackendChoice(requested, cpu);
    }
    String expected =
        context.isLocal()
            ? inThisProcess(requested, DeviceProbe.run(), cpu)
            : onExecutors(ExecutorReports.current().map(ExecutorReports::summary));
    return new BackendChoice(requested, expected);
  }

  /** The backend of products, which may use OpenBLAS on the CPU. */
  public static BackendChoice chooseForProducts(Backend requested, SparkContext context) {
    if (!context.isLocal()) {
      return choose(requested, context);
    }
    Availability<Multiplier> found =
        HostProducts.find(TileSparkConf.application(context.getConf()));
    if (!found.isPresent()) {
      return choose(requested, context, "cpu, which will fail: " + found.whyNot());
    }
    try (Multiplier multiplier = found.get()) {
      return choose(requested, context, multiplier.toString());
    }
  }

  /**
   * The backend of factorisations: the CPU, but for large matrices a GPU with cuSOLVER where there
   * is one. {@link Backend#GPU} acts like {@link Backend#AUTO} here.
   */
  public static BackendChoice chooseForFactors(Backend requested, SparkContext context) {
    String host = factorizer(context);
    if (requested == Backend.CPU) {
      return new BackendChoice(requested, host);
    }
    String large =
        "; cuSOLVER for matrices from %s x %s, %s for others"
            .formatted(DeviceFactorizer.LEAST_SIDE, DeviceFactorizer.LEAST_SIDE, host);
    if (!context.isLocal()) {
      return new BackendChoice(requested, choose(requested, context).expected() + large);
    }
    Availability<DeviceProbe> probe = DeviceProbe.run();
    Availability<String> cusolver =
        probe.isPresent()
            ? DeviceFactorizer.library(
                TileSparkConf.LIBRARY_PATH.read(TileSparkConf.application(context.getConf())))
            : Availability.not(probe.whyNot());
    return new BackendChoice(
        requested,
        cusolver.isPresent()
            ? inThisProcess(requested, probe, host) + large
            : host + ": " + cusolver.whyNot());
  }

  /** The backend of tasks that factorise strips (groups of rows) of a tall matrix: the CPU. */
  public static BackendChoice forPartsOfFactors(Backend configured, SparkContext context) {
    return new BackendChoice(
        configured,
        Backend.CPU,
        factorizer(context) + ": tasks make factors of a strip that belong together");
  }

  private static String factorizer(SparkContext context) {
    Availability<Factorizer> found =
        HostProducts.findFactorizer(TileSparkConf.application(context.getConf()));
    if (!found.isPresent()) {
      return "cpu, which will fail: " + found.whyNot();
    }
    try (Factorizer factorizer = found.get()) {
      return factorizer.toString();
    }
  }

  /**
   * The backend of tasks that only put blocks together, or cut them, next to an exchange: the CPU.
   */
  public static BackendChoice forMoves(Backend configured) {
    return new BackendChoice(configured, Backend.CPU, cpu() + ": blocks only move");
  }

  /**
   * The backend of operators that take some elements of blocks, and compute nothing: copies to and
   * from a GPU would move more bytes than the CPU does.
   */
  public static BackendChoice chooseForSelection(Backend requested, SparkContext context) {
    return requested == Backend.AUTO
        ? new BackendChoice(requested, Backend.CPU, cpu() + ": elements are only taken")
        : choose(requested, context);
  }

  /**
   * The backend of Fourier transforms, which need cuFFT on a GPU.
   *
   * @param libraryPath directories to search in addition to the system's
   */
  public static BackendChoice chooseForTransforms(
      Backend requested, List<Path> libraryPath, SparkContext context) {
    BackendChoice choice = choose(requested, context);
    if (requested == Backend.CPU || (context.isLocal() && !DeviceProbe.run().isPresent())) {
      return choice;
    }
    if (!context.isLocal()) {
      return new BackendChoice(requested, choice.expected() + "; GPUs need cuFFT");
    }
    Availability<String> cufft = DeviceFourier.library(libraryPath);
    if (cufft.isPresent()) {
      return choice;
    }
    return new BackendChoice(
        requested,
        requested == Backend.GPU
            ? "gpu, which will fail: " + cufft.whyNot()
            : cpu() + ": " + cufft.whyNot());
  }

  /**
   * The choice under {@code auto} for cheap work: the CPU if arrays are so small that a core
   * computes one faster than it can be copied to a GPU and back.
   *
   * @param choice the choice for arrays of any size
   * @param arrayBytes most bytes of one array; empty if the plan does not state it
   */
  public static BackendChoice unlessSmall(
      BackendChoice choice, OptionalLong arrayBytes, SparkContext context) {
    boolean mayBeGpu = !context.isLocal() || DeviceProbe.run().isPresent();
    return mayBeGpu ? unlessSmall(choice, arrayBytes) : choice;
  }

  static BackendChoice unlessSmall(BackendChoice choice, OptionalLong arrayBytes) {
    boolean isSmall = arrayBytes.isPresent() && arrayBytes.getAsLong() <= SMALL_BYTES;
    return choice.requested() == Backend.AUTO && isSmall
        ? new BackendChoice(
            choice.configured(),
            Backend.CPU,
            "%s: arrays of at most %s bytes cost more on their way to a GPU than to compute"
                .formatted(cpu(), SMALL_BYTES))
        : choice;
  }

  static String inThisProcess(Backend requested, Availability<DeviceProbe> probe, String cpu) {
    if (probe.isPresent()) {
      int more = probe.get().count() - 1;
      return "gpu: " + probe.get().description() + (more > 0 ? ", and " + more + " more" : "");
    }
    return requested == Backend.GPU
        ? "gpu, which will fail: " + probe.whyNot()
        : cpu + ": " + probe.whyNot();
  }

  /** The text for the CPU, as {@code cpu (512-bit vectors)}. */
  private static String cpu() {
    return "cpu (" + HostProfile.current().describe() + ")";
  }

  private static String onExecutors(Optional<String> summary) {
    return "each executor decides: "
        + summary.orElse("unknown to the driver without spark.plugins=" + PLUGIN);
  }
}
