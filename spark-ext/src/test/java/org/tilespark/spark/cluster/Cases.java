package org.tilespark.spark.cluster;

import java.util.ArrayList;
import java.util.List;

/** The cases of an application, one after the other; all run, whichever fails. */
final class Cases {
  private static final String PASSED = "PASSED ";

  private final List<String> failed = new ArrayList<>();

  /** One of them. */
  @FunctionalInterface
  interface Body {
    /** Throws if it fails. */
    void run() throws Exception;
  }

  /** Runs a case, and prints how it went. */
  void run(String name, Body body) {
    long start = System.nanoTime();
    try {
      body.run();
      System.out.println(PASSED + name + ", " + (System.nanoTime() - start) / 1_000_000 + " ms");
    } catch (Exception | AssertionError e) {
      failed.add(name);
      System.out.println("FAILED " + name);
      e.printStackTrace();
    }
  }

  /** Throws if one failed, so that the application does too. */
  void end() {
    if (!failed.isEmpty()) {
      throw new AssertionError("failed: " + failed);
    }
  }

  /** True if an application's output says that the case passed. */
  static boolean passed(String name, String output) {
    return output.contains(PASSED + name + ", ");
  }
}
