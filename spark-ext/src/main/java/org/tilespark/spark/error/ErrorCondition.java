package org.tilespark.spark.error;

import java.util.regex.Pattern;

/**
 * Kinds of errors, each with its name as a Spark error condition ({@code TILESPARK_INVALID_BLOCK})
 * and its SQLSTATE. The text of an exception is {@code [TILESPARK_INVALID_BLOCK] reason SQLSTATE:
 * 22000} in every version of Spark and for every client. {@link #markdown} is docs/conditions.md.
 */
public enum ErrorCondition {
  /** An argument, option, setting or column does not fit the operator. */
  INVALID_ARGUMENT(
      "22023",
      "an argument, option, setting or column does not fit the operator",
      "the text says what is expected"),
  /** A block is wrong, or blocks leave a hole or overlap; a running task finds it. */
  INVALID_BLOCK(
      "22000",
      "a block is wrong, or blocks leave a hole or overlap; a running task finds it",
      "`validate` lists all defects: write those blocks anew, or drop them; `missing => 'zero'`"
          + " takes holes for zeros"),
  /** The .npy file does not exist, or its content is not what its header says. */
  INVALID_FILE(
      "KD000",
      "the .npy file does not exist, or its content is not what its header says",
      "make the file again"),
  /** This client or version of Spark cannot do what was requested. */
  UNSUPPORTED("0A000", "this client or version of Spark cannot do it", "the text names what can"),
  /** The session was started without the extension. */
  NO_EXTENSION(
      "55000",
      "the session was started without the extension",
      "[switch it on](install.md#switch-it-on)"),
  /** A file cannot be read or written. */
  IO(
      "58030",
      "a file cannot be read or written: deleted or changed since it was loaded, no permission,"
          + " a full disk",
      "load it again; free space; the text has path and bytes"),
  /** Host or device memory ran out. */
  OUT_OF_MEMORY(
      "53200", "host or device memory ran out", "the text names the setting; [sizing](sizing.md)"),
  /** A GPU, its driver or its libraries are missing or failed. */
  DEVICE(
      "58000",
      "a GPU, its driver or its libraries are missing or failed",
      "the reason is in the text; `backend=cpu` computes without"),
  /** The application has stopped, and one of its tasks asked for memory or a device. */
  STOPPED(
      "57P01",
      "the application has stopped, and one of its tasks asked for memory or a device",
      "a new `SparkContext` works"),
  /** A defect of tilespark. */
  INTERNAL("XX000", "a defect of tilespark", "report it with the trace");

  /**
   * The end of a message; a reason must not contain it, since it would end the message too early.
   */
  private static final Pattern SQL_STATE = Pattern.compile("\\s*SQLSTATE: (\\w{5})");

  private final String sqlState;
  private final String meaning;
  private final String advice;

  ErrorCondition(String sqlState, String meaning, String advice) {
    this.sqlState = sqlState;
    this.meaning = meaning;
    this.advice = advice;
  }

  /** The condition's name as Spark's clients show it, {@code TILESPARK_INVALID_BLOCK}. */
  public String id() {
    return "TILESPARK_" + name();
  }

  /** The condition's SQLSTATE, five characters. */
  public String sqlState() {
    return sqlState;
  }

  /**
   * True if an argument, a block or a file of the user's is wrong, so that the message suffices
   * without a trace.
   */
  public boolean isWrongInput() {
    return this == INVALID_ARGUMENT || this == INVALID_BLOCK || this == INVALID_FILE;
  }

  /** The whole message of an exception with this condition. */
  String message(String reason) {
    return "[%s] %s SQLSTATE: %s"
        .formatted(id(), SQL_STATE.matcher(reason).replaceAll(" (SQLSTATE $1)"), sqlState);
  }

  /** The documentation page, in Markdown. */
  public static String markdown() {
    StringBuilder page =
        new StringBuilder(
            """
            # Error conditions

            Generated from `ErrorCondition` by `dev/generate-docs`. Each exception of ours carries a
            Spark error condition and an SQLSTATE, and its text is the same on every version of
            Spark and for every client ([what clients
            show](troubleshooting.md#what-clients-show)):

            ```
            [TILESPARK_INVALID_BLOCK] block at row 4096, col 0: values has 3 elements; expected \
            rows x cols = 2 x 2 = 4 (in matrix_transpose) SQLSTATE: 22000
            ```

            | condition | SQLSTATE | means | what helps |
            |---|---|---|---|
            """);
    for (ErrorCondition each : values()) {
      page.append(
          "| `%s` | %s | %s | %s |\n"
              .formatted(each.id(), each.sqlState, each.meaning, each.advice));
    }
    return page.toString();
  }

  /** Prints {@link #markdown()}. */
  public static void main(String[] args) {
    System.out.print(markdown());
  }
}
