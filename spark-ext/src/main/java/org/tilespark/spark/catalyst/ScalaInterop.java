package org.tilespark.spark.catalyst;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import scala.Option;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.collection.immutable.Vector;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction0;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractFunction2;
import scala.runtime.AbstractPartialFunction;

/** Conversions that Catalyst's interfaces ask for. Stateless. */
public final class ScalaInterop {
  private ScalaInterop() {}

  /** An immutable Scala sequence with the elements of {@code list}. */
  public static <T> IndexedSeq<T> seq(Collection<? extends T> list) {
    return Vector.from(CollectionConverters.<T>asScala(widen(list)));
  }

  /** An immutable Scala sequence of {@code elements}. */
  @SafeVarargs
  @SuppressWarnings("varargs") // List.of copies
  public static <T> IndexedSeq<T> seq(T... elements) {
    return seq(List.of(elements));
  }

  /** A Java copy of a Scala sequence. */
  public static <T> List<T> list(scala.collection.Iterable<? extends T> seq) {
    List<T> copy = new ArrayList<>();
    CollectionConverters.asJava(seq).forEach(copy::add);
    return copy;
  }

  /** A Java view of a Scala iterator. */
  public static <T> Iterator<T> iterator(scala.collection.Iterator<T> iterator) {
    return CollectionConverters.asJava(iterator);
  }

  /** A Java view of a Scala map. */
  public static <K, V> Map<K, V> javaMap(scala.collection.Map<K, V> map) {
    return CollectionConverters.asJava(map);
  }

  /** A Scala view of a Java iterator. */
  public static <T> scala.collection.Iterator<T> iterator(Iterator<T> iterator) {
    return CollectionConverters.asScala(iterator);
  }

  /** An immutable Scala map with the entries of {@code map}. */
  public static <K, V> scala.collection.immutable.Map<K, V> map(Map<K, V> map) {
    return scala.collection.immutable.Map.from(CollectionConverters.asScala(map));
  }

  /** An empty Scala sequence. */
  public static <T> Seq<T> emptySeq() {
    return Vector.from(CollectionConverters.<T>asScala(List.of()));
  }

  /** An empty option. */
  public static <T> Option<T> none() {
    return Option.empty();
  }

  /** Scala's form of an optional value. */
  public static <T> Option<T> option(Optional<T> value) {
    return Option.apply(value.orElse(null));
  }

  /** Scala's evidence of a class. */
  public static <T> ClassTag<T> classTag(Class<T> type) {
    return ClassTag$.MODULE$.apply(type);
  }

  /** A Scala by-name argument from a Java supplier. */
  public static <T> AbstractFunction0<T> supplier(Supplier<T> supplier) {
    return new AbstractFunction0<>() {
      @Override
      public T apply() {
        return supplier.get();
      }
    };
  }

  /** A serializable Scala function from a Java one; captured values must be serializable. */
  public static <A, B> AbstractFunction1<A, B> function(SerializableFunction<A, B> function) {
    return new Function1<>(function);
  }

  /** A Scala function of two arguments. */
  public static <A, B, R> AbstractFunction2<A, B, R> function2(
      SerializableFunction2<A, B, R> function) {
    return new Function2<>(function);
  }

  /** A partial function that is defined where {@code function} returns a value. */
  public static <A, B> AbstractPartialFunction<A, B> partialFunction(
      SerializableFunction<A, Optional<? extends B>> function) {
    return new PartialFunction<>(function);
  }

  /** A Java function that may travel to an executor. */
  @FunctionalInterface
  public interface SerializableFunction<A, B> extends Serializable {
    /** The result for {@code argument}. */
    B apply(A argument);
  }

  /** A serializable Java function of two arguments. */
  @FunctionalInterface
  public interface SerializableFunction2<A, B, R> extends Serializable {
    /** The result for the arguments. */
    R apply(A first, B second);
  }

  @SuppressWarnings("unchecked") // a read-only use of a covariant collection
  private static <T> Collection<T> widen(Collection<? extends T> list) {
    return (Collection<T>) list;
  }

  private static final class Function1<A, B> extends AbstractFunction1<A, B>
      implements Serializable {
    private final SerializableFunction<A, B> function;

    private Function1(SerializableFunction<A, B> function) {
      this.function = function;
    }

    @Override
    public B apply(A argument) {
      return function.apply(argument);
    }
  }

  private static final class Function2<A, B, R> extends AbstractFunction2<A, B, R>
      implements Serializable {
    private final SerializableFunction2<A, B, R> function;

    private Function2(SerializableFunction2<A, B, R> function) {
      this.function = function;
    }

    @Override
    public R apply(A first, B second) {
      return function.apply(first, second);
    }
  }

  private static final class PartialFunction<A, B> extends AbstractPartialFunction<A, B>
      implements Serializable {
    private final SerializableFunction<A, Optional<? extends B>> function;

    private PartialFunction(SerializableFunction<A, Optional<? extends B>> function) {
      this.function = function;
    }

    @Override
    public boolean isDefinedAt(A argument) {
      return function.apply(argument).isPresent();
    }

    @Override
    public <A1 extends A, B1> B1 applyOrElse(A1 argument, scala.Function1<A1, B1> otherwise) {
      @SuppressWarnings("unchecked") // Scala declares B1 a supertype of B, which Java cannot say
      Optional<B1> result = (Optional<B1>) function.apply(argument);
      return result.isPresent() ? result.get() : otherwise.apply(argument);
    }
  }
}
