package org.tilespark.bench.soak;

import java.util.Set;
import java.util.function.Function;
import org.tilespark.spark.options.Missing;

/** Operators and their results by plain loops on the same arrays. */
@SuppressWarnings("ImmutableEnumChecker") // queries are made by lambdas without state
enum Operator {
  TRANSPOSE(MatrixQueries::transpose, Trait.BLOCK_BY_BLOCK),
  PACK(MatrixQueries::pack, Trait.BLOCK_BY_BLOCK),
  PERMUTE(ShapeQueries::permute, Trait.VOLUMES, Trait.BLOCK_BY_BLOCK),
  REBLOCK(ShapeQueries::reblock),
  REBLOCK_ZERO(ShapeQueries::reblockWithHoles),
  MULTIPLY(MatrixQueries::multiply, Trait.PRODUCT),
  GRAM(MatrixQueries::gram, Trait.PRODUCT),
  NEAREST(MatrixQueries::nearest, Trait.PRODUCT),
  ADD(draw -> MatrixQueries.add(draw, 1, Missing.ERROR)),
  ADD_ZERO(draw -> MatrixQueries.add(draw, 0.6, Missing.ZERO)),
  ZIP(MatrixQueries::zip),
  SCALE(MatrixQueries::scale, Trait.BLOCK_BY_BLOCK),
  CENTER(MatrixQueries::center),
  QR(MatrixQueries::qr, Trait.PRODUCT),
  PCA(MatrixQueries::pca, Trait.PRODUCT),
  SLICE(ShapeQueries::slice, Trait.BLOCK_BY_BLOCK, Trait.FINDS_EXTENTS),
  SLICE_VOLUME(ShapeQueries::slice, Trait.VOLUMES, Trait.BLOCK_BY_BLOCK, Trait.FINDS_EXTENTS),
  PAD(ShapeQueries::pad),
  ROLL(ShapeQueries::roll),
  HALO(ShapeQueries::halo),
  RESHAPE(ShapeQueries::reshape),
  CUT_VOLUME(ShapeQueries::cutVolume, Trait.VOLUMES),
  PAD_VOLUME(ShapeQueries::pad, Trait.VOLUMES),
  HALO_VOLUME(ShapeQueries::halo, Trait.VOLUMES),
  FFT(draw -> FourierQueries.fft(draw, false), Trait.VOLUMES, Trait.TRANSFORM),
  HALF_FFT(draw -> FourierQueries.fft(draw, true), Trait.VOLUMES, Trait.TRANSFORM, Trait.REAL),
  PADDED_FFT(FourierQueries::paddedFft, Trait.VOLUMES, Trait.TRANSFORM),
  REPEATED_FFT(FourierQueries::repeatedFft, Trait.VOLUMES, Trait.TRANSFORM),
  ROUND_TRIP(FourierQueries::roundTrip, Trait.VOLUMES, Trait.TRANSFORM),
  POINTWISE(FourierQueries::pointwise, Trait.VOLUMES),
  LOW_PASS(FourierQueries::lowPass, Trait.VOLUMES, Trait.TRANSFORM);

  /** Differences between operators. */
  enum Trait {
    /** It takes volumes, else matrices. */
    VOLUMES,
    /** It takes real numbers alone, of volumes too. */
    REAL,
    /** It transforms one volume, and may leave its blocks where they are. */
    TRANSFORM,
    /** It is made of products, whose tasks compare further columns by their bytes. */
    PRODUCT,
    /** Each block of the result is made of one block alone. */
    BLOCK_BY_BLOCK,
    /** It looks for extents that no metadata states, though it works block by block. */
    FINDS_EXTENTS
  }

  private final Function<Draw, Query> query;
  private final Set<Trait> traits;

  Operator(Function<Draw, Query> query, Trait... traits) {
    this.query = query;
    this.traits = Set.of(traits);
  }

  boolean is(Trait trait) {
    return traits.contains(trait);
  }

  /** A call with random arguments. */
  Query query(Draw draw) {
    return query.apply(draw);
  }
}
