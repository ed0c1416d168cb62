package org.tilespark.spark.nearest;

import java.io.Serializable;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.UUID;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.tilespark.arrow.panels.PanelMultiplier;
import org.tilespark.spark.nearest.Matches.Groups;
import org.tilespark.spark.runtime.BackendChoice;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.runtime.Gpu;
import org.tilespark.spark.runtime.TaskMetrics;
import org.tilespark.spark.runtime.TaskRun;

/**
 * The body of a task that compares a part of the left side with one of the right side. It is sent
 * to executors.
 *
 * @param form form of the results
 * @param batchBytes bytes of the right side that are held at a time
 * @param backend backend that computes
 * @param metrics metrics of the node
 * @param execution identifies this execution of the node
 */
record NearestTask(
    NearestSpec spec,
    MatchedRows.Form form,
    long batchBytes,
    BackendChoice backend,
    TaskMetrics metrics,
    UUID execution)
    implements Serializable {
  /**
   * The matches of two parts.
   *
   * @param givesLeft true if the matches have the rows of the left side
   */
  Iterator<Match> matches(
      Iterator<InternalRow> left, Iterator<InternalRow> right, boolean givesLeft) {
    TaskContext task = TaskContext.get();
    ExecutorRuntime runtime = ExecutorRuntime.current();
    Optional<Gpu> gpu = runtime.gpu(backend.requested(), task, devices -> OptionalInt.empty());
    TaskRun run = TaskRun.start(task, runtime, gpu, "nearest");
    PanelMultiplier multiplier =
        run.multiplier(
            List.of(execution, task.stageId(), task.stageAttemptNumber()),
            run.plain("large tile"),
            run.listener(metrics.onDevice(), metrics.onHost()));
    var vectors = run.plain("vectors");
    Groups groups =
        new Groups(
            run.scope().own(new VectorGroup(form.left(), vectors)),
            run.scope().own(new VectorGroup(form.left(), vectors)),
            run.scope().own(new VectorGroup(form.right(), vectors)));
    Matches matches =
        new Matches(spec, new ScoreTiles(multiplier, run.takesLargeTiles()), groups, givesLeft)
            .read(run.awaited(left), run.awaited(right), batchBytes);
    return run.watched(matches);
  }
}
