package org.tilespark.spark.aggregate;

import java.util.List;
import java.util.Optional;
import org.apache.spark.TaskContext;
import org.tilespark.arrow.panels.PanelMultiplier;
import org.tilespark.arrow.panels.PanelMultiplier.PanelProduct;
import org.tilespark.arrow.panels.PanelMultiplier.Tile;
import org.tilespark.arrow.panels.PanelMultiplier.Wanted;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.conf.Backend;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.runtime.TaskRun;

/**
 * Computes products of matrices with their transposes on the task's device or on the CPU. The
 * caller writes a matrix directly to the memory from which it is multiplied or uploaded. That
 * memory is allocated for the first matrix and freed when the task ends; device memory is allocated
 * for each product, after its matrix was written.
 */
final class TaskGrams {
  /**
   * Most elements of a matrix that is multiplied on the CPU: 1 MiB of FLOAT, which stays in its
   * caches.
   */
  private static final int ELEMENTS = 1 << 18;

  /**
   * Most elements of a matrix that is multiplied on a device; more than for the CPU, since each
   * product has launches, copies and waits.
   */
  private static final int DEVICE_ELEMENTS = 1 << 20;

  private final Backend backend;
  private TaskRun run; // the task's use of a device; null before the first matrix
  private PanelMultiplier multiplier;
  private MultiplyProblem begun;

  TaskGrams(Backend backend) {
    this.backend = backend;
  }

  /** The most rows of {@code cols} elements that a matrix should have on any machine. */
  static int mostRows(int cols) {
    return Math.max(1, DEVICE_ELEMENTS / cols);
  }

  /** The number of rows of {@code cols} elements that a matrix should have in this task. */
  int rows(int cols) {
    open();
    return Math.max(1, (run.gpu().isPresent() ? DEVICE_ELEMENTS : ELEMENTS) / cols);
  }

  /**
   * Begins a matrix, to whose memory the caller writes rows.
   *
   * @param rows most rows that the caller will write
   * @return memory for the rows, (rows, cols); valid until the next matrix
   */
  HostMemory begin(int rows, int cols, ElementType type) {
    open();
    begun = MultiplyProblem.dense(cols, rows, cols, type, true, false);
    multiplier.begin(tile(begun));
    Wanted wanted = new Wanted(begun.bytesA(), Optional.empty());
    return multiplier.panels(wanted, Optional.empty()).a().orElseThrow().memory();
  }

  /**
   * The product of the transpose of the matrix that was begun and that matrix, (cols, cols); its
   * elements below the diagonal are undefined; valid until the next matrix.
   *
   * @param rows number of rows that were written
   */
  HostMemory of(int rows) {
    MultiplyProblem gram =
        MultiplyProblem.dense(begun.m(), rows, begun.n(), begun.type(), true, false);
    HostMemory product =
        run.watched(
            () -> {
              multiplier.shorten(tile(gram));
              multiplier.multiply(List.of(new PanelProduct(gram, 0, 0, 0)));
              return multiplier.finish();
            });
    run.passTurn(); // the next rows may take long to come
    return product;
  }

  private static Tile tile(MultiplyProblem gram) {
    return new Tile(gram, true, 1);
  }

  private void open() {
    if (run != null) {
      return;
    }
    TaskContext task = TaskContext.get();
    ExecutorRuntime runtime = ExecutorRuntime.current();
    TaskRun made = TaskRun.start(task, runtime, runtime.gpu(backend, task), "covariances");
    multiplier =
        made.multiplier(
            this,
            made.plain("covariances"),
            made.listener(PipelineListener.NONE, PipelineListener.NONE));
    run = made;
  }
}
