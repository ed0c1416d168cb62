package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.List;

/**
 * A unit of work on the device within one plane of a {@link DeviceBatch}: that plane of several
 * consecutive arrays, or one slice of it of a single array. A piece is dense in device memory.
 *
 * @param program the steps on each array, on values of one kind
 * @param count number of consecutive arrays
 * @param from region of the input plane
 * @param to region of the output plane
 */
record BatchPiece(BlockProgram program, long count, Region from, Region to) {
  /**
   * How much of a batch is in device memory at once.
   *
   * @param lanes number of pieces in progress at once, each with an input buffer and an output
   *     buffer
   * @param pieceBytes most bytes of a piece, and of each buffer
   */
  record Layout(int lanes, long pieceBytes) {
    private static final int MOST_LANES = 2;

    /**
     * The layout for granted memory: a whole plane in one piece if it fits; otherwise two lanes, so
     * that the copies of two pieces overlap; if these do not fit, one lane.
     *
     * @param planeBytes bytes of one plane of the batch
     * @param thinnestBytes bytes of the smallest piece that the batch can be cut into
     * @param grantedBytes device memory, at least {@code 2 * thinnestBytes}
     */
    static Layout of(long planeBytes, long thinnestBytes, long grantedBytes) {
      if (grantedBytes >= 2 * planeBytes) {
        return new Layout(1, planeBytes);
      }
      long ofTwo = grantedBytes / (2 * MOST_LANES);
      return ofTwo >= thinnestBytes
          ? new Layout(MOST_LANES, ofTwo)
          : new Layout(1, grantedBytes / 2);
    }
  }

  /**
   * Cuts a plane of a batch into pieces of at most {@code mostBytes} bytes: at the borders of
   * arrays, or each array into slices.
   *
   * @param program the steps on each array, on values of one kind
   * @param count number of arrays
   * @throws IllegalArgumentException if an array has more bytes and cannot be cut into slices that
   *     small
   */
  static List<BatchPiece> cut(BlockProgram program, long count, long mostBytes) {
    long inBytes = program.input().planeBytes();
    long outBytes = program.output().planeBytes();
    long together = mostBytes / ProgramSlices.planeBytes(program);
    List<BatchPiece> pieces = new ArrayList<>();
    if (together > 0) {
      for (long first = 0; first < count; first += together) {
        long some = Math.min(together, count - first);
        pieces.add(
            new BatchPiece(
                program,
                some,
                Region.of(first * inBytes, some * inBytes),
                Region.of(first * outBytes, some * outBytes)));
      }
      return pieces;
    }
    List<BatchPiece> slices =
        ProgramSlices.cut(program, mostBytes)
            .orElseThrow(
                () ->
                    new IllegalArgumentException(
                        "A plane of %s has no slices of at most %s bytes; the thinnest have %s"
                            .formatted(
                                program.input(), mostBytes, ProgramSlices.thinnestBytes(program))))
            .slices();
    for (long array = 0; array < count; array++) {
      for (BatchPiece slice : slices) {
        pieces.add(
            new BatchPiece(
                slice.program,
                1,
                slice.from.shifted(array * inBytes),
                slice.to.shifted(array * outBytes)));
      }
    }
    return pieces;
  }

  /** The device's plan for this piece. */
  DeviceProgram plan() {
    return DeviceProgram.ofPlanes(program, count);
  }
}
