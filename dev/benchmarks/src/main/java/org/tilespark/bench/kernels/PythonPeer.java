package org.tilespark.bench.kernels;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** A Python process that runs the Python part of a CPU benchmark, on request. */
public final class PythonPeer implements AutoCloseable {
  /**
   * Script for scipy's transforms; answers each request with a line. Lines are timed in 16 pieces
   * of an array that exceeds all caches, and the best piece counts, since other processes disturb
   * few pieces. Complex lines are transformed in place, to avoid page faults of new arrays; "ortho"
   * keeps repeated transforms from growing.
   */
  private static final String SCIPY =
      """
      import sys, time
      import numpy as np, scipy, scipy.fft as fft
      state = {}
      def prepare(kind, dtype, *shape):
          shape = tuple(map(int, shape))
          x = np.random.default_rng(1).standard_normal(shape, dtype=dtype)
          state["pieces"] = 16 if len(shape) == 2 else 1
          if kind == "complex":
              x = (x + 1j * np.random.default_rng(2).standard_normal(shape, dtype=dtype)).astype("c8" if dtype == "f4" else "c16")
              work = lambda p, t: fft.fft(x[p], norm="ortho", overwrite_x=True, workers=t)
          elif kind == "half":
              work = lambda p, t: fft.rfft(x[p], norm="ortho", workers=t)
          elif kind == "real":
              y = fft.rfft(x, norm="ortho")
              work = lambda p, t: fft.irfft(y[p], x.shape[-1], norm="ortho", workers=t)
          else:
              work = lambda p, t: fft.rfftn(x, norm="ortho", workers=t)
          state["work"], state["lines"] = work, len(x)
      def run(threads):
          best, pieces = float("inf"), state["pieces"]
          for p in range(pieces):
              piece = slice(state["lines"] * p // pieces, state["lines"] * (p + 1) // pieces)
              clock = time.thread_time_ns if int(threads) == 1 else time.perf_counter_ns
              start = clock()
              state["work"](piece, int(threads))
              best = min(best, clock() - start)
          return best * pieces
      def relative(found, exact):
          return float(np.sqrt((abs(found - exact) ** 2).sum() / (abs(exact) ** 2).sum()))
      def errors(kind, dtype, n, path):
          n = int(n)
          wide = np.longdouble
          planes = [np.fromfile(path + "/in%d" % p, dtype).reshape(-1, n if kind != "real" else n // 2 + 1) for p in range(1 if kind == "half" else 2)]
          x = planes[0] if kind == "half" else planes[0] + 1j * planes[1]
          x = x.astype({"f4": "f4", "f8": "f8"}[dtype] if kind == "half" else {"f4": "c8", "f8": "c16"}[dtype])
          out = [np.fromfile(path + "/out%d" % p, dtype).astype(wide) for p in range(1 if kind == "real" else 2)]
          w = x.astype(wide if kind == "half" else np.clongdouble)
          if kind == "complex": exact, peer = fft.fft(w), fft.fft(x)
          elif kind == "half": exact, peer = fft.rfft(w), fft.rfft(x)
          else: exact, peer = fft.irfft(w, n, norm="forward"), fft.irfft(x, n, norm="forward")
          ours = (out[0] if kind == "real" else out[0] + 1j * out[1]).reshape(exact.shape)
          return "%.3e %.3e" % (relative(ours, exact), relative(peer.astype(exact.dtype), exact))
      print("scipy", scipy.__version__, flush=True)
      for line in sys.stdin:
          name, *words = line.split()
          print({"prepare": prepare, "run": run, "errors": errors}[name](*words), flush=True)
      """;

  /**
   * Script that repeatedly multiplies one pair of matrices. Transposed operands are views, which
   * numpy passes to BLAS without a copy.
   */
  private static final String NUMPY =
      """
      import sys, time
      import numpy as np
      state = {}
      def prepare(dtype, form, m, k, n):
          m, k, n = int(m), int(k), int(n)
          def operand(seed, transposed, rows, cols):
              shape = (cols, rows) if transposed else (rows, cols)
              values = np.random.default_rng(seed).standard_normal(shape, dtype=dtype)
              return values.T if transposed else values
          a, b = operand(1, form[0] == "T", m, k), operand(2, form[1] == "T", k, n)
          c = np.empty((m, n), dtype)
          state["work"] = lambda: np.matmul(a, b, out=c)
      def run():
          start = time.thread_time_ns()
          state["work"]()
          return time.thread_time_ns() - start
      def product(dtype, m, k, n, path):
          m, k, n = int(m), int(k), int(n)
          a, b = np.fromfile(path + "/a", dtype).reshape(m, k), np.fromfile(path + "/b", dtype).reshape(k, n)
          np.matmul(a, b).tofile(path + "/c")
          return "done"
      def blas():
          try:
              from threadpoolctl import threadpool_info
              return ", ".join("%s %s for %s" % (i["internal_api"], i["version"], i["architecture"]) for i in threadpool_info() if i["user_api"] == "blas")
          except ImportError:
              found = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
              return "%s %s" % (found["name"], found["version"])
      print("numpy", np.__version__, "with", blas(), flush=True)
      for line in sys.stdin:
          name, *words = line.split()
          print({"prepare": prepare, "run": run, "product": product}[name](*words), flush=True)
      """;

