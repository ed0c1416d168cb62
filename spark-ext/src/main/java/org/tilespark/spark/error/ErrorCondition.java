package org.tilespark.spark.error;

import java.util.regex.Pattern;

/**
 * What can go wrong, by Spark's name for it ({@code TILESPARK_INVALID_BLOCK}) and its SQLSTATE. The
 * text of an exception is {@code [TILESPARK_INVALID_BLOCK] reason SQLSTATE: 22000} in every version
 * of Spark and for every client; docs/troubleshooting.md lists them.
 */
public enum ErrorCondition {
  /** An argument, option, setting or column does not fit the operator. */
  INVALID_ARGUMENT("22023"),
  /** A block, or the tiling that the blocks make, is wrong; found by a running task as a rule. */
  INVALID_BLOCK("22000"),
  /** There is no such .npy file, or it does not hold what it should. */
  INVALID_FILE("KD000"),
  /** The request is right, and this client or version of Spark cannot do it. */
  UNSUPPORTED("0A000"),
  /** The session was started without tilespark's extension. */
  NO_EXTENSION("55000"),
  /** A file cannot be read or written. */
  IO("58030"),
  /** Host or device memory ran out. The same work may succeed later or elsewhere. */
  OUT_OF_MEMORY("53200"),
  /** A GPU, its driver or its libraries are missing or failed. */
  DEVICE("58000"),
  /** The application has stopped, and a task of it goes on. */
  STOPPED("57P01"),
  /** A defect of tilespark. */
  INTERNAL("XX000");

  /** What ends a message; in a reason it would end the message too early. */
  private static final Pattern SQL_STATE = Pattern.compile("\\s*SQLSTATE: (\\w{5})");

  private final String sqlState;

  ErrorCondition(String sqlState) {
    this.sqlState = sqlState;
  }

  /** The name that Spark's clients show, {@code TILESPARK_INVALID_BLOCK}. */
  public String id() {
    return "TILESPARK_" + name();
  }

  /** The SQLSTATE, five characters. */
  public String sqlState() {
    return sqlState;
  }

  /** True if an argument, a block or a file of the user's is wrong, so that a message says all. */
  public boolean isWrongInput() {
    return this == INVALID_ARGUMENT || this == INVALID_BLOCK || this == INVALID_FILE;
  }

  /** The whole message of an exception. */
  String message(String reason) {
    return "[%s] %s SQLSTATE: %s"
        .formatted(id(), SQL_STATE.matcher(reason).replaceAll(" (SQLSTATE $1)"), sqlState);
  }
}
