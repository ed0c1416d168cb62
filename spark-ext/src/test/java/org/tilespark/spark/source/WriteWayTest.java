package org.tilespark.spark.source;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class WriteWayTest {
  @ParameterizedTest
  @CsvSource({
    "tmpfs, 16, MAPPED",
    "tmpfs, 4, MAPPED",
    "tmpfs, 3, POSITIONED",
    "ext4, 16, MAPPED",
    "ext4, 1, POSITIONED",
    "xfs, 16, MAPPED",
    "overlay, 16, MAPPED",
    // Mapped pages are written back whole, over what other machines wrote.
    "nfs, 16, POSITIONED",
    "nfs4, 16, POSITIONED",
    "cifs, 16, POSITIONED",
    "lustre, 16, POSITIONED",
    "fuse.sshfs, 16, POSITIONED",
    // A reserved page needs new space when it is written.
    "btrfs, 16, POSITIONED",
    "zfs, 16, POSITIONED",
    "vfat, 16, POSITIONED",
    "a new one, 16, POSITIONED",
  })
  void followsFromTheFileSystemAndTheProcessors(String type, int processors, WriteWay expected) {
    assertEquals(expected, WriteWay.of(type, processors));
  }
}
