package org.tilespark.spark.source;

import java.util.Set;

/** The ways in which the tasks of one machine write at places inside one file. */
enum WriteWay {
  /** Stores through memory mappings of the file, whose space is reserved before. */
  MAPPED,

  /** System calls with a position, one for each contiguous piece of the file. */
  POSITIONED;

  /**
   * File systems whose pages belong to one machine and where reserved space cannot run out. Network
   * mounts write back whole mapped pages, over the bytes that another machine has put next to them;
   * copy-on-write file systems need space again when a reserved page is written.
   */
  private static final Set<String> RESERVING = Set.of("ext4", "overlay", "tmpfs", "xfs");

  /**
   * Least processors for mappings. Fewer writers rarely wait for the lock of the file, which system
   * calls take and stores do not; and a call for 4 KiB or more is cheaper than the page faults of
   * stores.
   */
  private static final int MANY_WRITERS = 4;

  /**
   * The way for a file.
   *
   * @param fileSystem type of the file system, from the system's mount table
   * @param processors processors of this machine that tasks may run on
   */
  static WriteWay of(String fileSystem, int processors) {
    return processors >= MANY_WRITERS && RESERVING.contains(fileSystem) ? MAPPED : POSITIONED;
  }
}
