package org.tilespark.arrow.panels;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.LongFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.arrow.memory.MemoryGovernor;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.kernels.ResourceException;

/**
 * Panels in memory of one device that the tasks of an executor share: the first task that needs one
 * uploads it and puts a copy here, the others copy it from here to buffers of their own. Every task
 * has those buffers anyway, so each can do without this; what is kept here is a cache.
 *
 * <p>A panel is kept until the tiles it goes into have had it, until others need its memory, or
 * until no task of its stage has run for a while.
 *
 * <p>Who may wait for what:
 *
 * <ul>
 *   <li>The lock of this object guards figures only. Nobody who holds it calls the governor, the
 *       device, or whoever asked; nobody holds the governor's lock and asks for this one.
 *   <li>A panel is <em>claimed</em> while one task queues its upload and its copy. A task that
 *       finds it claimed waits for the claim to end; one that has a claim waits for nothing:
 *       neither for another claim, nor for a turn, nor for memory, which it gets at once or not at
 *       all. So claims end, and tasks have them one at a time.
 *   <li>A panel is <em>pinned</em> while a task queues a copy from it, which waits for nothing
 *       either. When the governor asks for memory, which it does for a task that has no claim and
 *       no pin, what is neither is given up at once; the task waits for pins and claims to end.
 *       Copies that are queued go before the memory is freed, by the order of streams; no thread
 *       waits for them.
 *   <li>A panel can be found once its copy is queued. A claim that ends otherwise, by a failure or
 *       for want of memory, leaves nothing, and the next task may claim.
 * </ul>
 *
 * <p>Safe for several threads.
 *
 * @param <P> the memory of a panel; closing it frees it after the copies that were queued
 */
