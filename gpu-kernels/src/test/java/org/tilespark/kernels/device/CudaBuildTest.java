package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/**
 * The build on machines with another compiler, or none: its scripts run with a PATH and a cache of
 * the test's own, and pip installs a small wheel that the test makes.
 */
@EnabledOnOs(OS.LINUX)
class CudaBuildTest {
  private static final Path SOURCES = Path.of("src/main/cuda").toAbsolutePath();

  /** Tools that the scripts call; of the machine's PATH nothing else is seen. */
  private static final List<String> TOOLS =
      List.of(
          "awk",
          "bash",
          "cat",
          "chmod",
          "cmp",
          "cp",
          "cut",
          "dirname",
          "basename",
          "env",
          "find",
          "grep",
          "mkdir",
          "mktemp",
          "mv",
          "nproc",
          "rm",
          "sed",
          "sha256sum",
          "sleep",
          "touch",
          "tr",
          "uname",
          "wc",
          "xargs");

  @TempDir private Path root;
  private Path bin;
  private Path scripts;
  private Path cache;

  private record Outcome(int status, String output, String messages) {}

  @BeforeEach
  void aMachineWithoutCompiler() throws IOException {
    bin = Files.createDirectory(root.resolve("bin"));
    scripts = Files.createDirectory(root.resolve("cuda"));
    cache = root.resolve("cache/tilespark");
    for (String tool : TOOLS) {
      Files.createSymbolicLink(bin.resolve(tool), onPath(tool));
    }
    for (String script : List.of("build.sh", "find-nvcc.sh", "nvcc-wheels.txt")) {
      Files.copy(SOURCES.resolve(script), scripts.resolve(script));
    }
    program("gcc", "exit 0");
  }

  @Test
  void aNewEnoughCompilerOfTheMachineIsUsed() throws Exception {
    program("python3", "echo called >" + root + "/pip; exit 1");
    nvcc(bin.resolve("nvcc"), "13.1");
    Outcome outcome = find();
    assertEquals(bin.resolve("nvcc") + "\n", outcome.output, outcome::toString);
    assertEquals("", outcome.messages);
    assertFalse(Files.exists(root.resolve("pip")));
  }

  @Test
  void anOldCompilerIsNamedAndTheNextOneUsed() throws Exception {
    nvcc(bin.resolve("nvcc"), "12.6");
    Path newer = Files.createDirectories(root.resolve("toolkit/bin")).resolve("nvcc");
    nvcc(newer, "13.0");
    Outcome outcome = run(Map.of("CUDA_HOME", root.resolve("toolkit").toString()), "find-nvcc.sh");
    assertEquals(newer + "\n", outcome.output, outcome::toString);
    assertTrue(outcome.messages.contains(bin + "/nvcc is release 12.6"), outcome::toString);
  }

  @Test
  void whereTheCompilerIsTooOldPipBringsOne() throws Exception {
    nvcc(bin.resolve("nvcc"), "12.6");
    realPip();
    pinned(hashOf(wheel("13.0")));
    Outcome outcome = find();
    Path brought = cache.resolve("cuda-13.0.88/nvidia/cu13/bin/nvcc");
    assertEquals(brought + "\n", outcome.output, outcome::toString);
    assertTrue(outcome.messages.contains("is release 12.6"), outcome::toString);
    assertTrue(outcome.messages.contains("into " + cache), outcome::toString);
    assertEquals(List.of("cuda-13.0.88"), names(cache));
  }

  @Test
  void whatWasBroughtIsUsedWithoutPipAndNetwork() throws Exception {
    realPip();
    pinned(hashOf(wheel("13.0")));
    String brought = find().output;
    program("python3", "exit 1");
    Outcome again = run(Map.of(), "find-nvcc.sh", "--offline");
    assertEquals(brought, again.output, again::toString);
    assertEquals("", again.messages);
  }

