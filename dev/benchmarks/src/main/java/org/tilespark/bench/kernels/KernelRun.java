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
 * How a benchmark of kernels begins: with options and a device.
 *
 * @param options by their names, {@code --commit} among them
 * @param runs number of runs, of which each time is the median
 */
record KernelRun(Map<String, String> options, int runs) {
  /**
   * The options of a command. If one is wrong or required and missing it prints the usage, and
   * without a device the reason; both end the process.
   *
   * @param usage begins with the class's name and {@code --commit ID}
   * @param runs how many there are unless the option {@code --runs} says another number
   * @param required names of further options than {@code --commit}
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

  /** Without a device it prints the reason and ends the process. */
  static void requireDevice() {
    Availability<DeviceProbe> probe = DeviceProbe.run();
    if (!probe.isPresent()) {
      System.err.println("No CUDA device: " + probe.whyNot());
      System.exit(1);
    }
  }

  /** The text of an option. */
  String option(String name, String otherwise) {
    return options.getOrDefault(name, otherwise);
  }

  /** The machine and the way that times are measured. */
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
