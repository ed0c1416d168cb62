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
  /** Checks that there is either. */
  public Availability {
    if (thing.isPresent() != whyNot.isEmpty()) {
      throw new IllegalArgumentException("expected a thing or a reason, found " + thing + whyNot);
    }
  }

  /** An available value. */
  public static <T> Availability<T> of(T thing) {
    return new Availability<>(Optional.of(thing), "");
  }

  /** An absent value, with the reason. */
  public static <T> Availability<T> not(String why) {
    return new Availability<>(Optional.empty(), why);
  }

  /** The value in {@code thing}; {@code why} gives the reason if there is none. */
  public static <T> Availability<T> of(Optional<T> thing, Supplier<String> why) {
    return thing.map(Availability::of).orElseGet(() -> not(why.get()));
  }

  /** True if it is there. */
  public boolean isPresent() {
    return thing.isPresent();
  }

  /**
   * The thing.
   *
   * @throws IllegalStateException if it is not there; says why
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
