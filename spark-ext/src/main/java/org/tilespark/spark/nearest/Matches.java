package org.tilespark.spark.nearest;

import java.util.Arrays;
import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.tilespark.spark.catalyst.compat.NearestJoins;
import org.tilespark.spark.nearest.Match.Winners;

/**
 * The matches of one part of the left side with one part of the right side, one for each row of the
 * left part. It holds the left part and as many rows of the right part as fit a batch: strips of
 * the right side are streamed, and only winners are kept.
 */
final class Matches implements Iterator<Match> {
  private final NearestSpec spec;
  private final ScoreTiles tiles;
  private final Groups groups;
  private final boolean givesLeft;
  private Winners[] kept; // by row of the left part; null before the first strips were searched
  private NearestSearch search; // search among the held strips; null if there are none
  private int unmatched; // number of rows without vectors that were given
  private int next; // index of the next row with a vector
  private int searched; // number of rows with vectors that have been searched for

  /**
   * The rows that a task holds, empty at first; closed by its owner.
   *
   * @param unmatched rows of the left part that match nothing
   * @param left rows of the left part with vectors
   * @param right rows of the right part with vectors
   */
  record Groups(VectorGroup unmatched, VectorGroup left, VectorGroup right) {}

  /**
   * No matches before the parts are read; borrows its arguments.
   *
   * @param givesLeft true if matches have the rows of the left side, and rows without vectors give
   *     a match
   */
  Matches(NearestSpec spec, ScoreTiles tiles, Groups groups, boolean givesLeft) {
    this.spec = spec;
    this.tiles = tiles;
    this.groups = groups;
    this.givesLeft = givesLeft;
  }

  /**
   * Reads both parts; may be called once.
   *
   * @param batchBytes bytes of rows and vectors of the right part that are held at a time
   * @throws RuntimeException Spark's, if two vectors have different lengths
   */
  Matches read(Iterator<InternalRow> left, Iterator<InternalRow> right, long batchBytes) {
    while (left.hasNext()) {
      Strip.Read strip = Strip.Read.of(left.next());
      (strip.length() == Strip.UNMATCHED ? groups.unmatched() : groups.left()).add(strip);
    }
    while (right.hasNext()) {
      Strip.Read strip = Strip.Read.of(right.next());
      requireLength(strip.length());
      if (groups.left().count() > 0 && strip.count() > 0) {
        if (groups.right().bytes() > 0 && groups.right().bytes() + strip.bytes() > batchBytes) {
          keep();
        }
        groups.right().add(strip);
      }
    }
    if (groups.right().count() > 0) {
      search = new NearestSearch(spec, tiles, groups.left(), groups.right());
    }
    return this;
  }

  private void requireLength(int length) {
    for (int other : groups.left().lengths()) {
      if (other != length) {
        throw NearestJoins.differentLengths(spec.function(), other, length);
      }
    }
  }

  /** Searches the held strips, keeps the winners, and drops the strips. */
  private void keep() {
    if (kept == null) {
      kept = new Winners[groups.left().count()];
      Arrays.fill(kept, Winners.NONE);
    }
    NearestSearch batch = new NearestSearch(spec, tiles, groups.left(), groups.right());
    for (int first = 0; first < kept.length; ) {
      int end = first + batch.search(first);
      for (; first < end; first++) {
        kept[first] = winners(first, batch, true);
      }
    }
    groups.right().clear();
  }

  private Winners winners(int row, NearestSearch in, boolean copies) {
    in.take(row);
    Winners found = Winners.of(in, groups.right(), copies);
    return kept == null ? found : kept[row].and(found, spec.k());
  }

  @Override
  public boolean hasNext() {
    return (givesLeft && unmatched < groups.unmatched().count()) || next < groups.left().count();
  }

  @Override
  public Match next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    if (givesLeft && unmatched < groups.unmatched().count()) {
      UnsafeRow row = groups.unmatched().row(unmatched);
      return new Match(groups.unmatched().number(unmatched++), row, Winners.NONE);
    }
    int row = next++;
    return new Match(
        groups.left().number(row), givesLeft ? groups.left().row(row) : null, winners(row));
  }

  private Winners winners(int row) {
    if (search == null) {
      return kept == null ? Winners.NONE : kept[row];
    }
    if (row == searched) {
      searched += search.search(row);
    }
    return winners(row, search, false);
  }
}
