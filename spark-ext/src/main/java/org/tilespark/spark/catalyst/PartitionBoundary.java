package org.tilespark.spark.catalyst;

import java.util.Iterator;
import java.util.List;
import java.util.function.Function;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.error.ErrorBoundary.Body;

/**
 * The boundary of a task's body, which reads partitions of other nodes and gives one of ours.
 * Failures of our code leave it with an error condition, see {@link ErrorBoundary}; failures of a
 * partition that it reads pass unchanged, since they may come from a user's function or another
 * source.
 *
 * <p>For the task's thread only.
 */
public final class PartitionBoundary {
  private Throwable others; // the last failure of an input

  private PartitionBoundary() {}

  /** The results that {@code open} makes of one partition. */
  public static <A, R> scala.collection.Iterator<R> over(
      scala.collection.Iterator<A> input, Function<Iterator<A>, Iterator<R>> open) {
    PartitionBoundary boundary = new PartitionBoundary();
    Iterator<A> rows = boundary.input(input);
    return boundary.output(() -> open.apply(rows));
  }

  /** The results that {@code open} makes of several partitions. */
  public static <A, R> scala.collection.Iterator<R> over(
      List<scala.collection.Iterator<A>> inputs, Function<List<Iterator<A>>, Iterator<R>> open) {
    PartitionBoundary boundary = new PartitionBoundary();
    List<Iterator<A>> rows = inputs.stream().map(boundary::input).toList();
    return boundary.output(() -> open.apply(rows));
  }

  /** The result of {@code consume} on a partition that it reads to its end. */
  public static <A, R> R drain(
      scala.collection.Iterator<A> input, Function<Iterator<A>, R> consume) {
    PartitionBoundary boundary = new PartitionBoundary();
    Iterator<A> rows = boundary.input(input);
    return boundary.leaving(() -> consume.apply(rows));
  }

  private <A> Iterator<A> input(scala.collection.Iterator<A> rows) {
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        return entering(rows::hasNext);
      }

      @Override
      public A next() {
        return entering(rows::next);
      }
    };
  }

  private <R> scala.collection.Iterator<R> output(Body<Iterator<R>> open) {
    Iterator<R> results = leaving(open);
    return ScalaInterop.iterator(
        new Iterator<>() {
          @Override
          public boolean hasNext() {
            return leaving(results::hasNext);
          }

          @Override
          public R next() {
            return leaving(results::next);
          }
        });
  }

  private <T> T entering(Body<T> body) {
    try {
      return body.run();
    } catch (Exception e) {
      others = e;
      throw ErrorBoundary.thrown(e);
    }
  }

  private <T> T leaving(Body<T> body) {
    try {
      return body.run();
    } catch (Exception e) {
      throw ErrorBoundary.thrown(e == others ? e : ErrorBoundary.BLOCKS.replaced(e));
    }
  }
}
