package org.tilespark.spark.functions;

import static org.tilespark.spark.functions.Parameter.optional;
import static org.tilespark.spark.functions.Parameter.required;

import java.util.List;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.functions.Parameter.Type;

/** The parameters that several functions have, and those of options. */
final class Parameters {
  private static final String STATED = "as the column metadata states it";

  static final Parameter MATRIX = blocks("input", BlockKind.MATRIX);
  static final Parameter MATRIX_A = blocks("a", BlockKind.MATRIX);
  static final Parameter MATRIX_B = blocks("b", BlockKind.MATRIX);
  static final Parameter VOLUME = blocks("input", BlockKind.VOLUME);
  static final Parameter VOLUME_A = blocks("a", BlockKind.VOLUME);
  static final Parameter VOLUME_B = blocks("b", BlockKind.VOLUME);
  static final Parameter SPECTRUM =
      table("input", "a spectrum, as volume_fft gives them with their column metadata");

  static final Parameter EXTENTS = extents("extents", "the whole array");
  static final Parameter EXTENTS_A = extents("extentsA", "all of a");
  static final Parameter EXTENTS_B = extents("extentsB", "all of b");

  /** For functions that do nothing else. */
  static final Parameter STATED_EXTENTS =
      required(
          "extents",
          Type.LIST,
          "extents of the whole array, '1000,800' or array(1000, 800); 'unknown' forgets those that"
              + " the metadata states");

  static final Parameter MISSING =
      optional(
          "missing",
          Type.TEXT,
          "'error'",
          "'error' refuses missing blocks, 'zero' takes them for zeros");

  static final Parameter MISSING_IN_PRODUCT =
      optional(
          "missing",
          Type.TEXT,
          "'error'",
          "'error' refuses missing blocks, 'zero' takes them for zeros, also where they meet NaN or"
              + " infinity");

  static final Parameter ALPHA = required("alpha", Type.NUMBER, "the factor");

  static final Parameter AXIS =
      required("axis", Type.AXIS, "'x', 'y' or 'z', or 0, 1 or 2; -1 is the last axis");

  // ---- blocks as bytes

  static final Parameter PACKED = required("input", Type.TABLE, "blocks as bytes");
  static final Parameter DTYPE =
      optional(
          "dtype",
          Type.TEXT,
          "that of the file that was read, else the column's",
          "numpy's type of the bytes: 'float32', '<f4'");
  static final Parameter DTYPE_OF_DATA = DTYPE.otherwise("as the metadata of data states it");
  static final Parameter FULL_BLOCK_SHAPE =
      optional(
          "blockShape",
          Type.LIST,
          STATED,
          "extents of a full block, '64,64' or array(64, 64), to be stated in the metadata");

  // ---- options of products, as MultiplyOptions has them

  static final Parameter TRANSPOSE_A =
      optional(
          "transposeA",
          Type.FLAG,
          "false",
          "true to multiply with a's transpose, which is never made");
  static final Parameter TRANSPOSE_B =
      optional(
          "transposeB",
          Type.FLAG,
          "false",
          "true to multiply with b's transpose, which is never made");
  static final Parameter PRECISION =
      optional(
          "precision",
          Type.TEXT,
          "'full'",
          "'full'; of FLOAT also 'tf32', 'bfloat16' or 'float16', which round the inputs and sum in"
              + " float32");
  static final Parameter STRATEGY =
      optional(
          "strategy",
          Type.TEXT,
          "'auto'",
          "'auto' (by cost), 'broadcast' (the smaller matrix goes to every executor) or"
              + " 'cuboid(P,Q,R)' (rows of the result in P parts, its columns in Q, the inner extent"
              + " in R)");
  static final Parameter BLOCK_SHAPE =
      optional(
          "blockShape",
          Type.LIST,
          "rows as in the blocks of op(A), columns as in those of op(B)",
          "rows and columns of a block of the result, '1024,1024' or array(1024, 1024)");

  // ---- options of transforms, as FftOptions has them

  static final Parameter FFT_AXES =
      optional(
          "axes",
          Type.AXES,
          "'xyz'",
          "the axes to transform, 'yz', '1,2' or array(1, 2); of a real transform the last one"
              + " named is halved");
  static final Parameter NORM =
      optional("norm", Type.TEXT, "'backward'", "'backward', 'ortho' or 'forward', as in numpy");
  static final Parameter REAL =
      optional(
          "real", Type.FLAG, "false", "true for half a spectrum of real values, as numpy's rfftn");
  static final Parameter OUTPUT =
      optional(
          "output",
          Type.TEXT,
          "'permuted'",
          "'permuted' leaves the axes of a transform of all three as yzx, 'natural' as they were, by"
              + " a second exchange");
  static final Parameter SHIFT =
      optional(
          "shift",
          Type.TEXT,
          "'none'",
          "what has its origin in the middle: 'none', 'spectrum', 'volume' or 'both'");
  static final Parameter DECOMPOSITION =
      optional(
          "decomposition",
          Type.TEXT,
          "'auto'",
          "how tasks share the work: 'auto' (by cost), 'task' (one task a volume), 'slabs' or"
              + " 'pencils'");
  static final Parameter DETREND =
      optional(
          "detrend",
          Type.TEXT,
          "'none'",
          "what is subtracted first: 'none', 'mean', or 'linear' for the plane that fits best");
  static final Parameter WINDOW =
      optional(
          "window",
          Type.LIST,
          "'none'",
          "'none', 'hann', 'hamming' or 'blackman'; one, or one per axis: 'hann,none,hann'");
  static final Parameter PAD_TO =
      optional(
          "padTo",
          Type.LIST,
          "'none'",
          "extents to pad with zeros to, 'fast' for the next fast length, or 'none'; one, or one per"
              + " axis");
  static final Parameter SPACING =
      optional(
          "spacing",
          Type.LIST,
          "1",
          "distance between samples, for frequencies; one, or one per axis: array(0.5, 1, 1)");
  static final Parameter REAL_EXTENT =
      optional("realExtent", Type.WHOLE, STATED, "extent of the halved axis before the transform");

  /** The options of both directions as the inverse takes them. */
  static final List<Parameter> INVERSE =
      List.of(
          FFT_AXES.otherwise(STATED),
          NORM.otherwise(STATED),
          REAL.otherwise(STATED),
          SHIFT.otherwise(STATED),
          DECOMPOSITION,
          MISSING,
          REAL_EXTENT);

  private Parameters() {}

  private static Parameter blocks(String name, BlockKind kind) {
    return table(name, "a " + kind.label() + ": " + kind.columnsText());
  }

  /** A table of blocks. */
  static Parameter table(String name, String of) {
    return required(name, Type.TABLE, "blocks of " + of);
  }

  private static Parameter extents(String name, String of) {
    return optional(
        name,
        Type.LIST,
        STATED,
        "extents of "
            + of
            + ", '1000,800' or array(1000, 800); 'unknown' forgets those that the metadata states");
  }
}
