package org.tilespark.spark.stage;

import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.tilespark.spark.catalyst.PartitionsTask;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.runtime.TaskRun;

/** The body of a task that runs a stage without steps. */
record MoveTask(StageTask.Job job, MovedRows.Counts counts) implements PartitionsTask<InternalRow> {
  @Override
  public Iterator<InternalRow> open(List<Iterator<Object>> partitions) {
    TaskRun run =
        TaskRun.start(TaskContext.get(), ExecutorRuntime.current(), Optional.empty(), "move");
    ArraySource arrays = run.scope().own(job.source(0, partitions.get(0), run));
    return new MovedRows(job.spec(), job.children().get(0), job.output(), arrays, counts);
  }
}
