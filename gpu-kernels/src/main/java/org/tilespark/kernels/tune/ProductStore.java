package org.tilespark.kernels.tune;

import java.nio.file.Path;
import java.util.List;
import org.tilespark.kernels.multiply.MultiplyWay;
import org.tilespark.kernels.multiply.ProductClass;
import org.tilespark.kernels.multiply.ProductTable;

/**
 * Keeps on disk by what way products are multiplied: one file for each device model, driver, set of
 * kernels and version of cuBLAS. A choice that is there stays: it decides the last bits of results.
 * Otherwise as {@link TilingStore}.
 */
public final class ProductStore {
  private static final TuningFile.Format<ProductTable> FORMAT =
      new TuningFile.Format<>(
          "products", ProductTable.EMPTY, ProductTable::parse, ProductTable::toText);

  private final TuningFile<ProductTable> file;

  /**
   * What choices hold for.
   *
   * @param device the device's name, architecture and driver
   * @param kernels hash of the kernels
   * @param cublas version of cuBLAS; empty without
   */
  public record Origin(String device, String kernels, String cublas) {
    private List<String> lines() {
      return List.of(
          "tilespark products 1",
          "device " + device,
          "kernels " + kernels,
          "cublas " + (cublas.isEmpty() ? "none" : cublas));
    }
  }

  /**
   * The store of one origin in {@code directory}, which is made when something is written.
   *
   * @param directory may be missing
   */
  public ProductStore(Path directory, Origin origin) {
    this.file = new TuningFile<>(FORMAT, directory, origin.lines());
  }

  /** The file that holds the choices. */
  public Path file() {
    return file.path();
  }

  /** What is on disk; empty if there is nothing of use. */
  public ProductTable load() {
    return file.load();
  }

  /**
   * Adds a choice to what is on disk, unless its class has one; no other process of this user comes
   * between.
   *
   * @return the way that is now chosen for the class: of the one that was there first
   */
  public MultiplyWay addIfAbsent(ProductClass products, MultiplyWay way) {
    return file.updateAlone(
            table -> table.find(products).isPresent() ? table : table.with(products, way))
        .find(products)
        .orElseThrow();
  }
}
