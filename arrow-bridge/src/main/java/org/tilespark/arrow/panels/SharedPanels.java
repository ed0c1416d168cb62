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
 * A cache of panels in device memory that the tasks of an executor share: the first task that needs
 * a panel uploads it and puts a copy here; the others copy it from here to their own buffers. Every
 * task has buffers of its own anyway, so each can do without this cache.
 *
 * <p>A panel is kept until all tiles that need it have used it, until other work needs its memory,
 * or until no task of its stage has run for a while.
 *
 * <p>Who may wait for what:
 *
 * <ul>
 *   <li>The lock of this object guards only its bookkeeping. A thread that holds it never calls the
 *       governor, the device or a caller's function; a thread that holds the governor's lock never
 *       takes this one.
 *   <li>A panel is <em>claimed</em> while one task queues its upload and its copy. Another task
 *       that needs the panel waits for the claim to end. A task that has a claim never waits: not
 *       for another claim, not for its turn on the device, and not for memory, which it gets at
 *       once or not at all. So every claim ends, and a task has at most one.
 *   <li>A panel is <em>pinned</em> while a task queues a copy from it, which never waits either.
 *       The governor asks for memory only on behalf of a task without claim and pin. Panels that
 *       are neither claimed nor pinned are freed at once; for others the task waits until pins and
 *       claims end. The order of streams runs queued copies before the memory is freed; no thread
 *       waits for them.
 *   <li>A panel can be found once its copy is queued. If a claim ends by a failure or for lack of
 *       memory, no panel is kept, and the next task may claim it.
 * </ul>
 *
 * <p>Safe for several threads.
 *
 * @param <P> the memory of a panel; closing it frees it after the copies that were queued
 */
final class SharedPanels<P extends AutoCloseable> implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(SharedPanels.class);

  /**
   * Panels that are needed only much later must leave this fraction (1 / {@value}) of the memory to
   * other work.
   */
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
   * A cache without panels. The governor is borrowed, and from now on asks this object to free
   * memory.
   *
   * @param allocate allocates the memory of a panel of the given bytes
   * @param later runs tasks after a delay, on another thread
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
    private int running; // count of tasks that run now
    private long changes; // how often that count has changed
    private boolean refused; // the driver refused memory that the governor had granted
  }

  /** The panels of one stripe, and the tiles that have finished with them. */
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
    // Null while the panel is claimed, and if there was no room
    private MemoryGovernor.Grant<P> grant;
    private int pins;
    private boolean dropped;
    private boolean freed;

    private Panel(Shared stage, PanelId id, long bytes) {
      this.stage = stage;
      this.id = id;
      this.bytes = bytes;
    }
  }

  /** One task's use of a stage's panels; it is closed when the task ends. Used by one thread. */
  final class Member implements AutoCloseable {
    private final Shared stage;
    private boolean left;

    private Member(Shared stage) {
      this.stage = stage;
    }

    /**
     * Copies a panel if it is cached; never waits.
     *
     * @param copy queues a copy of the whole panel
     * @return false if it is not cached
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
     * Copies a panel if it is cached or about to be; otherwise uploads it, and caches it if there
     * is room.
     *
     * @param copy queues a copy of the cached panel to the task's buffer
     * @param upload queues an upload to the task's buffer; never waits
     * @param fill queues a copy of the uploaded panel to the cache; never waits
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
        return; // nobody knows which tile is the last
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
   * @param identity identity of the stage, its attempt and the operator; equal for tasks that share
   *     panels
   */
  Member join(Object identity) {
    synchronized (this) {
      Shared stage = stages.computeIfAbsent(identity, key -> new Shared());
      stage.running++;
      stage.changes++;
      return new Member(stage);
    }
  }

  /** Bytes of all panels that are kept. */
  synchronized long keptBytes() {
    return kept.keySet().stream().mapToLong(panel -> panel.bytes).sum();
  }

  /** Frees all panels; a pinned one is freed when its pin ends. May be called twice. */
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

  /**
   * Waits until a panel is not claimed and returns it, or null if there is none; returns a claimed
   * panel if this thread was interrupted.
   */
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

  /** Copies a panel that this thread has pinned, then ends the pin. */
  private void copyFrom(Panel panel, PanelId id, Consumer<P> copy) {
    boolean copied = false;
    try {
      copy.accept(panel.grant.resource());
      copied = true;
    } finally {
      List<Panel> freed = new ArrayList<>();
      synchronized (this) {
        panel.pins--;
        kept.get(panel); // makes it the one used last
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

  /** Drops a panel that no tile needs any more. */
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
   * Frees panels of {@code missing} bytes together, or all panels: first those of stages that do
   * not run, then the least recently used ones. Waits for their pins and claims to end.
   *
   * @return false if there was no panel to free
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

  /** Waits until the panels are freed; false if none of them had memory. */
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

  /**
   * Drops a stage and its panels, unless one of its tasks has begun since {@code changes} was read.
   */
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
