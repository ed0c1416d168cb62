package org.tilespark.spark.nearest;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.tilespark.spark.nearest.Match.Winners;
import scala.Tuple2;

/**
 * Serialises the matches that tasks found in different parts of the right side, and merges them.
 * The bytes of a match are those of the left row, if present, then for each winner its grade and
 * its row. Each row is preceded by its length in bytes, which is -1 for no row.
 */
final class Candidates {
  private static final int NO_ROW = -1;

  private Candidates() {}

  /**
   * A serialised match with the number of its left row; empty if it has neither left row nor
   * winners.
   */
  static Optional<Tuple2<Object, byte[]>> write(Match match) {
    Winners winners = match.winners();
    if (match.left() == null && winners.count() == 0) {
      return Optional.empty();
    }
    int bytes = Integer.BYTES + (match.left() == null ? 0 : match.left().getSizeInBytes());
    for (UnsafeRow row : winners.rows()) {
      bytes = Math.addExact(bytes, Double.BYTES + Integer.BYTES + row.getSizeInBytes());
    }
    ByteBuffer to = ByteBuffer.allocate(bytes);
    write(match.left(), to);
    for (int i = 0; i < winners.count(); i++) {
      to.putDouble(winners.grades()[i]);
      write(winners.rows()[i], to);
    }
    return Optional.of(new Tuple2<>(match.number(), to.array()));
  }

  private static void write(UnsafeRow row, ByteBuffer to) {
    if (row == null) {
      to.putInt(NO_ROW);
      return;
    }
    int size = row.getSizeInBytes();
    to.putInt(size);
    row.writeToMemory(to.array(), Platform.BYTE_ARRAY_OFFSET + (long) to.position());
    to.position(to.position() + size);
  }

  private static UnsafeRow read(ByteBuffer from, int fields) {
    int size = from.getInt();
    if (size == NO_ROW) {
      return null;
    }
    byte[] bytes = new byte[size]; // a copy: Spark's rows begin at a multiple of 8 bytes
    from.get(bytes);
    UnsafeRow row = new UnsafeRow(fields);
    row.pointTo(bytes, size);
    return row;
  }

  /** Serialised partial matches with the numbers of their left rows. */
  static final class Written implements Iterator<Tuple2<Object, byte[]>> {
    private final Iterator<Match> matches;
    private Optional<Tuple2<Object, byte[]>> next = Optional.empty();

    Written(Iterator<Match> matches) {
      this.matches = matches;
    }

    @Override
    public boolean hasNext() {
      while (next.isEmpty() && matches.hasNext()) {
        next = write(matches.next());
      }
      return next.isPresent();
    }

    @Override
    public Tuple2<Object, byte[]> next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      Tuple2<Object, byte[]> written = next.get();
      next = Optional.empty();
      return written;
    }
  }

  /**
   * Merges the partial matches of each left row; they arrive sorted by the number of their left
   * row.
   */
  static final class Merged implements Iterator<Match> {
    private final MatchedRows.Form form;
    private final int k;
    private final Iterator<Tuple2<Object, byte[]>> parts;
    private Match part; // the next partial match; null at the end

    Merged(MatchedRows.Form form, int k, Iterator<Tuple2<Object, byte[]>> parts) {
      this.form = form;
      this.k = k;
      this.parts = parts;
      this.part = nextPart();
    }

    private Match nextPart() {
      if (!parts.hasNext()) {
        return null;
      }
      Tuple2<Object, byte[]> next = parts.next();
      ByteBuffer from = ByteBuffer.wrap(next._2());
      UnsafeRow left = read(from, form.left());
      List<UnsafeRow> rows = new ArrayList<>();
      List<Double> grades = new ArrayList<>();
      while (from.hasRemaining()) {
        grades.add(from.getDouble());
        rows.add(read(from, form.right()));
      }
      return new Match(
          (Long) next._1(),
          left,
          new Winners(
              grades.stream().mapToDouble(Double::doubleValue).toArray(),
              rows.toArray(UnsafeRow[]::new)));
    }

    @Override
    public boolean hasNext() {
      return part != null;
    }

    @Override
    public Match next() {
      if (part == null) {
        throw new NoSuchElementException();
      }
      Match merged = part;
      for (part = nextPart(); part != null && part.number() == merged.number(); part = nextPart()) {
        merged =
            new Match(
                merged.number(),
                merged.left() == null ? part.left() : merged.left(),
                merged.winners().and(part.winners(), k));
      }
      return merged;
    }
  }
}
