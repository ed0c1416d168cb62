package org.tilespark.bench.spark;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.examples.ExampleJob;
import org.tilespark.examples.JobArguments;
import org.tilespark.examples.JobArguments.Option;
import org.tilespark.examples.JobReport;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.spark.source.PosixWriter;

/**
 * Measures, without Spark, how fast tasks write square blocks of a DOUBLE matrix to their positions
 * in one file. As in a query, the method depends on the file system and the number of processors:
 * {@code --java -XX:ActiveProcessorCount=2} selects positional write calls.
 */
public final class StoreBenchmark {
  private static final JobArguments.Usage USAGE =
      new JobArguments.Usage(
          "store-bench [options]",
          """
          Measures writes of blocks into one file.

            --directory DIR   where the file lies, for a while (default: /dev/shm)
            --blocks A,B,...  rows and columns of the blocks (default: 2048,256,32)
            --matrix N        rows and columns of the matrix, a multiple of them (default: 16384)
            --threads N       tasks at once (default: the processors)
            --rounds N        turns, after one that warms up (default: 5)
          """,
          List.of(),
          List.of(
              Option.text("directory"),
              Option.text("blocks"),
              Option.count("matrix"),
              Option.count("threads"),
              Option.count("rounds")));

  private static final OperatingSystemMXBean MACHINE =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  private StoreBenchmark() {}

  /** Runs the benchmark, without a Spark session. */
  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    return ExampleJob.runWithoutSession(USAGE, args, StoreBenchmark::run, out, err);
  }

  private static boolean run(JobArguments arguments, PrintStream out) throws Exception {
    int threads = arguments.count("threads", Runtime.getRuntime().availableProcessors());
    int rounds = arguments.count("rounds", 5);
    long extent = arguments.count("matrix", 16384);
    Path directory = Path.of(arguments.option("directory").orElse("/dev/shm"));
    JobReport report = new JobReport(out);
    report.line("file", "%d tasks, on %s", threads, Files.getFileStore(directory).type());
    ExecutorService tasks = Executors.newFixedThreadPool(threads);
    try (BufferAllocator allocator = new RootAllocator()) {
      for (String each : arguments.option("blocks").orElse("2048,256,32").split(",", -1)) {
        int block = Integer.parseInt(each);
        if (extent % block != 0) {
          throw new IllegalArgumentException(
              "--blocks " + block + "; expected extents that divide " + extent);
        }
        double[] rates = new double[rounds + 1];
        double[] busy = new double[rounds + 1];
        for (int round = 0; round <= rounds; round++) {
          Path file = Files.createTempFile(directory, "tilespark-store", ".bin");
          try {
            long bytes = extent * extent * Double.BYTES;
            long busyBefore = MACHINE.getProcessCpuTime();
            long start = System.nanoTime();
            write(tasks, threads, file, extent, block, allocator);
            rates[round] = (double) bytes / (System.nanoTime() - start);
            busy[round] =
                (MACHINE.getProcessCpuTime() - busyBefore) / 1e9 / (bytes / (double) (1L << 30));
          } finally {
            Files.delete(file);
          }
        }
        report.line(
            "blocks",
            "rows of %,d bytes: %.2f GB/s (%.2f to %.2f), %.2f core-seconds per GiB",
            block * Double.BYTES,
            middle(rates)[1],
            middle(rates)[0],
            middle(rates)[2],
            middle(busy)[1]);
      }
    } finally {
      tasks.shutdown();
    }
    return true;
  }

  private static void write(
      ExecutorService tasks,
      int threads,
      Path file,
      long extent,
      int block,
      BufferAllocator allocator)
      throws Exception {
    long fileBytes = extent * extent * Double.BYTES;
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      channel.write(ByteBuffer.allocate(1), fileBytes - 1);
    }
    AtomicLong next = new AtomicLong();
    Callable<Void> task =
        () -> {
          long across = extent / block;
          long blockBytes = (long) block * block * Double.BYTES;
          try (ArrowBuf buffer = allocator.buffer(blockBytes);
              PosixWriter writer = PosixWriter.open(file, fileBytes, allocator)) {
            HostMemory values = Buffers.memory(buffer, 0, blockBytes);
            values.fill((byte) 1);
            for (long i = next.getAndIncrement(); i < across * across; i = next.getAndIncrement()) {
              long first = (i / across * extent + i % across) * block * Double.BYTES;
              writer.store(() -> store(writer, values, first, extent, block));
            }
            writer.finish(false);
          }
          return null;
        };
    List<Callable<Void>> all = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      all.add(task);
    }
    for (Future<Void> each : tasks.invokeAll(all)) {
      each.get();
    }
  }

  private static void store(
      PosixWriter writer, HostMemory values, long first, long extent, int block)
      throws IOException {
    long rowBytes = (long) block * Double.BYTES;
    for (long row = 0; row < block; row++) {
      long position = first + row * extent * Double.BYTES;
      for (long done = 0; done < rowBytes; ) {
        HostMemory room = writer.room(position + done, rowBytes - done);
        values.slice(row * rowBytes + done, room.bytes()).copyTo(room);
        done += room.bytes();
      }
    }
  }

  /** Minimum, median and maximum of all rounds but the first. */
  private static double[] middle(double[] rounds) {
    double[] sorted = Arrays.copyOfRange(rounds, 1, rounds.length);
    Arrays.sort(sorted);
    return new double[] {sorted[0], sorted[sorted.length / 2], sorted[sorted.length - 1]};
  }
}
