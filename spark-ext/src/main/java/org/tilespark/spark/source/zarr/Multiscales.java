package org.tilespark.spark.source.zarr;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The image of a group of OME-Zarr (0.4 in version 2, 0.5 in version 3), in several scales.
 * Immutable.
 *
 * @param axes names of the axes
 * @param levels the scales, the finest first
 */
record Multiscales(List<String> axes, List<Level> levels) {
  /**
   * One scale.
   *
   * @param path path of the scale's array in the group
   * @param spacing distance between neighbouring elements along each axis; empty if not stated
   */
  record Level(String path, List<Double> spacing) {}

  /**
   * Reads the attributes of a group.
   *
   * @return the image; empty if the group is no image
   */
  static Optional<Multiscales> of(JsonNode attributes) {
    JsonNode images =
        attributes.has("ome")
            ? attributes.path("ome").path("multiscales")
            : attributes.path("multiscales");
    if (!images.isArray() || images.isEmpty()) {
      return Optional.empty();
    }
    JsonNode image = images.get(0);
    List<String> axes = new ArrayList<>();
    for (JsonNode axis : image.path("axes")) {
      axes.add(axis.isTextual() ? axis.textValue() : Json.text(axis, "name"));
    }
    List<Double> common = scale(image);
    List<Level> levels = new ArrayList<>();
    for (JsonNode dataset : Json.field(image, "datasets")) {
      levels.add(new Level(Json.text(dataset, "path"), product(scale(dataset), common)));
    }
    if (levels.isEmpty()) {
      throw new IllegalArgumentException("'multiscales' has no datasets");
    }
    return Optional.of(new Multiscales(List.copyOf(axes), List.copyOf(levels)));
  }

  private static List<Double> scale(JsonNode object) {
    for (JsonNode step : object.path("coordinateTransformations")) {
      if (step.path("type").asText().equals("scale")) {
        List<Double> scale = new ArrayList<>();
        for (JsonNode number : step.path("scale")) {
          if (!number.isNumber() || !(number.doubleValue() > 0)) {
            throw new IllegalArgumentException(
                "the scale %s; expected numbers above 0".formatted(Json.shown(step)));
          }
          scale.add(number.doubleValue());
        }
        return scale;
      }
    }
    return List.of();
  }

  private static List<Double> product(List<Double> own, List<Double> common) {
    if (own.size() != common.size()) {
      return own.isEmpty() ? common : own;
    }
    List<Double> product = new ArrayList<>();
    for (int axis = 0; axis < own.size(); axis++) {
      product.add(own.get(axis) * common.get(axis));
    }
    return List.copyOf(product);
  }
}