  @Test
  void twoBuildsAtOnceLeaveOneCompiler() throws Exception {
    realPip();
    pinned(hashOf(wheel("13.0")));
    List<Process> builds = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      builds.add(start(Map.of(), root.resolve("build-" + i), "find-nvcc.sh"));
    }
    for (int i = 0; i < 2; i++) {
      Outcome outcome = await(builds.get(i), root.resolve("build-" + i));
      assertEquals(0, outcome.status, outcome::toString);
      assertTrue(outcome.output.contains("cuda-13.0.88"), outcome::toString);
    }
    assertEquals(List.of("cuda-13.0.88"), names(cache));
  }

  @Test
  void aWheelWithAnotherHashFailsTheBuildAndIsNotKept() throws Exception {
    realPip();
    wheel("13.0");
    pinned("0".repeat(64));
    Outcome outcome = build("auto");
    assertEquals(1, outcome.status, outcome::toString);
    assertTrue(outcome.messages.contains("differ from those"), outcome::toString);
    assertEquals(List.of(), names(cache));
  }

  @Test
  void withoutPipTheBuildSaysSoAndGoesOn() throws Exception {
    Path old = kernelsOfAnEarlierBuild();
    program("python3", "exit 1");
    Outcome outcome = build("auto");
    assertEquals(0, outcome.status, outcome::toString);
    assertTrue(outcome.messages.contains("no python3 with pip"), outcome::toString);
    assertTrue(outcome.output.contains("building without device kernels"), outcome::toString);
    assertFalse(Files.exists(old));
  }

  @Test
  void withoutNetworkTheBuildQuotesPipAndGoesOn() throws Exception {
    program("python3", "[[ $* == *--version* ]] || { echo 'no route to pypi.org'; exit 1; }");
    Outcome outcome = build("auto");
    assertEquals(0, outcome.status, outcome::toString);
    assertTrue(outcome.messages.contains("pip: no route to pypi.org"), outcome::toString);
    assertTrue(outcome.output.contains("building without device kernels"), outcome::toString);
    assertEquals(List.of(), names(cache));
  }

  @Test
  void withoutHostCompilerTheBuildSaysSoAndGoesOn() throws Exception {
    program("gcc", "exit 1");
    Outcome outcome = build("auto");
    assertEquals(0, outcome.status, outcome::toString);
    assertTrue(outcome.messages.contains("install g++"), outcome::toString);
  }

  @Test
  void requireFailsWithoutCompiler() throws Exception {
    Outcome outcome = build("require");
    assertEquals(1, outcome.status, outcome::toString);
    assertTrue(outcome.messages.contains("-Dcuda=require"), outcome::toString);
  }

  @Test
  void skipLooksForNoCompilerAndRemovesKernels() throws Exception {
    Path old = kernelsOfAnEarlierBuild();
    program("nvcc", "echo called >" + root + "/nvcc");
    Outcome outcome = build("skip");
    assertEquals(0, outcome.status, outcome::toString);
    assertEquals("[cuda] building without device kernels\n", outcome.output);
    assertFalse(Files.exists(root.resolve("nvcc")));
    assertFalse(Files.exists(old));
  }

  @Test
  void anotherWordIsRefused() throws Exception {
    Outcome outcome = build("none");
    assertEquals(1, outcome.status, outcome::toString);
    assertTrue(outcome.messages.contains("expected auto, require or skip"), outcome::toString);
  }

  @Test
  void aSecondCloneCompilesNothing() throws Exception {
    twoSources();
    Outcome first = build("auto");
    assertTrue(first.output.contains("compiling 2 of 2 sources for sm_90a"), first::toString);
    Path clone = Files.createDirectory(root.resolve("clone"));
    for (String file : names(scripts)) {
      Files.copy(scripts.resolve(file), clone.resolve(file));
    }
    Map<String, String> kernels = contents(root.resolve("output"));
    assertEquals(Set.of("kernels.index", "one.fatbin", "two.fatbin"), kernels.keySet());
    scripts = clone;
    Files.move(root.resolve("output"), root.resolve("output-of-first"));
    Outcome second = build("auto");
    assertEquals("", second.output, second::toString);
    assertEquals(kernels, contents(root.resolve("output")));
  }

  @Test
  void onlyWhatChangedIsCompiledAgain() throws Exception {
    twoSources();
    build("auto");
    Files.writeString(scripts.resolve("of-two.cuh"), "// changed");
    Outcome changed = build("auto");
    assertTrue(changed.output.contains("compiling 1 of 2 sources"), changed::toString);
    fakeCompiler("13.1");
    Outcome another = build("auto");
    assertTrue(another.output.contains("compiling 2 of 2 sources"), another::toString);
    fakeCompiler("13.0");
    Files.delete(scripts.resolve("two.cu"));
    Outcome fewer = build("auto");
    assertEquals("", fewer.output, fewer::toString);
    assertEquals(Set.of("kernels.index", "one.fatbin"), contents(root.resolve("output")).keySet());
  }

  /** The compiler writes half of a result, waits, and writes the rest. */
  @Test
  void killedBuildsLeaveNoBrokenCache() throws Exception {
    twoSources();
    Random random = new Random();
    for (int i = 0; i < 8; i++) {
      Files.writeString(scripts.resolve("of-two.cuh"), "// change " + i);
      Process build = startBuild("auto", root.resolve("killed"));
      Thread.sleep(random.nextInt(20, 400));
      new ProcessBuilder("bash", "-c", "kill -KILL -- -" + build.pid()).start().waitFor();
      assertTrue(build.waitFor(1, TimeUnit.MINUTES));
    }
    Outcome outcome = build("auto");
    assertEquals(0, outcome.status, outcome::toString);
    Map<String, String> kernels = contents(root.resolve("output"));
    assertEquals("whole one", kernels.get("one.fatbin"));
    assertEquals("whole two", kernels.get("two.fatbin"));
    for (String entry : names(cache.resolve("kernels"))) {
      if (!entry.contains(".")) { // has its name, so it is complete
        String name = entry.substring(0, entry.indexOf('-'));
        Map<String, String> result = contents(cache.resolve("kernels").resolve(entry));
        assertEquals("whole " + name, result.get(name + ".fatbin"));
        assertTrue(result.get("index").contains("registers=8 "), entry);
      }
    }
  }

  @Test
  void aSourceOfFunctionsBecomesPtx() throws Exception {
    twoSources();
    Files.writeString(scripts.resolve("one.cu"), "// Functions of a test\n");
    Outcome outcome = build("auto");
    assertEquals(0, outcome.status, outcome::toString);
    Map<String, String> made = contents(root.resolve("output"));
    assertEquals(Set.of("kernels.index", "one.ptx", "two.fatbin"), made.keySet());
    assertEquals("whole one", made.get("one.ptx"));
    String index = made.get("kernels.index");
    assertTrue(index.contains("\nptx one 9 "), index);
    assertFalse(index.contains("kernel one"), index);
    Files.delete(scripts.resolve("one.cu"));
    assertEquals(0, build("auto").status);
    assertEquals(Set.of("kernels.index", "two.fatbin"), contents(root.resolve("output")).keySet());
  }

  private void twoSources() throws IOException {
    Files.writeString(scripts.resolve("one.cu"), "// the first");
    Files.writeString(scripts.resolve("two.cu"), "#include \"of-two.cuh\"");
    Files.writeString(scripts.resolve("of-two.cuh"), "// of the second");
    fakeCompiler("13.0");
  }

  /** Makes of NAME.cu the text "whole NAME", and reports one kernel. */
  private void fakeCompiler(String release) throws IOException {
    program(
        "nvcc",
        """
        case $1 in
          --version) echo 'Cuda compilation tools, release %1$s, V%1$s.0' && exit ;;
          --list-gpu-*) echo sm_90 && exit ;;
        esac
        while (($# > 1)); do
          case $1 in
            --keep-dir) keep=$2 ;;
            -o) output=$2 ;;
          esac
          shift
        done
        name=$(basename "$1" .cu)
        printf whole >"$output"
        sleep 0.1
        printf ' %%s' "$name" >>"$output"
        [[ $output == *.fatbin ]] || exit 0
        echo ".visible .entry $name(" >"$keep/$name.ptx"
        echo "ptxas info : Compiling entry function '$name' for 'sm_90a'"
        echo "ptxas info : Used 8 registers"
        """
            .formatted(release));
  }

  private static Map<String, String> contents(Path directory) throws IOException {
    Map<String, String> contents = new TreeMap<>();
    for (String name : names(directory)) {
      contents.put(name, Files.readString(directory.resolve(name)));
    }
    return contents;
  }

  private Path kernelsOfAnEarlierBuild() throws IOException {
    Path index = Files.createDirectories(root.resolve("output")).resolve("kernels.index");
    return Files.writeString(index, "of an earlier build");
  }

  private Outcome find() throws Exception {
    return run(Map.of(), "find-nvcc.sh");
  }

  private Outcome build(String cuda) throws Exception {
    Path log = root.resolve("log");
    return await(startBuild(cuda, log), log);
  }

  private Process startBuild(String cuda, Path log) throws IOException {
    return start(
        Map.of(),
        log,
        "build.sh",
        "sm_90a",
        root.resolve("output").toString(),
        cuda,
        "offline=false");
  }

  private Outcome run(Map<String, String> variables, String... command) throws Exception {
    Path log = root.resolve("log");
    return await(start(variables, log, command), log);
  }

  private Process start(Map<String, String> variables, Path log, String... command)
      throws IOException {
    // A process group of its own, so that a test can kill all of it.
    List<String> words =
        new ArrayList<>(
            List.of(onPath("setsid").toString(), bin + "/bash", scripts + "/" + command[0]));
    words.addAll(Arrays.asList(command).subList(1, command.length));
    ProcessBuilder builder = new ProcessBuilder(words);
    Map<String, String> environment = builder.environment();
    environment.keySet().removeIf(key -> key.startsWith("PIP_") || key.startsWith("CUDA_"));
    environment.putAll(
        Map.of(
            "PATH", bin.toString(),
            "TILESPARK_CUDA_SEARCH", "",
            "XDG_CACHE_HOME", root.resolve("cache").toString(),
            "PIP_NO_INDEX", "1",
            "PIP_FIND_LINKS", root.toString()));
    environment.putAll(variables);
    return builder
        .redirectOutput(Path.of(log + ".out").toFile())
        .redirectError(Path.of(log + ".err").toFile())
        .start();
  }

  private static Outcome await(Process process, Path log) throws Exception {
    assertTrue(process.waitFor(6, TimeUnit.MINUTES), "the build hangs");
    return new Outcome(
        process.exitValue(),
        Files.readString(Path.of(log + ".out")),
        Files.readString(Path.of(log + ".err")));
  }

  private static List<String> names(Path directory) throws IOException {
    try (var files = Files.list(directory)) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }

  /**
   * The machine's own python3, if it has pip, at its real path: it finds its library from there.
   */
  private void realPip() throws Exception {
    Path real = root.resolve("python.out");
    Process process =
        new ProcessBuilder("python3", "-c", "import pip, sys; print(sys.executable)")
            .redirectOutput(real.toFile())
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    assumeTrue(process.waitFor() == 0, "there is no python3 with pip here");
    program("python3", "exec " + Files.readString(real).trim() + " \"$@\"");
  }

  private void pinned(String hash) throws IOException {
    Files.writeString(
        scripts.resolve("nvcc-wheels.txt"), "nvidia-cuda-nvcc==13.0.88 --hash=sha256:" + hash);
  }

  /** A wheel with nothing but an nvcc that says its release; Python's zip can say "executable". */
  private Path wheel(String release) throws Exception {
    Path wheel = root.resolve("nvidia_cuda_nvcc-13.0.88-py3-none-any.whl");
    String code =
        """
        import sys, zipfile
        path, compiler = sys.argv[1:]
        info = "nvidia_cuda_nvcc-13.0.88.dist-info/"
        with zipfile.ZipFile(path, "w") as wheel:
            nvcc = zipfile.ZipInfo("nvidia/cu13/bin/nvcc")
            nvcc.external_attr = 0o100755 << 16
            wheel.writestr(nvcc, compiler)
            wheel.writestr(info + "METADATA",
                "Metadata-Version: 2.1\\nName: nvidia-cuda-nvcc\\nVersion: 13.0.88\\n")
            wheel.writestr(info + "WHEEL",
                "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
            wheel.writestr(info + "RECORD",
                f"nvidia/cu13/bin/nvcc,,\\n{info}METADATA,,\\n{info}WHEEL,,\\n{info}RECORD,,\\n")
        """;
    Process python =
        new ProcessBuilder(bin + "/python3", "-c", code, wheel.toString(), compiler(release))
            .inheritIO()
            .start();
    assertEquals(0, python.waitFor());
    return wheel;
  }

  private static String hashOf(Path file) throws IOException, NoSuchAlgorithmException {
    byte[] hash = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file));
    return HexFormat.of().formatHex(hash);
  }

  private static String compiler(String release) {
    return "#!/bin/sh\necho 'Cuda compilation tools, release "
        + release
        + ", V"
        + release
        + ".0'\n";
  }

  private static void nvcc(Path path, String release) throws IOException {
    Files.writeString(path, compiler(release));
    Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rwxr-xr-x"));
  }

  private void program(String name, String text) throws IOException {
    Path path = bin.resolve(name);
    Files.writeString(path, "#!" + bin + "/bash\n" + text + "\n");
    Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rwxr-xr-x"));
  }

  private static Path onPath(String tool) {
    return Arrays.stream(System.getenv("PATH").split(":"))
        .map(directory -> Path.of(directory, tool))
        .filter(Files::isExecutable)
        .findFirst()
        .orElseThrow(() -> new IllegalStateException("There is no " + tool + " on the PATH"));
  }
}
