package org.tilespark.spark.source;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.StoredInBlocks;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.reblock.ReblockPlans;
import org.tilespark.spark.stage.ProgramBlocks;

/**
 * Chooses the shape of the blocks in which a query reads a stored array and writes another one, if
 * all operators in between work block by block: the blocks' shape is then not visible in the
 * written file. A block consists of contiguous runs in both files. Reading a run is a system call;
 * writing one touches pages, which other blocks' runs touch again if they are short. So the block
 * is grown along the axes that lengthen its runs in the file where they are shorter.
 */
final class LongRuns {
  /** Contiguous bytes beyond which longer runs are hardly faster to read or write. */
  static final long ENOUGH_BYTES = 64 << 10;

  private LongRuns() {}

  /**
   * The plan with its stored array read in blocks of longer runs.
   *
   * @param plan plan whose output is written
   * @param schema columns of the output
   * @param extents extents of the array that is written
   * @return empty if the plan has another form, its runs are long enough, or no block of the same
   *     size has runs of twice the length
   */
  static Optional<LogicalPlan> in(LogicalPlan plan, BlockSchema schema, Shape extents) {
    List<Attribute> written = ScalaInterop.list(plan.output());
    Attributes.Source end = Attributes.belowProjections(plan, written).orElse(null);
    Attributes.Source at = end;
    List<ProgramBlocks> programs = new ArrayList<>(); // the last one first
    // From the axes of at's array to those of the output
    Permutation order = Permutation.identity(extents.rank());
    while (at != null
        && at.plan() instanceof ProgramBlocks program
        && program.carriesColumns()
        && program.given().size() == program.spec().out().blockColumns().size()) {
      programs.add(program);
      order = program.spec().program().permutation().then(order);
      at = Attributes.belowProjections(program.child(), program.read()).orElse(null);
    }
    if (at == null
        || !(at.plan() instanceof DataSourceV2Relation relation)
        || !(relation.table() instanceof StoredInBlocks stored)
        || stored.blockShape().isEmpty()
        || extents.elements() == 0) {
      return Optional.empty();
    }
    String operator = "a write";
    BlockFrame array = BlockFrame.of(relation, schema.kind(), operator);
    Shape read = order.inverse().apply(extents);
    Optional<Shape> shape = shape(read, order, stored.blockShape().get(), widest(array, schema));
    if (!array.extents().equals(Optional.of(read))
        || !array.block().containsAll(at.columns())
        || shape.flatMap(each -> stored.inBlocks(read, each)).isEmpty()) {
      return Optional.empty();
    }
    List<Attribute> given = programs.isEmpty() ? array.block() : programs.get(0).given();
    // The rule ReadInBlocks makes a scan of it.
    LogicalPlan blocks =
        ReblockPlans.reblock(
            relation, schema.kind(), shape.get().toArray(), Missing.ERROR, operator);
    for (int i = programs.size() - 1; i >= 0; i--) {
      blocks = over(blocks, programs.get(i));
    }
    LogicalPlan result = blocks;
    return Attributes.counterparts(
            end.columns(), given, BlockFrame.of(result, schema.kind(), operator).block())
        .map(columns -> WriteQuery.renamed(result, columns, written));
  }

  private static long widest(BlockFrame array, BlockSchema schema) {
    return Math.max(bytes(array.blocks()), bytes(schema));
  }

  private static long bytes(BlockSchema blocks) {
    return (long) blocks.elementType().bytes() * blocks.planes().size();
  }

  private static LogicalPlan over(LogicalPlan child, ProgramBlocks program) {
    Attribute values = program.computed().get(0);
    return ProgramBlocks.of(
        child,
        program.spec().out().kind(),
        program.spec().program(),
        ArrayMetadata.of(values.metadata()).withoutBlockShape().toMetadata(),
        Optional.empty(),
        Missing.ERROR,
        program.spec().first().operator());
  }

  /**
   * A block shape of at most as many elements as {@code blocks} whose shorter runs, of those in the
   * two arrays, are at least twice as long. Empty if there is none, or if the shorter runs of
   * {@code blocks} have at least {@value #ENOUGH_BYTES} bytes.
   *
   * @param extents extents of the array that is read
   * @param order the order in which the array that is written has these axes
   * @param blocks shape of the blocks so far
   * @param elementBytes bytes of an element, of all planes
   */
  static Optional<Shape> shape(Shape extents, Permutation order, Shape blocks, long elementBytes) {
    long[] clipped = blocks.toArray();
    Arrays.setAll(clipped, axis -> Math.min(clipped[axis], extents.extent(axis)));
    long before = shorterRun(extents, order, clipped);
    if (before * elementBytes >= ENOUGH_BYTES) {
      return Optional.empty();
    }
    long most = Shape.of(clipped).elements();
    long[] grown = new long[clipped.length];
    Arrays.fill(grown, 1);
    while (true) {
      int axis = lengthening(extents, order, grown);
      if (axis < 0) {
        break; // one block is the whole array
      }
      long others = Shape.of(grown).elements() / grown[axis];
      long next = Math.min(extents.extent(axis), 2 * grown[axis]);
      if (others * next > most) {
        grown[axis] = most / others; // less than next, not less than before
        break;
      }
      grown[axis] = next;
    }
    return shorterRun(extents, order, grown) >= 2 * before
        ? Optional.of(Shape.of(grown))
        : Optional.empty();
  }

  /**
   * The axis along which the block must grow to lengthen its runs in the array where they are
   * shorter; -1 if the block is the array.
   */
  private static int lengthening(Shape extents, Permutation order, long[] block) {
    int rank = block.length;
    Permutation identity = Permutation.identity(rank);
    boolean isWritten = run(extents, order, block) < run(extents, identity, block);
    Permutation slowestFirst = isWritten ? order : identity;
    for (int i = rank - 1; i >= 0; i--) {
      int axis = slowestFirst.axis(i);
      if (block[axis] < extents.extent(axis)) {
        return axis;
      }
    }
    return -1;
  }

  private static long shorterRun(Shape extents, Permutation order, long[] block) {
    return Math.min(
        run(extents, Permutation.identity(block.length), block), run(extents, order, block));
  }

  /** Elements of each run of a block in an array that has the axes in {@code order}. */
  private static long run(Shape extents, Permutation order, long[] block) {
    return new BoxRuns(order.apply(extents).toArray(), new long[block.length], order.apply(block))
        .elements();
  }
}