  /** Script that computes from files to a file. Results are compared by blocks of rows. */
  private static final String FILES =
      """
      import os, sys, time
      import numpy as np, scipy, scipy.fft as fft
      threads = int(os.environ["OMP_NUM_THREADS"])
      def make(path, dtype, seed, *shape):
          np.save(path, np.random.default_rng(int(seed)).standard_normal(tuple(map(int, shape)), dtype=dtype))
          return "done"
      def timed(work):
          start, busy = time.perf_counter_ns(), time.process_time_ns()
          work()
          return "%d %d" % (time.perf_counter_ns() - start, time.process_time_ns() - busy)
      def multiply(c, a, b):
          return timed(lambda: np.save(c, np.load(a) @ np.load(b)))
      def transform(c, a):
          return timed(lambda: np.save(c, fft.fftn(np.load(a), workers=threads)))
      def transform_real(c, a):
          return timed(lambda: np.save(c, fft.rfftn(np.load(a), workers=threads)))
      def transform_dask(c, a):
          import dask, dask.array as da
          def work():
              x = np.load(a, mmap_mode="r")
              slab = -(-len(x) // (2 * threads))
              x = da.from_array(x, chunks=(slab, -1, -1))
              x = da.fft.fftn(x, axes=(1, 2)).rechunk((-1, -(-x.shape[1] // (2 * threads)), -1))
              with dask.config.set(scheduler="threads", num_workers=threads):
                  da.store(da.fft.fft(x, axis=0), np.lib.format.open_memmap(c, "w+", "c8", x.shape), lock=False)
          return timed(work)
      def copy(c, a):
          return timed(lambda: np.save(c, np.load(a)))
      def permute(c, a):
          return timed(lambda: np.save(c, np.ascontiguousarray(np.load(a).transpose(2, 1, 0))))
      def difference(found, expected):
          a, b = np.load(found, mmap_mode="r"), np.load(expected, mmap_mode="r")
          if a.shape != b.shape or a.dtype != b.dtype:
              return "%s %s instead of %s %s" % (a.dtype, a.shape, b.dtype, b.shape)
          most = size = 0
          for row in range(0, len(a), 64):
              x, y = a[row:row + 64], b[row:row + 64]
              most, size = max(most, float(abs(x - y).max())), max(size, float(abs(y).max()))
          return most / size
      print("numpy", np.__version__, "and scipy", scipy.__version__, flush=True)
      for line in sys.stdin:
          name, *words = line.split()
          print({"make": make, "multiply": multiply, "transform": transform, "transform_real": transform_real, "transform_dask": transform_dask, "permute": permute, "copy": copy, "difference": difference}[name](*words), flush=True)
      """;

  /** Script for operations on many small arrays; answers elapsed seconds and CPU seconds. */
  private static final String ARRAYS =
      """
      import sys, time
      import numpy as np, scipy, scipy.fft as fft
      state = {}
      def make(count, dtype, *shape):
          size = (int(count),) + tuple(map(int, shape))
          state["a"] = np.random.default_rng(1).random(size, dtype=dtype) - np.array(0.5, dtype)
          state["b"] = np.random.default_rng(2).random(size, dtype=dtype)
          return "made"
      def cov(a):
          c = a - a.mean(axis=1, keepdims=True)
          return c.swapaxes(1, 2) @ c / (a.shape[1] - 1)
      kinds = {
          "transpose": lambda a, b: np.ascontiguousarray(a.transpose((0,) + tuple(range(a.ndim - 1, 0, -1)))),
          "map": lambda a, b: a * 2 + 1,
          "zip": lambda a, b: a * b + 1,
          "sum": lambda a, b: a.sum(axis=1, keepdims=True, dtype="f8").astype(a.dtype),
          "fft": lambda a, b: fft.rfftn(a, axes=tuple(range(1, a.ndim))),
          "gram": lambda a, b: a.swapaxes(1, 2) @ a,
          "cov": lambda a, b: cov(a),
      }
      def run(kind):
          start, cpu = time.perf_counter(), time.process_time()
          kinds[kind](state["a"], state["b"])
          return "%.6f %.6f" % (time.perf_counter() - start, time.process_time() - cpu)
      print("numpy %s, scipy %s" % (np.__version__, scipy.__version__), flush=True)
      for line in sys.stdin:
          name, *words = line.split()
          print({"make": make, "run": run}[name](*words), flush=True)
      """;

  private final Process process;
  private final BufferedReader answers;
  private final PrintStream requests;
  private final String version;

  /** Starts a peer with scipy's transforms. */
  static PythonPeer ofScipy(String python) throws IOException {
    return new PythonPeer(python, SCIPY, 1);
  }

  /** Starts a peer that computes from files to a file. */
  public static PythonPeer ofFiles(String python, int threads) throws IOException {
    return new PythonPeer(python, FILES, threads);
  }

  /** Starts a peer for operations on many small arrays. */
  public static PythonPeer ofArrays(String python, int threads) throws IOException {
    return new PythonPeer(python, ARRAYS, threads);
  }

  /** Starts a peer with numpy's matrix products. */
  static PythonPeer ofNumpy(String python) throws IOException {
    return new PythonPeer(python, NUMPY, 1);
  }

  private PythonPeer(String python, String program, int threads) throws IOException {
    ProcessBuilder builder =
        new ProcessBuilder(python, "-c", program).redirectError(ProcessBuilder.Redirect.INHERIT);
    for (String library : new String[] {"OPENBLAS", "MKL", "OMP", "BLIS"}) {
      builder.environment().put(library + "_NUM_THREADS", Integer.toString(threads));
    }
    process = builder.start();
    answers =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.US_ASCII));
    requests = new PrintStream(process.getOutputStream(), true, StandardCharsets.US_ASCII);
    version = answer();
  }

  private String answer() {
    try {
      String line = answers.readLine();
      if (line == null) {
        throw new IllegalStateException("The Python process ended; its errors are above");
      }
      return line;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Sends a request, which is words separated by spaces, and returns the answer. */
  public String ask(String request) {
    requests.println(request);
    return answer();
  }

  @Override
  public String toString() {
    return version;
  }

  @Override
  public void close() {
    requests.close();
    process.destroy();
  }
}
