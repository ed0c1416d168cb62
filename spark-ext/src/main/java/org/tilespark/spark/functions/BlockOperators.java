package org.tilespark.spark.functions;

import static org.tilespark.spark.functions.Tables.blocks;
import static org.tilespark.spark.functions.Tables.extents;
import static org.tilespark.spark.options.Parameter.found;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.StatedExtents;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.options.Parameter;
import org.tilespark.spark.options.Type;
import org.tilespark.spark.transfer.TransferPlans;
import org.tilespark.spark.validate.BlockValidator;

/**
 * Declarations of operators that check blocks, state facts about them, and pass them to other
 * languages.
 */
final class BlockOperators {
  private static final Parameter<LogicalPlan> PACKED = Tables.table("input", "blocks as bytes");
  private static final Parameter<NpyType> DTYPE =
      found(
          "dtype",
          Type.text(NpyType::parseLittleEndian),
          "that of the file that was read, else the column's",
          "numpy's type of the bytes: 'float32', '<f4'");
  private static final Parameter<NpyType> DTYPE_OF_DATA =
      DTYPE.otherwise("as the metadata of data states it");

  private BlockOperators() {}

  static Operator validate(BlockKind kind) {
    Parameter<StatedExtents> extents = extents(kind);
    return new Operator(
        "(" + kind.label().charAt(0) + ")",
        "All defects of the blocks: code, block, found, expected; no rows if there are none.",
        "places and sizes",
        List.of(blocks("input", kind), extents),
        call ->
            BlockValidator.validate(
                call.table("input"), kind, call.find(extents), call::asDataset, call.operator()));
  }

  static Operator withExtents(BlockKind kind) {
    Parameter<StatedExtents> extents = extents(kind).otherwise("");
    return new Operator(
        "(%1$s, %2$s), .withoutExtents(%1$s)"
            .formatted(kind.label().charAt(0), String.join(", ", kind.sizeColumns())),
        "The same blocks with the extents of the whole %s stated as column metadata."
            .formatted(kind.label()),
        "none",
        List.of(blocks("input", kind), extents),
        call ->
            BlockFrame.withExtents(
                call.tableWithIds("input"), kind, Optional.of(call.get(extents)), call.operator()));
  }

  static Operator pack(BlockKind kind) {
    return new Operator(
        "",
        "The same rows with the elements of each block as one BINARY column data in place of values"
            + " and imag, as numpy lays them out: C order, little-endian. The type is in the"
            + " metadata of data.",
        "none",
        List.of(blocks("input", kind), DTYPE, extents(kind)),
        call -> TransferPlans.pack(call.blocks(kind), kind, call.find(DTYPE), call.operator()));
  }

  static Operator unpack(BlockKind kind) {
    Parameter<StatedExtents> extents = extents(kind);
    Parameter<Shape> blockShape =
        found(
            "blockShape",
            Type.list((what, text) -> Shape.parse(what, text, kind.rank())),
            Parameter.STATED,
            "extents of a full block, '64,64' or array(64, 64), to be stated in the metadata");
    return new Operator(
        "",
        "Blocks of the elements in the BINARY column data: the inverse of packing.",
        "none",
        List.of(PACKED, DTYPE_OF_DATA, extents, blockShape),
        call ->
            TransferPlans.unpack(
                call.get(PACKED),
                kind,
                call.find(DTYPE_OF_DATA),
                call.find(extents),
                call.find(blockShape),
                call.operator()));
  }
}
