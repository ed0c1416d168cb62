package org.tilespark.bench.kernels;

import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.DeviceProbe;
import org.tilespark.kernels.launch.Availability;

/**
 * Options that the kernel benchmarks have in common.
 *
 * @param options values by option name, {@code --commit} among them
 * @param runs number of runs, of which each printed time is the median
 */
record KernelRun(Map<String, String> options, int runs) {
  /**
   * Parses options and checks that there is a device. Prints the usage and exits with status 2 if a
   * value or a required option is missing; prints the reason and exits with status 1 without a
   * device.
   *
   * @param usage usage text: the class's name, {@code --commit ID} and other options
   * @param runs number of runs unless {@code --runs} gives another number
   * @param required names of required options in addition to {@code --commit}
   */
  static KernelRun start(String[] args, String usage, int runs, String... required) {
    Map<String, String> options = new HashMap<>();
    for (int i = 0; i + 1 < args.length; i += 2) {
      options.put(args[i], args[i + 1]);
    }
    boolean isComplete =
        options.containsKey("--commit")
            && List.of(required).stream().allMatch(options::containsKey);
    if (args.length % 2 != 0 || !isComplete) {
      System.err.println("usage: " + usage);
      System.exit(2);
    }
    requireDevice();
    return new KernelRun(
        options, Integer.parseInt(options.getOrDefault("--runs", Integer.toString(runs))));
  }

  /** Prints the reason and exits with status 1 if there is no device. */
  static void requireDevice() {
    Availability<DeviceProbe> probe = DeviceProbe.run();
    if (!probe.isPresent()) {
      System.err.println("No CUDA device: " + probe.whyNot());
      System.exit(1);
    }
  }

  /** The value of an option, by default {@code otherwise}. */
  String option(String name, String otherwise) {
    return options.getOrDefault(name, otherwise);
  }

  String machine(CudaDevice device) {
    return "%s; commit %s; %s; %s; median of %d"
        .formatted(
            device.description(),
            options.get("--commit"),
            device.kernels().index().compiler(),
            LocalDate.now(ZoneOffset.UTC),
            runs);
  }
}
