package org.tilespark.spark.cache;

import java.io.Serializable;
import java.util.Optional;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.columnar.CachedBatch;
import org.apache.spark.sql.execution.columnar.DefaultCachedBatchSerializer;
import org.apache.spark.sql.execution.columnar.InMemoryRelation$;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.storage.StorageLevel;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ExchangeInput;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.conf.CacheMode;
import org.tilespark.spark.conf.TileSparkConf;
import scala.Function2;
import scala.Option;
import scala.collection.BufferedIterator;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.reflect.ClassTag;
import scala.runtime.AbstractFunction2;

/**
 * Caches frames of blocks as images outside the heap (the bytes of each row after a short header),
 * which are read in place; other frames are cached as by Spark. The plugin sets {@code
 * spark.sql.cache.serializer} to this class unless the user has set it.
 *
 * <p>Whether a frame has blocks is decided by its columns when it is cached; readers recognise it
 * by {@link CachedImages}. Stateless.
 */
public final class BlockCacheSerializer extends DefaultCachedBatchSerializer {
  private static final Logger LOG = LoggerFactory.getLogger(BlockCacheSerializer.class);

  private static final String SERIALIZER = "spark.sql.cache.serializer";

  /** With this setting Kryo refuses our batches, since their class is not registered. */
  private static final String REGISTRATION_REQUIRED = "spark.kryo.registrationRequired";

  /** A constructor for Spark, which calls it once in each process. */
  public BlockCacheSerializer() {}

  // ---- the cache's setting

  /** Sets this class in {@code conf} of a starting application, unless the user has set another. */
  public static void install(SparkConf conf) {
    if (TileSparkConf.CACHE_MODE.read(TileSparkConf.application(conf)) == CacheMode.SPARK) {
      return;
    }
    if (conf.contains(SERIALIZER)) {
      LOG.info("Blocks are cached by {}={}", SERIALIZER, conf.get(SERIALIZER));
    } else if (conf.getBoolean(REGISTRATION_REQUIRED, false)) {
      LOG.info("Blocks are cached by Spark's own serializer, since {}=true", REGISTRATION_REQUIRED);
    } else {
      conf.set(SERIALIZER, BlockCacheSerializer.class.getName());
      forgetInstance();
    }
  }

  /** Makes Spark ask the next application of this process which serializer it wants. */
  public static void uninstall() {
    forgetInstance();
  }

  /**
   * Makes Spark forget its serializer, since it keeps that of a process's first application for all
   * later ones.
   */
  private static void forgetInstance() {
    InMemoryRelation$.MODULE$.clearSerializer();
  }

  /**
   * True if columns are those of blocks and this application caches blocks here: Spark may reuse an
   * instance of an earlier application.
   */
  private static boolean isOurs(StructType schema) {
    SparkEnv env = SparkEnv.get();
    return env != null
        && env.conf().get(SERIALIZER, "").equals(BlockCacheSerializer.class.getName())
        && (isBlocks(schema, BlockKind.MATRIX) || isBlocks(schema, BlockKind.VOLUME));
  }

  private static boolean isBlocks(StructType schema, BlockKind kind) {
    try {
      return !BlockSchema.find(schema, kind, "cache").planes().isEmpty();
    } catch (IllegalArgumentException e) { // columns are missing or do not fit
      return false;
    }
  }

  private static StructType schema(Seq<Attribute> columns) {
    return Attributes.schema(ScalaInterop.list(columns));
  }

  // ---- rows into the cache

  /** Our nodes write rows directly to the cache's memory, so columnar input would not be faster. */
  @Override
  public boolean supportsColumnarInput(Seq<Attribute> schema) {
    return false;
  }

  @Override
  public RDD<CachedBatch> convertInternalRowToCachedBatch(
      RDD<InternalRow> input, Seq<Attribute> schema, StorageLevel level, SQLConf conf) {
    StructType columns = schema(schema);
    return isOurs(columns)
        ? new CachedImages(
            input,
            new ImageBatches.Opener(
                columns, level.useMemory() && level.deserialized(), input instanceof ExchangeInput))
        : super.convertInternalRowToCachedBatch(input, schema, level, conf);
  }

  // ---- batches out of the cache

  /** Does not skip batches by statistics: rows are views, so skipping them later costs nothing. */
  @Override
  public Function2<Object, Iterator<CachedBatch>, Iterator<CachedBatch>> buildFilter(
      Seq<Expression> predicates, Seq<Attribute> cached) {
    return new Filter(super.buildFilter(predicates, cached));
  }

  private static final class Filter
      extends AbstractFunction2<Object, Iterator<CachedBatch>, Iterator<CachedBatch>>
      implements Serializable {
    private final Function2<Object, Iterator<CachedBatch>, Iterator<CachedBatch>> ofSpark;

    Filter(Function2<Object, Iterator<CachedBatch>, Iterator<CachedBatch>> ofSpark) {
      this.ofSpark = ofSpark;
    }

    @Override
    public Iterator<CachedBatch> apply(Object partition, Iterator<CachedBatch> batches) {
      BufferedIterator<CachedBatch> all = batches.buffered();
      boolean areImages = all.hasNext() && all.head() instanceof ImageBatch;
      return areImages ? all : ofSpark.apply(partition, all);
    }
  }

  @Override
  public RDD<InternalRow> convertCachedBatchToInternalRow(
      RDD<CachedBatch> input, Seq<Attribute> cached, Seq<Attribute> selected, SQLConf conf) {
    return CachedImages.behind(input)
        .map(
            images ->
                images.mapPartitions(
                    new ImageRows.Opener(Selection.of(cached, selected)),
                    true,
                    ScalaInterop.<InternalRow>classTag(InternalRow.class)))
        .orElseGet(() -> super.convertCachedBatchToInternalRow(input, cached, selected, conf));
  }

  /** Spark still reads rows; only our nodes ask for batches. */
  @Override
  public boolean supportsColumnarOutput(StructType schema) {
    return isOurs(schema) || super.supportsColumnarOutput(schema);
  }

  /**
   * Gives no types: Spark passes only the selected columns, which do not tell whether the frame has
   * blocks.
   */
  @Override
  public Option<Seq<String>> vectorTypes(Seq<Attribute> selected, SQLConf conf) {
    return ScalaInterop.none();
  }

  @Override
  public RDD<ColumnarBatch> convertCachedBatchToColumnarBatch(
      RDD<CachedBatch> input, Seq<Attribute> cached, Seq<Attribute> selected, SQLConf conf) {
    ClassTag<ColumnarBatch> type = ScalaInterop.classTag(ColumnarBatch.class);
    Optional<RDD<CachedBatch>> images = CachedImages.behind(input);
    if (images.isPresent()) {
      return images
          .get()
          .mapPartitions(new ImageColumns.Opener(Selection.of(cached, selected)), true, type);
    }
    return super.supportsColumnarOutput(schema(cached))
        ? super.convertCachedBatchToColumnarBatch(input, cached, selected, conf)
        : super.convertCachedBatchToInternalRow(input, cached, selected, conf)
            .mapPartitions(new RowBatches(schema(selected)), true, type);
  }
}
