package org.tilespark.spark.aggregate;

import java.util.List;
import java.util.Optional;
import org.apache.spark.TaskContext;
import org.tilespark.arrow.panels.PanelMultiplier;
import org.tilespark.arrow.panels.PanelMultiplier.PanelProduct;
import org.tilespark.arrow.panels.PanelMultiplier.Panels;
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
 * Multiplies transposes of matrices by the matrices where the task of this thread computes: on its
 * device or on the CPU. Memory is taken at the first product, and freed when the task ends.
 */
final class TaskGrams {
  private final Backend backend;
  private TaskRun run; // null before the first product
  private PanelMultiplier multiplier;

  TaskGrams(Backend backend) {
    this.backend = backend;
  }

  /**
   * The product of a matrix's transpose and the matrix, (cols, cols), of which what lies below the
   * diagonal is not defined; valid until the next one.
   *
   * @param matrix (rows, cols), dense; borrowed
   */
  HostMemory of(HostMemory matrix, int rows, int cols, ElementType type) {
    if (run == null) {
      open();
    }
    MultiplyProblem gram = MultiplyProblem.dense(cols, rows, cols, type, true, false);
    HostMemory product =
        run.watched(
            () -> {
              multiplier.begin(new Tile(gram, true, 1));
              Wanted wanted = new Wanted(gram.bytesA(), Optional.empty());
              Panels panels = multiplier.panels(wanted, Optional.empty());
              panels.a().orElseThrow().put(matrix);
              multiplier.multiply(List.of(new PanelProduct(gram, 0, 0, 0)));
              return multiplier.finish();
            });
    run.passTurn(); // the next rows may take long to come
    return product;
  }

  private void open() {
    TaskContext task = TaskContext.get();
    ExecutorRuntime runtime = ExecutorRuntime.current();
    TaskRun begun = TaskRun.start(task, runtime, runtime.gpu(backend, task), "covariances");
    multiplier =
        begun.multiplier(
            this,
            begun.plain("covariances"),
            begun.listener(PipelineListener.NONE, PipelineListener.NONE));
    run = begun;
  }
}
