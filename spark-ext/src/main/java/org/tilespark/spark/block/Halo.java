package org.tilespark.spark.block;

import java.io.Serializable;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.spark.sql.types.Metadata;
import org.tilespark.layout.Edge;
import org.tilespark.layout.Shape;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.Option;

/**
 * The overlap of blocks with their neighbours. A block with a halo begins {@code before} elements
 * before its own first element, so that its place may be negative, and its sizes include the halo.
 * With {@link Edge#NONE} it ends at the array's end.
 *
 * <p>Column metadata {@link ArrayMetadata#HALO} of the values and of the places states it, since a
 * column that a user computes in place of the values has no metadata.
 *
 * @param widths elements of the halo before and after a block, along each axis
 * @param edge contents of the halo beyond the array's ends
 * @param extents extents of the array; known if the edge is {@code NONE}
 * @param blockShape elements of a full block without its halo; known if the edge is {@code NONE}
 */
public record Halo(Widths widths, Edge edge, Option<Shape> extents, Option<Shape> blockShape)
    implements Serializable {
  private static final String BETWEEN = "|";

  /** The halo of blocks that were cut from an array of these extents. */
  public Halo(Widths widths, Edge edge, Shape extents, Shape blockShape) {
    this(widths, edge, Option.apply(extents), Option.apply(blockShape));
  }

  /** A halo of which only the widths are known, for any edge but {@link Edge#NONE}. */
  public static Halo ofWidths(Widths widths) {
    return new Halo(widths, Edge.CONSTANT, ScalaInterop.none(), ScalaInterop.none());
  }

  /**
   * The halo that the text in a column's metadata states.
   *
   * @throws IllegalArgumentException if the text is no halo of {@code rank} axes
   */
  static Halo parse(String text, int rank) {
    if (text.equals(ArrayMetadata.MIXED)) {
      throw new IllegalArgumentException(
          "the blocks come from frames with different halos, or some from one without, as after a"
              + " UNION; expected one halo, or none: take it off with trim before");
    }
    String what = "Column metadata " + ArrayMetadata.HALO;
    String[] parts = text.split("\\" + BETWEEN, -1);
    if (parts.length != 4) {
      throw new IllegalArgumentException(what + " is '" + text + "'; expected what halo writes");
    }
    return new Halo(
        Widths.ofPad(what, parts[0], rank),
        Edge.parse(what, parts[1], Edge.values()),
        Shape.parse(what, parts[2], rank),
        Shape.parse(what, parts[3], rank));
  }

  /** The text of this halo that {@link #parse} reads. */
  String text() {
    return String.join(
        BETWEEN, widths.toString(), edge.toString(), extents.get().text(), blockShape.get().text());
  }

  /**
   * The halo that the metadata of columns states; empty if none of them states one.
   *
   * @param columns metadata of a block's values and places
   * @throws IllegalArgumentException if the columns state different halos
   */
  static Optional<Halo> of(Stream<Metadata> columns, int rank) {
    List<String> stated =
        columns.map(ArrayMetadata::of).flatMap(each -> each.halo().stream()).distinct().toList();
    return stated.isEmpty()
        ? Optional.empty()
        : Optional.of(parse(stated.size() > 1 ? ArrayMetadata.MIXED : stated.get(0), rank));
  }

  /**
   * The place where a block begins without its halo, along an axis on which the block with its halo
   * begins at {@code low}.
   */
  public long ownLow(int axis, long low) {
    return edge == Edge.NONE && low == 0 ? 0 : low + widths.before().get(axis);
  }

  /**
   * The extent of a block without its halo along an axis; below 1 if the block is too small for the
   * halo.
   */
  public long ownSize(int axis, long low, long size) {
    return edge == Edge.NONE
        ? Math.min(blockShape.get().extent(axis), extents.get().extent(axis) - ownLow(axis, low))
        : size - widths.before().get(axis) - widths.after().get(axis);
  }
}