final class SharedPanels<P extends AutoCloseable> implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(SharedPanels.class);

  /** Panels needed much later leave 1 / this of the memory to others. */
  private static final int SPARE_PART = 4;

  private final MemoryGovernor governor;
  private final LongFunction<P> allocate;
  private final Executor later;
  // Guarded by this.
  private final Map<Object, Shared> stages = new HashMap<>();
  private final Map<Panel, Boolean> kept = new LinkedHashMap<>(16, 0.75f, true); // by last use
  private final Set<Panel> claims = new HashSet<>();
  private boolean closed;

  /**
   * No panels yet. The governor is borrowed, and from now on asks this object for memory.
   *
   * @param allocate allocates the memory of a panel of the given bytes
   * @param later runs what it is given after a while, on a thread of its own
   */
  SharedPanels(MemoryGovernor governor, LongFunction<P> allocate, Executor later) {
    this.governor = governor;
    this.allocate = allocate;
    this.later = later;
    governor.reclaimsWith(this::giveUp);
  }

  /** State that the tasks of one stage share. */
  private final class Shared {
    private final Map<Object, Stripe> stripes = new HashMap<>();
    private int running; // tasks
    private long changes; // of that number
    private boolean refused; // by the driver, though the governor had granted
  }

  /** The panels of one stripe, and the tiles that need none of them any more. */
  private final class Stripe {
    private final BitSet passed = new BitSet();
    private final Map<Long, Panel> panels = new HashMap<>();
  }

  /** A panel: claimed first, then kept, then dropped. */
  private final class Panel {
    private final Shared stage;
    private final PanelId id; // as its first user has it
    private final long bytes;
    private final BitSet users = new BitSet();
    private MemoryGovernor.Grant<P> grant; // null while it is claimed; and where there was no room
    private int pins;
    private boolean dropped;
    private boolean freed;

    private Panel(Shared stage, PanelId id, long bytes) {
      this.stage = stage;
      this.id = id;
      this.bytes = bytes;
    }
  }

  /** One task's part in a stage; closing it is the end of the task. Used by one thread. */
  final class Member implements AutoCloseable {
    private final Shared stage;
    private boolean left;

    private Member(Shared stage) {
      this.stage = stage;
    }

    /**
     * Copies a panel if it is here; waits for nothing.
     *
     * @param copy queues a copy of all of it
     * @return false if it is not here
     */
    boolean find(PanelId id, long bytes, Consumer<P> copy) {
      Panel panel;
      synchronized (SharedPanels.this) {
        panel = panel(stage, id);
        if (panel == null || panel.grant == null || panel.bytes != bytes) {
          return false;
        }
        panel.pins++;
      }
      copyFrom(panel, id, copy);
      return true;
    }

    /**
     * Copies a panel if it is here, or about to be; else uploads it, and keeps it here if there is
     * room.
     *
     * @param copy queues a copy of all of it, from here
     * @param upload queues an upload past this object; waits for nothing
     * @param fill queues a copy of what was uploaded, to here; waits for nothing
     * @return true if it was uploaded
     */
    boolean bring(PanelId id, long bytes, Consumer<P> copy, Runnable upload, Consumer<P> fill) {
      Panel found = null;
      Panel claimed = null;
      synchronized (SharedPanels.this) {
        Panel panel = unclaimed(stage, id);
        if (panel == null && !closed && !stage.refused) {
          claimed = new Panel(stage, id, bytes);
          claims.add(claimed);
          stripe(stage, id).panels.put(id.inner(), claimed);
        } else if (panel != null && panel.grant != null && panel.bytes == bytes) {
          found = panel;
          found.pins++;
        }
      }
      if (found != null) {
        copyFrom(found, id, copy);
        return false;
      }
      if (claimed == null) {
        upload.run();
      } else {
        fillClaimed(claimed, upload, fill);
      }
      return true;
    }

    /** Notes that a tile needs no panel of a stripe any more. */
    void passed(PanelId id) {
      if (id.uses() == Integer.MAX_VALUE) {
        return; // nobody knows which is the last
      }
      List<Panel> freed = new ArrayList<>();
      synchronized (SharedPanels.this) {
        Stripe stripe = stripe(stage, id);
        stripe.passed.set(id.user());
        for (Panel panel : List.copyOf(stripe.panels.values())) {
          dropIfDone(panel, freed);
        }
        if (stripe.passed.cardinality() >= id.uses()) {
          stage.stripes.remove(id.stripe());
        }
      }
      free(freed);
    }

    /** Leaves the stage; may be called twice. */
    @Override
    public void close() {
      long changes;
      synchronized (SharedPanels.this) {
        if (left) {
          return;
        }
        left = true;
        stage.running--;
        changes = ++stage.changes;
        if (stage.running > 0) {
          return;
        }
        if (stage.stripes.isEmpty()) {
          stages.values().remove(stage);
          return;
        }
      }
      // The next task may be about to begin.
      later.execute(() -> end(stage, changes));
    }
  }

  /**
   * Joins a stage.
   *
   * @param identity identity of the stage, its attempt and the operator; the tasks that are to
   *     share have equal ones
   */
  Member join(Object identity) {
    synchronized (this) {
      Shared stage = stages.computeIfAbsent(identity, key -> new Shared());
      stage.running++;
      stage.changes++;
      return new Member(stage);
    }
  }

  /** Bytes that are kept. */
  synchronized long keptBytes() {
    return kept.keySet().stream().mapToLong(panel -> panel.bytes).sum();
  }

  /** Gives up all; what is pinned goes when that ends. May be called twice. */
  @Override
  public void close() {
    synchronized (this) {
      closed = true;
    }
    giveUp(Long.MAX_VALUE);
  }

  private Panel panel(Shared stage, PanelId id) {
    Stripe stripe = stage.stripes.get(id.stripe());
    return stripe == null ? null : stripe.panels.get(id.inner());
  }

  private Stripe stripe(Shared stage, PanelId id) {
    return stage.stripes.computeIfAbsent(id.stripe(), key -> new Stripe());
  }

  /** A panel, or null, once nobody claims it; or still claimed if this thread is to end. */
  private synchronized Panel unclaimed(Shared stage, PanelId id) {
    Panel panel = panel(stage, id);
    try {
      while (panel != null && panel.grant == null) {
        wait();
        panel = panel(stage, id);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // its task will notice
    }
    return panel;
  }

  /** Copies a pinned panel. */
  private void copyFrom(Panel panel, PanelId id, Consumer<P> copy) {
    boolean copied = false;
    try {
      copy.accept(panel.grant.resource());
      copied = true;
    } finally {
      List<Panel> freed = new ArrayList<>();
      synchronized (this) {
        panel.pins--;
        kept.get(panel); // the one used last
        if (copied) {
          panel.users.set(id.user());
        }
        if (!panel.dropped) {
          dropIfDone(panel, freed);
        } else if (panel.pins == 0) {
          freed.add(panel);
        }
      }
      free(freed);
    }
  }

  /** Uploads a claimed panel; keeps a copy if there is room. */
  private void fillClaimed(Panel panel, Runnable upload, Consumer<P> fill) {
    MemoryGovernor.Grant<P> grant = null;
    boolean filled = false;
    try {
      upload.run();
      long spare = governor.spareBytes();
      grant =
          governor
              .tryAcquire(
                  panel.bytes,
                  panel.id.usedNext() ? spare : Math.max(spare, governor.limitBytes() / SPARE_PART),
                  bytes -> allocate(panel.stage, bytes))
              .orElse(null);
      if (grant != null) {
        fill.accept(grant.resource());
        filled = true;
      }
    } finally {
      List<Panel> freed = new ArrayList<>();
      synchronized (this) {
        claims.remove(panel);
        panel.grant = grant;
        panel.users.set(panel.id.user());
        if (filled && !panel.dropped && !closed && panel(panel.stage, panel.id) == panel) {
          kept.put(panel, true);
          dropIfDone(panel, freed);
        } else {
          drop(panel, freed);
        }
        notifyAll();
      }
      free(freed);
    }
  }

  private P allocate(Shared stage, long bytes) {
    try {
      return allocate.apply(bytes);
    } catch (ResourceException e) {
      synchronized (this) {
        stage.refused = true; // asking again and again would hold up the device
      }
      throw e;
    }
  }

  /** Drops a panel that all tiles have had, or will not want any more. */
  private void dropIfDone(Panel panel, List<Panel> freed) {
    Stripe stripe = panel.stage.stripes.get(panel.id.stripe());
    if (panel.grant == null || panel.dropped || stripe == null) {
      return;
    }
    BitSet had = (BitSet) panel.users.clone();
    had.or(stripe.passed);
    if (had.cardinality() >= panel.id.uses()) {
      drop(panel, freed);
    }
  }

  /** Hides a panel from all tasks; it is freed now, or when it is no longer pinned. */
  private void drop(Panel panel, List<Panel> freed) {
    panel.dropped = true;
    kept.remove(panel);
    Stripe stripe = panel.stage.stripes.get(panel.id.stripe());
    if (stripe != null) {
      stripe.panels.remove(panel.id.inner(), panel);
      if (stripe.panels.isEmpty() && stripe.passed.isEmpty()) {
        panel.stage.stripes.remove(panel.id.stripe(), stripe);
      }
    }
    if (panel.pins == 0 && !claims.contains(panel)) {
      freed.add(panel);
    }
  }

  private void free(List<Panel> panels) {
    if (panels.isEmpty()) {
      return;
    }
    try {
      Closing.all(panels.stream().map(panel -> panel.grant).filter(Objects::nonNull).toList());
    } finally {
      synchronized (this) {
        panels.forEach(panel -> panel.freed = true);
        notifyAll();
      }
    }
  }

  /**
   * Gives up panels of {@code missing} bytes, or all there are: those of stages that do not run
   * first, then those used longest ago. Waits for the ends of pins and claims that are in the way.
   *
   * @return false if there was none
   */
  private boolean giveUp(long missing) {
    List<Panel> chosen = new ArrayList<>();
    List<Panel> freed = new ArrayList<>();
    synchronized (this) {
      long left = missing;
      for (boolean idle : new boolean[] {true, false}) {
        for (Panel panel : List.copyOf(kept.keySet())) {
          if (left > 0 && (panel.stage.running == 0 || !idle)) {
            left -= panel.bytes;
            chosen.add(panel);
            drop(panel, freed);
          }
        }
      }
      if (left > 0) {
        chosen.addAll(claims);
        claims.forEach(panel -> drop(panel, freed));
      }
    }
    free(freed);
    return awaitFreed(chosen);
  }

  /** Waits until they are freed; false if none of them had memory. */
  private synchronized boolean awaitFreed(List<Panel> panels) {
    boolean some = false;
    try {
      for (Panel panel : panels) {
        while (!panel.freed) {
          wait();
        }
        some |= panel.grant != null;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // whoever asks will notice
    }
    return some;
  }

  /** Drops a stage of which no task has begun since. */
  private void end(Shared stage, long changes) {
    List<Panel> freed = new ArrayList<>();
    synchronized (this) {
      if (stage.running > 0 || stage.changes != changes) {
        return;
      }
      stages.values().remove(stage);
      for (Panel panel : List.copyOf(kept.keySet())) {
        if (panel.stage == stage) {
          drop(panel, freed);
        }
      }
      stage.stripes.clear();
    }
    try {
      free(freed);
    } catch (RuntimeException e) {
      LOG.warn("Freeing shared panels failed: {}", e.getMessage());
    }
  }
}
