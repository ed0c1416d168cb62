package org.tilespark.spark.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

class ShuffleFitTest extends SparkTest {
  private static final String FILES = "spark.shuffle.sort.io.plugin.class";

  private static SparkConf conf(String key, String value) {
    return new SparkConf(false).set(key, value);
  }

  @Test
  void onlySparksOwnFilesWillDo() {
    String local = "org.apache.spark.shuffle.sort.io.LocalDiskShuffleDataIO";
    String recovering = "org.apache.spark.shuffle.KubernetesLocalDiskShuffleDataIO";
    assertEquals(Optional.empty(), ShuffleFit.whyNotInMemory(new SparkConf(false)));
    assertEquals(Optional.empty(), ShuffleFit.whyNotInMemory(conf(FILES, local)));
    assertEquals(Optional.empty(), ShuffleFit.whyNotInMemory(conf(FILES, recovering)));
    for (String other :
        new String[] {"com.example.LocalDiskShuffleDataIO", "LocalDiskShuffleDataIO"}) {
      assertEquals(
          Optional.of(FILES + " is " + other), ShuffleFit.whyNotInMemory(conf(FILES, other)));
    }
  }

  /** The recovery of a lost executor's files finds none of an output that was in memory. */
  @Test
  void outputsGoToFilesWhereFilesOutliveTheirExecutor() {
    assertFalse(ShuffleFit.filesOnly(new SparkConf(false)));
    assertFalse(ShuffleFit.filesOnly(conf("spark.shuffle.service.enabled", "true")));
    assertTrue(
        ShuffleFit.filesOnly(
            conf("spark.shuffle.service.enabled", "true")
                .set("spark.dynamicAllocation.enabled", "true")));
    assertTrue(
        ShuffleFit.filesOnly(
            conf(FILES, "org.apache.spark.shuffle.KubernetesLocalDiskShuffleDataIO")));
  }

  /** As Spark 4.3's PipelinedShuffleDependency, which its own managers serve. */
  private static final class Pipelined extends ShuffleDependency<Object, InternalRow, InternalRow> {
    private static final long serialVersionUID = 1;

    Pipelined(ShuffleDependency<Object, InternalRow, InternalRow> like) {
      super(
          like.rdd(),
          like.partitioner(),
          like.serializer(),
          like.keyOrdering(),
          ScalaInterop.none(),
          false,
          like.shuffleWriterProcessor(),
          ScalaInterop.classTag(Object.class),
          ScalaInterop.classTag(InternalRow.class),
          ScalaInterop.classTag(InternalRow.class));
    }
  }

  @Test
  void otherKindsOfShufflesAreSparks() {
    ShuffleExchangeExec exchange =
        PlanNodes.all(
                plan(MatrixBlocks.reblock(
                        TestArray.matrix(ElementType.FLOAT32, 40, 30, 20, 15)
                            .toDataFrame(spark, 2)
                            .drop("tag"),
                        13,
                        17))
                    .executedPlan(),
                ShuffleExchangeExec.class)
            .get(0);
    ShuffleDependency<Object, InternalRow, InternalRow> dependency = exchange.shuffleDependency();
    assertTrue(ShuffleFit.isOfBlocks(dependency));
    assertFalse(ShuffleFit.isOfBlocks(new Pipelined(dependency)));
  }
}
