package org.tilespark.spark.cluster;

import java.io.IOException;
import java.lang.reflect.Field;
import java.util.Map;
import org.apache.spark.SparkEnv;
import org.apache.spark.network.client.TransportClient;
import org.apache.spark.network.client.TransportClientFactory;
import org.tilespark.arrow.memory.AllocationFaults;
import org.tilespark.arrow.store.MapOutput;
import org.tilespark.arrow.store.StoredOutputs;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.shuffle.StoredBlocks;

/**
 * Faults of this executor that a test sets in advance or causes at once, inside classes that know
 * nothing of it. Memory is refused only where the configuration asks for refusals, however rare.
 */
final class ArmedFaults {
  private static final int FAR = 1_000_000_000;

  private ArmedFaults() {}

  /** Refuses the request for host memory that follows {@code n} others. */
  static void refuseMemory(int n) {
    Object source = get(get(ExecutorRuntime.current(), "hostMemory"), "plainMemory");
    AllocationFaults faults = (AllocationFaults) get(source, "faults");
    synchronized (faults) {
      set(faults, "position", 1);
      set(faults, "victim", 1 + n);
    }
  }

  /** Fails the writing of an output to files that follows {@code n} others. */
  static void failWrite(int n) {
    Object store = StoredBlocks.store();
    Object files = get(store, "files");
    set(
        store,
        "files",
        new FailingFiles(
            files instanceof FailingFiles failing ? failing.files : (StoredOutputs.Files) files,
            n));
  }

  /** True if memory was refused, or a file failed, since that was set. */
  static boolean struck() {
    Object source = get(get(ExecutorRuntime.current(), "hostMemory"), "plainMemory");
    AllocationFaults faults = (AllocationFaults) get(source, "faults");
    boolean isRefused;
    synchronized (faults) {
      isRefused = (int) get(faults, "position") > (int) get(faults, "victim");
    }
    return isRefused
        || get(StoredBlocks.store(), "files") instanceof FailingFiles failing && failing.struck();
  }

  /** Nothing fails from now on. */
  static void disarm() {
    refuseMemory(FAR - 10);
    failWrite(FAR);
  }

  private static final class FailingFiles implements StoredOutputs.Files {
    private final StoredOutputs.Files files;
    private int left; // guarded by this

    FailingFiles(StoredOutputs.Files files, int left) {
      this.files = files;
      this.left = left;
    }

    synchronized boolean struck() {
      return left < 0;
    }

    @Override
    public void write(MapOutput output) throws IOException {
      synchronized (this) {
        if (left-- == 0) {
          throw new IOException("No space left on device, as the test says");
        }
      }
      files.write(output);
    }

    @Override
    public void delete(MapOutput.Id id) {
      files.delete(id);
    }
  }

  /** Closes every connection over which this executor fetches from others. */
  static void dropConnections() {
    Object service = SparkEnv.get().blockManager().blockTransferService();
    Object factory = ofType(service, TransportClientFactory.class);
    for (Object pool : ((Map<?, ?>) get(factory, "connectionPool")).values()) {
      for (TransportClient client : (TransportClient[]) get(pool, "clients")) {
        if (client != null) {
          client.close();
        }
      }
    }
  }

  // ---- what is private elsewhere

  private static Object get(Object object, String name) {
    try {
      return field(object.getClass(), name).get(object);
    } catch (IllegalAccessException e) {
      throw new AssertionError(e);
    }
  }

  private static void set(Object object, String name, Object value) {
    try {
      field(object.getClass(), name).set(object, value);
    } catch (IllegalAccessException e) {
      throw new AssertionError(e);
    }
  }

  private static Field field(Class<?> type, String name) {
    for (Class<?> each = type; each != null; each = each.getSuperclass()) {
      for (Field field : each.getDeclaredFields()) {
        if (field.getName().equals(name)) {
          field.setAccessible(true);
          return field;
        }
      }
    }
    throw new AssertionError(type + " has no field " + name);
  }

  private static Object ofType(Object object, Class<?> type) {
    for (Class<?> each = object.getClass(); each != null; each = each.getSuperclass()) {
      for (Field field : each.getDeclaredFields()) {
        if (field.getType() == type) {
          return get(object, field.getName());
        }
      }
    }
    throw new AssertionError(object.getClass() + " has no field of " + type);
  }
}
