package org.tilespark.kernels.launch;

import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * A value, or the reason why it is not available. Immutable if the value is.
 *
 * @param thing the value; empty if it is not available
 * @param whyNot the reason, and what helps; empty if the value is available
 */
public record Availability<T>(Optional<T> thing, String whyNot) {
  /** Checks that there is either a value or a reason. */
  public Availability {
    if (thing.isPresent() != whyNot.isEmpty()) {
      throw new IllegalArgumentException("expected a thing or a reason, found " + thing + whyNot);
    }
  }

  /** A value that is available. */
  public static <T> Availability<T> of(T thing) {
    return new Availability<>(Optional.of(thing), "");
  }

  /** No value, for the reason {@code why}. */
  public static <T> Availability<T> not(String why) {
    return new Availability<>(Optional.empty(), why);
  }

  /** The value in {@code thing}; {@code why} gives the reason if there is none. */
  public static <T> Availability<T> of(Optional<T> thing, Supplier<String> why) {
    return thing.map(Availability::of).orElseGet(() -> not(why.get()));
  }

  /** True if the value is available. */
  public boolean isPresent() {
    return thing.isPresent();
  }

  /**
   * The value.
   *
   * @throws IllegalStateException if the value is not available; the message has the reason
   */
  public T get() {
    return orElseThrow(IllegalStateException::new);
  }

  /**
   * The value; if it is not available, throws the exception that {@code failure} makes from the
   * reason.
   */
  public <X extends Throwable> T orElseThrow(Function<String, X> failure) throws X {
    return thing.orElseThrow(() -> failure.apply(whyNot));
  }

  /** Maps the value; keeps the reason if there is none. */
  public <R> Availability<R> map(Function<? super T, ? extends R> function) {
    return new Availability<>(thing.map(function), whyNot);
  }
}
