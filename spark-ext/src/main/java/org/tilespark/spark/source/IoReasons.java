package org.tilespark.spark.source;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;

/** The reasons that the JDK's file exceptions keep in their class and not in their message. */
public final class IoReasons {
  private IoReasons() {}

  /**
   * The reason of an exception, in words, since the message of many of these exceptions is only the
   * path.
   */
  public static String reason(IOException failure) {
    if (failure instanceof FileSystemException named && named.getReason() == null) {
      return named.getFile() + ": " + kind(named);
    }
    return failure.getMessage() == null ? failure.toString() : failure.getMessage();
  }

  private static String kind(FileSystemException failure) {
    if (failure instanceof NoSuchFileException) {
      return "no such file or directory";
    }
    if (failure instanceof FileAlreadyExistsException) {
      return "it exists already";
    }
    if (failure instanceof AccessDeniedException) {
      return "permission denied";
    }
    return failure.getClass().getSimpleName();
  }
}
