package org.tilespark.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.spark.resource.ResourceInformation;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The script that tells Spark a machine's GPUs, with an nvidia-smi made by hand. */
class GpuDiscoveryTest {
  @TempDir Path directory;

  @Test
  void oneAddressForEachDevice() throws Exception {
    install("echo 0; echo 1; echo 2");
    assertEquals(List.of("0", "1", "2"), addresses(Map.of()));
    install("echo 0");
    assertEquals(List.of("0"), addresses(Map.of()));
  }

  @Test
  void numbersAreThoseOfAProcessThatSeesSomeOnly() throws Exception {
    install("echo 0; echo 1; echo 2; echo 3");
    assertEquals(List.of("0", "1"), addresses(visible("3,1")));
    assertEquals(List.of("0"), addresses(visible("2, 7,1")), "what follows a wrong one is unseen");
    assertEquals(List.of("0", "1"), addresses(visible("GPU-6b8fae,GPU-1c")));
    assertEquals(List.of("0"), addresses(visible("MIG-GPU-6b8fae/1/0")));
    assertEquals(List.of(), addresses(visible("")));
    assertEquals(List.of(), addresses(visible("-1")));
    assertEquals(List.of(), addresses(visible("NoDevFiles")));
  }

  @Test
  void noneWhereThereIsNoDriver() throws Exception {
    install("echo 'NVIDIA-SMI has failed because it could not talk to the driver'; exit 9");
    assertEquals(List.of(), addresses(Map.of()));
    install("echo 'No devices were found'");
    assertEquals(List.of(), addresses(Map.of()));
    Files.delete(directory.resolve("nvidia-smi"));
    assertEquals(List.of(), addresses(Map.of()));
    assertEquals(List.of(), addresses(visible("0,1")));
  }

  private static Map<String, String> visible(String devices) {
    return Map.of("CUDA_VISIBLE_DEVICES", devices);
  }

  private void install(String nvidiaSmi) throws IOException {
    Path file = directory.resolve("nvidia-smi");
    Files.writeString(file, "#!/bin/bash\n" + nvidiaSmi + "\n");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwx------"));
  }

  /** The addresses that Spark reads from the script's output. */
  private List<String> addresses(Map<String, String> environment)
      throws IOException, InterruptedException {
    Path tools = Files.createDirectories(directory.resolve("tools"));
    for (String tool : List.of("bash", "grep")) {
      Path link = tools.resolve(tool);
      if (!Files.exists(link)) {
        Files.createSymbolicLink(link, which(tool));
      }
    }
    ProcessBuilder builder =
        new ProcessBuilder("bash", script().toString()).redirectErrorStream(true);
    builder.environment().remove("CUDA_VISIBLE_DEVICES");
    builder.environment().putAll(environment);
    // No nvidia-smi but ours.
    builder.environment().put("PATH", directory + ":" + tools);
    Process process = builder.start();
    String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    process.waitFor(60, TimeUnit.SECONDS);
    assertEquals(0, process.exitValue(), printed);
    ResourceInformation found = ResourceInformation.parseJson(printed);
    assertEquals("gpu", found.name());
    return List.of(found.addresses());
  }

  private static Path which(String tool) {
    for (String folder : System.getenv("PATH").split(":")) {
      Path file = Path.of(folder, tool);
      if (Files.isExecutable(file)) {
        return file;
      }
    }
    throw new AssertionError("there is no " + tool);
  }

  private Path script() throws IOException {
    Path file = directory.resolve("gpu-discovery.sh");
    if (!Files.exists(file)) {
      try (var in = TileSparkPlugin.class.getResourceAsStream("/org/tilespark/gpu-discovery.sh")) {
        Files.copy(in, file);
      }
    }
    return file;
  }
}
