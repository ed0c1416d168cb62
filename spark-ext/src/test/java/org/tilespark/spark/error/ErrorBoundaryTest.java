package org.tilespark.spark.error;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.FileNotFoundException;
import java.io.InterruptedIOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.UncheckedIOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.spark.SparkException;
import org.apache.spark.SparkThrowable;
import org.apache.spark.TaskKilledException;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.memory.OutOfHostMemoryException;
import org.tilespark.kernels.ResourceException;
import org.tilespark.spark.catalyst.PartitionBoundary;
import org.tilespark.spark.catalyst.ScalaInterop;

/** The exceptions that leave in place of those that our code throws. */
class ErrorBoundaryTest {
  /** The expression that docs/troubleshooting.md gives to clients. */
  static final Pattern TEXT =
      Pattern.compile(
          "\\[(TILESPARK_[A-Z_]+)\\] (?!\\S+Exception: \\[)(.*?)"
              + "(?: SQLSTATE: ([0-9A-Z]{5})|\\.\\.\\.(?=\\s*\\z|\\s*\\n\\nJVM stacktrace:))",
          Pattern.DOTALL);

  @Test
  void badInputIsWhatTheBoundarySays() {
    IllegalArgumentException bad = new IllegalArgumentException("rows is 0", new Exception("why"));
    bad.addSuppressed(new IllegalStateException("while closing"));
    String argument = "[TILESPARK_INVALID_ARGUMENT] rows is 0 SQLSTATE: 22023";
    String file = "[TILESPARK_INVALID_FILE] rows is 0 SQLSTATE: KD000";
    String block = "[TILESPARK_INVALID_BLOCK] rows is 0 SQLSTATE: 22000";
    Map<ErrorBoundary, String> messages =
        Map.of(
            ErrorBoundary.CALLS, argument,
            ErrorBoundary.PLANNING, argument,
            ErrorBoundary.FILES, file,
            ErrorBoundary.BLOCKS, block);
    InvalidInputException knows =
        new InvalidInputException(ErrorCondition.INVALID_FILE, "rows is 0");
    for (ErrorBoundary boundary : ErrorBoundary.values()) {
      Class<?> type =
          boundary == ErrorBoundary.CALLS ? InvalidInputException.class : TileSparkException.class;
      Exception left = boundary.replaced(bad);
      check(messages.get(boundary), type, left);
      assertEquals(bad.getStackTrace()[0], left.getStackTrace()[0]);
      assertSame(bad.getCause(), left.getCause());
      assertEquals(List.of(bad.getSuppressed()), List.of(left.getSuppressed()));
      check(file, type, boundary.replaced(knows));
    }
  }

  /** The trace of bad input has a few frames of ours and the user's; a defect's trace is whole. */
  @Test
  void tracesOfBadInputAreShort() {
    List<String> whole =
        List.of(
            "java.util.Objects",
            "org.tilespark.spark.rows.BlockCheck",
            "org.tilespark.spark.stage.ArraySource",
            "scala.collection.Iterator",
            "org.tilespark.spark.stage.MovedRows",
            "org.tilespark.spark.catalyst.PartitionBoundary",
            "org.tilespark.spark.exchange.SortedRows",
            "org.apache.spark.rdd.RDD",
            "com.example.Job",
            "org.apache.spark.deploy.SparkSubmit",
            "java.lang.Thread");
    List<String> kept =
        List.of(
            "org.tilespark.spark.rows.BlockCheck",
            "org.tilespark.spark.stage.ArraySource",
            "org.tilespark.spark.stage.MovedRows",
            "org.tilespark.spark.catalyst.PartitionBoundary",
            "com.example.Job");
    for (ErrorBoundary boundary : ErrorBoundary.values()) {
      for (RuntimeException bad :
          List.of(
              new IllegalArgumentException("rows is 0"),
              new InvalidInputException(ErrorCondition.INVALID_FILE, "rows is 0"),
              new UnsupportedOperationException("no such device"))) {
        assertEquals(kept, classes(boundary.replaced(traced(bad, whole))));
      }
      Exception defect = traced(new IllegalStateException("a piece is left"), whole);
      assertEquals(whole, classes((Exception) boundary.replaced(defect).getCause()));
      List<String> sparks = List.of("java.util.Objects", "org.apache.spark.rdd.RDD");
      assertEquals(
          sparks, classes(boundary.replaced(traced(new IllegalArgumentException("no"), sparks))));
    }
  }

  private static <E extends Exception> E traced(E exception, List<String> classes) {
    exception.setStackTrace(
        classes.stream()
            .map(name -> new StackTraceElement(name, "run", null, 1))
            .toArray(StackTraceElement[]::new));
    return exception;
  }

  private static List<String> classes(Exception exception) {
    return Arrays.stream(exception.getStackTrace()).map(StackTraceElement::getClassName).toList();
  }

