package org.tilespark.spark.error;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.nio.channels.ClosedByInterruptException;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.spark.SparkThrowable;
import org.tilespark.arrow.memory.OutOfHostMemoryException;
import org.tilespark.kernels.ResourceException;
import org.tilespark.kernels.device.CudaFailure;
import org.tilespark.kernels.device.DeviceOutOfMemoryException;

/**
 * The kinds of entry points to our code, from Spark or from users; they differ in the error
 * condition of an {@link IllegalArgumentException}. Exceptions that leave have a condition.
 *
 * <table> <caption>Exception inside, and exception that leaves</caption>
 * <tr><td>an exception with a condition; a killed task; an {@link Error}; a runtime exception that
 *   Spark's own code threw
 *   <td>itself
 * <tr><td>{@link IllegalArgumentException}
 *   <td>the boundary's condition, or that of an {@link InvalidInputException}; with its trace, shortened
 * <tr><td>{@link UnsupportedOperationException}
 *   <td>UNSUPPORTED, with its trace, shortened
 * <tr><td>host or device memory that ran out; another {@link ResourceException} or {@link
 *   CudaFailure}; {@link IOException}; any other {@link RuntimeException}
 *   <td>OUT_OF_MEMORY; DEVICE; IO; INTERNAL; with it as the cause
 * </table>
 *
 * <p>The exception that leaves is a {@link TileSparkException}. Only {@link #CALLS} throws
 * subclasses of the JDK's exceptions, as the methods' documentation says: {@link
 * InvalidInputException} and {@link UnsupportedRequestException}.
 */
public enum ErrorBoundary {
  /** Java methods of ours that users call on a classic session. */
  CALLS(ErrorCondition.INVALID_ARGUMENT),
  /** SQL functions, the planner, data sources and their options. */
  PLANNING(ErrorCondition.INVALID_ARGUMENT),
  /** Code of ours that reads files. */
  FILES(ErrorCondition.INVALID_FILE),
  /** Code of ours that works on blocks. */
  BLOCKS(ErrorCondition.INVALID_BLOCK);

  private final ErrorCondition badInput;

  ErrorBoundary(ErrorCondition badInput) {
    this.badInput = badInput;
  }

  /** The work inside of the boundary. */
  @FunctionalInterface
  public interface Body<T> {
    /** Does the work. */
    T run() throws Exception;
  }

  /**
   * Runs the body, and replaces exceptions as described above. Checked exceptions leave undeclared,
   * as in Scala.
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
   * Waits for work that Spark runs for us, and unwraps our exception from its failure: without
   * adaptive execution Spark wraps the failure of a broadcast.
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

  /** The exception that is thrown in place of {@code failure}. */
  public Exception replaced(Exception failure) {
    if (failure instanceof IllegalArgumentException
        && (failure instanceof InvalidInputException || !(failure instanceof SparkThrowable))) {
      return badInput(failure);
    }
    if (isKnown(failure)) {
      return failure;
    }
    String reason = reason(failure);
    if (failure instanceof UnsupportedOperationException) {
      return inPlaceOf(
          failure,
          this == CALLS
              ? new UnsupportedRequestException(reason, failure.getCause())
              : new TileSparkException(ErrorCondition.UNSUPPORTED, reason, failure.getCause()));
    }
    if (failure instanceof OutOfHostMemoryException
        || failure instanceof DeviceOutOfMemoryException
        || failure instanceof OutOfMemoryException) {
      return new TileSparkException(ErrorCondition.OUT_OF_MEMORY, reason, failure);
    }
    if (failure instanceof ResourceException || failure instanceof CudaFailure) {
      return new TileSparkException(ErrorCondition.DEVICE, reason, failure);
    }
    if (failure instanceof IOException || failure instanceof UncheckedIOException) {
      return new TileSparkException(ErrorCondition.IO, reason, failure);
    }
    return failure instanceof RuntimeException && !isSparks(failure)
        ? new TileSparkException(ErrorCondition.INTERNAL, unexpected(failure), failure)
        : failure;
  }

  private Exception badInput(Exception failure) {
    boolean knows = failure instanceof InvalidInputException;
    if (knows && this == CALLS) {
      failure.setStackTrace(ShortTrace.of(failure.getStackTrace()));
      return failure;
    }
    ErrorCondition condition = knows ? ((InvalidInputException) failure).condition() : badInput;
    String reason = knows ? ((InvalidInputException) failure).reason() : reason(failure);
    return inPlaceOf(
        failure,
        this == CALLS
            ? new InvalidInputException(condition, reason, failure.getCause())
            : new TileSparkException(condition, reason, failure.getCause()));
  }

  private static String reason(Exception failure) {
    return failure.getMessage() == null ? failure.toString() : failure.getMessage();
  }

  /**
   * True for exceptions that pass unchanged: they have a condition, or Spark uses them to end
   * tasks.
   */
  private static boolean isKnown(Exception failure) {
    return failure instanceof SparkThrowable
        || failure instanceof InterruptedIOException
        || failure instanceof ClosedByInterruptException
        || failure.getClass().getName().startsWith("org.apache.spark.");
  }

  /**
   * True if Spark's code threw the exception: a stopped session, for example, is not our defect.
   */
  private static boolean isSparks(Exception failure) {
    for (StackTraceElement frame : failure.getStackTrace()) {
      String name = frame.getClassName();
      if (!name.startsWith("java.") && !name.startsWith("jdk.") && !name.startsWith("scala.")) {
        return name.startsWith("org.apache.spark.");
      }
    }
    return false;
  }

  /**
   * Throws an exception that reports a defect of tilespark, for calls by Spark without another
   * boundary.
   *
   * @return never, as {@link #thrown}
   */
  public static RuntimeException defect(String reason) {
    return thrown(new TileSparkException(ErrorCondition.INTERNAL, reason, null));
  }

  private static String unexpected(Exception failure) {
    return failure instanceof IllegalStateException && failure.getMessage() != null
        ? failure.getMessage()
        : "unexpected " + failure + "; please report it with the trace";
  }

  /**
   * The exception {@code exception}, with a {@link ShortTrace} of the place where {@code old} was
   * thrown.
   */
  private static <E extends Exception> E inPlaceOf(Exception old, E exception) {
    exception.setStackTrace(ShortTrace.of(old.getStackTrace()));
    for (Throwable suppressed : old.getSuppressed()) {
      exception.addSuppressed(suppressed);
    }
    return exception;
  }

  /**
   * Throws any exception; Spark declares none of its checked ones.
   *
   * @return never; {@code throw thrown(e)} tells the compiler that the method ends there
   */
  public static RuntimeException thrown(Throwable failure) {
    return ErrorBoundary.<RuntimeException>throwAny(failure);
  }

  @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
  private static <E extends Throwable> E throwAny(Throwable failure) throws E {
    throw (E) failure;
  }
}
