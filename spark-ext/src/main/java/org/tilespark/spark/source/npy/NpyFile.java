package org.tilespark.spark.source.npy;

import java.io.IOException;
import org.tilespark.spark.source.contiguous.ContiguousArray;
import org.tilespark.spark.source.contiguous.StoredFile;

/**
 * One .npy file as the driver found it: its header, checked against its length. Immutable.
 *
 * @param file the file
 * @param header its header
 */
record NpyFile(StoredFile file, NpyHeader header) {
  /**
   * Reads only the header; a {@link StoredFile.Reader}.
   *
   * @throws IllegalArgumentException if this is no .npy file of two axes or more, or its length is
   *     not the one that its header states
   */
  static NpyFile read(StoredFile file, StoredFile.First first) throws IOException {
    byte[] prefix = first.bytes(NpyHeader.PREFIX_BYTES);
    if (file.isGzip()) {
      throw new IllegalArgumentException(
          "compressed by gzip; expected a .npy file, so decompress it");
    }
    byte[] head = first.bytes(NpyHeader.headerBytes(prefix));
    if (head.length < NpyHeader.headerBytes(prefix)) {
      throw new IllegalArgumentException(
          "truncated header: expected %s bytes, found %s"
              .formatted(NpyHeader.headerBytes(prefix), head.length));
    }
    NpyHeader header = NpyHeader.parse(head);
    requireReadable(header, file.bytes());
    return new NpyFile(file.beginning(head), header);
  }

  private static void requireReadable(NpyHeader header, long length) {
    int rank = header.shape().rank();
    if (rank < 2) {
      throw new IllegalArgumentException(
          "an array of %s axes, shape %s; expected 2 or more; save a.reshape(1, -1) instead"
              .formatted(rank, header.shape()));
    }
    if (rank > 3 && header.fortranOrder()) {
      throw new IllegalArgumentException(
          ("an array of %s axes in Fortran order; expected C order, or 3 axes at most; save"
                  + " numpy.ascontiguousarray(a) instead")
              .formatted(rank));
    }
    if (header.fileBytes() != length) {
      throw new IllegalArgumentException(
          "%s: expected %s bytes (%s of header, then %s of %s), found %s"
              .formatted(
                  length < header.fileBytes() ? "truncated" : "bytes after its array",
                  header.fileBytes(),
                  header.dataOffset(),
                  header.shape(),
                  header.type().numpyName(),
                  length));
    }
  }

  /** The array, as readers of all formats of contiguous numbers take it. */
  ContiguousArray array() {
    return new ContiguousArray(
        header.shape(),
        header.type(),
        header.bigEndian(),
        header.fortranOrder(),
        header.dataOffset(),
        ContiguousArray.Scaling.NONE);
  }
}
