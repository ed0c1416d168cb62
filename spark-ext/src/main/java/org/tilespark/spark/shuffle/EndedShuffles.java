package org.tilespark.spark.shuffle;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.rdd.DeterministicLevel;
import org.apache.spark.scheduler.JobSucceeded$;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerTaskStart;
import org.apache.spark.scheduler.SparkListenerUnpersistRDD;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.apache.spark.storage.RDDInfo;
import org.tilespark.spark.catalyst.ScalaInterop;

/**
 * Finds on the driver the shuffles that will not be read any more, long before Spark does, whose
 * cleaner waits for the driver's garbage collector. A shuffle ends with the SQL execution that made
 * it, if all of these conditions hold:
 *
 * <ul>
 *   <li>A job of that execution has read it, or the execution failed. (A shuffle that an iterator
 *       over a result reads later stays.)
 *   <li>No job outside that execution has used it, as happens with an RDD or Dataset that is used
 *       again.
 *   <li>No job uses it now.
 *   <li>No RDD that was computed from it is persisted now: lost partitions of that RDD would be
 *       computed again. (A job that can read the persisted RDD does not count as using the shuffle
 *       in the second condition.)
 *   <li>Its rows are not {@link DeterministicLevel#INDETERMINATE()}, since parts of these cannot be
 *       recomputed.
 * </ul>
 *
 * <p>Should a Dataset's plan run again after all, Spark runs the map stage again, but only once:
 * after that the outputs stay, since the second execution did not make the shuffle and so cannot
 * end it. Thread-safe.
 */
final class EndedShuffles extends SparkListener {
  private static final String EXECUTION_ID = "spark.sql.execution.id";

  /** Releases the outputs of a shuffle. */
  interface Release {
    /**
     * Called once for each shuffle that ended, and whenever Spark removes one.
     *
     * @param lastMap greatest id of all task attempts so far, and so at least that of its map tasks
     */
    void release(int shuffle, long lastMap);
  }

  /**
   * Spark removes a shuffle. As a listener event it arrives after the start events of all earlier
   * tasks.
   */
  record Removed(int shuffle) implements SparkListenerEvent {
    @Override
    public boolean logEvent() {
      return false; // readers of event logs do not know this event
    }
  }

  /** The state of a shuffle that its execution, a job or a persisted RDD may still need. */
  private static final class Life {
    private final long execution; // the execution that made the shuffle
    private final Set<Integer> keepers = new HashSet<>(); // persisted RDDs that need the shuffle
    private int jobs; // number of running jobs that may read the shuffle
    private boolean wasRead; // true once a job that read it succeeded
    private boolean stays; // true if only Spark's cleaner may remove it
    private boolean hasEnded; // true once its execution has ended
    private boolean hasFailed; // true if its execution has failed

    Life(long execution) {
      this.execution = execution;
    }
  }

  /** The shuffles of blocks that a job uses, and those among them that it reads. */
  private record Uses(Set<Integer> used, Set<Integer> read) {}

  private final Release release;
  private final Release removed;
  // Guarded by this.
  private final Map<Integer, Life> lives = new HashMap<>(); // by shuffle
  private final Map<Long, List<Integer>> made = new HashMap<>(); // shuffles by execution
  private final Map<Integer, Uses> jobs = new HashMap<>(); // by job
  private long lastTask = -1;

  /**
   * A listener that knows of no shuffle yet.
   *
   * @param release called for a shuffle that ended
   * @param removed called for a shuffle that Spark has removed
   */
  EndedShuffles(Release release, Release removed) {
    this.release = release;
    this.removed = removed;
  }

  /**
   * Called when a shuffle is created, on a thread of the execution that needs it, if there is one.
   */
  void made(int shuffle, ShuffleDependency<?, ?, ?> dependency) {
    String execution = dependency.rdd().context().getLocalProperty(EXECUTION_ID);
    boolean canRepeat =
        dependency.rdd().outputDeterministicLevel() != DeterministicLevel.INDETERMINATE();
    if (execution != null && canRepeat) {
      made(shuffle, Long.parseLong(execution));
    }
  }

  synchronized void made(int shuffle, long execution) {
    lives.put(shuffle, new Life(execution));
    made.computeIfAbsent(execution, id -> new ArrayList<>()).add(shuffle);
  }

  /** Forgets a shuffle that Spark's cleaner has removed before it ended here. */
  synchronized void forget(int shuffle) {
    lives.remove(shuffle);
  }

  @Override
  public synchronized void onTaskStart(SparkListenerTaskStart start) {
    lastTask = Math.max(lastTask, start.taskInfo().taskId());
  }

  @Override
  public synchronized void onJobStart(SparkListenerJobStart start) {
    if (lives.isEmpty()) {
      return;
    }
    Map<Integer, StageInfo> stages = new HashMap<>();
    ScalaInterop.<StageInfo>list(start.stageInfos())
        .forEach(stage -> stages.put(stage.stageId(), stage));
    Uses uses = new Uses(new HashSet<>(), new HashSet<>());
    // Shuffles that the job needs even if all persisted RDDs are available
    Set<Integer> outside = new HashSet<>();
    for (StageInfo stage : outside(stages)) {
      addLive(stage, outside);
    }
    for (StageInfo stage : stages.values()) {
      addLive(stage, uses.used);
      for (StageInfo parent : parents(stage, stages)) {
        addLive(parent, uses.read);
      }
      List<Integer> kept = kept(stage);
      if (!kept.isEmpty()) {
        Set<Integer> needed = new HashSet<>();
        ancestors(stage, stages).forEach(above -> addLive(above, needed));
        needed.forEach(shuffle -> lives.get(shuffle).keepers.addAll(kept));
      }
    }
    String execution =
        start.properties() == null ? null : start.properties().getProperty(EXECUTION_ID);
    for (int shuffle : uses.used) {
      Life life = lives.get(shuffle);
      life.jobs++;
      life.stays |=
          outside.contains(shuffle)
              && (execution == null || Long.parseLong(execution) != life.execution);
    }
    if (!uses.used.isEmpty()) {
      jobs.put(start.jobId(), uses);
    }
  }

