package org.tilespark.spark.shuffle;

import org.apache.spark.SparkEnv;
import org.apache.spark.rpc.RpcCallContext;
import org.apache.spark.rpc.RpcEndpoint;
import org.apache.spark.rpc.RpcEnv;
import org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages.IsExecutorAlive;
import org.apache.spark.scheduler.cluster.CoarseGrainedSchedulerBackend$;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.spark.runtime.ExecutorRuntime;
import scala.PartialFunction;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/**
 * Answers for the executor of local mode that it is alive. After a failed fetch Spark forgets the
 * block manager of the executor that had the output. The block manager registers again, for which
 * Spark asks the scheduler of a cluster whether the executor lives, and in local mode there is
 * none: so the driver would never know the blocks of its own process again, and {@code unpersist}
 * would leave cached blocks in memory.
 */
public final class LocalExecutor implements RpcEndpoint {
  private static final Logger LOG = LoggerFactory.getLogger(LocalExecutor.class);

  private final RpcEnv env;

  private LocalExecutor(RpcEnv env) {
    this.env = env;
  }

  /** Starts it for an application in local mode; ends with it. */
  public static void start() {
    try {
      RpcEnv env = SparkEnv.get().rpcEnv();
      env.setupEndpoint(
          CoarseGrainedSchedulerBackend$.MODULE$.ENDPOINT_NAME(), new LocalExecutor(env));
    } catch (RuntimeException | LinkageError e) { // a later Spark may have one
      LOG.debug("Nobody says for tilespark that the local executor is alive", e);
    }
  }

  @Override
  public RpcEnv rpcEnv() {
    return env;
  }

  @Override
  public PartialFunction<Object, BoxedUnit> receiveAndReply(RpcCallContext context) {
    return new AbstractPartialFunction<>() {
      @Override
      public boolean isDefinedAt(Object message) {
        return message instanceof IsExecutorAlive;
      }

      @Override
      public BoxedUnit apply(Object message) {
        String executor = ((IsExecutorAlive) message).executorId();
        context.reply(executor.equals(ExecutorRuntime.LOCAL_EXECUTOR));
        return BoxedUnit.UNIT;
      }
    };
  }
}
