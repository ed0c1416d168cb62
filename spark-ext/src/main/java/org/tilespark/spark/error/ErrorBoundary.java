package org.tilespark.spark.error;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.nio.channels.ClosedByInterruptException;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.spark.SparkThrowable;
import org.tilespark.arrow.OutOfHostMemoryException;
import org.tilespark.kernels.ResourceException;
import org.tilespark.kernels.device.CudaFailure;
import org.tilespark.kernels.device.DeviceOutOfMemoryException;

/**
 * Where our code is called from Spark or a user, by what an {@link IllegalArgumentException} means
 * there. What leaves it carries a condition.
 *
 * <table>
 * <caption>What is thrown inside, and what leaves</caption>
 * <tr><td>an exception with a condition, of Spark or ours; a killed task; an {@link Error};
 *   another runtime exception that Spark's code threw
 *   <td>itself
 * <tr><td>{@link IllegalArgumentException}
 *   <td>{@link InvalidInputException} of the boundary's condition, with its trace
 * <tr><td>{@link UnsupportedOperationException}
 *   <td>{@link UnsupportedRequestException}, with its trace
 * <tr><td>host or device memory that ran out, another {@link ResourceException}, {@link
 *   CudaFailure}, {@link IOException}, any other {@link RuntimeException}
 *   <td>{@link ExecutionFailedException} with it as the cause
 * </table>
 */
public enum ErrorBoundary {
  /** SQL functions, operators on DataFrames, options: whatever the user states. */
  PLANNING(ErrorCondition.INVALID_ARGUMENT),
  /** Reading of files. */
  FILES(ErrorCondition.INVALID_FILE),
  /** Work on blocks. */
  BLOCKS(ErrorCondition.INVALID_BLOCK);

  private final ErrorCondition badInput;

  ErrorBoundary(ErrorCondition badInput) {
    this.badInput = badInput;
  }

  /** What is done inside. */
  @FunctionalInterface
  public interface Body<T> {
    /** Does it. */
    @SuppressWarnings("PMD.SignatureDeclareThrowsException")
    T run() throws Exception;
  }

  /**
   * Does it, and replaces what it throws. Checked exceptions that are not replaced pass undeclared,
   * as Scala's do.
   */
  public <T> T call(Body<T> body) {
    try {
      return body.run();
    } catch (Exception e) {
      throw thrown(replaced(e));
    }
  }

  /** As {@link #call}, without a result. */
  public void run(Runnable body) {
    call(
        () -> {
          body.run();
          return null;
        });
  }

  /**
   * Waits for work that Spark does for us, and throws what is ours of its failure: without adaptive
   * execution Spark wraps the failure of a broadcast.
   */
  public static <T> T await(Body<T> body) {
    try {
      return body.run();
    } catch (Exception e) {
      Throwable ours = e;
      while (ours != null && !(ours instanceof TileSparkThrowable)) {
        ours = ours.getCause();
      }
      throw thrown(ours == null ? e : ours);
    }
  }

  /** What leaves in place of {@code failure}. */
  Exception replaced(Exception failure) {
    if (isKnown(failure)) {
      return failure;
    }
    String message = failure.getMessage();
    String reason = message == null ? failure.toString() : message;
    if (failure instanceof IllegalArgumentException) {
      return inPlaceOf(failure, new InvalidInputException(badInput, reason));
    }
    if (failure instanceof UnsupportedOperationException) {
      return inPlaceOf(failure, new UnsupportedRequestException(reason));
    }
    if (failure instanceof OutOfHostMemoryException
        || failure instanceof DeviceOutOfMemoryException
        || failure instanceof OutOfMemoryException) {
      return new ExecutionFailedException(ErrorCondition.OUT_OF_MEMORY, reason, failure);
    }
    if (failure instanceof ResourceException || failure instanceof CudaFailure) {
      return new ExecutionFailedException(ErrorCondition.DEVICE, reason, failure);
    }
    if (failure instanceof IOException || failure instanceof UncheckedIOException) {
      return new ExecutionFailedException(ErrorCondition.IO, reason, failure);
    }
    return failure instanceof RuntimeException && !isSparks(failure)
        ? new ExecutionFailedException(ErrorCondition.INTERNAL, defect(failure), failure)
        : failure;
  }

  /** True for what says enough itself, or is not for users: Spark ends tasks by exceptions too. */
  private static boolean isKnown(Exception failure) {
    return failure instanceof SparkThrowable
        || failure instanceof InterruptedIOException
        || failure instanceof ClosedByInterruptException
        || failure.getClass().getName().startsWith("org.apache.spark.");
  }

  /** True if Spark's code threw it: a session that was stopped, say, is no defect of ours. */
  private static boolean isSparks(Exception failure) {
    for (StackTraceElement frame : failure.getStackTrace()) {
      String name = frame.getClassName();
      if (!name.startsWith("java.") && !name.startsWith("jdk.") && !name.startsWith("scala.")) {
        return name.startsWith("org.apache.spark.");
      }
    }
    return false;
  }

  private static String defect(Exception failure) {
    return failure instanceof IllegalStateException && failure.getMessage() != null
        ? failure.getMessage()
        : "unexpected " + failure + "; please report it with the trace";
  }

  /** The new exception, which tells where the old one was thrown. */
  private static <E extends Exception> E inPlaceOf(Exception old, E exception) {
    exception.setStackTrace(old.getStackTrace());
    if (old.getCause() != null) {
      exception.initCause(old.getCause());
    }
    for (Throwable suppressed : old.getSuppressed()) {
      exception.addSuppressed(suppressed);
    }
    return exception;
  }

  /**
   * Throws any exception; Spark declares none of its checked ones.
   *
   * @return nothing; {@code throw thrown(e)} tells the compiler that the method ends there
   */
  public static RuntimeException thrown(Throwable failure) {
    return ErrorBoundary.<RuntimeException>throwAny(failure);
  }

  @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
  private static <E extends Throwable> E throwAny(Throwable failure) throws E {
    throw (E) failure;
  }
}
