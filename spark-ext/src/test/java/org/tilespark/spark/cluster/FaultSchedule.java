package org.tilespark.spark.cluster;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** A list of faults that a seed decides, so that it can be run again. */
final class FaultSchedule {
  private FaultSchedule() {}

  /** Kinds of faults. */
  enum Kind {
    KILL,
    REFUSE_MEMORY,
    FAIL_WRITE,
    DROP_CONNECTIONS
  }

  /** Queries that run meanwhile. */
  enum Query {
    REBLOCK,
    MULTIPLY,
    FFT
  }

  /** When it goes wrong; memory and files fail at a count, whatever the phase. */
  enum Phase {
    /** A task comes to a row that is to be cut and shuffled. */
    MAP,
    /** A while after a stage began that reads a shuffle. */
    FETCH,
    /** A task comes to a row of the result. */
    RESULT
  }

  /**
   * One fault.
   *
   * @param executor index among those that live, in the order of their ids
   * @param n number of the row, request or file; in phase FETCH, in tens of milliseconds
   */
  record Fault(int number, Kind kind, Query query, Phase phase, int executor, int n)
      implements Serializable {
    @Override
    public String toString() {
      return "fault "
          + number
          + ": "
          + kind
          + " of executor "
          + executor
          + ", n = "
          + n
          + ", in "
          + phase
          + " of "
          + query;
    }
  }

  /** The first {@code count} faults of a seed, among {@code executors} executors. */
  static List<Fault> of(long seed, int count, int executors) {
    SplittableRandom random = new SplittableRandom(seed);
    List<Fault> faults = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      Kind kind = Kind.values()[random.nextInt(Kind.values().length)];
      Query query = Query.values()[random.nextInt(Query.values().length)];
      Phase phase = Phase.values()[random.nextInt(Phase.values().length)];
      int most =
          switch (kind) {
            case REFUSE_MEMORY -> 60;
            case FAIL_WRITE -> 6;
            case KILL, DROP_CONNECTIONS -> phase == Phase.FETCH ? 40 : 3;
          };
      faults.add(new Fault(i, kind, query, phase, random.nextInt(executors), random.nextInt(most)));
    }
    return faults;
  }
}
