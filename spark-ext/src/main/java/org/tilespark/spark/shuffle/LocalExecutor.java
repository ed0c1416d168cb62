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
 * Tells Spark that the executor of local mode is alive. After a failed fetch Spark forgets the
 * block manager of the executor that had the output. The block manager then registers again; for
 * that, Spark asks the cluster's scheduler whether the executor lives, but local mode has none. So
 * without this class the driver would never again know the blocks of its own process, and {@code
 * unpersist} would leave cached blocks in memory.
 */
public final class LocalExecutor implements RpcEndpoint {
  private static final Logger LOG = LoggerFactory.getLogger(LocalExecutor.class);

  private final RpcEnv env;

  private LocalExecutor(RpcEnv env) {
    this.env = env;
  }

  /** Starts the endpoint for an application in local mode; it ends with the application. */
  public static void start() {
    try {
      RpcEnv env = SparkEnv.get().rpcEnv();
      env.setupEndpoint(
          CoarseGrainedSchedulerBackend$.MODULE$.ENDPOINT_NAME(), new LocalExecutor(env));
    } catch (RuntimeException | LinkageError e) { // a later Spark may have this endpoint
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
