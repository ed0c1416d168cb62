package org.tilespark.spark.source;

import java.io.IOException;
import java.nio.file.Path;
import org.apache.arrow.memory.BufferAllocator;
import org.junit.jupiter.api.Assumptions;
import org.tilespark.kernels.launch.Availability;

/** Writers that store into mappings, on whatever machine the tests run. */
public final class MappedWriters {
  private MappedWriters() {}

  /** One of a file that is there; skips the test where its file system reserves no space. */
  public static PosixWriter open(Path file, long fileBytes, BufferAllocator allocator)
      throws IOException {
    Availability<FileSpace> space = FileSpace.open(file, fileBytes);
    Assumptions.assumeTrue(space.isPresent(), space::whyNot);
    try {
      return PosixWriter.open(file, fileBytes, allocator, WriteWay.MAPPED);
    } finally {
      space.get().close();
    }
  }
}
