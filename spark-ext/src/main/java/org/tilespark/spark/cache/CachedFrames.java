package org.tilespark.spark.cache;

import java.util.Arrays;
import java.util.Optional;
import org.apache.spark.Dependency;
import org.apache.spark.OneToOneDependency;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.columnar.CachedBatch;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.BlockStatus;
import org.apache.spark.storage.RDDBlockId;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

/** Facts of cached frames for planners. */
public final class CachedFrames {
  private CachedFrames() {}

  /**
   * True if each task can read all rows of a frame in place: they are images in the memory of this
   * process, which runs all tasks, so skipping a row costs nothing. False for frames that Spark has
   * not filled yet, has partly evicted, keeps serialized or on a disk, or cached by its own
   * serializer.
   */
  public static boolean areInPlace(SparkContext context, InMemoryRelation cached) {
    SparkEnv env = SparkEnv.get();
    if (env == null || !context.isLocal() || !cached.cacheBuilder().isCachedColumnBuffersLoaded()) {
      return false;
    }
    RDD<CachedBatch> batches = cached.cacheBuilder().cachedColumnBuffers();
    if (CachedImages.behind(batches).isEmpty()) {
      return false;
    }
    BlockManager blocks = env.blockManager();
    boolean areThere = true;
    for (int i = 0; i < batches.getNumPartitions() && areThere; i++) {
      areThere = isInPlace(blocks.getStatus(new RDDBlockId(batches.id(), i)));
    }
    return areThere;
  }

  /** True if each partition of a frame is in the cache of some executor. */
  public static boolean isWhole(RDD<CachedBatch> batches) {
    BlockId[] ids = new BlockId[batches.getNumPartitions()];
    Arrays.setAll(ids, i -> new RDDBlockId(batches.id(), i));
    return ScalaInterop.<Seq<BlockManagerId>>list(
            SparkEnv.get().blockManager().master().getLocations(ids))
        .stream()
        .noneMatch(Seq::isEmpty);
  }

  /**
   * Bytes of each partition of {@code rows}, if these are computed partition by partition from a
   * frame in the memory of this process, which runs all tasks; empty for other rows.
   */
  public static Optional<long[]> bytes(RDD<?> rows) {
    RDD<?> cached = rows;
    while (!cached.getStorageLevel().isValid()) {
      if (cached.dependencies().size() != 1
          || !(cached.dependencies().head() instanceof OneToOneDependency)) {
        return Optional.empty();
      }
      cached = ((Dependency<?>) cached.dependencies().head()).rdd();
    }
    SparkEnv env = SparkEnv.get();
    if (env == null || !rows.sparkContext().isLocal()) {
      return Optional.empty();
    }
    long[] bytes = new long[cached.getNumPartitions()];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = bytes(env.blockManager(), new RDDBlockId(cached.id(), i));
      if (bytes[i] == 0) {
        return Optional.empty();
      }
    }
    return Optional.of(bytes);
  }

  /** Bytes of a Spark block in this process's memory; 0 if it is not there. */
  private static long bytes(BlockManager blocks, RDDBlockId id) {
    Option<BlockStatus> found = blocks.getStatus(id);
    if (found.isEmpty() || found.get().memSize() == 0) {
      return 0;
    }
    // Spark counts images outside the heap only in part, see CacheStore.
    long ofBatches = 0;
    if (found.get().storageLevel().deserialized()) {
      Option<? extends Iterator<?>> batches = blocks.memoryStore().getValues(id);
      while (batches.isDefined()
          && batches.get().hasNext()
          && batches.get().next() instanceof ImageBatch each) {
        ofBatches += each.sizeInBytes();
      }
    }
    return Math.max(found.get().memSize(), ofBatches);
  }

  private static boolean isInPlace(Option<BlockStatus> found) {
    return found.isDefined()
        && found.get().storageLevel().deserialized()
        && found.get().memSize() > 0;
  }
}
