package org.tilespark.kernels.host;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.kernels.transpose.Transposer;
import org.tilespark.kernels.transpose.TransposerContract;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

class HostTransposerTest extends TransposerContract {
  private final HostTransposer transposer = new HostTransposer();

  @Override
  protected Transposer transposer() {
    return transposer;
  }

  @AfterAll
  void close() {
    transposer.close();
    transposer.close();
  }

  @Test
  void severalThreadsShareOne() throws Exception {
    TransposeProblem problem = new TransposeProblem(Shape.of(701, 403), Permutation.of(1, 0), 8);
    byte[] in = new byte[Math.toIntExact(problem.bytes())];
    new SplittableRandom(7).nextBytes(in);
    byte[] expected = transposed(problem, in);
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      List<Future<byte[]>> results = new ArrayList<>();
      for (int i = 0; i < 32; i++) {
        results.add(threads.submit(() -> transposed(problem, in)));
      }
      for (Future<byte[]> result : results) {
        assertTrue(Arrays.equals(expected, result.get()));
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private byte[] transposed(TransposeProblem problem, byte[] in) {
    byte[] out = new byte[in.length];
    transposer.transpose(problem, HostMemory.ofArray(in), HostMemory.ofArray(out));
    return out;
  }
}