  @Test
  void otherFailuresKeepTheirCause() {
    List<Exception> failures =
        List.of(
            new ResourceException("no GPU"),
            new OutOfMemoryException("no room"),
            new FileNotFoundException("gone"),
            new UncheckedIOException("cannot read a.npy: gone", new FileNotFoundException("gone")),
            new IllegalStateException("a piece came late; please report this with the plan"),
            new NoSuchElementException());
    List<String> expected =
        List.of(
            "[TILESPARK_DEVICE] no GPU SQLSTATE: 58000",
            "[TILESPARK_OUT_OF_MEMORY] no room SQLSTATE: 53200",
            "[TILESPARK_IO] gone SQLSTATE: 58030",
            "[TILESPARK_IO] cannot read a.npy: gone SQLSTATE: 58030",
            "[TILESPARK_INTERNAL] a piece came late; please report this with the plan"
                + " SQLSTATE: XX000",
            "[TILESPARK_INTERNAL] unexpected java.util.NoSuchElementException; please report it"
                + " with the trace SQLSTATE: XX000");
    for (int i = 0; i < failures.size(); i++) {
      Exception replaced = ErrorBoundary.PLANNING.replaced(failures.get(i));
      check(expected.get(i), TileSparkException.class, replaced);
      assertSame(failures.get(i), replaced.getCause());
    }
    UnsupportedOperationException unsupported = new UnsupportedOperationException("not here");
    check(
        "[TILESPARK_UNSUPPORTED] not here SQLSTATE: 0A000",
        TileSparkException.class,
        ErrorBoundary.BLOCKS.replaced(unsupported));
    check(
        "[TILESPARK_UNSUPPORTED] not here SQLSTATE: 0A000",
        UnsupportedRequestException.class,
        ErrorBoundary.CALLS.replaced(unsupported));
    check(
        "[TILESPARK_NO_EXTENSION] set it SQLSTATE: 55000",
        NoExtensionException.class,
        new NoExtensionException("set it"));
  }

  @Test
  void hostMemoryThatRanOut() {
    Exception replaced =
        assertThrows(
            TileSparkException.class,
            () -> ErrorBoundary.BLOCKS.call(ErrorBoundaryTest::absurdRequest));
    assertInstanceOf(OutOfHostMemoryException.class, replaced.getCause());
    assertTrue(
        replaced.getMessage().startsWith("[TILESPARK_OUT_OF_MEMORY] "), replaced.getMessage());
  }

  private static Object absurdRequest() {
    try (org.tilespark.arrow.memory.ArrowMemory memory =
        new org.tilespark.arrow.memory.ArrowMemory(
            new org.tilespark.arrow.memory.NativeMemorySource(0))) {
      return memory.newChild("test").buffer(1L << 60);
    }
  }

  @Test
  void whatSparkKnowsPassesAsItIs() {
    Exception ours = new TileSparkException(ErrorCondition.INVALID_FILE, "no file", null);
    List<Exception> known =
        List.of(
            ours,
            new SparkException("job aborted"),
            new TaskKilledException("killed"),
            new InterruptedIOException("interrupted"),
            new ClosedByInterruptException(),
            new InterruptedException());
    for (Exception e : known) {
      assertSame(e, ErrorBoundary.BLOCKS.replaced(e));
      assertSame(e, assertThrows(Exception.class, () -> ErrorBoundary.FILES.call(() -> fail(e))));
    }
    Error error = new OutOfMemoryError("heap");
    assertSame(
        error,
        assertThrows(
            Error.class,
            () ->
                ErrorBoundary.BLOCKS.run(
                    () -> {
                      throw error;
                    })));
    RuntimeException stopped = new IllegalStateException("SparkContext was stopped");
    stopped.setStackTrace(
        new StackTraceElement[] {
          new StackTraceElement("scala.Predef$", "require", "Predef.scala", 1),
          new StackTraceElement("org.apache.spark.SparkContext", "f", "SparkContext.scala", 1),
          new StackTraceElement("org.tilespark.spark.ClassicCalls", "call", "ClassicCalls.java", 1)
        });
    assertSame(stopped, ErrorBoundary.PLANNING.replaced(stopped));
    assertSame(
        ours,
        assertThrows(
            Exception.class,
            () ->
                ErrorBoundary.await(
                    () -> fail(new java.util.concurrent.ExecutionException(ours)))));
  }

  @Test
  void inputsOfOthersPassAsTheyAre() {
    IllegalArgumentException theirs = new IllegalArgumentException("of a user's function");
    Iterator<Integer> failing =
        new Iterator<>() {
          @Override
          public boolean hasNext() {
            return true;
          }

          @Override
          public Integer next() {
            throw theirs;
          }
        };
    scala.collection.Iterator<Integer> results =
        PartitionBoundary.over(ScalaInterop.iterator(failing), rows -> rows);
    assertTrue(results.hasNext());
    assertSame(theirs, assertThrows(IllegalArgumentException.class, results::next));
    assertSame(
        theirs,
        assertThrows(
            IllegalArgumentException.class,
            () -> PartitionBoundary.drain(ScalaInterop.iterator(failing), Iterator::next)));
    assertThrows(
        TileSparkException.class,
        () ->
            PartitionBoundary.over(
                ScalaInterop.iterator(failing),
                rows -> {
                  throw new IllegalArgumentException("of ours");
                }));
    assertThrows(
        TileSparkException.class,
        () ->
            PartitionBoundary.over(
                    List.of(
                        ScalaInterop.iterator(List.of(1).iterator()),
                        ScalaInterop.iterator(List.of(2).iterator())),
                    both ->
                        List.of(both.get(0).next() + both.get(1).next()).stream()
                            .<Integer>map(
                                sum -> {
                                  throw new IllegalArgumentException("sum " + sum);
                                })
                            .iterator())
                .next());
  }

