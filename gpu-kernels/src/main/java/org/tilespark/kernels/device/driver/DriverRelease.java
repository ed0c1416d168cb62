package org.tilespark.kernels.device.driver;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The release of the NVIDIA kernel driver, such as 580.95.05; for messages only. */
public final class DriverRelease {
  private static final Path VERSION = Path.of("/proc/driver/nvidia/version");
  private static final Pattern NUMBER = Pattern.compile("\\s(\\d+\\.\\d+(?:\\.\\d+)?)\\s");

  private DriverRelease() {}

  /** The driver's release; an empty text if the driver does not state it. */
  public static String read() {
    try {
      return find(Files.readString(VERSION, StandardCharsets.UTF_8));
    } catch (IOException | RuntimeException e) {
      return ""; // not visible in this container; the CUDA version is reported nevertheless
    }
  }

  public static String find(String text) {
    Matcher matcher = NUMBER.matcher(text);
    return matcher.find() ? matcher.group(1) : "";
  }
}