  /** The stages that a job needs even if all persisted RDDs are available. */
  private static Collection<StageInfo> outside(Map<Integer, StageInfo> stages) {
    Map<Integer, StageInfo> found = new HashMap<>(stages);
    stages
        .values()
        .forEach(stage -> parents(stage, stages).forEach(it -> found.remove(it.stageId())));
    ArrayDeque<StageInfo> open = new ArrayDeque<>(found.values()); // begins with the last stage
    while (!open.isEmpty()) {
      StageInfo next = open.poll();
      if (kept(next).isEmpty()) {
        parents(next, stages).stream()
            .filter(parent -> found.put(parent.stageId(), parent) == null)
            .forEach(open::add);
      }
    }
    return found.values();
  }

  /** The persisted RDDs of a stage. */
  private static List<Integer> kept(StageInfo stage) {
    return ScalaInterop.<RDDInfo>list(stage.rddInfos()).stream()
        .filter(rdd -> rdd.storageLevel().isValid())
        .map(RDDInfo::id)
        .toList();
  }

  /** Adds the shuffle that a stage writes, if that shuffle may end. */
  private void addLive(StageInfo stage, Set<Integer> to) {
    if (stage.shuffleDepId().isDefined()) {
      int shuffle = (Integer) stage.shuffleDepId().get();
      if (lives.containsKey(shuffle)) {
        to.add(shuffle);
      }
    }
  }

  private static List<StageInfo> parents(StageInfo stage, Map<Integer, StageInfo> stages) {
    return ScalaInterop.<Object>list(stage.parentIds()).stream()
        .map(id -> stages.get((Integer) id))
        .filter(parent -> parent != null)
        .toList();
  }

  private static Collection<StageInfo> ancestors(StageInfo stage, Map<Integer, StageInfo> stages) {
    Map<Integer, StageInfo> found = new HashMap<>();
    ArrayDeque<StageInfo> open = new ArrayDeque<>(parents(stage, stages));
    while (!open.isEmpty()) {
      StageInfo next = open.poll();
      if (found.put(next.stageId(), next) == null) {
        open.addAll(parents(next, stages));
      }
    }
    return found.values();
  }

  @Override
  public void onJobEnd(SparkListenerJobEnd end) {
    List<Integer> ended = new ArrayList<>();
    long lastMap;
    synchronized (this) {
      Uses uses = jobs.remove(end.jobId());
      if (uses == null) {
        return;
      }
      boolean succeeded = end.jobResult() == JobSucceeded$.MODULE$;
      for (int shuffle : uses.used) {
        Life life = lives.get(shuffle);
        if (life != null) {
          life.jobs--;
          life.wasRead |= succeeded && uses.read.contains(shuffle);
          addIfOver(shuffle, life, ended);
        }
      }
      lastMap = lastTask;
    }
    ended.forEach(shuffle -> release.release(shuffle, lastMap));
  }

  @Override
  public void onUnpersistRDD(SparkListenerUnpersistRDD unpersisted) {
    List<Integer> ended = new ArrayList<>();
    long lastMap;
    synchronized (this) {
      for (var each : List.copyOf(lives.entrySet())) {
        if (each.getValue().keepers.remove(unpersisted.rddId())) {
          addIfOver(each.getKey(), each.getValue(), ended);
        }
      }
      lastMap = lastTask;
    }
    ended.forEach(shuffle -> release.release(shuffle, lastMap));
  }

  @Override
  public void onOtherEvent(SparkListenerEvent event) {
    if (event instanceof SparkListenerSQLExecutionEnd end) {
      boolean failed = end.errorMessage().isDefined() && !end.errorMessage().get().isEmpty();
      executionEnded(end.executionId(), failed);
    } else if (event instanceof Removed shuffle) {
      removed.release(shuffle.shuffle, lastTask());
    }
  }

  private synchronized long lastTask() {
    return lastTask;
  }

  void executionEnded(long execution, boolean failed) {
    List<Integer> ended = new ArrayList<>();
    long lastMap;
    synchronized (this) {
      for (int shuffle : made.getOrDefault(execution, List.of())) {
        Life life = lives.get(shuffle);
        if (life != null) {
          life.hasEnded = true;
          life.hasFailed = failed;
          addIfOver(shuffle, life, ended);
        }
      }
      made.remove(execution);
      lastMap = lastTask;
    }
    ended.forEach(shuffle -> release.release(shuffle, lastMap));
  }

  /**
   * Removes a shuffle that no execution, job or persisted RDD needs, and adds it to {@code ended}
   * if its outputs can be released.
   */
  private void addIfOver(int shuffle, Life life, List<Integer> ended) {
    if (life.hasEnded && life.jobs == 0 && (life.stays || life.keepers.isEmpty())) {
      lives.remove(shuffle);
      if (!life.stays && (life.wasRead || life.hasFailed)) {
        ended.add(shuffle);
      }
    }
  }
}