  @Test
  void exceptionsTravel() throws Exception {
    InvalidInputException bad = new InvalidInputException(ErrorCondition.INVALID_BLOCK, "bad");
    for (Exception e :
        List.of(
            bad,
            new UnsupportedRequestException("not here"),
            new NoExtensionException("set it"),
            new TileSparkException(ErrorCondition.DEVICE, "lost", new ResourceException("lost")))) {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
        out.writeObject(e);
      }
      try (ObjectInputStream in =
          new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
        Exception copy = (Exception) in.readObject();
        check(e.getMessage(), e.getClass(), copy);
        assertEquals(e.getCause() == null, copy.getCause() == null);
      }
    }
  }

  @Test
  void oneExpressionReadsTheTextsOfAllClients() {
    String reason =
        "block at row 1:\n  found [1, 2]... expected 4; Spark says SQLSTATE: 42000, see below";
    String message = ErrorCondition.INVALID_BLOCK.message(reason);
    String kept =
        "block at row 1:\n  found [1, 2]... expected 4; Spark says (SQLSTATE 42000), see below";
    for (String text :
        List.of(
            message,
            message + "\n\nJVM stacktrace:\norg.tilespark.A: [TILESPARK_IO] b SQLSTATE: 58030",
            "An error occurred while calling o1.collect.\n: java.util.concurrent.ExecutionException"
                + ": org.tilespark.spark.error.InvalidInputException: "
                + message
                + "\n\tat a.B.c(B.java:1)",
            "Error running query: [TILESPARK_INVALID_BLOCK]"
                + " org.tilespark.spark.error.InvalidInputException: "
                + message)) {
      Matcher found = TEXT.matcher(text);
      assertTrue(found.find(), text);
      assertEquals("TILESPARK_INVALID_BLOCK", found.group(1));
      assertEquals(kept, found.group(2));
      assertEquals("22000", found.group(3));
    }
    for (String rest : List.of("", "\n\nJVM stacktrace:\na SQLSTATE: 58030")) {
      Matcher cut = TEXT.matcher(message.substring(0, 60) + "..." + rest);
      assertTrue(cut.find());
      assertEquals(message.substring(26, 60), cut.group(2));
      assertNull(cut.group(3), "a text that was cut");
    }
  }

  @Test
  void documentation() throws Exception {
    String page = Files.readString(Path.of("../docs/troubleshooting.md"));
    String expression = TEXT.pattern().replace("\\z", "\\Z"); // Python's name
    assertTrue(page.contains("\n" + expression + "\n"), expression);
  }

  @Test
  void parametersStayWithinWhatConnectSends() throws Exception {
    for (String part : List.of("x", "\"", "\\", "\n", "\u0001", "\u00e4", "a\n\"b")) {
      for (int count : new int[] {1, 300, 997, 1000, 1001, 5000}) {
        String reason = part.repeat(count);
        InvalidInputException e = new InvalidInputException(ErrorCondition.INVALID_FILE, reason);
        Map<String, String> parameters = e.getMessageParameters();
        String kept = parameters.get("reason");
        String json = new ObjectMapper().writeValueAsString(kept);
        assertTrue(json.length() <= 1002, () -> json.length() + " of " + part);
        assertTrue(
            kept.equals(reason)
                || kept.endsWith("...")
                    && reason.startsWith(kept.substring(0, kept.length() - 3))
                    && kept.length() > 150,
            kept);
      }
    }
    assertEquals(
        Map.of("reason", "x".repeat(1000)),
        new UnsupportedRequestException("x".repeat(1000)).getMessageParameters());
  }

  private static Object fail(Exception e) throws Exception {
    throw e;
  }

  /** Checks all that Spark and its clients ask of an exception. */
  private static void check(String message, Class<?> type, Exception found) {
    assertEquals(type, found.getClass());
    assertEquals(message, found.getMessage());
    assertEquals(type.getName() + ": " + message, found.toString());
    Matcher parts = TEXT.matcher(message);
    assertTrue(parts.matches(), message);
    SparkThrowable spark = (SparkThrowable) found;
    assertEquals(parts.group(1), spark.getCondition());
    assertEquals(parts.group(3), spark.getSqlState());
    assertEquals(Map.of("reason", parts.group(2)), spark.getMessageParameters());
    assertEquals("<reason>", ((TileSparkThrowable) found).getDefaultMessageTemplate());
    assertEquals(0, spark.getQueryContext().length);
    assertEquals(false, spark.isInternalError(), "Spark wraps its own internal errors");
  }
}
