package org.tilespark.spark.pointwise;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.GroupingColumns;
import org.tilespark.spark.block.StaleMetadata;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.fourier.Spectrum;

/** Common properties of two arrays whose elements at equal places are combined. */
record Agreement(BlockFrame first, BlockFrame second, String operator) {
  /**
   * The two operands of a call, with names for messages.
   *
   * @throws IllegalArgumentException if one has no blocks of this kind
   */
  static Agreement of(LogicalPlan a, LogicalPlan b, BlockKind kind, String operator) {
    return new Agreement(
        BlockFrame.combined(a, kind, operator, ", first " + kind.label()),
        BlockFrame.combined(b, kind, operator, ", second " + kind.label()),
        operator);
  }

  /**
   * Checks that both have the same type, further columns and stated extents, and that spectra fit.
   */
  void require() {
    first.requireNumbers();
    second.requireNumbers();
    if (first.blocks().elementType() != second.blocks().elementType()) {
      throw differentTypes();
    }
    partners();
    requireSame("extents", ArrayMetadata.EXTENTS, first.extents(), second.extents());
    requireSpectraThatFit();
  }

  /** Checks that both arrays are real, or both complex. */
  void requireEquallyComplex() {
    if (first.blocks().isComplex() != second.blocks().isComplex()) {
      throw differentTypes();
    }
  }

  /**
   * The metadata of the combined array: that of the first, or that of the spectrum if one is a
   * spectrum and the other a filter.
   */
  ArrayMetadata combined() {
    return first.metadata().spectrum().isPresent() || second.metadata().spectrum().isEmpty()
        ? first.metadata()
        : first.metadata().withAxes(letters(second)).withSpectrum(second.metadata().spectrum());
  }

  /**
   * The second array's further columns in the order of the first's.
   *
   * @throws IllegalArgumentException if they are not the same
   */
  List<Attribute> partners() {
    List<Attribute> partners = new ArrayList<>();
    for (Attribute column : first.further()) {
      partners.add(
          GroupingColumns.named(second.further(), column)
              .filter(partner -> partner.dataType().sameType(column.dataType()))
              .orElseThrow(this::differentColumns));
    }
    if (partners.size() != second.further().size()) {
      throw differentColumns();
    }
    return partners;
  }

  private void requireSame(String what, String key, Optional<?> a, Optional<?> b) {
    if (a.isPresent() && b.isPresent() && !a.equals(b)) {
      throw bad(
          ("the %s of the first %s are %s, of the second %s by the column metadata %s;"
                  + " expected the same%s")
              .formatted(
                  what,
                  label(),
                  a.get(),
                  b.get(),
                  key,
                  what.equals("extents") ? "; " + StaleMetadata.HELP : ""));
    }
  }

  /**
   * Checks that elements of two spectra at equal places belong to equal frequencies, and that one
   * inverse transform serves both. A volume that is no spectrum, a filter, fits every spectrum, but
   * its axes must be in the order in which the transform left the spectrum's.
   */
  void requireSpectraThatFit() {
    Optional<Spectrum.OfArray> one = spectrum(first);
    Optional<Spectrum.OfArray> other = spectrum(second);
    if (one.isPresent() && other.isPresent()) {
      Optional<String> difference = Spectrum.difference(one.get(), other.get());
      if (difference.isPresent()) {
        throw bad(
            ("the two spectra differ in %s, by the column metadata %s; expected the"
                    + " same, so transform both volumes with the same options")
                .formatted(difference.get(), ArrayMetadata.SPECTRUM));
      }
    } else if (one.or(() -> other).filter(Spectrum.OfArray::isReordered).isPresent()) {
      requireSame("axes", ArrayMetadata.AXES, first.metadata().axes(), second.metadata().axes());
    }
  }

  private Optional<Spectrum.OfArray> spectrum(BlockFrame frame) {
    try {
      return frame
          .metadata()
          .spectrum()
          .map(text -> new Spectrum.OfArray(Spectrum.all(text), letters(frame)));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(frame.operator() + ": " + e.getMessage(), e);
    }
  }

  private static String letters(BlockFrame frame) {
    return frame.metadata().axes().orElse("xyz");
  }

  private IllegalArgumentException differentTypes() {
    return bad(
        ("the values of the first %s are %s, of the second %s; expected one type, so"
                + " CAST one of them")
            .formatted(label(), typeText(first), typeText(second)));
  }

  private IllegalArgumentException differentColumns() {
    return bad(
        ("further columns tell several %s apart and must be the same on both sides;"
                + " the first has (%s), the second (%s). Drop those that are no part of the key")
            .formatted(
                label().equals("matrix") ? "matrices" : "volumes",
                furtherText(first),
                furtherText(second)));
  }

  private IllegalArgumentException bad(String defect) {
    return new IllegalArgumentException(operator + ": " + defect);
  }

  private String label() {
    return first.kind().label();
  }

  private static String typeText(BlockFrame frame) {
    return frame.values().dataType().sql() + (frame.blocks().isComplex() ? " with imag" : "");
  }

  private static String furtherText(BlockFrame frame) {
    return GroupingColumns.text(List.of(Attributes.schema(frame.further()).fields()));
  }
}
